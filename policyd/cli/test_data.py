"""What became of rule tests, for programs: JSON, and JUnit's XML."""

import xml.etree.ElementTree as ET
from collections.abc import Sequence
from typing import Any

from policyd.cli.test_report import failure_lines
from policyd.language.cells import visible
from policyd.policy.record import as_data
from policyd.ruletests.coverage import FileCoverage, Point
from policyd.ruletests.expect import Mismatch
from policyd.ruletests.results import CaseResult, SuiteResult


def results_data(results: Sequence[SuiteResult]) -> dict[str, Any]:
    """Give results as plain data."""
    tests = sum(len(result.results) for result in results)
    failed = sum(result.failed for result in results)
    return {
        "files": [_suite(result) for result in results],
        "summary": {
            "files": len(results),
            "tests": tests,
            "passed": tests - failed,
            "failed": failed,
        },
    }


def coverage_data(files: Sequence[FileCoverage], untested: Sequence[str]) -> list[dict[str, Any]]:
    """Give coverage as plain data; rule files without tests have no conditions that were tried."""
    covered = [
        {
            "file": file.name,
            "outcomes": file.outcomes,
            "seen": file.seen,
            "conditions": [_point(point) for point in file.points],
        }
        for file in files
    ]
    return covered + [{"file": name, "untested": True} for name in untested]


def as_junit(results: Sequence[SuiteResult]) -> str:
    """Give results as XML in the shape of JUnit, which continuous integration reads."""
    root = ET.Element("testsuites", _counts([each for r in results for each in r.results]))
    for result in results:
        suite = ET.SubElement(
            root, "testsuite", {"name": visible(result.suite.name), **_counts(result.results)}
        )
        for each in result.results:
            _testcase(suite, result.suite.name, each)
    ET.indent(root)
    made: bytes = ET.tostring(root, encoding="us-ascii")  # for any output
    return made.decode("ascii")


# --- JSON ---


def _suite(result: SuiteResult) -> dict[str, Any]:
    return {
        "file": result.suite.name,
        "rules": list(result.suite.rules),
        "tests": [_case(each) for each in result.results],
    }


def _case(result: CaseResult) -> dict[str, Any]:
    return {
        "name": result.case.name,
        "place": str(result.case.place),
        "passed": result.passed,
        "seconds": round(result.seconds, 6),
        "failures": [_mismatch(each) for each in result.mismatches],
        "decision": None if result.decision is None else as_data(result.decision),
    }


def _mismatch(mismatch: Mismatch) -> dict[str, Any]:
    return {
        "expectation": mismatch.expectation,
        "place": str(mismatch.place),
        "expected": mismatch.expected,
        "got": mismatch.got,
        "nodes": list(mismatch.nodes),
        "values": [{"expression": each.text, "value": each.value} for each in mismatch.values],
    }


def _point(point: Point) -> dict[str, Any]:
    line, column = point.source.position(point.span.start)
    end_line, end_column = point.source.position(point.span.end)
    return {
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "block": point.block,
        "clause": point.clause,
        "condition": point.text,
        "true": point.true,
        "false": point.false,
    }


# --- JUnit ---


def _counts(results: Sequence[CaseResult]) -> dict[str, str]:
    return {
        "tests": str(len(results)),
        "failures": str(sum(not each.passed for each in results)),
        "errors": "0",
        "skipped": "0",
        "time": f"{sum(each.seconds for each in results):.6f}",
    }


def _testcase(suite: ET.Element, file: str, result: CaseResult) -> None:
    place = result.case.place
    attributes = {
        "classname": visible(file),
        "name": visible(result.case.name),
        "file": visible(file),
        "line": str(place.line),
        "time": f"{result.seconds:.6f}",
    }
    element = ET.SubElement(suite, "testcase", attributes)
    if result.passed:
        return
    first = result.mismatches[0]
    message = visible(f"expected: {first.expected}; got: {first.got}")
    failure = ET.SubElement(element, "failure", {"message": message, "type": first.expectation})
    failure.text = "\n".join(visible(text) for text, _ in failure_lines(result))
