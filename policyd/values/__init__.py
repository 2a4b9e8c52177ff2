"""The values that expressions compute with and that facts are made of.

Each is immutable, hashable and exact. The room below all others: the language computes with
these values and the model carries them, and neither needs to know the other.
"""
