"""The parser's tables: built from the shipped grammar, and kept in the user's cache folder.

Building takes as long as a whole command should; loading takes a tenth of it. The file's name
holds a hash of everything the tables depend on, it is written to a temporary name and renamed,
and whatever goes wrong with it (a read-only folder, a truncated file) only costs the building.
"""

import os
import pickle
import sys
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import lark
from lark import Lark

from policyd.assets.locate import shipped

_OPTIONS: Final[dict[str, Any]] = {
    "parser": "lalr",
    "lexer": "basic",
    "start": ["file", "expression"],
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}


def load_lark(**hooks: Any) -> Lark:
    """Give the parser, with `transformer` and `postlex` as Lark takes them."""
    grammar = (shipped("grammar") / "policyd.lark").read_text(encoding="utf-8")
    key = f"{grammar}\0{lark.__version__}\0{sys.version}\0{sorted(_OPTIONS.items())}"
    path = _cache_folder() / f"grammar-{sha256(key.encode()).hexdigest()[:24]}.tables"
    loaded = _read(path, hooks)
    if loaded is not None:
        return loaded
    built = Lark(grammar, **_OPTIONS, **hooks)
    _write(path, built)
    return built


def build_strictly() -> Lark:
    """Build from the grammar in Lark's strict mode, which refuses every conflict."""
    grammar = (shipped("grammar") / "policyd.lark").read_text(encoding="utf-8")
    return Lark(grammar, **_OPTIONS, strict=True)


def _cache_folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path("~/.cache").expanduser()) / "policyd"


def _read(path: Path, hooks: dict[str, Any]) -> Lark | None:
    try:
        if path.stat().st_uid != os.getuid():  # a pickle of somebody else's runs their code
            return None
        with path.open("rb") as file:
            stored = pickle.load(file)  # noqa: S301 - written by this user, see above
        parser = Lark.__new__(Lark)
        return parser._load(stored, **hooks)  # noqa: SLF001 - `Lark.load` takes no hooks
    except Exception:  # noqa: BLE001 - a cache that cannot be read is no cache
        return None


def _write(path: Path, parser: Lark) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        data, memo = parser.memo_serialize([lark.lexer.TerminalDef, lark.grammar.Rule])
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            pickle.dump({"data": data, "memo": memo}, file, protocol=pickle.HIGHEST_PROTOCOL)
        Path(file.name).replace(path)
    except (OSError, RuntimeError):
        return
