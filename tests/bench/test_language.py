"""Times of the parser, the checker and the interpreter, beside other engines in the same run.

No time is asserted: that depends on the machine. What is asserted is that the engines agree.
"""

import pytest

from policyd.language.parser import parse_file
from policyd.language.source import Source
from policyd.policy.load import examine
from tests.bench.cases import CASES, make_nodes, make_rules
from tests.bench.peers import ENGINES, policyd_typed

NODES = make_nodes()
KILOBYTES = (1, 10, 100)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_evaluation(benchmark, case, engine):
    """One evaluation of a compiled expression for each of the nodes, in turn."""
    evaluate, inputs = ENGINES[engine](case.expression, NODES)
    own, own_inputs = policyd_typed(case.expression, NODES)
    assert [str(evaluate(i)) for i in inputs] == [str(own(i)) for i in own_inputs]
    benchmark.group = f"evaluate: {case.name}"
    benchmark.extra_info |= {"table": "evaluation", "row": case.name, "column": engine}
    benchmark.extra_info["per"] = len(inputs)
    benchmark(lambda: [evaluate(i) for i in inputs])


@pytest.mark.parametrize("kilobytes", KILOBYTES)
def test_parsing(benchmark, kilobytes):
    """From text to syntax tree."""
    source = Source("bench.expr", make_rules(kilobytes))
    benchmark.group = "parse"
    benchmark.extra_info |= {"table": "text", "row": f"{kilobytes} KiB", "column": "parse"}
    benchmark.extra_info["per"] = kilobytes
    benchmark(parse_file, source)


@pytest.mark.parametrize("kilobytes", KILOBYTES)
def test_parsing_and_checking(benchmark, kilobytes):
    """From text to a compiled rule set."""
    source = Source("bench.expr", make_rules(kilobytes))
    assert not [d for d in examine([source])[1] if d.code.startswith("E")]
    benchmark.group = "parse and check"
    benchmark.extra_info |= {"table": "text", "row": f"{kilobytes} KiB", "column": "parse + check"}
    benchmark.extra_info["per"] = kilobytes
    benchmark(examine, [source])
