"""`policyd test`: whether rules decide as their tests expect."""

import click

from policyd.cli.assignments import read_settings


@click.command("test")
@click.argument("paths", metavar="PATH...", nargs=-1)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "junit"]),
    default="table",
    show_default=True,
    help="The form of the output: text for people, JSON, or JUnit's XML.",
)
@click.option(
    "--run", "pattern", metavar="REGEX", help="Run only the tests whose `FILE: NAME` matches."
)
@click.option(
    "--coverage",
    is_flag=True,
    help="Say which conditions were never true, or never false.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="PARAM=VALUE",
    help="Give a parameter a value in all rules that have it. May be given more than once.",
)
@click.pass_context
def test(
    ctx: click.Context,
    paths: tuple[str, ...],
    output: str,
    pattern: str | None,
    coverage: bool,  # noqa: FBT001 - click passes everything by name
    settings: tuple[str, ...],
) -> None:
    """Run the tests of rules.

    Tests stand beside the rules: those of gpu.expr in gpu.test.yaml. Each gives a pod and a
    cluster, and what must come out: on which nodes the pod fits, which rule rejects it and why,
    a score, an order of nodes, the node chosen. docs/operations.md has the format.

    A PATH is a file of tests, a rule file with tests beside it, or a directory, which is searched
    to its ends.

    \b
      policyd test rules/
      policyd test rules/gpu.expr --run 'fills'
      policyd test rules/ --coverage
      policyd test rules/ -o junit > tests.xml

    \b
    Exit status:
      0  every test passed
      1  a test failed
      2  something cannot be used: an option, a path, a test, a rule file
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    if not paths:
        raise click.UsageError("give files or directories with tests: `policyd test rules/`", ctx)
    if coverage and output == "junit":
        raise click.UsageError("JUnit's XML has no coverage: give `-o table` or `-o json`", ctx)
    from policyd.cli.test_run import run_tests  # noqa: PLC0415 - not for `--help`

    ctx.exit(run_tests(paths, read_settings(settings), pattern, output, coverage=coverage))
