"""Fuzzes every target for a while: `python fuzz/run.py --seconds 20 [TARGET...]`.

Starts from the seeds in fuzz/seeds and keeps what it finds in a folder that is thrown away, or in
--corpus. Ends with status 1 if a target fails; the input that makes it fail is written to
fuzz/findings, and run again with `python fuzz/run.py --replay FILE TARGET`.
"""

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES = ("parser", "checker", "interpreter", "typed", "files")
SHOWN = 60  # the last lines of what a failing target said


def main() -> int:
    arguments = _arguments()
    if arguments.replay:
        return _replay(arguments.replay, arguments.targets)
    failed = [name for name in arguments.targets if not _fuzz(name, arguments)]
    if failed:
        print(f"failed: {', '.join(failed)}")
        return 1
    print(f"{len(arguments.targets)} targets, {arguments.seconds} s each: nothing found")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=int, default=20, help="for each target")
    parser.add_argument("--corpus", type=Path, help="where to keep interesting inputs")
    parser.add_argument("--replay", type=Path, help="run one input instead of fuzzing")
    parser.add_argument("targets", nargs="*", choices=[[], *NAMES], metavar="TARGET")
    arguments = parser.parse_args()
    arguments.targets = arguments.targets or list(NAMES)
    return arguments


def _fuzz(name: str, arguments: argparse.Namespace) -> bool:
    findings = HERE / "findings"
    findings.mkdir(exist_ok=True)
    before = set(findings.iterdir())
    with tempfile.TemporaryDirectory() as scratch:
        corpus = (arguments.corpus or Path(scratch)) / name
        corpus.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            [
                *(sys.executable, "-m", "fuzz.one", name),
                *(f"-max_total_time={arguments.seconds}", "-timeout=20", "-max_len=2048"),
                *("-rss_limit_mb=4096", "-verbosity=0", f"-artifact_prefix={findings}/{name}-"),
                *("-print_final_stats=1", str(corpus), str(HERE / "seeds" / name)),
            ],
            cwd=HERE.parent,
            check=False,
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    if done.returncode == 0:
        runs = re.search(r"number_of_executed_units:\s*([0-9]+)", done.stdout)
        print(f"{name}: nothing found in {int(runs[1]) if runs else 0:,} runs", flush=True)
        return True
    print(*done.stdout.splitlines()[-SHOWN:], sep="\n")
    print(f"{name}: FAILED", flush=True)
    for found in sorted(set(findings.iterdir()) - before):
        path = found.relative_to(HERE.parent)
        print(f"  input: {found.read_bytes()[:300]!r}")
        print(f"  again: python fuzz/run.py --replay {path} {name}", flush=True)
    return False


def _replay(path: Path, targets: list[str]) -> int:
    sys.path.insert(0, str(HERE.parent))
    from fuzz.targets import TARGETS  # noqa: PLC0415 - instruments nothing, unlike fuzzing

    for name in targets:
        print(f"{name}: {path}", flush=True)
        TARGETS[name](path.read_bytes())
    return 0


if __name__ == "__main__":
    sys.exit(main())
