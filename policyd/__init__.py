"""A Kubernetes scheduler whose whole policy is text."""
