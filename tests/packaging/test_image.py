"""The Dockerfile has the properties that are promised, and what it copies is enough for the wheel.

Docker itself is not needed: the file is read, and its steps that build the wheel are done here.
"""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from fnmatch import fnmatch

import pytest

from policyd.assets import locate
from policyd.daemon.run import PORT
from tests.shared import ROOT

TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
IGNORED = [
    line
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    if line and not line.startswith("#")
]
LOCKED = (ROOT / "requirements" / "image.txt").read_text(encoding="utf-8")


def instructions(text):
    """Give the instructions with their arguments, continued lines joined."""
    joined = re.sub(r"\\\n\s*", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
    for line in joined.splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


def stages(text):
    found = []
    for name, rest in instructions(text):
        if name == "FROM":
            found.append([])
        found[-1].append((name, rest))
    return found


STAGES = stages(TEXT)
FIRST, LAST = STAGES[0], STAGES[-1]


def of(stage, name):
    return [rest for instruction, rest in stage if instruction == name]


def copied():
    """Give what is taken from the build's context."""
    for stage in STAGES:
        for rest in of(stage, "COPY"):
            if not rest.startswith("--from"):
                yield from rest.split()[:-1]


def test_there_are_two_stages_from_one_slim_base_that_a_tag_pins():
    bases = [of(stage, "FROM")[0].split()[0] for stage in STAGES]
    assert len(bases) == 2
    assert len(set(bases)) == 1
    assert re.fullmatch(r"python:3\.\d+(\.\d+)?-slim-[a-z]+", bases[0])


def test_its_python_is_one_that_the_package_runs_on():
    version = re.search(r"python:3\.(\d+)", of(LAST, "FROM")[0])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert int(version[1]) >= 11


def test_the_wheel_is_built_in_the_first_stage_and_only_there():
    assert any("hatchling build --target wheel" in step for step in of(FIRST, "RUN"))
    assert of(LAST, "COPY") == ["--from=build /opt/policyd /opt/policyd"]
    assert of(FIRST, "FROM")[0].endswith(" AS build")


def test_the_last_stage_installs_nothing_and_has_no_build_tools():
    steps = " && ".join(of(LAST, "RUN"))
    assert "pip uninstall --yes pip" in steps
    for tool in ("apt", "pip install", "hatchling", "gcc", "venv"):
        assert tool not in steps
    assert "--without-pip" in " ".join(of(FIRST, "RUN"))


def test_everything_is_locked_by_hashes_and_nothing_is_compiled():
    installs = re.findall(r"install ([^&]*)", " ".join(of(FIRST, "RUN")))
    assert len(installs) == 3
    for options in installs[:2]:
        assert "--require-hashes" in options
        assert "--only-binary=:all:" in options
    assert "--no-index --no-deps dist/policyd-" in installs[2]


def test_the_extras_run_and_tracing_are_in_it():
    script = (ROOT / "scripts" / "lock.sh").read_text(encoding="utf-8")
    assert re.search(r"^resolve image .*--extra run --extra tracing$", script, re.MULTILINE)
    assert "requirements/image.txt" in " ".join(copied())
    for package in ("waitress", "urllib3", "opentelemetry-sdk"):
        assert re.search(rf"^{package}==", LOCKED, re.MULTILINE)


def test_it_runs_as_a_user_by_number_who_is_not_root_and_as_the_chart_says():
    (user,) = of(LAST, "USER")
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)
    values = (ROOT / "charts" / "policyd" / "values.yaml").read_text(encoding="utf-8")
    assert f"runAsUser: {user.partition(':')[0]}\n" in values
    names = [name for name, _ in LAST]
    assert names.index("USER") < names.index("ENTRYPOINT")


def test_probes_stand_in_for_a_health_check():
    assert of(LAST, "HEALTHCHECK") == ["NONE"]
    assert of(LAST, "EXPOSE") == [str(PORT)]
    assert of(LAST, "ENTRYPOINT") == ['["policyd"]']


def test_no_step_depends_on_the_platform():
    assert "amd64" in TEXT.partition("FROM")[0]
    assert "arm64" in TEXT.partition("FROM")[0]
    for stage in STAGES:
        for name, rest in stage:
            assert not re.search(r"amd64|arm64|x86|aarch|--platform", rest), name


def test_no_registry_is_named():
    for base in (of(stage, "FROM")[0].split()[0] for stage in STAGES):
        assert "/" not in base


def is_sent(path):
    """Say whether a file goes into the build's context, by the last pattern that fits it."""
    parts = path.split("/")
    above = ["/".join(parts[: at + 1]) for at in range(len(parts))]
    answer = True
    for pattern in IGNORED:
        bare = pattern.removeprefix("!")
        whole = bare.removeprefix("**/")
        names = parts if bare.startswith("**/") else above
        if bare == "*" or any(fnmatch(name, whole) for name in names):
            answer = pattern.startswith("!")
    return answer


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("policyd/cli/run.py", True),
        ("rules/fit.expr", True),
        ("requirements/image.txt", True),
        ("requirements/dev.txt", False),
        (".git/config", False),
        (".venv/bin/python", False),
        ("tests/shared.py", False),
        ("policyd/cli/__pycache__/run.pyc", False),
    ],
)
def test_only_what_the_image_needs_is_sent_to_the_build(path, sent):
    assert is_sent(path) is sent


def test_all_that_is_copied_is_there_and_sent():
    for path in copied():
        assert (ROOT / path).exists(), path
        inside = path if (ROOT / path).is_file() else f"{path}/any"
        assert is_sent(inside), path


@pytest.mark.timeout(600)
@pytest.mark.xdist_group("wheel")
def test_what_is_copied_is_enough_to_build_the_wheel(tmp_path):
    for path in copied():
        target = tmp_path / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / path).is_dir():
            shutil.copytree(ROOT / path, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / path, target)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "dist").glob("policyd-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    rules = {path.name for path in locate.shipped("rules").glob("*.expr")}
    assert {f"policyd/rules/{name}" for name in rules} <= names
    assert "policyd/grammar/policyd.lark" in names
