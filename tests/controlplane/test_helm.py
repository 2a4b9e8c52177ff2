"""helm, built from the same module, installs on the control plane."""

import subprocess
from pathlib import Path

from tests.controlplane.api import Api
from tests.controlplane.plane import ControlPlane

CHART = """
apiVersion: v2
name: small
version: 0.1.0
kubeVersion: ">=1.36.0-0"
"""
TEMPLATE = """
apiVersion: v1
kind: ConfigMap
metadata: {name: "{{ .Release.Name }}-colour"}
data: {colour: "{{ .Values.colour }}"}
"""


def test_a_chart_is_linted_rendered_and_installed(
    helm: Path, control_plane: ControlPlane, api: Api, tmp_path: Path
) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text(CHART, encoding="utf-8")
    (tmp_path / "values.yaml").write_text("colour: grey\n", encoding="utf-8")
    (tmp_path / "templates" / "colour.yaml").write_text(TEMPLATE, encoding="utf-8")

    def run(*arguments: str) -> str:
        environment = {"KUBECONFIG": str(control_plane.kubeconfig), "HOME": str(tmp_path)}
        done = subprocess.run(
            [helm, *arguments], env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run("version", "--short").startswith("v3.21.")
    assert "0 chart(s) failed" in run("lint", str(tmp_path))
    assert "colour: grey" in run("template", "shown", str(tmp_path)).replace('"', "")
    run("install", "small", str(tmp_path), "--set", "colour=green")
    made = api.get("/api/v1/namespaces/default/configmaps/small-colour")
    assert made["data"] == {"colour": "green"}
    run("uninstall", "small")
