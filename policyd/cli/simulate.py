"""`policyd simulate`: the scheduling loop over a dump or manifests, on an embedded cluster."""

import click

from policyd.cli.assignments import read_settings
from policyd.cli.request import Request


@click.command("simulate")
@click.argument("rules", metavar="RULE...", nargs=-1, required=True)
@click.option(
    "--pods",
    metavar="FILE",
    multiple=True,
    help="Pods to place, or workloads whose pod template is placed once; `-` for standard input.",
)
@click.option("--nodes", metavar="FILE", multiple=True, help="The nodes, with nothing on them.")
@click.option(
    "--cluster",
    metavar="FILE",
    multiple=True,
    help="A dump: its pods are on their nodes, and those on none are placed too.",
)
@click.option(
    "--compare",
    metavar="RULE",
    multiple=True,
    help="Run the same once more under these rules; may be repeated for several files of one set.",
)
@click.option(
    "--set",
    "settings",
    metavar="PARAM=VALUE",
    multiple=True,
    help="Give a parameter of the rules a value; may be repeated.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Where rules leave several nodes equal, another seed takes others.",
)
@click.option(
    "--now", metavar="TIME", help="When it starts, RFC 3339.  [default: the clock's time]"
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="The form of the output.",
)
@click.pass_context
def simulate(
    ctx: click.Context,
    rules: tuple[str, ...],
    pods: tuple[str, ...],
    nodes: tuple[str, ...],
    cluster: tuple[str, ...],
    compare: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int,
    now: str | None,
    output: str,
) -> None:
    """Place pods with the real loop, on a cluster in memory.

    The pods that wait in the dump and those of --pods arrive at once and are placed one after
    another by the rules in the RULE files, in the order of the queue: by priority, then by age.
    What is on the nodes stays.

    \b
      policyd simulate rules/ --cluster dump.yaml
      policyd simulate rules/fit.expr --pods jobs.yaml --nodes nodes.yaml
      policyd simulate rules/ --cluster dump.json --compare rules-new/ -o json

    \b
    Exit status:
      0  every pod is placed
      1  a pod waits at the end
      2  the input cannot be used: an option, a rule, a file
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    if nodes and cluster:
        raise click.UsageError(
            "--nodes and --cluster both give the nodes: a dump has them, leave out --nodes", ctx
        )
    if not pods and not cluster:
        raise click.UsageError("there is nothing to place: give --pods or --cluster", ctx)
    from policyd.cli.simulate_rules import simulate_rules  # noqa: PLC0415 - only when it is run

    request = Request(pods, nodes, cluster, now=now)
    sets = [rules, compare] if compare else [rules]
    ctx.exit(simulate_rules(sets, read_settings(settings), request, seed, output))
