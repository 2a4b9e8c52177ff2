"""The command line: one module a command. Each parses, calls one function, prints, and exits.

`main` finds the command and imports nothing for it but its module. Exit status 0 is yes, 1 is no
(errors in rules, a pod that fits nowhere, files that would change), 2 is input that cannot be
used; whatever ends with 2 says on standard error where, why, and what to do.
"""
