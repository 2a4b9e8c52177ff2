"""`policyd explain NAMESPACE/POD`: why a pod is where it is, or why it waits."""

from typing import Final

import click

DEFAULT_URL: Final = "http://127.0.0.1:10259"
"""Where `policyd run` listens, unless it is told otherwise."""


@click.command("explain")
@click.argument("pod", metavar="NAMESPACE/POD")
@click.option(
    "--from",
    "source",
    metavar="URL|FILE",
    default=DEFAULT_URL,
    show_default=True,
    help="A running policyd, or what `policyd simulate --record` wrote; `-` for standard input.",
)
@click.option("--live", is_flag=True, help="Ask the policyd that decides in the live cluster.")
@click.option("--kubeconfig", metavar="FILE", help="With --live: the cluster of this kubeconfig.")
@click.option("--context", metavar="NAME", help="With --live: of the kubeconfig, this context.")
@click.option(
    "--lease",
    metavar="[NAMESPACE/]NAME",
    default="policyd",
    show_default=True,
    help="With --live: the Lease of `policyd run --leader-elect`.",
)
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    default=10259,
    show_default=True,
    help="With --live: the port that it answers HTTP requests on.",
)
@click.option("--node", metavar="NAME", help="All that was found out about this node.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["table", "json", "yaml"]),
    default="table",
    show_default=True,
    help="The form of the output.",
)
@click.pass_context
def explain(
    ctx: click.Context,
    pod: str,
    source: str,
    live: bool,  # noqa: FBT001 - click passes by name
    kubeconfig: str | None,
    context: str | None,
    lease: str,
    port: int,
    node: str | None,
    output: str,
) -> None:
    """Say why a pod is where it is, or why it waits.

    Print the last decision for NAMESPACE/POD as it was recorded: what was decided and when, under
    which rules; why not on the other nodes, with the values that decided; and, for a pod that
    waits, the smallest change that would have let it fit. A pod without a namespace is taken to be
    in `default`.

    \b
      policyd explain shop/web-0
      policyd explain shop/web-0 --node ant
      policyd explain shop/web-0 --live --lease policyd/policyd
      policyd explain shop/web-0 --from http://10.1.2.3:10259 -o json
      policyd simulate rules/ --cluster dump.yaml --record decisions.jsonl
      policyd explain shop/web-0 --from decisions.jsonl

    \b
    Exit status:
      0  the pod was placed
      1  it waits
      2  there is no such decision, or it cannot be read
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    from policyd.cli.explanation import explain_pod  # noqa: PLC0415 - only when it is run

    if live or kubeconfig or context:
        from policyd.cli.live import Live  # noqa: PLC0415 - only with --live
        from policyd.cli.live_records import LiveServer  # noqa: PLC0415 - as above

        server = LiveServer(Live(kubeconfig, context), lease, port)
        ctx.exit(explain_pod(pod, server, node, output))
    ctx.exit(explain_pod(pod, source, node, output))
