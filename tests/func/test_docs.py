"""The page about levels: its code runs and gives the shapes it says, and it speaks of things that exist."""

import re
from pathlib import Path

import pytest

import autolab
from autolab.transforms import batched, dual, level, taped

PAGE = (Path(__file__).parents[2] / "docs" / "levels.md").read_text()


@pytest.mark.lesson13
def test_the_code_gives_the_shapes_it_says():
    (block,) = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    names = {}
    for line in block.replace("\n    return", " return").splitlines():
        code, _, remark = line.partition("  #")
        if not remark:
            exec(code, names)
            continue
        shape = re.search(r"\((\d+), (\d+)\)", remark)
        result = eval(code, names)
        assert result.shape == (tuple(map(int, shape.groups())) if shape else (2,))
    product = names["hessian"](names["loss"])(names["w"], names["xs"][2]) @ names["w"]
    assert result.equal(product)


@pytest.mark.parametrize("name", ["Tape", "Taped", "ForwardMode", "Dual", "Batch", "Batched", "loops"])
def test_the_page_names_what_there_is(name):
    assert f"`{name}`" in PAGE or f".{name}`" in PAGE
    assert any(hasattr(module, name) for module in (level, taped, dual, batched))


def test_the_page_is_one_page():
    assert len(PAGE.split()) < 1020
    assert "func" in autolab.__all__
