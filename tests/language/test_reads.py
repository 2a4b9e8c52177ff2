"""What expressions read."""

import pytest

from policyd.language.environment import Environment
from policyd.language.parser import parse_expression
from policyd.language.reads import reads
from policyd.language.source import Source
from policyd.language.syntax import Let
from policyd.policy.functions import FUNCTIONS
from policyd.policy.scope import VARIABLES, Objects

LETS = {
    "gpus": Let("gpus", None, parse_expression(Source("t", 'pod.requests["gpu"]'))),
    "of": Let("of", ("n",), parse_expression(Source("t", "n.used.cpu"))),
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1 + 2", set()),
        ("now > timestamp(0)", {"now.*"}),
        ('node.labels["a"] == pod.labels["b"]', {"node.labels", "pod.labels"}),
        ("node.labels[pod.name] == null", {"node.labels", "pod.name"}),
        ("node.free.cpu > 1", {"node.free.cpu"}),
        ("node.status.nodeInfo.kubeletVersion", {"node.status.nodeInfo"}),
        ("has(node.spec.unschedulable)", {"node.spec.unschedulable"}),
        ("node.taints.all(t, pod.tolerates(t))", {"node.taints", "pod.tolerations"}),
        ("node.pods.exists(p, p.name == pod.name)", {"node.pods", "pod.name"}),
        ("[1].map(x, node).size()", {"node.*"}),
        ("gpus > 0", {"pod.requests"}),
        ("of(node) > 1", {"node.used.cpu"}),
        ("cel.bind(l, node.labels, l.a)", {"node.labels.a"}),
        ("true ? node.name : namespace.name", {"node.name", "namespace.name"}),
    ],
)
def test_reads(text, expected):
    env = Environment(variables=VARIABLES, objects=Objects(), lets=LETS, functions=FUNCTIONS)
    assert reads(env.compile(text).root) == expected
