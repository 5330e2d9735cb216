"""docs/rules.md is written from the table."""

import re
from pathlib import Path

from autolab.rules import TABLE, document

PAGE = Path(__file__).parents[2] / "docs" / "rules.md"


def test_the_page_is_what_the_table_says():
    assert PAGE.read_text() == document.text(), "run: python -m autolab.rules.document > docs/rules.md"


def test_every_row_stands_on_the_page_once():
    names = re.findall(r"^\| `(\w+)` \|", document.text(), re.MULTILINE)
    assert sorted(names) == sorted(TABLE)


def test_a_row_of_the_page_has_five_cells_that_a_student_can_read():
    rows = [line for line in document.text().splitlines() if line.startswith("| `")]
    assert "| `mul` | `x * y` | x: `y`<br>y: `x` | x: `g * y`<br>y: `g * x` | elementwise |" in rows
    assert "| `exp` | `np.exp(x)` | `out` | `g * out` | elementwise |" in rows
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {7}
