"""Prints data for programs: JSON or YAML."""

import json
from typing import Any

import click

from policyd.cli.terminal import carries_unicode


def print_data(data: Any, form: str) -> None:
    """Print data as `json` or `yaml` on standard output."""
    if form == "json":
        text = json.dumps(data, indent=2, ensure_ascii=not carries_unicode(), allow_nan=False)
        click.echo(text)
        return
    import yaml  # noqa: PLC0415 - only where it is asked for

    unicode = carries_unicode()
    click.echo(yaml.safe_dump(data, sort_keys=False, allow_unicode=unicode, width=100), nl=False)
