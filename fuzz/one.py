"""Fuzzes one target with atheris: `python -m fuzz.one TARGET [libFuzzer options] [CORPUS...]`."""

import sys

import atheris

with atheris.instrument_imports(include=["policyd"]):
    from fuzz.targets import TARGETS


def main() -> None:
    name = sys.argv.pop(1)
    atheris.Setup(sys.argv, TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main()
