"""Compares policyd's default policy with kube-scheduler's answers to placement scenarios.

    python -m tests.parity.run SCENARIOS EXPECTED [--show N] [--areas AREA,AREA]

Prints how many scenarios of each area agree, and the first differences in full; exits with 1 if
there is one.
"""

import argparse
import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:  # run as a script
    sys.path.insert(0, str(ROOT))

from tests.parity.compare import (  # noqa: E402 - the path is needed first
    answer,
    area_of,
    default_rules,
    difference,
    read_lines,
)


def main(arguments: list[str] | None = None) -> int:
    """Compare two files; give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("scenarios", type=Path)
    parser.add_argument("expected", type=Path)
    parser.add_argument("--show", type=int, default=3, help="how many differences to print in full")
    parser.add_argument("--areas", default="", help="compare these areas only, such as spread,init")
    given = parser.parse_args(arguments)
    wanted = set(given.areas.split(",")) - {""}
    ruleset = default_rules()
    seen: Counter[str] = Counter()
    same: Counter[str] = Counter()
    shown = 0
    for scenario, theirs in zip(
        read_lines(given.scenarios), read_lines(given.expected), strict=True
    ):
        if scenario["id"] != theirs["id"]:
            raise SystemExit(f"scenario {scenario['id']} stands beside the answer {theirs['id']}")
        area = area_of(scenario["id"])
        if wanted and area not in wanted:
            continue
        seen[area] += 1
        found = difference(answer(ruleset, scenario), theirs)
        same[area] += not found
        if found and shown < given.show:
            shown += 1
            _show(scenario, found)
    for area in sorted(seen):
        print(f"{area:14} {same[area]:5} of {seen[area]:5} agree")
    print(f"{'all':14} {same.total():5} of {seen.total():5} agree")
    return 0 if same == seen and seen else 1


def _show(scenario: dict[str, Any], found: dict[str, tuple[Any, Any]]) -> None:
    print(f"== {scenario['id']} differs")
    for place, (ours, theirs) in found.items():
        print(f"-- {place}\n   policyd        {json.dumps(ours, sort_keys=True)}")
        print(f"   kube-scheduler {json.dumps(theirs, sort_keys=True)}")
    print(json.dumps(scenario, sort_keys=True))


if __name__ == "__main__":
    sys.exit(main())
