"""The first signal asks to end, a second one does not wait; both tested on a process."""

import signal
import subprocess
import sys

import pytest

from tests.daemon.running import PATIENCE

SCRIPT = """
import threading
from policyd.daemon.signals import Signals

with Signals() as signals:
    print("ready", flush=True)
    print("received", signals.wait(), flush=True)
    threading.Event().wait()  # what is to be finished never ends
"""


@pytest.mark.parametrize(
    ("first", "second", "status"),
    [
        (signal.SIGTERM, signal.SIGTERM, 143),
        (signal.SIGINT, signal.SIGINT, 130),
        (signal.SIGTERM, signal.SIGINT, 130),
    ],
)
def test_the_first_signal_is_waited_for_and_the_second_ends_at_once(first, second, status):
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "ready\n"
        process.send_signal(first)
        assert process.stdout.readline() == f"received {int(first)}\n"
        process.send_signal(second)
        assert process.wait(PATIENCE) == status


WOKEN = """
import threading
from policyd.daemon.signals import Signals

with Signals() as signals:
    waker = threading.Thread(target=signals.wake)
    waker.start()
    print("woken", signals.wait(), flush=True)
    waker.join()
    print("passed", signals.wait(0.01), flush=True)
signals.wake()
"""


def test_waiting_ends_when_somebody_wakes_or_the_time_is_over():
    ended = subprocess.run(
        [sys.executable, "-c", WOKEN], capture_output=True, text=True, timeout=PATIENCE, check=True
    )
    assert ended.stdout == "woken None\npassed None\n"
