"""The command `policyd`: a group that imports a command's module when the command is run."""

import signal
import sys
from importlib import import_module
from typing import Final, NamedTuple, NoReturn

import click

from policyd.cli.failure import Failure, os_failure
from policyd.language.suggest import closest

INTERRUPTED: Final = 128 + 2
"""The exit status after Ctrl-C, as shells have it."""

BUG: Final = 70
"""The exit status of a fault in policyd itself: EX_SOFTWARE of BSD's sysexits."""


class _Lazy(NamedTuple):
    """Where a command is, and what `policyd --help` says of it without importing it."""

    module: str
    attribute: str
    summary: str


COMMANDS: Final = {
    "eval": _Lazy("policyd.cli.eval", "evaluate", "Evaluate an expression, or rules for a pod."),
    "check": _Lazy("policyd.cli.check", "check", "Find what is wrong with rules."),
    "test": _Lazy("policyd.cli.test", "test", "Run the tests of rules."),
    "fmt": _Lazy("policyd.cli.fmt", "fmt", "Write rules in their canonical layout."),
    "simulate": _Lazy(
        "policyd.cli.simulate", "simulate", "Place pods with the real loop, on a cluster in memory."
    ),
    "run": _Lazy("policyd.cli.run", "run", "Run the scheduler until it is told to end."),
    "explain": _Lazy(
        "policyd.cli.explain", "explain", "Say why a pod is where it is, or why it waits."
    ),
    "dump": _Lazy("policyd.cli.dump", "dump", "Write a live cluster into a file."),
    "version": _Lazy("policyd.cli.version", "version", "Say which version this is."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported one by one."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Give the commands in the order of the help."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        found = getattr(import_module(COMMANDS[cmd_name].module), COMMANDS[cmd_name].attribute)
        return found if isinstance(found, click.Command) else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments start with; say which one may be meant."""
        name = args[0]
        if name not in COMMANDS and not name.startswith("-"):
            near = closest(name, COMMANDS)
            remedy = f"did you mean `{near}`?" if near else f"there are {', '.join(COMMANDS)}"
            ctx.fail(f"there is no command `{name}`: {remedy}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, lazy.summary) for name, lazy in COMMANDS.items()])


def _show_version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:  # noqa: FBT001 - click gives it so
    if wanted and not ctx.resilient_parsing:
        from policyd.cli.version import described  # noqa: PLC0415 - only where it is asked for

        click.echo(described())
        ctx.exit()


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_show_version,
    help="Say which version this is.",
)
def policyd() -> None:
    """Run a Kubernetes scheduler whose whole policy is text.

    \b
      policyd check rules/
      policyd eval -e '2Gi + 500Mi > 2.4Gi'
      policyd eval rules/gpu.expr --pod pod.yaml --cluster dump.yaml

    `policyd COMMAND --help` says more, with examples.
    """  # noqa: D301 - `\b` tells click to keep the lines as they are


def main() -> NoReturn:
    """Run the command line and end the process with its exit status."""
    _prepare()
    try:
        status = policyd.main(prog_name="policyd", standalone_mode=False)
        _flush()
    except click.Abort:
        sys.exit(INTERRUPTED)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except Exception as error:  # noqa: BLE001 - a fault of ours must not look like a verdict
        if isinstance(error, OSError) and error.filename is None:  # no file: it is the output
            _end_without_output(error)
        _report_bug()
        sys.exit(BUG)
    sys.exit(status if isinstance(status, int) else 0)


def _prepare() -> None:
    """End quietly when the reader of a pipe goes away; print whatever the terminal can take."""
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _flush() -> None:
    """Write what is left, so that a full disk is noticed."""
    if sys.stdout is not None:
        sys.stdout.flush()


def _end_without_output(error: OSError) -> NoReturn:
    """End where standard output cannot be written, without trying once more."""
    sys.stdout = None
    failure = os_failure(error, "standard output")
    failure.show()
    sys.exit(failure.exit_code)


def _report_bug() -> None:
    import traceback  # noqa: PLC0415 - only where something went wrong

    traceback.print_exc()
    Failure("this is a fault in policyd", remedy="report it with the text above").show()
