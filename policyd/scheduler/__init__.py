"""Decides where pods go: the queue, the cache of the cluster, and the cycle between them.

A pod's path: `queue` → decision on a snapshot of `cache` → assumed → bound by a pool of threads.
Knows no HTTP: what it needs from a cluster stands in `protocols`. Mutable state is owned by
`SchedulingQueue` and `Cache`, each with one lock. Where both are needed the cache comes first,
and nothing waits for a cluster while it holds either.
"""
