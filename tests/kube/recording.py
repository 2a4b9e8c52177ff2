"""What a reflector tells, kept for tests, and the reflector on a thread of its own."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition

from policyd.daemon.clock import SystemClock
from policyd.kube.reflector import Reflector


class Recorder:
    """Keeps what it is told, and what it comes to when it is replayed."""

    def __init__(self):
        self.told = Condition()
        self.events = []
        self.state = {}
        self.syncs = 0
        self.faults = []

    def listing(self):
        self._note("listing")

    def added(self, new):
        key = _key(new)
        if key in self.state:
            self.faults.append(f"{key} was added twice")
        self.state[key] = new
        self._note("added", new)

    def modified(self, old, new):
        key = _key(new)
        if self.state.get(key) is not old:
            self.faults.append(f"{key} was not in the state that it is said to leave")
        if old.json == new.json:
            self.faults.append(f"{key} did not change")
        self.state[key] = new
        self._note("modified", new)

    def deleted(self, old):
        if self.state.pop(_key(old), None) is not old:
            self.faults.append(f"{_key(old)} was not there as it is said to go")
        self._note("deleted", old)

    def synced(self):
        self.syncs += 1
        self._note("synced")

    def _note(self, what, obj=None):
        with self.told:
            self.events.append((what, obj and obj.name))
            self.told.notify_all()

    def wait_for(self, condition, timeout=10):
        """Wait until something holds; the timeout only bounds a failure."""
        with self.told:
            held = self.told.wait_for(condition, timeout)
        assert held, f"waited in vain; told so far: {self.events}"

    def changes(self):
        return [event for event in self.events if event[0] not in ("listing", "synced")]


def _key(obj):
    return getattr(obj, "namespace", ""), obj.name


class Waits:
    """Takes the place of waiting: notes for how long, and goes on at once."""

    def __init__(self):
        self.seconds = []

    def __call__(self, seconds):
        self.seconds.append(seconds)
        return False


@contextmanager
def reflecting(client, resource, handler=None, **options):
    """Run a reflector; give it with its handler and its waits."""
    handler = handler or Recorder()
    waits = Waits()
    options = {"wait": waits, "chance": lambda: 0.0, **options}
    chance = options.pop("chance")
    reflector = Reflector(client, resource, handler, SystemClock(), chance, **options)
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(reflector.run)
        try:
            yield reflector, handler, waits
        finally:
            reflector.stop()
            running.result(10)
