"""`policyd version`: the version, and the hash of the grammar that it reads rules by."""

from hashlib import sha256
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as installed_version

import click

from policyd.assets.locate import shipped
from policyd.cli.output import print_data


def facts() -> dict[str, str]:
    """Give the version and the grammar's hash."""
    try:
        number = installed_version("policyd")
    except PackageNotFoundError:  # run from a source tree
        number = "unknown (not installed)"
    grammar = (shipped("grammar") / "policyd.lark").read_bytes()
    return {"version": number, "grammar": sha256(grammar).hexdigest()[:12]}


def described() -> str:
    """Give them as text."""
    known = facts()
    return f"policyd {known['version']}\ngrammar {known['grammar']}"


@click.command()
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="The form of the output.",
)
def version(output: str) -> None:
    """Say which version this is.

    The hash of the grammar tells two versions of the language apart.
    """
    if output == "table":
        click.echo(described())
    else:
        print_data(facts(), output)
