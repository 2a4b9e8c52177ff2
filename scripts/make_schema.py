"""Writes the schema of the API objects that rules can see, from the `kubernetes` package's models.

Run it after the pinned version of that package changes; `--check` says whether it must be run.
The models cost too much to import each time the command line starts, so the package carries what
is needed of them: `policyd/model/schema.json`, and the descriptions in `descriptions.json`.
"""

import argparse
import json
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

FOLDER: Final = Path(__file__).resolve().parent.parent / "policyd" / "model"
SCHEMA: Final = "schema.json"
DESCRIPTIONS: Final = "descriptions.json"

ROOTS: Final = (
    *("V1Pod", "V1Node", "V1Namespace", "V1PodTemplateSpec"),
    *("V1PersistentVolume", "V1PersistentVolumeClaim", "V1StorageClass"),
    "V1PodDisruptionBudget",
)

# The models give quantities as plain text: the API's `resource.Quantity` is lost in them. So the
# names of the fields that hold quantities are kept here, and the names of the maps that do not;
# a field that could be either stops this script, so that somebody decides.
QUANTITIES: Final = frozenset(
    {
        *("requests", "limits", "overhead", "capacity", "allocatable", "allocatedResources"),
        *("sizeLimit", "divisor", "quantity", "perPod", "perContainer"),
    }
)
PLAIN_MAPS: Final = frozenset(
    {
        *("labels", "annotations", "matchLabels", "nodeSelector", "userAnnotations"),
        *("options", "parameters", "volumeAttributes", "allocatedResourceStatuses"),
    }
)
_LIKE_A_QUANTITY: Final = re.compile(r"\bquantit(y|ies)\b", re.IGNORECASE)

_SCALARS: Final = {
    "str": "string",
    "int": "int",
    "bool": "bool",
    "float": "double",
    "datetime": "timestamp",
    "bytes": "bytes",
    "object": "dyn",
}
_CONTAINER: Final = re.compile(r"(List|Dict)\[(?:str, )?(.+)\]")
_MODEL: Final = re.compile(r"(?:[A-Z][a-z]+)??V(\d+(?:(?:alpha|beta)\d+)?)([A-Z]\w*)")
_SHOWN: Final = 40  # differences that --check prints before it only counts


class Undecided(Exception):  # noqa: N818 - the message is for a person, who is asked to decide
    """Something in the models that this script has no rule for."""


def object_name(model: str) -> str:
    """Give the name of a model's type in rules: `V1PodSpec` is `v1.PodSpec`.

    A group before the version, which keeps two Python classes apart (`CoreV1ResourceClaim`), is
    dropped.

    Raises:
        Undecided: the model's name has no version.
    """
    match = _MODEL.fullmatch(model)
    if not match:
        raise Undecided(f"the model {model} has no version in its name")
    return f"v{match[1]}.{match[2]}"


def type_text(openapi: str) -> str:
    """Give the type's text for a type as the models write it, such as `Dict[str, List[int]]`."""
    if container := _CONTAINER.fullmatch(openapi):
        inner = type_text(container[2])
        return f"list({inner})" if container[1] == "List" else f"map(string, {inner})"
    return _SCALARS.get(openapi) or object_name(openapi)


def reachable(models: Any) -> dict[str, Any]:
    """Give the models that can be reached from `ROOTS`, by the names of their types.

    Raises:
        Undecided: two models would have one name, or a model contains itself.
    """
    found: dict[str, Any] = {}

    def visit(model: str, inside: tuple[str, ...]) -> None:
        if model in inside:
            raise Undecided(f"{model} contains itself: decoding needs a limit for it")
        kind = getattr(models, model)
        if found.setdefault(object_name(model), kind) is not kind:
            raise Undecided(f"two models would be named {object_name(model)}")
        for openapi in kind.openapi_types.values():
            inner = re.findall(r"\w+", openapi)[-1]
            if inner not in _SCALARS:
                visit(inner, (*inside, model))

    for root in ROOTS:
        visit(root, ())
    return dict(sorted(found.items()))


def make_schema(models: Any, version: str) -> dict[str, Any]:
    """Give the contents of `schema.json`: fields and their types, and what decoding converts."""
    kinds = reachable(models)
    return {
        "kubernetes": version,
        "types": {name: _fields(kind) for name, kind in kinds.items()},
        "quantities": _select(kinds, _is_quantity),
        "intOrString": _select(kinds, _is_int_or_string),
    }


def make_descriptions(models: Any, version: str) -> dict[str, Any]:
    """Give the contents of `descriptions.json`: the API's words for each type and field.

    A type's own description stands under the empty field name.
    """
    kinds = reachable(models)
    return {
        "kubernetes": version,
        "descriptions": {name: _descriptions(kind) for name, kind in kinds.items()},
    }


def _fields(kind: Any) -> dict[str, str]:
    texts = {kind.attribute_map[at]: type_text(text) for at, text in kind.openapi_types.items()}
    return dict(sorted(texts.items()))


def _descriptions(kind: Any) -> dict[str, str]:
    own = (kind.__doc__ or "").partition("Attributes:")[0]
    texts = {"": own} | {
        kind.attribute_map[attribute]: kind.model_fields[_model_field(kind, attribute)].description
        for attribute in kind.openapi_types
    }
    return {name: " ".join(text.split()) for name, text in sorted(texts.items()) if text}


def _model_field(kind: Any, attribute: str) -> str:
    """Give the field of an attribute. Few are stored under another name, as `var_exec` is."""
    return attribute if attribute in kind.model_fields else f"var_{attribute.lstrip('_')}"


def _select(kinds: Mapping[str, Any], wanted: Callable[[Any, str], bool]) -> dict[str, list[str]]:
    selected = {
        name: sorted(kind.attribute_map[at] for at in kind.openapi_types if wanted(kind, at))
        for name, kind in kinds.items()
    }
    return {name: fields for name, fields in selected.items() if fields}


def _is_quantity(kind: Any, attribute: str) -> bool:
    openapi, name = kind.openapi_types[attribute], kind.attribute_map[attribute]
    if openapi not in ("str", "Dict[str, str]"):
        return False
    if name in QUANTITIES:
        return True
    described = kind.model_fields[_model_field(kind, attribute)].description or ""
    unknown_map = openapi != "str" and name not in PLAIN_MAPS
    if unknown_map or _LIKE_A_QUANTITY.search(described):
        raise Undecided(
            f"{kind.__name__}.{name} may hold quantities: put it into QUANTITIES or PLAIN_MAPS"
        )
    return False


def _is_int_or_string(kind: Any, attribute: str) -> bool:
    if kind.openapi_types[attribute] != "object":
        return False
    leaves = set(_leaves(kind.model_fields[_model_field(kind, attribute)].annotation))
    return {int, str} <= leaves <= {int, str, type(None)}


def _leaves(annotation: Any) -> Iterator[Any]:
    """Give the classes in a type annotation, without what `Annotated` adds to them."""
    if hasattr(annotation, "__metadata__"):
        yield from _leaves(annotation.__origin__)
    elif inner := typing.get_args(annotation):
        yield from (leaf for each in inner for leaf in _leaves(each))
    else:
        yield annotation


def dump(content: Mapping[str, Any]) -> str:
    """Give the file's text: compact JSON with one line for each type, so that diffs are small."""
    return "{" + ",\n".join(_member(key, value) for key, value in content.items()) + "}\n"


def _member(key: str, value: Any) -> str:
    if not isinstance(value, dict):
        return f"{_compact(key)}:{_compact(value)}"
    lines = ",\n".join(f"{_compact(name)}:{_compact(each)}" for name, each in value.items())
    return f"{_compact(key)}:{{\n{lines}}}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def differences(old: Any, new: Any, place: str = "") -> Iterator[str]:
    """Say, a line each, how two contents differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            inner = f"{place} > {key}" if place else key
            if key not in new:
                yield f"{inner}: is no longer there"
            elif key not in old:
                yield f"{inner}: is new"
            else:
                yield from differences(old[key], new[key], inner)
    elif old != new:
        yield f"{place}: {_compact(old)} is now {_compact(new)}"


def stale(path: Path, content: Mapping[str, Any]) -> list[str]:
    """Say how a file in the package differs from what it should be; nothing where it does not."""
    try:
        text = path.read_text(encoding="utf-8")
        found = list(differences(json.loads(text), content))
    except (OSError, ValueError) as error:
        return [f"cannot be read: {error}"]
    return found or ([] if text == dump(content) else ["is laid out in another way"])


def _contents() -> dict[str, dict[str, Any]]:
    import kubernetes  # noqa: PLC0415 - a second's work, and not installed everywhere
    from kubernetes.client import models  # noqa: PLC0415 - as above

    version = kubernetes.__version__
    return {
        SCHEMA: make_schema(models, version),
        DESCRIPTIONS: make_descriptions(models, version),
    }


def _report(path: Path, found: list[str]) -> None:
    for line in found[:_SHOWN]:
        print(f"{path.name}: {line}")
    if len(found) > _SHOWN:
        print(f"{path.name}: and {len(found) - _SHOWN} more differences")


def _check(folder: Path, contents: Mapping[str, Mapping[str, Any]]) -> int:
    status = 0
    for name, content in contents.items():
        if found := stale(folder / name, content):
            _report(folder / name, found)
            status = 1
    if status:
        print("run scripts/make_schema.py to bring them up to date")
    return status


def _write(folder: Path, contents: Mapping[str, Mapping[str, Any]]) -> int:
    for name, content in contents.items():
        text = dump(content)
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"{name}: {len(text.encode()) / 1024:.1f} KB")
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Write the files, or check them. Gives the exit status: 2 where nothing could be made."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="only say what is out of date")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the files are")
    options = parser.parse_args(arguments)
    try:
        contents = _contents()
    except (ImportError, Undecided) as error:
        print(f"make_schema.py: {error}", file=sys.stderr)
        return 2
    return (_check if options.check else _write)(options.folder, contents)


if __name__ == "__main__":
    sys.exit(main())
