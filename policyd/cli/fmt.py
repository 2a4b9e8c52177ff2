"""`policyd fmt`: rules in their canonical layout."""

import errno
import os
import stat
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Final

import click

from policyd.cli.failure import UNUSABLE, Failure, os_failure
from policyd.cli.report import in_words, print_diagnostics
from policyd.cli.rule_files import STDIN, all_sets, read_rules, shown_name
from policyd.cli.terminal import painted, wants_colour
from policyd.language.cells import visible
from policyd.language.decoding import decode
from policyd.language.diagnostics import RuleError
from policyd.language.formatter import format_source

_DIFF_STYLES: Final = {"+": "green", "-": "red", "@": "cyan"}


class Outcome(Enum):
    """What became of a file."""

    KEPT = "kept"
    CHANGED = "changed"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Formatted:
    """A file's bytes, before and after."""

    path: str
    before: bytes
    after: bytes

    @property
    def is_changed(self) -> bool:
        """Say whether formatting changes the file."""
        return self.before != self.after

    def diff(self) -> Iterable[str]:
        """Give the lines of a unified diff."""
        from difflib import unified_diff  # noqa: PLC0415 - only where it is asked for

        name = shown_name(self.path)
        before, after = (
            data.decode("utf-8", "replace").splitlines() for data in (self.before, self.after)
        )
        return unified_diff(before, after, name, f"{name} (formatted)", lineterm="")


def format_file(path: str) -> Formatted:
    """Format a file in memory.

    Raises:
        Failure: it cannot be read.
        RuleError: it is not a rule file.
    """
    before = read_rules(path)
    return Formatted(path, before, format_source(decode(shown_name(path), before)).encode())


def replace_file(path: str, data: bytes) -> None:
    """Put new bytes in the place of a file's, at once or not at all; permissions are kept.

    A symbolic link stays one: the file that it leads to is replaced.

    Raises:
        Failure: the file or its directory cannot be written.
    """
    target = Path(os.path.realpath(path))
    try:
        status = target.stat()
        if not os.access(target, os.W_OK):  # renaming would not ask
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        _replace(target, data, status)
    except OSError as error:
        raise os_failure(error, path) from None


def _replace(target: Path, data: bytes, status: os.stat_result) -> None:
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    made = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        with suppress(PermissionError):  # only root may give a file away
            os.chown(made, status.st_uid, status.st_gid)
        made.chmod(stat.S_IMODE(status.st_mode))
        made.replace(target)
    finally:
        made.unlink(missing_ok=True)


def _treat(path: str, *, check: bool, diff: bool) -> Outcome:
    """Format one file, and write or show what that gives."""
    try:
        formatted = format_file(path)
        if diff:
            _print_diff(formatted)
        elif not check:
            _write(formatted)
    except RuleError as error:
        print_diagnostics(error.diagnostics, "stderr")
        return Outcome.REFUSED
    except Failure as failure:
        failure.show()
        return Outcome.REFUSED
    if not formatted.is_changed:
        return Outcome.KEPT
    if check and not diff:
        click.echo(f"would change {visible(shown_name(path))}")
    return Outcome.CHANGED


def _write(formatted: Formatted) -> None:
    if formatted.path == STDIN:
        click.echo(formatted.after, nl=False)
    elif formatted.is_changed:
        replace_file(formatted.path, formatted.after)
        click.echo(f"formatted {visible(formatted.path)}")


def _print_diff(formatted: Formatted) -> None:
    colour = wants_colour("stdout")
    for line in formatted.diff():
        style = _DIFF_STYLES.get(line[:1], "plain")
        click.echo(painted(visible(line), style, colour=colour), color=colour)


def _summary(outcomes: Counter[Outcome], *, writes: bool) -> str:
    """Say how many files there were of each kind."""
    changed = "formatted" if writes else "would change"
    parts = [
        f"{in_words(outcomes[Outcome.CHANGED], 'file')} {changed}",
        f"{outcomes[Outcome.KEPT]:,} unchanged",
    ]
    if outcomes[Outcome.REFUSED]:
        parts.append(f"{outcomes[Outcome.REFUSED]:,} not formatted")
    return ", ".join(parts)


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, required=True)
@click.option("--check", is_flag=True, help="Write nothing; list the files that would change.")
@click.option("--diff", is_flag=True, help="Write nothing; show what would change.")
@click.pass_context
def fmt(ctx: click.Context, paths: tuple[str, ...], check: bool, diff: bool) -> None:  # noqa: FBT001 - click passes everything by name
    """Write rules in their canonical layout.

    Each PATH is a file, a directory (with those below it), or `-`, which reads standard input
    and writes standard output. Comments stay. A file is replaced at once or not at all, and is
    not touched where nothing changes.

    \b
      policyd fmt rules/
      policyd fmt --check rules/
      policyd fmt --diff rules/gpu.expr
      policyd fmt - < draft.expr

    \b
    Exit status:
      0  done
      1  with --check: files would change
      2  a file cannot be read, written, or parsed; the others are done nevertheless
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    files = dict.fromkeys(path for each in all_sets(paths) for path in each)
    outcomes = Counter(_treat(path, check=check, diff=diff) for path in files)
    if STDIN not in files:
        click.echo(_summary(outcomes, writes=not (check or diff)), err=True)
    if outcomes[Outcome.REFUSED]:
        ctx.exit(UNUSABLE)
    ctx.exit(1 if check and outcomes[Outcome.CHANGED] else 0)
