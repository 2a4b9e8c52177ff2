"""The page of diagnostics is the one that the table of codes gives."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_page_is_not_stale():
    script = ROOT / "scripts" / "make_diagnostics_page.py"
    done = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
