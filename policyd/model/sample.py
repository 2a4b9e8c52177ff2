"""The sample cluster that ships, for a first try without a cluster."""

from pathlib import Path
from typing import Final

from policyd.model.manifests import Manifests, read_bytes

NAME: Final = "sample-cluster.yaml"
_FILE: Final = Path(__file__).resolve().parent.parent / "assets" / NAME


def sample_cluster() -> Manifests:
    """Read the sample cluster: six nodes in three zones, with pods and namespaces.

    Raises:
        FileNotFoundError: the installation is broken.
    """
    return read_bytes(_FILE.read_bytes(), NAME)
