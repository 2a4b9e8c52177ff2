"""`policyd eval`: an expression's value, or what rules say of a pod on each node."""

import click

from policyd.cli.assignments import read_bindings, read_namespace, read_settings, read_text
from policyd.cli.live import Live
from policyd.cli.request import Request


@click.command("eval")
@click.argument("rules", metavar="[RULE...]", nargs=-1)
@click.option("-e", "--expression", metavar="TEXT", help="Evaluate this expression.")
@click.option(
    "--pod",
    metavar="FILE",
    multiple=True,
    help="Pods, or workloads whose pod template counts; YAML or JSON, `-` for standard input.",
)
@click.option("--pod-name", metavar="NAME", help="Of the pods, only this: NAME or NAMESPACE/NAME.")
@click.option("--nodes", metavar="FILE", multiple=True, help="The nodes, with nothing on them.")
@click.option(
    "--cluster",
    metavar="FILE",
    multiple=True,
    help="A dump: what `kubectl get nodes,pods,namespaces -A -o yaml` (or json) prints.",
)
@click.option("--live", is_flag=True, help="Read the cluster that kubectl uses.")
@click.option("--kubeconfig", metavar="FILE", help="With --live: the cluster of this kubeconfig.")
@click.option("--context", metavar="NAME", help="With --live: of the kubeconfig, this context.")
@click.option("--node", metavar="NAME", multiple=True, help="Only this node; may be repeated.")
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="The namespace of pods whose manifests name none.  [default: default]",
)
@click.option(
    "--now", metavar="TIME", help="The time of the decision, RFC 3339.  [default: the clock's]"
)
@click.option(
    "--set",
    "settings",
    metavar="PARAM=VALUE",
    multiple=True,
    help="Give a parameter of the rules a value; may be repeated.",
)
@click.option(
    "--bind",
    "bindings",
    metavar="NAME=JSON",
    multiple=True,
    help="With -e: give a name a value; may be repeated.",
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
def evaluate(
    ctx: click.Context,
    rules: tuple[str, ...],
    expression: str | None,
    pod: tuple[str, ...],
    pod_name: str | None,
    nodes: tuple[str, ...],
    cluster: tuple[str, ...],
    live: bool,  # noqa: FBT001 - click passes by name
    kubeconfig: str | None,
    context: str | None,
    node: tuple[str, ...],
    namespace: str | None,
    now: str | None,
    settings: tuple[str, ...],
    bindings: tuple[str, ...],
    output: str,
) -> None:
    """Evaluate an expression, or rules for a pod.

    With -e, print the expression's value and type. Names like `pod` and `node` are there when the
    options give them; an expression that reads `node` is evaluated on each.

    With RULE files (or a directory of them), say for each pod and node whether the pod fits, what
    each rule gives, and why not where it does not fit. The best node comes first.

    Nodes come from --nodes, --cluster or --live, else from the file of the pod, else from a small
    sample cluster that ships with policyd. With --live and without --pod, the rules decide for
    the pods of the cluster that wait, or for the one that --pod-name names.

    \b
      policyd eval -e '2Gi + 500Mi > 2.4Gi'
      policyd eval -e 'replicas * 2' --bind replicas=3
      policyd eval -e 'node.free.memory > 4Gi' --cluster dump.yaml
      policyd eval rules/gpu.expr --pod pod.yaml
      policyd eval rules/ --pod deployment.yaml --cluster dump.json -o json
      policyd eval rules/ --live --pod-name shop/web-0
      kubectl get pod web -o yaml | policyd eval rules/ --pod - --cluster dump.yaml

    \b
    Exit status:
      0  the expression has a value (false is one); every pod fits somewhere
      1  the evaluation ends in an error; a pod fits nowhere
      2  the input cannot be used: an option, a rule, a file
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    request = Request(
        pod,
        nodes,
        cluster,
        pod_name,
        node,
        read_namespace(namespace),
        now,
        Live(kubeconfig, context) if live or kubeconfig or context else None,
    )
    if fault := _misuse(ctx, request):
        raise click.UsageError(fault, ctx)
    if expression is not None:
        from policyd.cli.eval_expression import evaluate_expression  # noqa: PLC0415 - one of two

        text = read_text(expression, "--expression")
        ctx.exit(evaluate_expression(text, read_bindings(bindings), request, output))
    from policyd.cli.eval_rules import evaluate_rules  # noqa: PLC0415 - one of two

    ctx.exit(evaluate_rules(rules, read_settings(settings), request, output))


def _misuse(ctx: click.Context, request: Request) -> str | None:
    """Say which options do not go together, and what to do instead."""
    given = {name for name, value in ctx.params.items() if value}
    if {"rules", "expression"} <= given:
        return "give rules or an expression, not both: leave out the files or -e"
    if ctx.params["expression"] is None and "rules" not in given:
        return "give rules, or an expression with -e: `policyd eval RULE... --pod FILE`"
    if request.live and given & {"nodes", "cluster"}:
        return "--live gives the nodes: leave out --nodes and --cluster"
    if {"nodes", "cluster"} <= given:
        return "--nodes and --cluster both give the nodes: a dump has them, leave out --nodes"
    if "expression" in given and "settings" in given:
        return "--set is for parameters of rules: with -e give names a value with --bind"
    if "rules" in given and "bindings" in given:
        return "--bind is for -e: give parameters of rules a value with --set"
    if "rules" in given and not (request.pod or request.live):
        return "rules decide for a pod: give one with --pod FILE"
    if "pod_name" in given and not (request.pod or (request.live and "rules" in given)):
        return "--pod-name picks from a file: give it with --pod FILE"
    return None
