"""Runs the tests that paths name, and prints what became of them."""

import time
from collections.abc import Mapping, Sequence

import click

from policyd.cli.output import print_data
from policyd.cli.test_data import as_junit, coverage_data, results_data
from policyd.cli.test_files import Ready, UnusableRulesError, find_tests, read_suites, with_rules
from policyd.cli.test_report import print_coverage, print_results
from policyd.language.source import Source
from policyd.policy.ruleset import Ruleset
from policyd.ruletests.coverage import Coverage
from policyd.ruletests.results import CaseResult, SuiteResult, run_case


def run_tests(
    paths: Sequence[str],
    settings: Mapping[str, str],
    pattern: str | None,
    output: str,
    *,
    coverage: bool,
) -> int:
    """Run tests, print what became of them, and give the exit status.

    Raises:
        Failure: something cannot be used.
    """
    found = find_tests(paths)
    try:
        ready = with_rules(read_suites(found.tests, pattern), settings)
    except UnusableRulesError as error:
        return error.exit_code
    watch = Coverage() if coverage else None
    results = [_run(each, watch) for each in ready]
    untested = _untested(found.rules, ready)
    if output == "junit":
        click.echo(as_junit(results))
    elif output == "json":
        data = results_data(results)
        if watch is not None:
            data["coverage"] = coverage_data(watch.files(), untested)
        print_data(data, output)
    else:
        print_results(results)
        if watch is not None:
            print_coverage(watch.files(), untested)
    return 1 if any(result.failed for result in results) else 0


def _run(ready: Ready, watch: Coverage | None) -> SuiteResult:
    """Run the tests of one file."""
    watched: dict[int, Ruleset] = {}  # by the identity of the one that `ready` keeps
    results: list[CaseResult] = []
    for case, ruleset in ready.pairs():
        if watch is not None and id(ruleset) not in watched:
            watched[id(ruleset)] = watch.watch(ruleset)
        rules = watched.get(id(ruleset), ruleset)
        results.append(run_case(case, rules, time.perf_counter))
    return SuiteResult(ready.suite, tuple(results))


def _untested(rules: Sequence[str], ready: Sequence[Ready]) -> list[str]:
    """Name the rule files that were found and that no test is about."""
    tested = {
        source.name for each in ready for ruleset in each.rulesets for source in _sources(ruleset)
    }
    return [path for path in rules if path not in tested]


def _sources(ruleset: Ruleset) -> list[Source]:
    rules = [rule.source for rule in ruleset.rules]
    return rules + [block.source for block in ruleset.blocks]
