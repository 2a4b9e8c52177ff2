"""Tokens that change, plugins that run, and certificates, over TLS where that matters."""

import base64
import json
import shutil
import ssl
import subprocess

import pytest

from policyd.kube.client import ApiClient
from policyd.kube.config import Connection, ExecPlugin, Identity
from policyd.kube.credentials import Credentials
from policyd.kube.errors import ApiError
from policyd.kube.resources import NODES
from policyd.scheduler.protocols import Remedy
from tests.kube.conftest import calling, serving
from tests.kube.recording import reflecting
from tests.policy.build import node
from tests.scheduler.fakes import HandClock

PLUGIN = ExecPlugin("login", "client.authentication.k8s.io/v1", install_hint="install login")


def connection(**identity):
    return Connection("https://10.0.0.1", "test", identity=Identity(**identity))


def bearer(credentials):
    return credentials.current()[0]["Authorization"]


def test_a_token_file_is_read_again_after_a_minute(tmp_path):
    path = tmp_path / "token"
    path.write_text("one\n")
    clock = HandClock()
    credentials = Credentials(connection(token_file=str(path)), clock)
    assert bearer(credentials) == "Bearer one"
    path.write_text("two\n")
    clock.seconds = 59
    assert bearer(credentials) == "Bearer one"
    clock.seconds = 61
    assert bearer(credentials) == "Bearer two"


def test_a_token_file_that_goes_missing_keeps_its_token(tmp_path, caplog):
    path = tmp_path / "token"
    path.write_text("one")
    clock = HandClock()
    credentials = Credentials(connection(token_file=str(path)), clock)
    bearer(credentials)
    path.unlink()
    clock.seconds = 61
    assert bearer(credentials) == "Bearer one"
    assert "cannot be read again" in caplog.text


@pytest.mark.parametrize("content", [None, ""])
def test_a_token_file_without_a_token_is_an_error(tmp_path, content):
    path = tmp_path / "token"
    if content is not None:
        path.write_text(content)
    with pytest.raises(ApiError, match="the token cannot be read"):
        Credentials(connection(token_file=str(path)), HandClock()).current()


def test_a_name_and_a_password_are_basic_authentication():
    found = bearer(Credentials(connection(username="me", password="pw"), HandClock()))
    assert found == "Basic " + base64.b64encode(b"me:pw").decode()


def printed(**status):
    return json.dumps({"apiVersion": PLUGIN.api_version, "status": status}).encode()


class Plugin:
    """Takes the place of running a plugin."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.envs = []

    def __call__(self, _, env):
        self.envs.append(env)
        return self.answers.pop(0)


def test_a_plugin_runs_once_until_what_it_gave_ends():
    run = Plugin(
        printed(token="one", expirationTimestamp="1970-01-01T00:01:40Z"), printed(token="two")
    )
    clock = HandClock()
    credentials = Credentials(connection(exec_plugin=PLUGIN), clock, run)
    assert [bearer(credentials), bearer(credentials)] == ["Bearer one"] * 2
    clock.seconds = 91  # ten seconds before the end it is renewed
    assert bearer(credentials) == "Bearer two"
    clock.seconds = 10**6
    assert bearer(credentials) == "Bearer two"


def test_a_plugin_runs_again_after_a_401_once_for_all_that_were_refused():
    run = Plugin(printed(token="one"), printed(token="two"))
    credentials = Credentials(connection(exec_plugin=PLUGIN), HandClock(), run)
    used, _ = credentials.current()
    credentials.renew(used)
    assert bearer(credentials) == "Bearer two"
    credentials.renew(used)  # of another thread, which was refused with the old one too
    assert bearer(credentials) == "Bearer two"


def test_a_plugin_is_told_of_the_cluster_where_it_asks_for_it():
    run = Plugin(printed(token="one"))
    plugin = ExecPlugin("login", PLUGIN.api_version, provides_cluster=True)
    of = Connection(
        "https://10.0.0.1", "test", authority=b"ca", identity=Identity(exec_plugin=plugin)
    )
    Credentials(of, HandClock(), run).current()
    about = json.loads(run.envs[0]["KUBERNETES_EXEC_INFO"])
    assert about["spec"]["cluster"]["server"] == "https://10.0.0.1"
    assert about["spec"]["cluster"]["certificate-authority-data"] == "Y2E="


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (b"hello", "prints no ExecCredential"),
        (printed(), "gives no token"),
        (printed(token="t", expirationTimestamp="soon"), "soon"),
    ],
)
def test_a_plugin_that_gives_nothing_is_an_error_that_names_it(answer, message):
    credentials = Credentials(connection(exec_plugin=PLUGIN), HandClock(), Plugin(answer))
    with pytest.raises(ApiError, match=message) as caught:
        credentials.current()
    assert "the credential plugin login" in caught.value.message


def test_a_plugin_really_runs(tmp_path):
    script = tmp_path / "login"
    script.write_text(
        "#!/bin/sh\n"
        '[ -n "$KUBERNETES_EXEC_INFO" ] || exit 1\n'
        'echo "{\\"apiVersion\\": \\"$1\\", \\"status\\": {\\"token\\": \\"$SECRET\\"}}"\n'
    )
    script.chmod(0o755)
    plugin = ExecPlugin(str(script), "v1", ("v1",), (("SECRET", "s"),))
    assert bearer(Credentials(connection(exec_plugin=plugin), HandClock())) == "Bearer s"


@pytest.mark.parametrize(
    ("text", "message"),
    [("#!/bin/sh\necho no such user >&2; exit 3\n", "failed with 3: no such user"), ("", "login")],
)
def test_a_plugin_that_fails_says_why(tmp_path, text, message):
    script = tmp_path / "login"
    if text:
        script.write_text(text)
        script.chmod(0o755)
    plugin = ExecPlugin(str(script), "v1", install_hint="install login")
    with pytest.raises(ApiError, match=message) as caught:
        Credentials(connection(exec_plugin=plugin), HandClock()).current()
    assert text or caught.value.message.endswith("no such file or directory; install login")


# --- over TLS ---

OPENSSL = shutil.which("openssl")
needs_openssl = pytest.mark.skipif(
    OPENSSL is None, reason="openssl is not here to make certificates with"
)


@pytest.fixture(scope="module")
def papers(tmp_path_factory):
    """Make an authority, a server's certificate and a client's, as a cluster has them."""
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*arguments):
        subprocess.run([OPENSSL, *arguments], cwd=folder, check=True, capture_output=True)

    key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")
    openssl("req", "-x509", *key, "-keyout", "ca.key", "-out", "ca.crt", "-subj", "/CN=ca")
    for name, san in (("server", "IP:127.0.0.1"), ("named", "DNS:kube.test"), ("client", "")):
        (folder / "ext").write_text(f"subjectAltName={san}\n" if san else "")
        openssl(
            "req", "-new", *key, "-keyout", f"{name}.key", "-out", "csr", "-subj", f"/CN={name}"
        )
        openssl(
            *("x509", "-req", "-in", "csr", "-CA", "ca.crt", "-CAkey", "ca.key"),
            *("-CAcreateserial", "-out", f"{name}.crt", "-extfile", "ext"),
        )
    return folder


def tls(papers, name="server", *, asks=False):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(papers / f"{name}.crt", papers / f"{name}.key")
    if asks:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(papers / "ca.crt")
    return context


@needs_openssl
def test_the_server_is_verified_by_the_authority_of_the_kubeconfig(papers):
    authority = (papers / "ca.crt").read_bytes()
    with serving(tls=tls(papers)) as server:
        server.create(node("ant"))
        with calling(server, authority=authority) as client:
            client.get("/api/v1/nodes/ant")
        with calling(server) as client, pytest.raises(ApiError, match="verify failed") as caught:
            client.post("/api/v1/nodes", node("bee"))
        assert not caught.value.ambiguous
        with calling(server, verifies=False) as client:
            client.get("/api/v1/nodes/ant")


@needs_openssl
def test_the_name_of_the_server_can_be_another(papers):
    authority = (papers / "ca.crt").read_bytes()
    with serving(tls=tls(papers, "named")) as server:
        server.create(node("ant"))
        with calling(server, authority=authority, server_name="kube.test") as client:
            client.get("/api/v1/nodes/ant")
        with calling(server, authority=authority) as client, pytest.raises(ApiError):
            client.get("/api/v1/nodes/ant")


@needs_openssl
def test_a_client_certificate_is_shown(papers):
    authority = (papers / "ca.crt").read_bytes()
    pair = {
        "certificate": (papers / "client.crt").read_bytes(),
        "key": (papers / "client.key").read_bytes(),
    }
    with serving(tls=tls(papers, asks=True)) as server:
        server.create(node("ant"))
        with calling(server, authority=authority, identity=Identity(**pair)) as client:
            for _ in range(5):
                client.get("/api/v1/nodes/ant")
        assert server.connections == 1
        with calling(server, authority=authority) as client, pytest.raises(ApiError):
            client.get("/api/v1/nodes/ant")


@needs_openssl
def test_a_plugin_may_give_another_certificate_while_calls_are_under_way(papers):
    authority = (papers / "ca.crt").read_bytes()

    def given(name):
        pair = [(papers / f"{name}.{end}").read_text() for end in ("crt", "key")]
        return printed(clientCertificateData=pair[0], clientKeyData=pair[1])

    run = Plugin(given("client"), given("named"))
    identity = Identity(exec_plugin=PLUGIN)
    with serving(tls=tls(papers, asks=True)) as server:
        server.create(node("ant"))
        of = Connection(server.url, "test", authority=authority, identity=identity)
        credentials = Credentials(of, HandClock(), run)
        client = ApiClient(of, HandClock(), credentials=credentials)
        with reflecting(client, NODES) as (reflector, handler, _):
            handler.wait_for(lambda: handler.syncs == 1)
            server.wait_for(lambda: server.watching == 1)
            credentials.renew(credentials.current()[0])
            client.get("/api/v1/nodes/ant")
            assert run.answers == []
            server.create(node("bee"))  # the watch goes on with the old one
            handler.wait_for(lambda: ("added", "bee") in handler.events)
            assert reflector.counts()["watch"] == 1
        client.close()


@needs_openssl
def test_certificates_that_are_none_need_a_person(papers):
    with (
        serving(tls=tls(papers)) as server,
        calling(server, authority=b"rubbish") as client,
        pytest.raises(ApiError, match="cannot be used") as caught,
    ):
        client.get("/api/v1/nodes/ant")
    assert caught.value.remedy is Remedy.NEEDS_PERSON


@needs_openssl
def test_a_watch_over_tls_ends_when_it_is_stopped(papers):
    authority = (papers / "ca.crt").read_bytes()
    with serving(tls=tls(papers)) as server, calling(server, authority=authority) as client:
        server.create(node("ant"))
        with reflecting(client, NODES) as (_, handler, _):
            handler.wait_for(lambda: handler.syncs == 1)
            server.create(node("bee"))
            handler.wait_for(lambda: ("added", "bee") in handler.events)
            server.wait_for(lambda: server.watching == 1)
