"""Parsing in several threads at once: each has a parser of its own."""

import threading

from policyd.language.diagnostics import RuleError
from policyd.language.parser import parse_expression
from policyd.language.source import Source

THREADS = 8


def test_threads_do_not_see_each_others_trees_or_faults():
    barrier = threading.Barrier(THREADS)
    found = [[] for _ in range(THREADS)]

    def parse(at):
        barrier.wait()
        for turn in range(30):
            found[at].append(parse_expression(Source("t", f"x{at} + {turn}")))
            try:
                parse_expression(Source("t", f'"\\q{at}"'))
            except RuleError as error:
                found[at].append(len(error.diagnostics))

    threads = [
        threading.Thread(target=parse, args=(at,))  # noqa: TID251 - the test is about threads
        for at in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for at in range(THREADS):
        expected = []
        for turn in range(30):
            expected += [parse_expression(Source("t", f"x{at} + {turn}")), 1]
        assert found[at] == expected
