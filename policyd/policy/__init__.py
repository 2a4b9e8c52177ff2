"""The policy: rules compiled against the model, applied to a pod and a snapshot, and explained.

`scope` says what each name in a rule is; `sources` finds rule files; `load` compiles them into a
`Ruleset`; `decide` applies that to a pod; `explain` says why.
"""
