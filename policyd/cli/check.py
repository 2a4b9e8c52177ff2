"""`policyd check`: everything that is wrong with rules."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import click

from policyd.cli.assignments import read_settings
from policyd.cli.failure import Failure
from policyd.cli.output import print_data
from policyd.cli.report import count, counts_in_words, in_words, print_diagnostics
from policyd.cli.rule_files import RuleSetFiles, all_sets, read_sources
from policyd.language.diagnostics import Diagnostic, Severity
from policyd.language.suggest import closest


@dataclass(frozen=True, slots=True)
class Examined:
    """What was found in one rule set or in several."""

    files: int
    rules: int
    blocks: int
    found: tuple[Diagnostic, ...]
    rulesets: tuple[Any, ...] = ()  # those that compile, for `--plan`

    def __add__(self, other: "Examined") -> "Examined":
        return Examined(
            self.files + other.files,
            self.rules + other.rules,
            self.blocks + other.blocks,
            self.found + other.found,
            self.rulesets + other.rulesets,
        )

    def without_notes(self) -> "Examined":
        """Leave out what is only a note."""
        kept = tuple(d for d in self.found if d.severity is not Severity.NOTE)
        return Examined(self.files, self.rules, self.blocks, kept, self.rulesets)

    def in_words(self) -> str:
        """Give the summary's line."""
        parts = [in_words(self.files, "file"), in_words(self.rules, "rule")]
        if self.blocks:
            parts.append(in_words(self.blocks, "other block"))
        return f"{', '.join(parts)}: {counts_in_words(self.found) or 'nothing found'}"

    def summary(self) -> dict[str, int]:
        """Give the summary as data."""
        counts = count(self.found)
        severities = {f"{each.value}s": counts[each] for each in Severity}
        return {"files": self.files, "rules": self.rules, "blocks": self.blocks, **severities}


def examine_set(files: RuleSetFiles, settings: Sequence[str]) -> Examined:
    """Compile the files of a rule set as far as they go.

    Raises:
        Failure: a file cannot be read, or a parameter cannot have the value that is set.
    """
    from policyd.policy.load import examine  # noqa: PLC0415 - costs more than `--explain` needs

    sources, unreadable = read_sources(files)
    ruleset, found = examine(sources)
    every = Examined(
        len(files),
        len(ruleset.rules) if ruleset else 0,
        len(ruleset.blocks) if ruleset else 0,
        (*unreadable, *found),
    )
    if ruleset is None or count(every.found)[Severity.ERROR]:
        return every
    if settings:
        _settle(ruleset.parameters, settings)
    return replace(every, rulesets=(ruleset,))


def _settle(parameters: Any, settings: Sequence[str]) -> None:
    from policyd.policy.params import ParameterError, settle  # noqa: PLC0415 - as above

    try:
        settle(parameters, read_settings(settings))
    except ParameterError as error:
        raise Failure(error.message, "--set", error.remedy) from None


def explain_code(code: str) -> str:
    """Give a code's page.

    Raises:
        Failure: there is no such code.
    """
    from policyd.language.codes import CODES, explain  # noqa: PLC0415 - only where asked for

    known = code.strip().upper()
    if known not in CODES:
        near = closest(known, CODES)
        remedy = f"did you mean `{near}`?" if near else f"codes look like `{min(CODES)}`"
        raise Failure(f"there is no code `{code}`", "--explain", remedy)
    return explain(known)


def _print(examined: Examined, output: str) -> None:
    if output == "json":
        from policyd.language.render import to_json  # noqa: PLC0415 - only where asked for

        found = [to_json(diagnostic) for diagnostic in examined.found]
        print_data({"diagnostics": found, "summary": examined.summary()}, output)
        return
    print_diagnostics(examined.found, "stdout")
    click.echo(examined.in_words())


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="The form of the output: text for people, or JSON.",
)
@click.option("--portable", is_flag=True, help="Note each place that goes beyond Kubernetes' CEL.")
@click.option("--plan", is_flag=True, help="Say how each expression is evaluated.")
@click.option("--strict", is_flag=True, help="Let warnings count as errors do.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PARAM=VALUE",
    help="Check that a parameter can have a value. May be given more than once.",
)
@click.option("--explain", "code", metavar="CODE", help="Print what a code means, and stop.")
@click.pass_context
def check(
    ctx: click.Context,
    paths: tuple[str, ...],
    output: str,
    portable: bool,  # noqa: FBT001 - click passes everything by name
    plan: bool,  # noqa: FBT001 - as above
    strict: bool,  # noqa: FBT001 - as above
    settings: tuple[str, ...],
    code: str | None,
) -> None:
    """Find what is wrong with rules.

    Each PATH is a file, a directory, or `-` for standard input. Files are one rule set together;
    a directory is one rule set for itself, and so is each directory in it that has `.expr` files.
    All findings are shown, not the first. Changes nothing.

    \b
      policyd check rules/
      policyd check rules/gpu.expr --set resource=amd.com/gpu
      policyd check rules/ --portable -o json
      policyd check rules/ --plan
      policyd check --explain E203

    \b
    Exit status:
      0  no errors; there may be warnings
      1  errors in the rules, or with --strict warnings
      2  something cannot be used: an option, a path, a value of --set
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    if code is not None:
        click.echo(explain_code(code), nl=False)
        return
    if not paths:
        raise click.UsageError("give files or directories to check, or `--explain CODE`", ctx)
    sets = [examine_set(files, settings) for files in all_sets(paths)]
    examined = sum(sets[1:], start=sets[0])
    if not portable:
        examined = examined.without_notes()
    if plan and not count(examined.found)[Severity.ERROR]:
        from policyd.cli.check_plan import print_plans  # noqa: PLC0415 - only where asked for

        print_plans(examined.rulesets, output)
        ctx.exit(0)
    _print(examined, output)
    counts = count(examined.found)
    fails = counts[Severity.ERROR] or (strict and counts[Severity.WARNING])
    ctx.exit(1 if fails else 0)
