"""Where the API server is and who policyd is there: what is read, and what is said of faults."""

import base64
from pathlib import Path

import pytest
import yaml

from policyd.kube.config import find_connection, from_kubeconfig, in_cluster
from policyd.kube.errors import ConfigError

CONTENT = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "main",
    "clusters": [{"name": "c", "cluster": {"server": "https://10.0.0.1:6443/"}}],
    "users": [{"name": "u", "user": {"token": "t"}}],
    "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
}


def write(path, **changes):
    path.write_text(yaml.safe_dump({**CONTENT, **changes}))
    return str(path)


def with_user(path, **user):
    return write(path, users=[{"name": "u", "user": user}])


def with_cluster(path, **cluster):
    entry = {"server": "https://10.0.0.1:6443", **cluster}
    return write(path, clusters=[{"name": "c", "cluster": entry}])


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def test_the_current_context_counts(tmp_path):
    found = from_kubeconfig([write(tmp_path / "config")])
    assert found.server == "https://10.0.0.1:6443"
    assert found.identity.token == "t"
    assert found.namespace == "default"
    assert found.verifies


def test_another_context_can_be_chosen(tmp_path):
    path = write(
        tmp_path / "config",
        contexts=[
            *CONTENT["contexts"],
            {"name": "other", "context": {"cluster": "c", "namespace": "team"}},
        ],
    )
    found = find_connection(path, "other")
    assert found.namespace == "team"
    assert found.identity.token == ""
    assert found.origin == f"{path}: context other"


def test_of_several_files_the_first_that_names_something_counts(tmp_path):
    one = write(tmp_path / "one", users=[], **{"current-context": ""})
    two = write(tmp_path / "two", clusters=[{"name": "c", "cluster": {"server": "http://late"}}])
    found = find_connection(env={"KUBECONFIG": f"{one}:{tmp_path / 'absent'}:{two}"})
    assert found.server == "https://10.0.0.1:6443"
    assert found.identity.token == "t"


def test_the_default_file_is_in_the_home(tmp_path):
    (tmp_path / ".kube").mkdir()
    write(tmp_path / ".kube" / "config")
    assert find_connection(env={"HOME": str(tmp_path)}).identity.token == "t"


def test_data_counts_before_files_and_files_are_relative_to_the_kubeconfig(tmp_path):
    (tmp_path / "ca.crt").write_text("of the file")
    both = {"certificate-authority": "ca.crt", "certificate-authority-data": encoded("of the data")}
    assert from_kubeconfig([with_cluster(tmp_path / "a", **both)]).authority == b"of the data"
    one = from_kubeconfig([with_cluster(tmp_path / "b", **{"certificate-authority": "ca.crt"})])
    assert one.authority == b"of the file"


def test_all_that_a_user_can_be(tmp_path):
    path = with_user(
        tmp_path / "config",
        tokenFile="token",
        username="me",
        password="secret",
        **{
            "client-certificate-data": encoded("cert"),
            "client-key-data": encoded("key"),
            "as": "system:serviceaccount:a:b",
            "as-groups": ["system:masters"],
        },
    )
    identity = from_kubeconfig([path]).identity
    assert identity.token_file == str(tmp_path / "token")
    assert (identity.username, identity.password) == ("me", "secret")
    assert (identity.certificate, identity.key) == (b"cert", b"key")
    assert identity.impersonate == (
        ("Impersonate-User", "system:serviceaccount:a:b"),
        ("Impersonate-Group", "system:masters"),
    )
    assert "secret" not in repr(from_kubeconfig([path]))


def test_a_plugin_is_read(tmp_path):
    path = with_user(
        tmp_path / "config",
        exec={
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./login",
            "args": ["token"],
            "env": [{"name": "A", "value": "b"}],
            "installHint": "install it",
            "provideClusterInfo": True,
        },
    )
    plugin = from_kubeconfig([path]).identity.exec_plugin
    assert plugin.command == str(tmp_path / "login")
    assert (plugin.args, plugin.env) == (("token",), (("A", "b"),))
    assert plugin.provides_cluster


@pytest.mark.parametrize(
    ("changes", "place", "cause", "remedy"),
    [
        ({"current-context": ""}, "current-context", "no context is chosen", "--context"),
        ({"current-context": "x"}, "", "there is no context 'x'", "there are main"),
        ({"clusters": []}, "contexts[0].context.cluster", "no cluster 'c'", "there is none"),
        ({"users": []}, "contexts[0].context.user", "there is no user 'u'", "there is none"),
        ({"clusters": 3}, "clusters", "expected a list", ""),
        ({"clusters": [{"name": "c"}]}, "clusters[0].cluster.server", "no address", "https://"),
        ({"users": [{"user": {}}]}, "users[0]", "a map with a name", ""),
        ({"users": [{"name": "u", "user": 3}]}, "users[0].user", "expected a map", ""),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, changes, place, cause, remedy):
    path = write(tmp_path / "config", **changes)
    with pytest.raises(ConfigError) as caught:
        from_kubeconfig([path])
    assert cause in caught.value.cause
    assert caught.value.place.startswith(path)
    assert place in caught.value.place
    assert remedy in caught.value.remedy


@pytest.mark.parametrize(
    ("user", "field", "cause"),
    [
        ({"token": 3}, "token", "expected text, got int"),
        ({"client-certificate-data": "*"}, "client-certificate-data", "not base64"),
        ({"client-certificate": "absent"}, "client-certificate", "no such file"),
        ({"client-certificate-data": encoded("c")}, "client-key", "go together"),
        ({"auth-provider": {"name": "gcp"}}, "auth-provider", "removed these in 1.26"),
        ({"as-groups": ["a", "b"]}, "as-groups", "one group at most"),
        ({"as-user-extra": {"a": ["b"]}}, "as-user-extra", "extra"),
        ({"exec": 3}, "exec", "expected a map"),
        ({"exec": {"apiVersion": "v0", "command": "x"}}, "exec.apiVersion", "not known"),
        (
            {"exec": {"apiVersion": "client.authentication.k8s.io/v1"}},
            "exec.command",
            "no command",
        ),
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "x",
                    "args": [1],
                }
            },
            "exec.args",
            "list of texts",
        ),
        (
            {
                "exec": {
                    "apiVersion": "client.authentication.k8s.io/v1",
                    "command": "x",
                    "env": ["A=b"],
                }
            },
            "exec.env",
            "name and value",
        ),
    ],
)
def test_what_is_wrong_with_a_user_is_said(tmp_path, user, field, cause):
    path = with_user(tmp_path / "config", **user)
    with pytest.raises(ConfigError) as caught:
        from_kubeconfig([path])
    assert cause in caught.value.cause
    assert caught.value.place == f"{path}: users[0].user.{field}"


def test_what_is_wrong_with_a_cluster_is_said(tmp_path):
    with pytest.raises(ConfigError, match="no proxy that policyd can use"):
        from_kubeconfig([with_cluster(tmp_path / "a", **{"proxy-url": "socks5://x"})])
    with pytest.raises(ConfigError, match="expected true or false"):
        from_kubeconfig([with_cluster(tmp_path / "b", **{"insecure-skip-tls-verify": "yes"})])


def test_a_file_that_is_no_yaml_is_refused_with_the_line(tmp_path):
    path = tmp_path / "config"
    path.write_text("clusters:\n  - {\n")
    with pytest.raises(ConfigError) as caught:
        from_kubeconfig([str(path)])
    assert caught.value.place == f"{path}:3:1"


def test_a_file_that_is_no_map_or_not_there_is_refused(tmp_path):
    (tmp_path / "list").write_text("[1]")
    with pytest.raises(ConfigError, match="no map"):
        from_kubeconfig([str(tmp_path / "list")])
    with pytest.raises(ConfigError, match="no such file"):
        from_kubeconfig([str(tmp_path / "absent")])


# --- in a pod ---


def account(folder):
    for name, content in (("token", "t"), ("ca.crt", "ca"), ("namespace", "policyd\n")):
        (folder / name).write_text(content)
    return folder


def test_a_pod_uses_its_service_account(tmp_path):
    env = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}
    found = in_cluster(env, account(tmp_path))
    assert found.server == "https://10.96.0.1:443"
    assert (found.authority, found.namespace) == (b"ca", "policyd")
    assert found.identity.token_file == str(tmp_path / "token")


def test_an_address_of_version_6_is_put_in_brackets(tmp_path):
    found = in_cluster({"KUBERNETES_SERVICE_HOST": "fd00::1"}, account(tmp_path))
    assert found.server == "https://[fd00::1]:443"


def test_a_pod_without_service_account_is_told_what_to_do(tmp_path):
    with pytest.raises(ConfigError) as caught:
        in_cluster({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, tmp_path)
    assert caught.value.remedy == "let the pod have one: automountServiceAccountToken: true"


def test_without_anything_it_says_what_there_could_be(tmp_path):
    with pytest.raises(ConfigError) as caught:
        find_connection(env={"HOME": str(tmp_path)})
    assert caught.value.place == str(Path(tmp_path) / ".kube" / "config")
    assert "--kubeconfig" in caught.value.remedy


def test_in_a_pod_without_kubeconfig_the_service_account_counts(tmp_path):
    env = {"HOME": str(tmp_path), "KUBERNETES_SERVICE_HOST": "10.96.0.1"}
    with pytest.raises(ConfigError, match="serviceaccount"):  # which is not here
        find_connection(env=env)
    with pytest.raises(ConfigError, match="not run in a pod"):
        in_cluster({})
