"""Pages link to what exists, and name files that exist."""

import re

import pytest

from tests.docs.pages import ALL, anchor, read
from tests.shared import ROOT

PAGES = {name: read(name) for name in ALL}
FOLDERS = {path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")}
PATH = re.compile(r"([\w.-]+)/[\w./*-]*")


def _anchors(page):
    return {anchor(heading) for heading in page.headings()}


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_every_link_leads_to_a_file_and_a_heading_of_the_repository(page):
    broken = []
    for line, target in page.links():
        file, _, part = target.partition("#")
        path = (page.path.parent / file).resolve() if file else page.path
        name = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else ""
        if not name or not path.exists():
            broken.append(f"{page.name}:{line}: {target}")
        elif part and part not in _anchors(PAGES.get(name) or read(name)):
            broken.append(f"{page.name}:{line}: {target} has no such heading")
    assert not broken


@pytest.mark.parametrize("page", PAGES.values(), ids=lambda page: page.name)
def test_every_file_that_a_page_names_exists(page):
    missing = []
    for line, text in page.code():
        found = PATH.fullmatch(text)
        if found is None or found[1] not in FOLDERS:
            continue
        if not any(ROOT.glob(text.rstrip("/"))):
            missing.append(f"{page.name}:{line}: {text}")
    assert not missing


def test_every_page_of_docs_is_linked_from_the_readme():
    linked = {target for _, target in PAGES["README.md"].links()}
    pages = {name for name in ALL if name.startswith("docs/")}
    assert pages <= linked
