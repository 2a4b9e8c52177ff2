"""The facts that rules can see: objects of the Kubernetes API, their types and their amounts.

Knows no rules. Nothing here imports a Kubernetes client.
"""
