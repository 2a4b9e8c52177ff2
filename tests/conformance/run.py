"""Runs files of conformance cases and shows every difference.

    python tests/conformance/run.py [FILE.json ...] [--group G] [--id ID] [--only-failures]

Without a file, both files of the shared data are run. Ends with status 1 if an answer differs
that `docs/conformance.md` does not list, or if one that it lists does not differ.
"""

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":  # a script's own folder is on the path, the repository's root is not
    sys.path.insert(0, str(ROOT))

from tests.conformance.cases import Case, Documented, exceptions, load  # noqa: E402 - needs the path above
from tests.conformance.judge import Verdict, judge  # noqa: E402 - needs the path above
from tests.shared import shared_file  # noqa: E402 - needs the path above

PAGE = ROOT / "docs" / "conformance.md"
FILES = ("conformance.json", "k8s_vectors.json")
STATUSES = ("passed", "failed", "known")


def status(verdict: Verdict, known: dict[str, Documented]) -> str:
    """Say how a verdict counts: a listed exception that passes has failed to be one."""
    if verdict.case.key not in known:
        return "passed" if verdict.passed else "failed"
    return "failed" if verdict.passed else "known"


def report(verdict: Verdict, known: dict[str, Documented]) -> str:
    """Show one difference in full."""
    case, want = verdict.case, verdict.case.expected
    why = verdict.difference or "passes, but docs/conformance.md lists it as an exception"
    lines = [f"{status(verdict, known).upper()} {case.id}", f"  expression  {case.expr!r}"]
    if case.bindings:
        lines.append(f"  bindings    {dict(case.bindings)!r}")
    if want.error:
        phase = f"{want.phase} error" if want.phase else "error"
        lines.append(f"  expected    {phase}: {_first_line(want.message)}")
    else:
        of_type = f" of type {want.type}" if want.type else ""
        lines.append(f"  expected    {want.value}{of_type}")
    lines += [f"  got         {verdict.answer}", f"  because     {why}"]
    if case.key in known:
        lines.append(f"  documented  {known[case.key].reason}")
    return "\n".join(lines)


def _first_line(message: str) -> str:
    """Cut a message of several lines, and the place in front of it."""
    return message.partition("\n")[0].removeprefix("ERROR: <input>:")


def table(counts: dict[str, Counter[str]], *, only_failures: bool) -> str:
    """Lay out the counts by group, and the sums of all groups."""
    total: Counter[str] = Counter()
    for count in counts.values():
        total.update(count)
    width = max(len(group) for group in [*counts, "total"])
    lines = [f"{'group':{width}}  {'cases':>6}" + "".join(f"  {it:>6}" for it in STATUSES)]
    rows = [
        (group, count)
        for group, count in sorted(counts.items())
        if count["failed"] or not only_failures
    ]
    for group, count in [*rows, ("total", total)]:
        cells = [count.total(), *(count[it] for it in STATUSES)]
        lines.append(f"{group:{width}}" + "".join(f"  {cell:>6}" for cell in cells))
    return "\n".join(lines)


def run_cases(
    name: str, cases: list[Case], known: dict[str, Documented], *, only_failures: bool
) -> bool:
    """Run the cases of a file and print their table and differences; say whether there are none."""
    counts: dict[str, Counter[str]] = {}
    shown: list[str] = []
    for verdict in map(judge, cases):
        its = status(verdict, known)
        counts.setdefault(verdict.case.group, Counter())[its] += 1
        if its == "failed" or (its == "known" and not only_failures):
            shown.append(report(verdict, known))
    failed = any(count["failed"] for count in counts.values())
    print(f"{name}: {len(cases)} cases\n")
    print("\n\n".join([*shown, table(counts, only_failures=only_failures)]), end="\n\n")
    return not failed


def _wanted(case: Case, args: argparse.Namespace) -> bool:
    in_group = not args.group or any(
        case.group == it or case.id.startswith(f"{it}/") for it in args.group
    )
    return in_group and (not args.id or case.id in args.id or case.expr in args.id)


def shared_files() -> list[Path]:
    """Give the two files of the shared data, as far as they are there."""
    return [path for name in FILES if (path := shared_file("data", "cel", name)).is_file()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give the exit status: 0, 1 for a difference, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="run.py", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE.json")
    parser.add_argument("--group", action="append", help="only this group, e.g. lists or lists/in")
    parser.add_argument("--id", action="append", help="only this case, by its id or expression")
    parser.add_argument(
        "--only-failures", action="store_true", help="leave out what passes or is documented"
    )
    args = parser.parse_args(arguments)
    files = args.files or shared_files()
    if not files:
        parser.error("no file given, and no shared data folder found: set POLICYD_SHARED")
    try:
        known = exceptions(PAGE)
        chosen = [(path.name, [it for it in load(path) if _wanted(it, args)]) for path in files]
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if not any(cases for _, cases in chosen):
        parser.error("no case is of this group or id")
    good = [
        run_cases(name, cases, known, only_failures=args.only_failures)
        for name, cases in chosen
        if cases
    ]
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
