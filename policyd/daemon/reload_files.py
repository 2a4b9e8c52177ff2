"""Reads rules where they lie: the texts of files and directories, or why they cannot be read.

What counts as a rule file is what counts for `policyd eval`: in a directory the entries whose
names end in `.expr` and do not start with a dot, by name; links are followed. Reading never
raises and never blocks: what cannot be read is a fault of its source.
"""

import errno
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from policyd.language.decoding import MAX_BYTES
from policyd.policy.outcome import Fault, Offer, Origin, Text

SUFFIX: Final = ".expr"
DATA: Final = "..data"
"""The link that the kubelet replaces when it writes a mounted ConfigMap anew."""

_MOST_LINKS: Final = 40
_SWAPS: Final = 5
_FLAGS: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_REMEDIES: Final = {
    errno.ENOENT: "rules are read again once it is there",
    errno.EACCES: "check who may read it",
    errno.EPERM: "check who may read it",
    errno.ELOOP: "check where the symbolic links lead",
}

Offers = Mapping[Origin, Offer]


def read_paths(paths: Sequence[str]) -> Offers:
    """Read files and directories; each path is a source. A file that is met again counts once."""
    reader = _Reader()
    return {
        origin: reader.offer(origin)
        for origin in (Origin(order, path) for order, path in enumerate(paths))
    }


def is_rule_name(name: str) -> bool:
    """Say whether an entry of a directory with that name is a rule file."""
    return name.endswith(SUFFIX) and not name.startswith(".")


class _Reader:
    """One look at all paths. Knows which files it has met."""

    def __init__(self) -> None:
        self._met: set[tuple[int, int]] = set()

    def offer(self, origin: Origin) -> Offer:
        """Read one path."""
        try:
            return self._directory(origin)
        except NotADirectoryError:
            return self._files(origin, [origin.name])
        except (OSError, ValueError) as error:
            return Offer(faults=(_fault(error, origin, origin.name),))

    def _directory(self, origin: Origin) -> Offer:
        """Read a directory, again where a mounted ConfigMap is replaced in the middle."""
        met = set(self._met)
        offer, is_whole = self._look(origin)
        for _ in range(_SWAPS):
            if is_whole:
                break
            self._met = set(met)
            offer, is_whole = self._look(origin)
        return offer

    def _look(self, origin: Origin) -> tuple[Offer, bool]:
        """Read a directory; say whether it was of one version from the first file to the last."""
        folder = Path(origin.name)
        names = [entry.name for entry in folder.iterdir()]
        version = _version(folder, names)
        rules = [str(folder / name) for name in sorted(filter(is_rule_name, names))]
        if not rules:
            return Offer(faults=(_without_rules(origin),)), True
        return self._files(origin, rules), version == _version(folder, names)

    def _files(self, origin: Origin, paths: Sequence[str]) -> Offer:
        texts: list[Text] = []
        faults: list[Fault] = []
        for path in paths:
            try:
                data = self._file(path)
            except IsADirectoryError:
                continue
            except (OSError, ValueError) as error:
                if path == origin.name or os.path.lexists(path):  # else it was just removed
                    faults.append(_fault(error, origin, path))
            else:
                texts += [] if data is None else [Text(path, data)]
        return Offer(tuple(texts), tuple(faults))

    def _file(self, path: str) -> bytes | None:
        """Read a file, up to one byte more than can be rules; nothing where it was met before."""
        descriptor = os.open(path, _FLAGS)
        try:
            found = os.fstat(descriptor)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if not stat.S_ISREG(found.st_mode):
                raise ValueError("this is not a regular file")
            identity = (found.st_dev, found.st_ino)
            if identity in self._met:
                return None
            self._met.add(identity)
            return _content(descriptor, found.st_size)
        finally:
            os.close(descriptor)


def _content(descriptor: int, size: int) -> bytes:
    """Read to the end, in one go where the file is as long as it said."""
    data = os.read(descriptor, min(size, MAX_BYTES) + 1)
    while len(data) > size and len(data) <= MAX_BYTES:
        more = os.read(descriptor, MAX_BYTES + 1 - len(data))
        if not more:
            break
        data += more
    return data


def _version(folder: Path, names: Sequence[str]) -> Path | None:
    """Give which version of a mounted ConfigMap a directory shows; nothing where it is none."""
    return _link(folder / DATA) if DATA in names else None


def _fault(error: OSError | ValueError, origin: Origin, path: str) -> Fault:
    if not isinstance(error, OSError):
        return Fault(str(error), origin.name, path, helps=("give a file or a directory",))
    remedy = _REMEDIES.get(error.errno or 0, "")
    if isinstance(error, FileNotFoundError) and Path(path).is_symlink():
        return Fault("this symbolic link leads nowhere", origin.name, path, helps=(remedy,))
    cause = (error.strerror or str(error)).lower()
    return Fault(cause, origin.name, path, helps=(remedy,) if remedy else ())


def _without_rules(origin: Origin) -> Fault:
    return Fault(
        f"this directory has no `{SUFFIX}` files",
        origin.name,
        origin.name,
        helps=(f"the names of rule files end in `{SUFFIX}`",),
    )


# --- what to watch ---


@dataclass(frozen=True, slots=True)
class Trail:
    """What reading some paths depends on.

    `listed` are the directories whose rule files count, all by their real paths. `looked_up` are
    the entries that lead to what was read: directory and name of each link that was followed, of
    each file, and of what is missing. The ancestors of a directory are not among them.
    """

    listed: frozenset[str] = frozenset()
    looked_up: frozenset[tuple[str, str]] = frozenset()

    @property
    def directories(self) -> frozenset[str]:
        """Give the directories in which something counts."""
        return self.listed | {directory for directory, _ in self.looked_up}

    def concerns(self, path: str) -> bool:
        """Say whether a change of what is at a path can change what is read."""
        directory, name = os.path.split(path)
        if directory in self.listed and is_rule_name(name):
            return True
        return (directory, name) in self.looked_up or path in self.listed


def trail_of(paths: Sequence[str]) -> Trail:
    """Give what reading some paths depends on now."""
    listed: set[str] = set()
    looked_up: set[tuple[str, str]] = set()
    for path in paths:
        looked_up.update(_steps(path))
        try:
            entries = [entry for entry in Path(path).iterdir() if is_rule_name(entry.name)]
        except (OSError, ValueError):
            continue
        listed.add(os.path.realpath(path))
        for entry in entries:
            looked_up.update(_steps(str(entry)))
    return Trail(frozenset(listed), frozenset(looked_up))


def _steps(path: str) -> Iterator[tuple[str, str]]:
    """Resolve a path by hand: give the directory and name of each link, and of where it ends."""
    left = _parts(Path(path).absolute())
    at, links = Path(os.sep), 0
    while left:
        name = left.pop()
        if name == os.pardir:
            at = at.parent
            continue
        here = at / name
        target = _link(here)
        if target is not None and links < _MOST_LINKS:
            yield str(at), name
            links += 1
            at = Path(os.sep) if target.is_absolute() else at
            left += _parts(target)
        elif left and _is_directory(here):
            at = here
        else:
            yield str(at), name
            return


def _parts(path: Path) -> list[str]:
    """Give the names in a path, the last first."""
    return [name for name in reversed(path.parts) if name != os.sep]


def _link(path: Path) -> Path | None:
    """Give where a link leads; nothing where it is none."""
    try:
        return path.readlink()
    except (OSError, ValueError):
        return None


def _is_directory(path: Path) -> bool:
    try:
        return path.is_dir()
    except (OSError, ValueError):
        return False
