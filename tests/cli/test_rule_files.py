"""Which files make a rule set."""

from pathlib import Path

import pytest

from policyd.cli.failure import Failure
from policyd.cli.rule_files import all_sets, one_set, read_sources
from policyd.language.decoding import MAX_BYTES


def _touch(*paths: str) -> None:
    for path in paths:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text("", encoding="utf-8")


def _mounted(folder: str, *keys: str) -> None:
    """Make a folder as the kubelet mounts a ConfigMap: links through `..data` to the content."""
    _touch(*(f"{folder}/..2026_06_01/{key}" for key in keys))
    Path(folder, "..data").symlink_to("..2026_06_01")
    for key in keys:
        Path(folder, key).symlink_to(f"..data/{key}")


def test_a_directory_gives_its_rule_files_by_name_and_nothing_hidden() -> None:
    _touch("r/b.expr", "r/a.expr", "r/.c.expr", "r/notes.md", "r/d.expr~", "r/..data/e.expr")
    assert one_set(["r"]) == ("r/a.expr", "r/b.expr")


def test_a_mounted_config_map_gives_each_key_once() -> None:
    _mounted("mount", "gpu.expr", "fit.expr", "README")
    assert one_set(["mount"]) == ("mount/fit.expr", "mount/gpu.expr")
    assert all_sets(["mount"]) == [("mount/fit.expr", "mount/gpu.expr")]


def test_files_and_directories_can_be_mixed_and_a_file_counts_once() -> None:
    _touch("r/a.expr", "x.txt")
    assert one_set(["r/a.expr", "x.txt", "r", "./r/a.expr"]) == ("r/a.expr", "x.txt")


def test_each_directory_with_rules_is_a_set_and_loose_files_are_one() -> None:
    _touch("r/a.expr", "r/alt/b.expr", "r/alt/c.expr", "r/docs/x.md", "d.expr", "e.expr")
    assert all_sets(["d.expr", "r", "e.expr"]) == [
        ("d.expr", "e.expr"),
        ("r/a.expr",),
        ("r/alt/b.expr", "r/alt/c.expr"),
    ]


def test_a_directory_that_is_given_again_is_not_searched_twice() -> None:
    _touch("r/alt/b.expr")
    assert all_sets(["r", "r/alt", "r"]) == [("r/alt/b.expr",)]


def test_links_that_lead_in_a_circle_end() -> None:
    _touch("r/a.expr")
    Path("r/again").symlink_to("../r")
    assert all_sets(["r"]) == [("r/a.expr",)]


def test_a_directory_is_no_rule_file_whatever_its_name() -> None:
    _touch("r/odd.expr/inner.expr", "r/a.expr")
    assert one_set(["r"]) == ("r/a.expr",)
    assert all_sets(["r"]) == [("r/a.expr",), ("r/odd.expr/inner.expr",)]


def _refused(path: str) -> Failure:
    with pytest.raises(Failure) as caught:
        one_set([path])
    return caught.value


def test_a_missing_file_gets_the_name_that_is_near() -> None:
    _touch("rules/gpu.expr")
    failure = _refused("rules/gpv.expr")
    assert failure.message == "no such file or directory"
    assert failure.place == "rules/gpv.expr"
    assert failure.remedy == "did you mean `rules/gpu.expr`?"


def test_a_missing_file_without_a_near_name_or_a_folder_gets_advice() -> None:
    assert _refused("nothing.expr").remedy == "check the name"
    assert _refused("no/such/folder.expr").remedy == "check the name"


def test_a_link_that_leads_nowhere_is_told_from_a_missing_file() -> None:
    Path("gone.expr").symlink_to("elsewhere.expr")
    assert _refused("gone.expr").message == "this symbolic link leads nowhere"


def test_a_directory_without_rules_says_where_there_are_some() -> None:
    _touch("r/alt/b.expr", "empty/x.md")
    assert "give that: `r/alt`" in _refused("r").remedy
    assert _refused("empty").message == "this directory has no `.expr` files"
    with pytest.raises(Failure, match=r"no `\.expr` files"):
        all_sets(["empty"])


def test_an_empty_name_is_not_the_current_folder() -> None:
    _touch("a.expr")
    assert _refused("").message == "the name of a file is empty"


def test_a_name_with_a_nul_is_refused() -> None:
    assert "null" in _refused("a\0b").message


def test_what_is_no_text_is_found_in_each_file_and_the_others_are_read() -> None:
    Path("latin.expr").write_bytes(b"// caf\xe9\n")
    _touch("fine.expr")
    sources, found = read_sources(["latin.expr", "fine.expr"])
    assert [source.name for source in sources] == ["fine.expr"]
    assert [diagnostic.code for diagnostic in found] == ["E304"]


def test_a_huge_file_is_not_read_to_its_end() -> None:
    Path("huge.expr").write_bytes(b" " * (4 * MAX_BYTES))
    _, (found,) = read_sources(["huge.expr"])
    assert found.code == "E301"


def test_a_directory_below_another_that_cannot_be_entered_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests may run as root, who can enter everything: the refusal is the operating system's."""
    _touch("r/a.expr")

    def refuse(_: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    failure = _refused("r")
    assert (failure.message, failure.place) == ("permission denied", "r")
    assert failure.remedy == "check who may read or write it"
