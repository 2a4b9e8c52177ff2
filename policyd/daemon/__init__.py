"""Builds the objects of a running scheduler, and owns every thread, every signal and the reload.

`run` puts the parts together around a cluster; `threads` starts and ends all threads.
"""
