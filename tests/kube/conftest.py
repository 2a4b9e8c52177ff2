"""The fake API server, served by a thread for as long as a test takes."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from policyd.daemon.clock import SystemClock
from policyd.kube.client import ApiClient
from policyd.kube.config import Connection
from tests.kube.fake_apiserver import FakeApiServer


@contextmanager
def serving(**options):
    """Serve a fake API server."""
    server = FakeApiServer(**options)
    with ThreadPoolExecutor(1) as pool:
        pool.submit(server.serve)
        try:
            yield server
        finally:
            server.close()


@contextmanager
def calling(server, **options):
    """Give a client of a server."""
    client = ApiClient(Connection(server.url, "test", **options), SystemClock())
    try:
        yield client
    finally:
        client.close()


@pytest.fixture
def server():
    with serving() as server:
        yield server


@pytest.fixture
def client(server):
    with calling(server) as client:
        yield client
