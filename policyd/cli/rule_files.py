"""Finds rule files and reads them.

A directory holds one rule set: its `.expr` files, in the order of their names. Entries that start
with a dot are left out: editors' files, and the `..data` of a mounted ConfigMap, whose visible
entries are symbolic links into it and are followed. Files that are given by name make one rule
set together, and `-` is standard input. Files of tests among them are left out.
"""

import os
import stat
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from policyd.cli.failure import Failure, file_named, unreadable
from policyd.language.decoding import MAX_BYTES, decode
from policyd.language.diagnostics import Diagnostic, RuleError
from policyd.language.source import Source

STDIN: Final = "-"
SUFFIX: Final = ".expr"
TESTS: Final = ".test.yaml"
"""How the names of files of tests end, which stand beside rules and are none."""

RuleSetFiles = tuple[str, ...]
"""The files of one rule set."""


def one_set(paths: Sequence[str]) -> RuleSetFiles:
    """Give the files of the one rule set that files and directories make together.

    Raises:
        Failure: a path does not exist or cannot be read, or a directory has no rule files.
    """
    found: list[str] = []
    for path in _but_tests(paths):
        found.extend(_rule_files(path) if _is_directory(path) else (path,))
    return _once(found)


def all_sets(paths: Sequence[str]) -> list[RuleSetFiles]:
    """Give the rule sets in files and directories: files together, each directory for itself.

    Directories are searched to their ends; each that has rule files is a rule set.

    Raises:
        Failure: a path does not exist or cannot be read, or a directory has no rule files.
    """
    given = _but_tests(paths)
    loose = _once([path for path in given if not _is_directory(path)])
    sets = [loose] if loose else []
    seen: set[str] = set()
    for path in given:
        if _is_directory(path):
            known = os.path.realpath(path) in seen
            inside = list(_sets_below(path, seen))
            if not inside and not known:
                raise _without_rules(path)
            sets.extend(inside)
    return sets


def read_rules(path: str) -> bytes:
    """Read a rule file, up to one byte more than can be one.

    Raises:
        Failure: it cannot be read.
    """
    try:
        if path == STDIN:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with file_named(path).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise unreadable(shown_name(path), error) from None


def read_sources(files: Sequence[str]) -> tuple[list[Source], list[Diagnostic]]:
    """Read the files of a rule set, and give what is wrong with those that are no text.

    Raises:
        Failure: one cannot be read.
    """
    sources: list[Source] = []
    found: list[Diagnostic] = []
    for path in files:
        data = read_rules(path)
        try:
            sources.append(decode(shown_name(path), data))
        except RuleError as error:
            found.extend(error.diagnostics)
    return sources, found


def shown_name(path: str) -> str:
    """Give the name by which messages call a file."""
    return "<stdin>" if path == STDIN else path


def _but_tests(paths: Sequence[str]) -> list[str]:
    """Leave out files of tests, which `rules/*` names too."""
    kept = [path for path in paths if not path.endswith(TESTS) or _is_directory(path)]
    if paths and not kept:
        remedy = f"run them with `policyd test {paths[0]}`"
        raise Failure("these are tests of rules, and no rules", paths[0], remedy)
    return kept


def _is_directory(path: str) -> bool:
    """Say whether a path that is there is a directory."""
    if path == STDIN:
        return False
    try:
        return stat.S_ISDIR(file_named(path).stat().st_mode)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None


def _entries(folder: str) -> list[Path]:
    """Give what is in a directory but for hidden entries, sorted."""
    try:
        entries = sorted(Path(folder).iterdir())
    except OSError as error:
        raise unreadable(folder, error) from None
    return [entry for entry in entries if not entry.name.startswith(".")]


def _rule_files(folder: str) -> list[str]:
    """Give the rule files directly in a directory."""
    files = _files_in(_entries(folder))
    if not files:
        raise _without_rules(folder)
    return files


def _files_in(entries: Sequence[Path]) -> list[str]:
    found = [str(entry) for entry in entries if entry.suffix == SUFFIX]
    return [path for path in found if not _is_directory(path)]


def _without_rules(folder: str) -> Failure:
    below = [entry for entry in _entries(folder) if entry.is_dir()]
    remedy = f"the names of rule files end in `{SUFFIX}`"
    if below:
        remedy += f"; to use those in a directory below, give that: `{below[0]}`"
    return Failure(f"this directory has no `{SUFFIX}` files", folder, remedy)


def _sets_below(folder: str, seen: set[str]) -> Iterator[RuleSetFiles]:
    """Give the rule sets in a directory and below it, following links, each directory once."""
    real = os.path.realpath(folder)
    if real in seen:
        return
    seen.add(real)
    entries = _entries(folder)
    files = _files_in(entries)
    if files:
        yield tuple(files)
    for entry in entries:
        if entry.is_dir():
            yield from _sets_below(str(entry), seen)


def _once(paths: Sequence[str]) -> RuleSetFiles:
    """Drop files that are given twice."""
    kept: dict[str, str] = {}
    for path in paths:
        kept.setdefault(path if path == STDIN else os.path.realpath(path), path)
    return tuple(kept.values())
