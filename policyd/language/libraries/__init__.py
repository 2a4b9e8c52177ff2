"""The functions of the language, one library a module.

Each module has `library(dialect)`, which declares its functions; `standard.py` lists the modules.
"""
