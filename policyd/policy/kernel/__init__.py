"""Evaluates expressions over many nodes at once, in NumPy, exactly as the interpreter would.

`plan` turns a checked tree into steps over `vector` values; `numeric` and `lists` hold the
operations; `columns` and `tables` keep what was computed and repair it where nodes changed.
What it cannot do exactly it refuses (`Unvectorised`), and the interpreter does it row by row.
"""
