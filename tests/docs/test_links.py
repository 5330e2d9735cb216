import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://github.com/autolab-grad/autolab/blob/main/"
PAGES = sorted(
    path for path in ROOT.glob("**/*.md") if not {".venv", "node_modules", "build", "_build"} & set(path.relative_to(ROOT).parts)
)


def text_of(page):
    """A page without its code, in which a link is an example."""
    return re.sub(r"```.*?```|``.*?``|`[^`]*`", "", page.read_text(), flags=re.S)


def anchor(heading):
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_links_within_the_project_lead_somewhere(page):
    broken = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text_of(page)):
        path, _, part = link.partition("#")
        target = (page.parent / path) if path else page
        if path.startswith(REPOSITORY):  # of a page that is copied away from the repository
            target = ROOT / path.removeprefix(REPOSITORY)
        elif "://" in link:
            continue
        if not target.exists():
            broken.append(link)
        elif part and part not in map(anchor, re.findall(r"^#+ (.*)$", target.read_text(), re.M)):
            broken.append(link)
    assert broken == []


def test_every_decision_is_listed_and_says_what_would_change_it():
    folder = ROOT / "docs" / "decisions"
    listed = re.findall(r"\]\((.*?\.md)\)", (folder / "README.md").read_text())
    assert sorted(listed) == sorted(path.name for path in folder.glob("*.md") if path.name != "README.md")
    for name in listed:
        text = (folder / name).read_text()
        assert "**Decided.**" in text
        assert "**What would change our mind.**" in text
        assert len(text.split()) < 450, f"{name} is longer than a page"
