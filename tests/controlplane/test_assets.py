"""The programs of KUBEBUILDER_ASSETS serve in the same way as those built from source."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.controlplane.plane import ControlPlane
from tests.controlplane.test_plane import PODS, a_pod


@pytest.fixture
def from_assets(
    go_program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ControlPlane]:
    """Give a control plane that is run from a folder of assets: there, links to one program."""
    folder = tmp_path / "assets"
    folder.mkdir()
    for name in ("etcd", "kube-apiserver"):
        (folder / name).symlink_to(go_program)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(folder))
    plane = ControlPlane(tmp_path / "plane")
    plane.folder.mkdir()
    plane.start()
    yield plane
    plane.kill()


def test_it_serves_outlives_sigkill_compacts_and_stops(from_assets: ControlPlane) -> None:
    for context in ("certificate", "token"):
        assert from_assets.api(context=context).get(PODS)["items"] == []
    from_assets.api().create(PODS, a_pod("lasting"))
    assert from_assets.compact() > 0
    from_assets.kill()
    from_assets.start()
    assert from_assets.api().get(f"{PODS}/lasting")["metadata"]["name"] == "lasting"
    assert from_assets.stop() == 0
