"""Where the shipped files are, in a wheel and in a checkout."""

from pathlib import Path
from typing import Final

_PACKAGE: Final = Path(__file__).resolve().parent.parent


def shipped(folder: str) -> Path:
    """Give the folder `grammar` or `rules`.

    Raises:
        FileNotFoundError: the installation is broken.
    """
    for base in (_PACKAGE, _PACKAGE.parent):
        if (base / folder).is_dir():
            return base / folder
    raise FileNotFoundError(f"the folder `{folder}` is missing from this installation of policyd")
