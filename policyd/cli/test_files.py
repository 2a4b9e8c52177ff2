"""Finds files of rule tests, reads them, and compiles the rules that they are about."""

import os
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from policyd.cli.failure import UNUSABLE, Failure, file_named, unreadable
from policyd.cli.notices import print_notes, refuse
from policyd.cli.report import print_diagnostics
from policyd.cli.rule_files import SUFFIX as RULES
from policyd.cli.rule_files import one_set, read_sources
from policyd.language.diagnostics import Diagnostic, RuleError
from policyd.language.source import Source
from policyd.model.places import Problem
from policyd.policy.load import examine, load
from policyd.policy.params import ParameterError
from policyd.policy.ruleset import Ruleset
from policyd.ruletests.cases import SUFFIX, Case, Suite, read_suite
from policyd.ruletests.expect import unknown_names
from policyd.ruletests.text import UnusableError


class UnusableRulesError(Exception):
    """Rules that have errors, which are printed already."""

    exit_code = UNUSABLE


@dataclass(frozen=True, slots=True)
class Found:
    """Files of tests, and the rule files in the directories that were searched for them."""

    tests: tuple[str, ...]
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Ready:
    """The tests of a file with the compiled rules of each."""

    suite: Suite
    rulesets: tuple[Ruleset, ...]

    def pairs(self) -> Iterator[tuple[Case, Ruleset]]:
        """Give each case with its rules."""
        return zip(self.suite.cases, self.rulesets, strict=True)


# --- finding ---


def find_tests(paths: Sequence[str]) -> Found:
    """Find the files of tests that paths name: themselves, beside rule files, in directories.

    Raises:
        Failure: a path is not there, is neither, or has no tests.
    """
    tests: dict[str, None] = {}
    rules: dict[str, None] = {}
    for path in paths:
        inside = _of_path(path)
        tests.update(dict.fromkeys(inside.tests))
        rules.update(dict.fromkeys(inside.rules))
    return Found(tuple(tests), tuple(rules))


def _of_path(path: str) -> Found:
    name = os.path.normpath(file_named(path))
    try:
        is_directory = stat.S_ISDIR(Path(name).stat().st_mode)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    if is_directory:
        return _in_directory(name)
    if name.endswith(SUFFIX):
        return Found((name,), ())
    if not name.endswith(RULES):
        remedy = f"the names of files of tests end in `{SUFFIX}`"
        raise Failure("this is no file of tests", path, remedy)
    beside = name.removesuffix(RULES) + SUFFIX
    if not Path(beside).is_file():
        raise Failure("these rules have no tests", path, f"write them into `{beside}`")
    return Found((beside,), (name,))


def _in_directory(folder: str) -> Found:
    files = list(_files_below(Path(folder), set()))
    tests = tuple(str(file) for file in files if file.name.endswith(SUFFIX))
    if not tests:
        remedy = f"the names of files of tests end in `{SUFFIX}`, as in `gpu{SUFFIX}`"
        raise Failure("this directory has no tests", folder, remedy)
    return Found(tests, tuple(str(file) for file in files if file.suffix == RULES))


def _files_below(folder: Path, seen: set[str]) -> Iterator[Path]:
    """Give the files in a directory and below it, following links, each directory once."""
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    try:
        entries = sorted(folder.iterdir())
    except OSError as error:
        raise unreadable(str(folder), error) from None
    shown = [entry for entry in entries if not entry.name.startswith(".")]
    yield from (entry for entry in shown if entry.is_file())
    for entry in shown:
        if entry.is_dir():
            yield from _files_below(entry, seen)


# --- reading ---


def read_suites(files: Sequence[str], pattern: str | None) -> list[Suite]:
    """Read files of tests, and keep the tests whose name, after that of the file, matches.

    Raises:
        Failure: something cannot be used, or no test matches.
    """
    wanted = None if pattern is None else _compiled(pattern)
    problems: list[Problem] = []
    suites: list[Suite] = []
    for file in files:
        try:
            suites.append(read_suite(Path(file)))
        except UnusableError as error:
            problems += error.problems
        except OSError as error:
            raise unreadable(file, error) from None
    refuse(problems)
    print_notes([note for suite in suites for note in suite.notes])
    if wanted is None:
        return suites
    kept = [_matching(suite, wanted) for suite in suites]
    if not any(suite.cases for suite in kept):
        count = sum(len(suite.cases) for suite in suites)
        raise Failure(f"none of the {count:,} tests is called so", "--run", "check the pattern")
    return [suite for suite in kept if suite.cases]


def _compiled(pattern: str) -> re.Pattern[str]:
    try:
        return re.compile(pattern)
    except re.error as error:
        cause = f"`{pattern}` is no regular expression: {error}"
        raise Failure(cause, "--run", "put a `\\` before signs that stand for themselves") from None


def _matching(suite: Suite, wanted: re.Pattern[str]) -> Suite:
    cases = (case for case in suite.cases if wanted.search(f"{suite.name}: {case.name}"))
    return replace(suite, cases=tuple(cases))


# --- rules ---


def with_rules(suites: Sequence[Suite], settings: Mapping[str, str]) -> list[Ready]:
    """Compile the rules of each file of tests, and check the names that its tests use.

    `settings` are set in all rules that have such a parameter.

    Raises:
        Failure: a file or a value cannot be used, or a test expects something of what is not there.
        UnusableRulesError: rules have errors.
    """
    compiler = _Compiler(settings)
    ready = [compiler.ready(suite) for suite in suites]
    compiler.end()
    problems = [
        problem
        for each in ready
        for case, ruleset in each.pairs()
        for problem in unknown_names(case, ruleset)
    ]
    refuse(problems)
    return ready


class _Compiler:
    """Compiles rules once for each set of files and values of parameters."""

    def __init__(self, settings: Mapping[str, str]) -> None:
        self._settings = settings
        self._used: set[str] = set()
        self._parameters: dict[str, None] = {}
        self._errors: dict[Diagnostic, None] = {}
        self._known: dict[tuple[tuple[str, ...], tuple[tuple[str, str], ...]], Ruleset | None] = {}

    def ready(self, suite: Suite) -> Ready:
        """Compile the rules of the tests of a file; where they have errors there is no test."""
        files, sources = self._sources(suite)
        own = self._own_settings(sources)
        rulesets = [self._ruleset(files, sources, case, own) for case in suite.cases]
        made = tuple(ruleset for ruleset in rulesets if ruleset is not None)
        return Ready(suite if len(made) == len(rulesets) else replace(suite, cases=()), made)

    def end(self) -> None:
        """Print the errors of rules, if any; see that every parameter was there.

        Raises:
            Failure: no rules have a parameter that is set.
            UnusableRulesError: rules have errors.
        """
        if self._errors:
            print_diagnostics(self._errors, "stderr")
            raise UnusableRulesError
        for name in self._settings:
            if name not in self._used:
                known = ", ".join(sorted(self._parameters)) or "none"
                remedy = f"the parameters are: {known}"
                raise Failure(f"no rule has a parameter `{name}`", "--set", remedy)

    def _sources(self, suite: Suite) -> tuple[tuple[str, ...], list[Source]]:
        for path in suite.rules:
            if not Path(path).exists():
                place = str(suite.rules_place)
                remedy = "name the rules with `rules: FILE`, as seen from the file of tests"
                raise Failure(f"there are no rules `{path}`", place, remedy)
        files = one_set(suite.rules)
        sources, unusable = read_sources(files)
        self._errors.update(dict.fromkeys(unusable))
        return files, sources

    def _own_settings(self, sources: Sequence[Source]) -> dict[str, str]:
        """Give the settings of the command line that are for these rules."""
        if not self._settings:
            return {}
        examined, _ = examine(sources)
        parameters = examined.parameters if examined else {}
        self._parameters.update(dict.fromkeys(parameters))
        own = {name: text for name, text in self._settings.items() if name in parameters}
        self._used.update(own)
        return own

    def _ruleset(
        self,
        files: tuple[str, ...],
        sources: Sequence[Source],
        case: Case,
        own: Mapping[str, str],
    ) -> Ruleset | None:
        settings = {**case.settings, **own}
        key = (files, tuple(sorted(settings.items())))
        if key not in self._known:
            self._known[key] = self._load(sources, settings, case)
        return self._known[key]

    def _load(
        self, sources: Sequence[Source], settings: Mapping[str, str], case: Case
    ) -> Ruleset | None:
        try:
            return load(sources, settings)
        except RuleError as error:
            self._errors.update(dict.fromkeys(error.diagnostics))
        except ParameterError as error:
            raise Failure(error.message, str(case.place), error.remedy) from None
        return None
