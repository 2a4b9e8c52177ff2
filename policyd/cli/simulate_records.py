"""Writes the record of every attempt of a simulation, which `policyd explain --from` reads."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from policyd.cli.failure import Failure, file_named, os_failure, unreadable
from policyd.daemon.recent import record_of
from policyd.policy.record import to_json
from policyd.scheduler.cycle import Attempt


class Recorder:
    """An observer that writes one line for each attempt. Belongs to the simulation's thread."""

    def __init__(self, file: IO[bytes], path: str) -> None:
        self._file = file
        self._path = path

    def attempted(self, attempt: Attempt) -> None:
        """Write the record of an attempt.

        Raises:
            Failure: it cannot be written.
        """
        try:
            self._file.write(to_json(record_of(attempt)) + b"\n")
        except OSError as error:
            raise os_failure(error, self._path) from None


@contextmanager
def recording(path: str | None) -> Iterator[Recorder | None]:
    """Open the file for records, if there is to be one.

    Raises:
        Failure: it cannot be written.
    """
    if path is None:
        yield None
        return
    if path == "-":
        raise Failure("records go to a file", "--record", "name one, as in `decisions.jsonl`")
    try:
        file = file_named(path).open("wb")
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from None
    with file:
        yield Recorder(file, path)
