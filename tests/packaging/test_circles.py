"""No module needs another that needs it, in whatever room, and no import within a function hides that one does."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def name(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def imports(path, names):
    """The modules of the package that a file imports, at its head or in a function, but for type checkers."""
    package = name(path) if path.stem == "__init__" else name(path.parent)
    nodes = [ast.parse(path.read_text())]
    for node in nodes:  # grows while it is read
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            nodes += [n for n in ast.iter_child_nodes(node) if isinstance(n, ast.stmt | ast.excepthandler | ast.match_case)]
        if isinstance(node, ast.ImportFrom):
            start = ".".join(package.split(".")[: len(package.split(".")) + 1 - node.level]) if node.level else ""
            home = ".".join(part for part in (start, node.module) if part)
            yield from (found for a in node.names if (found := f"{home}.{a.name}" if f"{home}.{a.name}" in names else home) in names)
        elif isinstance(node, ast.Import):
            yield from (a.name for a in node.names if a.name in names)


@pytest.fixture(scope="module")
def graph():
    files = {name(path): path for path in (ROOT / "autolab").rglob("*.py")}
    return {module: set(imports(path, files)) - {module} for module, path in files.items()}


def circle(graph):
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_the_imports_of_the_package_have_no_circle(graph):
    assert circle(graph) == []


def test_a_circle_is_found(graph):
    assert len(graph) > 400 and sum(map(len, graph.values())) > 1500
    first, second = "autolab.engine.apply", sorted(graph["autolab.engine.apply"])[0]
    assert set(circle({**graph, second: graph[second] | {first}})) == {first, second}
