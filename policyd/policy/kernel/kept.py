"""A mapping that forgets what was not used for longest."""

from collections import OrderedDict
from typing import Generic, TypeVar

from policyd.policy.kernel.keys import Key

T = TypeVar("T")


class Kept(Generic[T]):
    """A mapping that forgets what was not used for longest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._entries: OrderedDict[Key, T] = OrderedDict()

    def get(self, key: Key) -> T | None:
        """Give what is kept under a key."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: Key, value: T) -> None:
        """Keep something under a key."""
        self._entries[key] = value
        if len(self._entries) > self._most:
            self._entries.popitem(last=False)
