"""The client: what a call gives, and how each thing that goes wrong is classed."""

import msgspec
import pytest

from policyd.daemon.clock import SystemClock
from policyd.kube.client import ApiClient
from policyd.kube.config import Connection, Identity
from policyd.kube.errors import ApiError
from policyd.kube.resources import Meta
from policyd.scheduler.protocols import ClusterError, Remedy
from tests.kube.conftest import calling, serving
from tests.kube.fake_apiserver import Fault
from tests.policy.build import node, pod


class Named(msgspec.Struct):
    metadata: Meta


NODE = "/api/v1/nodes/ant"


def test_an_answer_is_decoded_by_its_type(server, client):
    server.create(node("ant"))
    assert client.get(NODE).decoded(Named).metadata.name == "ant"


def test_calls_keep_their_connection(server, client):
    server.create(node("ant"))
    for _ in range(20):
        client.get(NODE)
    assert server.connections == 1


def test_a_refusal_keeps_the_connection_too(server, client):
    for _ in range(5):
        with pytest.raises(ApiError):
            client.get(NODE)
    assert server.connections == 1


@pytest.mark.parametrize(
    ("code", "remedy", "ambiguous"),
    [
        (400, Remedy.NEEDS_PERSON, False),
        (403, Remedy.RETRY_WITH_BACKOFF, False),
        (404, Remedy.NEEDS_PERSON, False),
        (409, Remedy.RETRY_WITH_BACKOFF, True),
        (422, Remedy.NEEDS_PERSON, False),
        (429, Remedy.RETRY_WITH_BACKOFF, False),
        (500, Remedy.RETRY_WITH_BACKOFF, True),
        (503, Remedy.RETRY_WITH_BACKOFF, True),
        (504, Remedy.RETRY_WITH_BACKOFF, True),
    ],
)
def test_a_refused_write_is_classed_by_its_status(server, client, code, remedy, ambiguous):
    server.faults.append(Fault("POST", "nodes", code))
    with pytest.raises(ClusterError) as caught:
        client.post("/api/v1/nodes", node("ant"))
    assert (caught.value.remedy, caught.value.ambiguous) == (remedy, ambiguous)
    assert f"POST /api/v1/nodes: {code}" in caught.value.message


def test_a_read_is_never_ambiguous(server, client):
    server.faults.append(Fault("GET", "nodes", 500))
    with pytest.raises(ApiError) as caught:
        client.get(NODE)
    assert not caught.value.ambiguous


def test_the_message_of_the_server_is_passed_on(client):
    with pytest.raises(
        ApiError, match='GET /api/v1/nodes/ant: 404 nodes "ant" not found'
    ) as caught:
        client.get(NODE)
    assert caught.value.reason == "NotFound"


def test_a_busy_server_says_how_long_to_wait(server, client):
    server.faults.append(Fault("GET", "nodes", 429, retry_after="7"))
    with pytest.raises(ApiError) as caught:
        client.get(NODE)
    assert caught.value.retry_after == 7


@pytest.mark.parametrize("takes_effect", [False, True])
def test_a_write_whose_answer_is_lost_is_ambiguous_and_sent_once(server, client, takes_effect):
    server.faults.append(Fault("POST", "nodes", action="drop", takes_effect=takes_effect))
    with pytest.raises(ApiError) as caught:
        client.post("/api/v1/nodes", node("ant"))
    assert caught.value.ambiguous
    assert caught.value.status == 0
    assert len(server.requests("POST", "nodes")) == 1
    assert (server.get("Node", "ant") is not None) is takes_effect


def test_a_write_that_takes_too_long_is_ambiguous(server, client):
    server.faults.append(Fault("POST", "nodes", action="hang"))
    with pytest.raises(ApiError, match="did not answer") as caught:
        client.post("/api/v1/nodes", node("ant"), timeout=0.05)
    assert caught.value.ambiguous


def test_a_write_that_never_left_is_not_ambiguous():
    with serving() as server:
        url = server.url
    client = ApiClient(Connection(url, "test"), SystemClock())
    with pytest.raises(ApiError, match="refused") as caught:
        client.post("/api/v1/nodes", node("ant"))
    assert not caught.value.ambiguous
    assert caught.value.remedy is Remedy.RETRY_WITH_BACKOFF
    assert "object at 0x" not in caught.value.message


def test_credentials_are_read_anew_after_a_401_once(tmp_path):
    token = tmp_path / "token"
    token.write_text("old\n")
    with serving(token="old") as server:
        server.create(node("ant"))
        with calling(server, identity=Identity(token_file=str(token))) as client:
            client.get(NODE)
            server.token = "new"
            token.write_text("new\n")
            client.get(NODE)
            assert len(server.requests("GET", "ant")) == 3
            server.token = "newer"
            with pytest.raises(ApiError, match="401"):
                client.get(NODE)
            assert len(server.requests("GET", "ant")) == 5


def test_a_fixed_token_is_not_tried_twice():
    with serving(token="right") as server:
        wrong = Identity(token="wrong")
        with calling(server, identity=wrong) as client, pytest.raises(ApiError, match="401"):
            client.get(NODE)
        assert len(server.requests("GET", "ant")) == 1


def test_a_path_in_the_address_of_the_server_stands_before_all_paths(server):
    client = ApiClient(Connection(f"{server.url}/k8s/clusters/c1", "test"), SystemClock())
    with pytest.raises(ApiError):
        client.get(NODE)
    client.close()
    assert server.seen[-1].path == f"/k8s/clusters/c1{NODE}"


def test_an_answer_that_is_no_json_is_an_error_of_the_call(server, client):
    server.create(pod("web"))
    with pytest.raises(ApiError, match="cannot be read"):
        client.get("/api/v1/pods").decoded(list)
