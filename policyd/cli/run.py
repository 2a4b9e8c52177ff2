"""`policyd run`: the scheduler as a process that goes on until it is told to end."""

import click

from policyd.cli.assignments import read_settings
from policyd.cli.live import read_live


@click.command("run")
@click.option(
    "--rules",
    metavar="PATH",
    multiple=True,
    help="A rule file, or a directory of them, reloaded when they change; may be repeated.",
)
@click.option(
    "--profile",
    "profiles",
    metavar="NAME=PATH[,PATH]",
    multiple=True,
    help="Other rules for the pods that ask for the scheduler NAME; may be repeated.",
)
@click.option(
    "--kubeconfig", metavar="FILE", help="Schedule for the API server of this kubeconfig."
)
@click.option("--context", metavar="NAME", help="Of the kubeconfig, this context.")
@click.option(
    "--in-cluster", is_flag=True, help="Schedule for the cluster whose pod this process runs in."
)
@click.option(
    "--configmaps",
    metavar="NAMESPACE",
    help="Take rules from ConfigMaps there too, by their label `policyd.io/rules: SCHEDULER`.",
)
@click.option(
    "--leader-elect/--no-leader-elect",
    default=False,
    help="Decide only while holding a Lease, so that replicas can stand by.  [default: no]",
)
@click.option(
    "--lease",
    metavar="[NAMESPACE/]NAME",
    default="policyd",
    show_default=True,
    help="The Lease; without namespace, in that of the context or of the pod.",
)
@click.option(
    "--cluster",
    metavar="FILE",
    multiple=True,
    help="A dump, which is the cluster in memory at the start; its waiting pods are placed.",
)
@click.option(
    "--watch-pods",
    metavar="PATH",
    help="A manifest, or a directory of them: their pods come, and go when they are removed.",
)
@click.option(
    "--set",
    "settings",
    metavar="PARAM=VALUE",
    multiple=True,
    help="Give a parameter of the rules a value; may be repeated.",
)
@click.option(
    "--bind-address",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Where to answer HTTP requests; 0.0.0.0 or :: is everywhere.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=10259,
    show_default=True,
    help="The port for HTTP requests; 0 is any free one.",
)
@click.option(
    "--workers",
    type=click.IntRange(1, 64),
    default=1,
    show_default=True,
    help="How many threads decide; more than one pays only on a Python without the lock.",
)
@click.option(
    "--deadline",
    metavar="DURATION",
    default="500ms",
    show_default=True,
    help="How long one decision may take before the pod goes back to the queue.",
)
@click.option(
    "--log-format",
    type=click.Choice(["json", "console"]),
    help="The form of the log on standard error.  [default: console on a terminal, else json]",
)
@click.option(
    "--log-level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="The least important messages that are logged.",
)
@click.option("--debug/--no-debug", default=True, help="Whether /debug is answered.")
@click.pass_context
def run(
    ctx: click.Context,
    rules: tuple[str, ...],
    profiles: tuple[str, ...],
    kubeconfig: str | None,
    context: str | None,
    in_cluster: bool,  # noqa: FBT001 - click passes by name
    configmaps: str | None,
    leader_elect: bool,  # noqa: FBT001 - click passes by name
    lease: str,
    cluster: tuple[str, ...],
    watch_pods: str | None,
    settings: tuple[str, ...],
    bind_address: str,
    port: int,
    workers: int,
    deadline: str,
    log_format: str | None,
    log_level: str,
    debug: bool,  # noqa: FBT001 - click passes by name
) -> None:
    """Run the scheduler until it is told to end.

    Place the waiting pods of a cluster, and every pod that comes, by rules that are reloaded when
    they change. The cluster is that of a kubeconfig, that of the pod which this runs in, or one
    in memory, which a dump describes at the start. One line on standard output says when it is
    ready; the log goes to standard error.

    Pods that ask for the scheduler `policyd` go by --rules; in memory, those that name none do
    too. Pods that ask for a scheduler that is no profile are left alone, and counted.

    \b
      policyd run --rules rules/ --kubeconfig ~/.kube/config
      policyd run --in-cluster --configmaps policyd --leader-elect
      policyd run --rules rules/ --cluster dump.yaml
      policyd run --rules rules/ --cluster dump.yaml --watch-pods incoming/
      policyd run --rules rules/ --profile batch=batch.expr --cluster dump.json --port 0
      curl http://127.0.0.1:10259/readyz
      policyd explain shop/web-0

    \b
    Exit status:
      0    it was told to end, and what was decided is bound
      1    it was told to end, and something was not done in time
      2    the input cannot be used: an option, a dump, an address
      70   a fault of policyd itself
      143  it was told to end twice (130 by Ctrl-C), and ended at once
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    if fault := _misuse(ctx):
        raise click.UsageError(fault, ctx)
    from policyd.cli.run_daemon import RunOptions, run_daemon  # noqa: PLC0415 - only when it is run

    options = RunOptions(
        rules=rules,
        profiles=profiles,
        live=read_live(kubeconfig, context, in_cluster=in_cluster),
        configmaps=configmaps,
        lease=lease if leader_elect else None,
        cluster=cluster,
        watch_pods=watch_pods,
        settings=read_settings(settings),
        host=bind_address,
        port=port,
        workers=workers,
        deadline=deadline,
        log_form={"console": "text"}.get(log_format or "", log_format),
        log_level=log_level,
        debug=debug,
    )
    ctx.exit(run_daemon(options))


def _misuse(ctx: click.Context) -> str | None:
    """Say which options do not go together, and what to do instead."""
    given = {name for name, value in ctx.params.items() if value}
    live = bool(given & {"kubeconfig", "context", "in_cluster"})
    if live and "cluster" in given:
        return "--cluster is a cluster in memory: leave it out, or --kubeconfig and --in-cluster"
    if not live and "cluster" not in given:
        return "there is no cluster: give --kubeconfig FILE, --in-cluster, or --cluster FILE"
    if live and "watch_pods" in given:
        return "--watch-pods is for a cluster in memory: create pods in the cluster instead"
    if not live and given & {"configmaps", "leader_elect"}:
        return "--configmaps and --leader-elect need an API server: give --kubeconfig FILE"
    return None
