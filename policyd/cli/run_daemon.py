"""Starts the daemon that the options of `policyd run` describe, and waits for its end."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from policyd.cli.failure import Failure
from policyd.cli.inputs import read_inputs
from policyd.cli.live import Live, connection_of
from policyd.cli.request import Request
from policyd.cli.version import facts
from policyd.scheduler.profile import DEFAULT_NAME
from policyd.values.errors import ValueFault
from policyd.values.times import SECOND, parse_duration

if TYPE_CHECKING:
    from policyd.daemon.run import Connect

_NEEDED: Final = frozenset(
    {"prometheus_client", "structlog", "urllib3", "waitress", "watchdog", "werkzeug"}
)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the options say, as they were given."""

    rules: tuple[str, ...]
    profiles: tuple[str, ...]
    live: Live | None
    configmaps: str | None
    lease: str | None
    cluster: tuple[str, ...]
    watch_pods: str | None
    settings: Mapping[str, str]
    host: str
    port: int
    workers: int
    deadline: str
    log_form: str | None
    log_level: str
    debug: bool


def run_daemon(options: RunOptions) -> int:
    """Run until the end, and give the exit status.

    Raises:
        Failure: the input cannot be used.
    """
    profiles = _profiles(options)
    deadline = _seconds(options.deadline)
    _check_watched(options.watch_pods)
    try:
        return _run(options, profiles, deadline, _cluster(options))
    except ModuleNotFoundError as error:
        if error.name in _NEEDED:
            raise Failure(
                f"`policyd run` needs the package {error.name}",
                remedy="install policyd with its extra `run`: `pip install 'policyd[run]'`",
            ) from None
        raise


def _cluster(options: RunOptions) -> "Connect":
    """Give what connects the daemon with its cluster.

    Raises:
        Failure: the dump or the kubeconfig cannot be used.
    """
    if options.live is None:
        from policyd.daemon.embedded import EmbeddedFeed  # noqa: PLC0415 - may not be installed

        request = Request(cluster=options.cluster)
        dump = read_inputs(request, needs_pods=False, needs_nodes=False).snapshot
        return lambda site: EmbeddedFeed(site, dump, options.watch_pods)
    from policyd.daemon.kube_feed import KubeConfig, KubeFeed  # noqa: PLC0415 - as above

    connection = connection_of(options.live)
    namespace, slash, name = (options.lease or "").rpartition("/")
    if options.lease and (not name or (slash and not namespace)):
        raise Failure(f"this names no lease: {options.lease}", "--lease", "write `NAMESPACE/NAME`")
    config = KubeConfig(
        connection=connection,
        rules_namespace=options.configmaps,
        lease=name or None,
        namespace=namespace or connection.namespace,
    )
    return lambda site: KubeFeed(site, config)


def _run(
    options: RunOptions,
    profiles: Mapping[str, tuple[str, ...]],
    deadline: float,
    connect: "Connect",
) -> int:
    from policyd.daemon.logs import configure_logs  # noqa: PLC0415 - may not be installed
    from policyd.daemon.observe import tell_build  # noqa: PLC0415 - as above
    from policyd.daemon.run import ProfileConfig, RunConfig, run  # noqa: PLC0415 - as above
    from policyd.daemon.server import ListenError  # noqa: PLC0415 - as above
    from policyd.daemon.tracing import make_tracer  # noqa: PLC0415 - as above
    from policyd.metrics import Metrics  # noqa: PLC0415 - as above

    config = RunConfig(
        profiles=tuple(ProfileConfig(name, paths) for name, paths in profiles.items()),
        settings=options.settings,
        host=options.host,
        port=options.port,
        workers=options.workers,
        deadline_seconds=deadline,
        # in a live cluster, pods that name no scheduler are the default scheduler's
        default_profile=None if options.live is not None else next(iter(profiles)),
        debug=options.debug,
        awaits=("configmaps",) if options.configmaps else (),
    )
    metrics = Metrics()
    tell_build(metrics, **facts())
    logs = configure_logs(options.log_level, options.log_form, metrics=metrics)
    traces = make_tracer(os.environ, ignored=metrics.trace_contexts_ignored.inc)
    try:
        return run(
            config,
            connect,
            click.echo,
            metrics=metrics,
            traces=traces,
        )
    except ListenError as error:
        raise Failure(error.message, error.place, error.remedy) from None
    finally:
        if traces is not None:
            traces.close()
        logs.close()


def _profiles(options: RunOptions) -> dict[str, tuple[str, ...]]:
    """Give the paths of each profile; that of `--rules` comes first.

    Raises:
        Failure: there is none, or one is given twice or without paths.
    """
    found: dict[str, tuple[str, ...]] = {DEFAULT_NAME: options.rules} if options.rules else {}
    for text in options.profiles:
        name, _, paths = text.partition("=")
        given = tuple(path for path in paths.split(",") if path)
        if not name or not (given or options.configmaps):
            raise Failure(f"this is no profile: {text}", "--profile", "write `NAME=PATH`")
        if name in found:
            more = " by --rules" if name == DEFAULT_NAME and options.rules else ""
            raise Failure(
                f"the profile {name} is given already{more}", "--profile", "name each once"
            )
        found[name] = given
    if not found and options.configmaps:
        return {DEFAULT_NAME: ()}
    if not found:
        raise Failure("there are no rules", "--rules", "give a file or a directory of rules")
    return found


def _seconds(text: str) -> float:
    """Read a duration above 0.

    Raises:
        Failure: it is none.
    """
    try:
        duration = parse_duration(text)
    except ValueFault as fault:
        raise Failure(fault.message, "--deadline", "write it as in `500ms`") from None
    if duration.nanos <= 0:
        raise Failure(f"{text} is no time at all", "--deadline", "write it as in `500ms`")
    return duration.nanos / SECOND


def _check_watched(path: str | None) -> None:
    """Refuse a place of manifests that is not there: a wrong name would look like no pods.

    Raises:
        Failure: it is not there.
    """
    if path is not None and not Path(path).exists():
        raise Failure("no such file or directory", path, "make it, or check the name")
