"""What ships with the package as data: the grammar, the rules and the sample cluster.

In a wheel the folders `grammar` and `rules` lie inside the package; in a checkout they lie beside
it.
"""
