"""Backward passes with one mistake, in the engine exercises: each is caught, and called what it is."""

from __future__ import annotations

import pytest

from autolab.check import check
from autolab.check.behaviour.wrong_passes import ALONE, ARRAY_MISTAKES, MISTAKES, SCALAR_MISTAKES, array_backward, scalar_backward


def below(root):
    """All nodes, the newest first."""
    found, todo = {id(root): root}, [root]
    while todo:
        new = [p for p in todo.pop().parents if id(p) not in found]
        found |= {id(p): p for p in new}
        todo += new
    return sorted(found.values(), key=lambda node: -node.number)


def engine(hooked=lambda node, root: True):
    """A right pass; `hooked`: whose hooks run."""

    def backward(root, g):
        arrived = {id(root): g}
        for node in below(root):
            whole = arrived.pop(id(node))
            if not node.parents:
                node.grad = whole if node.grad is None else node.grad + whole
                continue
            for hook in node.hooks if hooked(node, root) else ():
                new = hook(whole)
                whole = whole if new is None else new
            for parent, part in zip(node.parents, node.rule(whole), strict=True):
                arrived[id(parent)] = arrived[id(parent)] + part if id(parent) in arrived else part

    return backward


def freeing(asked):
    """A backward that frees what was saved; `asked`: which nodes it looks at first."""

    def backward(root, g, retain_graph=False):
        if any(n.parents and n.saved is None for n in asked(root)):
            raise RuntimeError("Trying to backward through the graph a second time")
        engine()(root, g)
        for node in below(root) if not retain_graph else ():
            if node.parents:
                node.saved = None

    return backward


def moving_back(root):
    """Breadth first; a node that is met again goes to the end, and those behind it stay where they are."""
    order = [root]
    for node in order:
        for parent in node.parents:
            if parent in order and order.index(parent) > order.index(node):
                order.remove(parent)
            if parent not in order:
                order.append(parent)
    return order


@pytest.mark.parametrize("mistake", ARRAY_MISTAKES)
def test_each_mistake_in_a_pass_over_arrays_is_named(mistake):
    report = check("run_backward", array_backward(mistake))
    assert not report.passed and [d.family for d in report.diagnoses] == [MISTAKES[mistake][0]]


@pytest.mark.parametrize("mistake", SCALAR_MISTAKES + ALONE)
def test_each_mistake_in_a_pass_over_numbers_is_named(mistake):
    report = check("value_backward", scalar_backward(mistake))
    assert not report.passed and [d.family for d in report.diagnoses] == [MISTAKES[mistake][0]]


@pytest.mark.parametrize(("exercise", "right"), [("run_backward", engine()), ("run_backward", array_backward()), ("hooks", engine()),
                                             ("value_backward", scalar_backward()), ("free_graph", freeing(below)),
                                             ("backward_order", below)])  # fmt: skip
def test_a_right_pass_has_all_points(exercise, right):
    report = check(exercise, right)
    assert report.passed and report.points == report.max_points


@pytest.mark.parametrize(("exercise", "wrong", "family"), [
    ("hooks", engine(lambda node, root: node is not root), "ignored"),
    ("free_graph", freeing(lambda root: [root]), "error"),
    ("backward_order", moving_back, "order"),
    ("backward_order", lambda root: below(root) if root.parents else [], "missing"),
])  # fmt: skip
def test_what_holds_in_a_chain_and_not_in_every_graph_is_named(exercise, wrong, family):
    report = check(exercise, wrong)
    assert not report.passed and family in {d.family for d in report.diagnoses}


@pytest.mark.parametrize("enters", [lambda self: None, lambda self: setattr(self.state, "recording", False)], ids=["nothing", "again"])
def test_a_mode_that_is_switched_where_the_object_is_made_is_named(enters):
    class SwitchedTooEarly:
        def __init__(self, state):
            self.state, self.before = state, state.recording
            state.recording = False

        __enter__ = enters

        def __exit__(self, *error):
            self.state.recording = self.before

    assert "early" in {d.family for d in check("no_grad", SwitchedTooEarly).diagnoses}


def hooked(returned):
    """A right pass but for what it makes of that which a hook returned."""

    def backward(root, g):
        arrived = {id(root): g}
        for node in below(root):
            whole = arrived.pop(id(node))
            if not node.parents:
                node.grad = whole if node.grad is None else node.grad + whole
                continue
            for hook in node.hooks:
                whole = returned(hook(whole), whole)
            for parent, part in zip(node.parents, node.rule(whole), strict=True):
                arrived[id(parent)] = arrived[id(parent)] + part if id(parent) in arrived else part

    return backward


def test_a_none_of_a_hook_that_takes_the_place_of_g_is_named():
    report = check("hooks", hooked(lambda new, old: new))
    assert [d.family for d in report.diagnoses] == ["none"] and "unchanged" in report.diagnoses[0].text


def test_another_error_in_hooks_is_not_called_so():
    assert "none" not in {d.family for d in check("hooks", hooked(lambda new, old: new + old)).diagnoses}
