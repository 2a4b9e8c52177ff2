"""`policyd dump`: writes what decisions in a cluster depend on into a file."""

import click


@click.command("dump")
@click.argument("file", metavar="[FILE]", required=False)
@click.option("--kubeconfig", metavar="FILE", help="The cluster of this kubeconfig.")
@click.option("--context", metavar="NAME", help="Of the kubeconfig, this context.")
@click.option("--in-cluster", is_flag=True, help="The cluster whose pod this process runs in.")
@click.option("--redact", is_flag=True, help="Replace names, the same one always by the same.")
@click.option(
    "-o",
    "--output",
    type=click.Choice(["json", "yaml"]),
    default="json",
    show_default=True,
    help="The form of the output; YAML is large, and slow to write and to read.",
)
@click.pass_context
def dump(
    ctx: click.Context,
    file: str | None,
    kubeconfig: str | None,
    context: str | None,
    in_cluster: bool,  # noqa: FBT001 - click passes by name
    redact: bool,  # noqa: FBT001 - as above
    output: str,
) -> None:
    """Write a live cluster into a file.

    Without FILE it goes to standard output. What is written is what `policyd eval --cluster` and
    `policyd simulate --cluster` read: nodes, pods and namespaces, and as far as it is permitted
    to read them, priority and runtime classes, storage, Services and what owns pods. Without
    options the cluster is the one that kubectl uses.

    With --redact the dump can be shown to others: names are replaced, and commands, environment,
    addresses and foreign annotations are left out. Keys of labels stay, and so do the values of
    labels that Kubernetes or vendors of hardware define.

    \b
      policyd dump cluster.json
      policyd dump --context staging --redact | policyd simulate rules/ --cluster -

    \b
    Exit status:
      0  the dump is written
      2  the cluster cannot be read, or the file cannot be written
    """  # noqa: D301 - `\b` tells click to keep the lines as they are
    from policyd.cli.dump_cluster import dump_cluster  # noqa: PLC0415 - only when it is run
    from policyd.cli.live import Live, read_live  # noqa: PLC0415 - as above

    live = read_live(kubeconfig, context, in_cluster=in_cluster) or Live()
    dump_cluster(live, file, output, redact=redact)
    ctx.exit(0)
