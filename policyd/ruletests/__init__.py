"""Rule tests: YAML files that say what rules are to decide for a pod on a cluster.

`form` is the shape of such a file, `text` reads it, and `cases` makes cases of it; `run` decides
one, `expect` compares the decision with what is expected, `results` keeps what became of it, and
`coverage` watches which conditions came out how.
"""
