"""The only room that talks to the API server: credentials, reflectors, binds, events, the lease.

It knows no rules: what it learns it tells the scheduler's cache and queue, and what it is asked
to do it does by the scheduler's protocols. It starts no threads; the daemon runs what goes on.
"""
