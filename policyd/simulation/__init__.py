"""The embedded cluster: the scheduler's protocols filled in memory, with a clock of its own.

What runs here is the real loop: the queue, the cache and the cycle of `policyd.scheduler`. Only
the cluster is not there.
"""
