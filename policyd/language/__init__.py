"""The rule language: from the bytes of a rule file to what an expression means.

Pure: no arrays, no Kubernetes client, no threads, no input or output. The path through the room
is `source` → `parser` → `syntax` (the tree) → `checker` → `typed` (the checked tree) →
`interpreter`; what goes wrong on the way becomes `diagnostics`.
"""
