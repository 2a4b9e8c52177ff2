"""Where the reference data is that the repository does not carry, and how a test asks for it.

It is the folder that POLICYD_SHARED names, else `shared` beside the repository's root. Tests that
read it are marked `@needs_shared`: without the folder they are skipped, and say so.
"""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SHARED = Path(os.environ.get("POLICYD_SHARED") or ROOT.parent / "shared")

ABSENT = (
    ""
    if (SHARED / "data").is_dir()
    else f"shared data folder not found: {SHARED} (set POLICYD_SHARED)"
)
"""Why tests that need the folder cannot run; empty where they can."""

needs_shared = pytest.mark.skipif(bool(ABSENT), reason=ABSENT)


def shared_file(*parts: str) -> Path:
    """Give a file or folder of the reference data, e.g. `shared_file("data", "manifests")`."""
    return SHARED.joinpath(*parts)
