"""What a user is told when something cannot be used: the cause, the place and the remedy."""

import errno
from pathlib import Path
from typing import IO, Any, Final

import click

from policyd.cli.terminal import painted, wants_colour
from policyd.language.cells import visible
from policyd.language.suggest import closest

UNUSABLE: Final = 2
"""The exit status for input that cannot be used."""

_REMEDIES: Final = {
    errno.ENOENT: "check the name",
    errno.ENOTDIR: "check the name",
    errno.ENAMETOOLONG: "check the name",
    errno.ELOOP: "check where the symbolic links lead",
    errno.EISDIR: "give a file",
    errno.EACCES: "check who may read or write it",
    errno.EPERM: "check who may read or write it",
    errno.EROFS: "write to another place",
    errno.ENOSPC: "make room on the disk",
}


class Failure(click.ClickException):
    """Ends the command with status 2 and says why on standard error.

    `place` is a file, `file:line:column` or an option; `remedy` what to do.
    """

    exit_code = UNUSABLE

    def __init__(self, cause: str, place: str = "", remedy: str = "") -> None:
        super().__init__(cause)
        self.place = place
        self.remedy = remedy

    def format_message(self) -> str:
        """Give the text in the shape of a diagnostic, without colours."""
        return self.text(colour=False)

    def text(self, *, colour: bool) -> str:
        """Give the text in the shape of a diagnostic."""
        head = painted("error", "red", colour=colour) + painted(
            f": {visible(self.message)}", "bold", colour=colour
        )
        place = f"\n  --> {visible(self.place)}" if self.place else ""
        remedy = f"\n   = help: {visible(self.remedy)}" if self.remedy else ""
        return head + place + remedy

    def show(self, file: IO[Any] | None = None) -> None:
        """Print it on standard error."""
        colour = wants_colour("stderr")
        click.echo(self.text(colour=colour), file=file, err=True, color=colour)


def os_failure(error: OSError, place: str) -> Failure:
    """Say what the operating system refuses to do with a file."""
    cause = (error.strerror or str(error)).lower()
    return Failure(cause, place, _REMEDIES.get(error.errno or 0, ""))


def file_named(path: str) -> Path:
    """Give the file that a user names.

    Raises:
        Failure: the name is empty, which would stand for the current folder.
    """
    if not path:
        raise Failure("the name of a file is empty", remedy="give a name, or `-` for stdin")
    return Path(path)


def _missing(path: str, error: OSError) -> Failure:
    """Say that a file is not there, and which one may be meant."""
    given = Path(path)
    if given.is_symlink():
        return Failure("this symbolic link leads nowhere", path, "check where it leads")
    failure = os_failure(error, path)
    try:
        near = closest(given.name, [entry.name for entry in given.parent.iterdir()])
    except OSError:
        return failure
    if near:
        failure.remedy = f"did you mean `{given.parent / near}`?"
    return failure


def unreadable(path: str, error: OSError | ValueError) -> Failure:
    """Say why a file that a user names cannot be read."""
    if isinstance(error, FileNotFoundError):
        return _missing(path, error)
    if isinstance(error, OSError):
        return os_failure(error, path)
    return Failure(str(error), path, "check the name")  # there is a NUL in it
