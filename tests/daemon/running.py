"""A `policyd run` as a process of its own, and what a test asks of it."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

PATIENCE = 60.0  # seconds that only a broken process needs


class Running:
    """A process that runs, its URL once it is ready, and its log."""

    def __init__(self, process, log):
        self.process = process
        self.log = log
        self.url = ""

    def wait_until_ready(self):
        line = self.process.stdout.readline()
        assert line.startswith("policyd is ready: "), (line, self.logged())
        self.url = line.split()[-1]
        return line

    def get(self, path):
        """Give the status and the body of an answer."""
        try:
            with urlopen(self.url + path, timeout=PATIENCE) as answer:  # noqa: S310 - its own URL
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()

    def data(self, path):
        return json.loads(self.get(path)[1])

    def metric(self, name):
        """Give the value of a series, by its whole name; nothing where there is none."""
        for line in self.get("/metrics")[1].splitlines():
            series, _, value = line.rpartition(" ")
            if series == name:
                return float(value)
        return None

    def until(self, holds):
        """Ask again and again until something holds; the time only bounds a failure."""
        end = time.monotonic() + PATIENCE
        while True:
            found = holds()
            if found:
                return found
            assert time.monotonic() < end, self.logged()
            assert self.process.poll() is None, self.logged()

    def logged(self):
        return self.log.read_text()

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


def command(*args):
    return [sys.executable, "-m", "policyd", "run", *map(str, args)]


@contextmanager
def running(tmp_path, *args):
    """Run policyd on a free port until the test is over."""
    log = tmp_path / "log"
    with log.open("w") as stream:
        process = subprocess.Popen(
            command(*args, "--port", 0, "--log-format", "json"),
            stdout=subprocess.PIPE,
            stderr=stream,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    try:
        yield Running(process, log)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait(PATIENCE)
        process.stdout.close()


def answers(url):
    """Say whether anybody listens."""
    try:
        urlopen(url, timeout=PATIENCE).close()  # noqa: S310 - as above
    except URLError:
        return False
    return True
