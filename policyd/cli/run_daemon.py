"""Starts the daemon that the options of `policyd run` describe, and waits for its end."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from policyd.cli.failure import Failure
from policyd.cli.inputs import read_inputs
from policyd.cli.request import Request
from policyd.cli.version import facts
from policyd.model.snapshot import Snapshot
from policyd.scheduler.profile import DEFAULT_NAME
from policyd.values.errors import ValueFault
from policyd.values.times import SECOND, parse_duration

_NEEDED: Final = frozenset(
    {"prometheus_client", "structlog", "urllib3", "waitress", "watchdog", "werkzeug"}
)


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the options say, as they were given."""

    rules: tuple[str, ...]
    profiles: tuple[str, ...]
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
    snapshot = read_inputs(
        Request(cluster=options.cluster), needs_pods=False, needs_nodes=False
    ).snapshot
    try:
        return _run(options, profiles, deadline, snapshot)
    except ModuleNotFoundError as error:
        if error.name in _NEEDED:
            raise Failure(
                f"`policyd run` needs the package {error.name}",
                remedy="install policyd with its extra `run`: `pip install 'policyd[run]'`",
            ) from None
        raise


def _run(
    options: RunOptions, profiles: Mapping[str, tuple[str, ...]], deadline: float, dump: Snapshot
) -> int:
    from policyd.daemon.embedded import EmbeddedFeed  # noqa: PLC0415 - may not be installed
    from policyd.daemon.logs import configure_logs  # noqa: PLC0415 - as above
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
        default_profile=next(iter(profiles)),
        debug=options.debug,
    )
    metrics = Metrics()
    tell_build(metrics, **facts())
    logs = configure_logs(options.log_level, options.log_form, metrics=metrics)
    traces = make_tracer(os.environ, ignored=metrics.trace_contexts_ignored.inc)
    try:
        return run(
            config,
            lambda site: EmbeddedFeed(site, dump, options.watch_pods),
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
        if not name or not given:
            raise Failure(f"this is no profile: {text}", "--profile", "write `NAME=PATH`")
        if name in found:
            more = " by --rules" if name == DEFAULT_NAME and options.rules else ""
            raise Failure(
                f"the profile {name} is given already{more}", "--profile", "name each once"
            )
        found[name] = given
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
