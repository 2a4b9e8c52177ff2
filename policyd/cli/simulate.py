"""`policyd simulate`: the scheduling loop over a dump or a trace, on a cluster in memory."""

import click

from policyd.cli.assignments import read_settings
from policyd.cli.request import Request, Simulated


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
    "--trace",
    type=click.Choice(["openb"]),
    help="--nodes and --pods are the CSV files of this trace, or stand in --trace-dir.",
)
@click.option("--trace-dir", metavar="DIR", help="Where the published files of the trace are.")
@click.option(
    "--trace-name",
    metavar="NAME",
    help="Which of the pod files in --trace-dir, such as `cpu250`.  [default: default]",
)
@click.option(
    "--arrivals",
    metavar="RATIO",
    type=click.FloatRange(0, 10, min_open=True),
    help="How much of the trace's pods arrives: this many times the cluster's GPUs."
    "  [default: 1.3]",
)
@click.option(
    "--times",
    is_flag=True,
    help="Pods arrive at the times of their creation, and end when the trace says so.",
)
@click.option(
    "--drop/--wait",
    default=None,
    help="Whether a pod that fits nowhere leaves, or waits."
    "  [default: --drop for a trace without --times, else --wait]",
)
@click.option(
    "--compare",
    metavar="RULE[,RULE]",
    multiple=True,
    help="Run the same under another rule set: a directory, or files with commas between;"
    " may be repeated.",
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
    help="Of what is drawn from a trace, and of ties: where rules leave several nodes equal.",
)
@click.option(
    "--now", metavar="TIME", help="When it starts, RFC 3339.  [default: the clock's time]"
)
@click.option(
    "--resource",
    metavar="NAME",
    help="The resource whose allocation is followed.  [default: GPUs, else cpu]",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Draw the allocation over the arrivals, a line for each rule set, as .png or .svg.",
)
@click.option(
    "--record",
    metavar="FILE",
    help="Write every decision under RULE... with its reasons, for `policyd explain --from FILE`;"
    " it takes longer so.",
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
    trace: str | None,
    trace_dir: str | None,
    trace_name: str | None,
    arrivals: float | None,
    times: bool,  # noqa: FBT001 - click passes by name
    drop: bool | None,  # noqa: FBT001 - as above
    compare: tuple[str, ...],
    settings: tuple[str, ...],
    seed: int,
    now: str | None,
    resource: str | None,
    plot: str | None,
    record: str | None,
    output: str,
) -> None:
    """Place pods with the real loop, on a cluster in memory.

    The pods that wait in the dump and those of --pods arrive at once and are placed one after
    another by the rules in the RULE files, in the order of the queue: by priority, then by age.
    What is on the nodes stays. With --trace pods are drawn from the trace and arrive one after the
    other; one that fits nowhere leaves.

    \b
      policyd simulate rules/ --cluster dump.yaml
      policyd simulate rules/fit.expr --pods jobs.yaml --nodes nodes.yaml
      policyd simulate rules/ --cluster dump.json --compare rules-new/ -o json
      policyd simulate rules/ --cluster dump.yaml --record decisions.jsonl
      policyd simulate rules/openb/fgd --compare rules/openb/bestfit \\
        --trace openb --trace-dir openb --seed 42 --plot allocation.svg

    \b
    Exit status:
      0  every pod is placed
      1  a pod waits at the end, or left because it fitted nowhere
      2  the input cannot be used: an option, a rule, a file
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    request = Request(pods, nodes, cluster, now=now)
    simulated = Simulated(
        trace, trace_dir, trace_name, arrivals, times, drop, seed, resource, plot, record
    )
    _check(ctx, request, simulated)
    from policyd.cli.simulate_rules import simulate_rules  # noqa: PLC0415 - only when it is run

    sets = [rules, *(tuple(each.split(",")) for each in compare)]
    ctx.exit(simulate_rules(sets, read_settings(settings), request, simulated, output))


def _check(ctx: click.Context, request: Request, simulated: Simulated) -> None:
    """Refuse options that do not go together.

    Raises:
        UsageError: some do not.
    """
    refusal = (
        _of_trace(request, simulated) if simulated.trace else _of_manifests(request, simulated)
    )
    if refusal:
        raise click.UsageError(refusal, ctx)


def _of_manifests(request: Request, simulated: Simulated) -> str:
    if simulated.trace_dir or simulated.trace_name:
        return "--trace-dir and --trace-name say where a trace is: add --trace openb"
    if simulated.arrivals is not None:
        return "--arrivals draws pods from a trace: add --trace openb, or leave it out"
    if request.nodes and request.cluster:
        return "--nodes and --cluster both give the nodes: a dump has them, leave out --nodes"
    if not request.pod and not request.cluster:
        return "there is nothing to place: give --pods, --cluster or --trace"
    return ""


def _of_trace(request: Request, simulated: Simulated) -> str:
    if request.cluster:
        return "--trace has its own nodes: leave out --cluster"
    if simulated.trace_dir is None and not (request.nodes and request.pod):
        return (
            "a trace needs its files: give --trace-dir with the published ones, or --nodes and"
            " --pods with CSV files"
        )
    if simulated.trace_dir is not None and (request.nodes or request.pod):
        return "--trace-dir has the nodes and the pods: leave out --nodes and --pods"
    if simulated.trace_dir is None and simulated.trace_name is not None:
        return "--trace-name names a file in --trace-dir: give that too, or leave it out"
    if simulated.times and simulated.arrivals is not None:
        return "--arrivals draws pods, and --times takes all as they came: give one of the two"
    return ""
