"""A bar on the terminal while a large input is read."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from policyd.cli.terminal import is_terminal
from policyd.language.cells import visible
from policyd.model.pieces import Progress

LARGE: Final = 20 * 1024 * 1024
"""From how many bytes on reading an input takes long enough to show that something happens."""


@contextmanager
def reading(path: Path) -> Iterator[Progress | None]:
    """Show how far the reading of a file is, where it is large and somebody looks."""
    if not (is_terminal("stderr") and _size(path) > LARGE):
        yield None
        return
    from rich.console import Console  # noqa: PLC0415 - takes long, and is rarely needed
    from rich.progress import BarColumn, DownloadColumn, TextColumn  # noqa: PLC0415 - as above
    from rich.progress import Progress as Bar  # noqa: PLC0415 - as above

    name = TextColumn("reading {task.description}", markup=False)  # which a file's name may hold
    parts = (name, BarColumn(), DownloadColumn())
    with Bar(*parts, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(visible(path.name), total=_size(path))
        yield lambda done, total: bar.update(task, completed=done, total=total)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
