"""Problem set 6: the pieces of an engine, judged by what they do: call counts, order, what is freed, what raises.

The pieces work on the small nodes below, which count what is done to them.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np

from .scenes import Behaviour, Data, Scene, Slip, arrays, error_name, error_text
from .wrong_passes import ARRAY_PASSES, HOOK_PASSES


class Leaf:
    """Where gradients arrive."""

    def __init__(self, name: str = "leaf"):
        self.name, self.parents, self.number, self.calls = name, (), 0, 0
        self.grad: Any = None


class CountingNode:
    """An operation that ran: parents, a rule from g to one gradient for each parent, a number that counts upwards."""

    def __init__(self, name: str, number: int, parents: tuple, factors: tuple, log: list[str] | None = None):
        self.name, self.number, self.parents, self.saved, self.calls = name, number, parents, factors, 0
        self.log, self.hooks, self.received = log if log is not None else [], list[Any](), np.zeros(())

    def rule(self, g):
        """The gradients for the parents; counts how often it is asked."""
        self.calls += 1
        self.log.append(self.name)
        self.received = np.array(g)
        return tuple(g * f for f in self.saved)


class SumNode(CountingNode):
    """A sum, whose rule returns one array for all its parents: the g that it received."""

    def rule(self, g):
        """The same g for each parent."""
        super().rule(g)
        return (g,) * len(self.parents)


def _accumulate(f, g, h) -> Data:
    leaf = Leaf()
    f(leaf, g)
    first = np.array(leaf.grad)
    f(leaf, h)
    return {"first": first, "both": leaf.grad}


def _aliases(f, g, h) -> Data:
    leaf, other, before = Leaf(), Leaf(), (g.copy(), h.copy())
    f(leaf, g)
    f(other, g)
    f(leaf, h)
    return {"g": g, "other": other.grad, "changed": bool(np.any(g != before[0]) or np.any(h != before[1]))}


GRAD = {"first": "leaf.grad after the first call", "both": "leaf.grad after the second call"}
TWICE = Slip("twice", "The first gradient is counted twice", "What is in leaf.grad when g is added?", lambda g, h: {"first": 2 * g})
ACCUMULATE = Behaviour("accumulate", (
    Scene("first gradient", lambda f, g, h: {"first": _accumulate(f, g, h)["first"]}, lambda g, h: {"first": g},
          "a leaf without a gradient takes the first", "leaf.grad is None in the beginning, and None + g is an error.", 1,
          arrays((3, 5), (3, 5)), says=GRAD, slips=[TWICE]),
    Scene("second gradient", _accumulate, lambda g, h: {"first": g, "both": g + h}, "the second is added", "What does PyTorch "
          "do with .grad when backward is called twice?", 2, arrays((3, 5), (3, 5)), says=GRAD, slips=[
              Slip("overwritten", "The second gradient replaces the first", "A leaf collects.", lambda g, h: {"both": h}),
              Slip("ignored", "The second gradient is ignored", "A leaf collects.", lambda g, h: {"first": g, "both": g}), TWICE]),
    Scene("nobody else's array", _aliases, lambda g, h: {"g": g, "other": g, "changed": False},
          "the array that came in stays as it was",
          "The same g may be on its way to another node: who else sees it when you write `+=`?", 2,
          arrays((3, 5), (3, 5)), says={"g": "the g that was handed in, afterwards", "other": "the gradient of another leaf",
                                         "changed": "an array that was handed in was written into"}, slips=[
              Slip("mutation", "The second gradient is added into the array of the first, which others hold as well",
                   "leaf.grad = leaf.grad + g makes a new array; leaf.grad += g writes into the old one.",
                   lambda g, h: {"other": g + h}),
              Slip("mutation", "The g that is handed in is written into, and others hold it as well",
                   "g + leaf.grad makes a new array; g += leaf.grad writes into one that belongs to somebody else.",
                   lambda g, h: {"g": g, "other": g, "changed": True})]),
))  # fmt: skip


def _late(log=None):
    """Leaf a; c from a; d from c; e from c and d: c must wait for both."""
    a = Leaf("a")
    c = CountingNode("c", 1, (a,), (2.0,), log)
    d = CountingNode("d", 2, (c,), (3.0,), log)
    return a, c, d, CountingNode("e", 3, (c, d), (5.0, 7.0), log)


def _order(f) -> Data:
    *_, e = _late()
    return {"order": [n.name for n in f(e)]}


def _order_is_by_number(f) -> Data:
    a = Leaf("a")
    early, late = CountingNode("early", 1, (a,), (1.0,)), CountingNode("late", 9, (a,), (1.0,))
    return {"order": [n.name for n in f(CountingNode("root", 10, (early, late), (1.0, 1.0)))][:3]}


def _unequal():
    """Leaf a; b from a; c from b; d from c; e from c and d: what follows c has to wait as well."""
    a = Leaf("a")
    b = CountingNode("b", 1, (a,), (11.0,))
    c = CountingNode("c", 2, (b,), (2.0,))
    d = CountingNode("d", 3, (c,), (3.0,))
    return a, b, c, d, CountingNode("e", 4, (c, d), (5.0, 7.0))


def _order_unequal(f) -> Data:
    return {"order": [n.name for n in f(_unequal()[-1])]}


def _order_same_parent(f) -> Data:
    return {"order": [n.name for n in f(CountingNode("c", 1, (Leaf("a"),) * 2, (2.0, 3.0)))]}


def _order_leaf(f) -> Data:
    return {"order": [n.name for n in f(Leaf("a"))]}


DEEP = 1200


def _deep_chain() -> tuple[Leaf, Any]:
    """A leaf, and the last of so many steps in a row."""
    leaf = Leaf("a")
    node: Any = leaf
    for i in range(1, DEEP + 1):
        node = CountingNode(f"s{i}", i, (node,), (1.0,))
    return leaf, node


@contextlib.contextmanager
def usual_limit() -> Iterator[None]:
    # Tools around a notebook raise the limit of recursion: what is deep is deep at the one that Python starts with.
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(min(before, 1000))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def _deep(f) -> Data:
    _, last = _deep_chain()
    with usual_limit():
        return {"count": len(list(f(last)))}


VISITS = Behaviour("backward_order", (
    Scene("each node once", _order, lambda: {"order": "e d c a"}, "e, d, c, a", "c was made before d: which of them has to wait?",
          1.625, slips=[Slip("visited", "A node that is used twice is visited twice", "Remember which nodes you have been to.",
                         lambda: {"order": "e c d a c a"}),
                    Slip("visited", "A node that is used twice is visited twice", "Remember which nodes you have been to.",
                         lambda: {"order": "e c a d c a"}),
                    Slip("order", "c comes before d, although d still has a gradient for it",
                         "c was made before d, so it has to wait.", lambda: {"order": "e c d a"}),
                    Slip("order", "c and its input come before d, although d still has a gradient for c",
                         "c was made before d, so it has to wait.", lambda: {"order": "e c a d"}),
                    Slip("visited", "A node that is used twice is in the list twice", "Remember which nodes you have been to.",
                         lambda: {"order": "e d c c a a"}),
                    Slip("missing", "The leaves are missing", "Where does a path end, and is that node in the list?",
                         lambda: {"order": "e d c"}),
                    Slip("missing", "The root is missing", "Which node does the walk begin with, and is it in the list?",
                         lambda: {"order": "d c a"}),
                    Slip("order", "The order runs from the inputs to the root", "Backward begins at the root.",
                         lambda: {"order": "a c d e"})]),
    Scene("unequal ways", _order_unequal, lambda: {"order": "e d c b a"}, "what follows a node waits with it",
          "c has to wait for d; so has what comes after c.", 1, slips=[
              Slip("order", "c waits for d, and the nodes behind c do not: they come before c",
                   "A node that is moved back takes those behind it along.", lambda: {"order": "e d b c a"}),
              Slip("order", "c waits for d, and the nodes behind c do not: they come before c",
                   "A node that is moved back takes those behind it along.", lambda: {"order": "e d b a c"}),
              Slip("order", "The order is that of the shortest way from the root", "c is one step from e, and two steps by way of d.",
                   lambda: {"order": "e c d b a"})]),
    Scene("one parent twice", _order_same_parent, lambda: {"order": "c a"}, "a parent that appears in the list twice is visited once",
          "Remember which nodes you have been to.", 0.5, slips=[
              Slip("visited", "A node that is used twice is visited twice", "Remember which nodes you have been to.",
                   lambda: {"order": "c a a"})]),
    Scene("a leaf as the root", _order_leaf, lambda: {"order": "a"}, "a leaf alone is the whole list",
          "Which node does the walk begin with, and is it in the list?", 0.5, side=True, slips=[
              Slip("missing", "A root without parents is not in the list", "Which node does the walk begin with, and is it in the list?",
                   lambda: {"order": []})]),
    Scene("newest first", _order_is_by_number, lambda: {"order": "root late early"}, "the node with the highest number first",
          "node.number counts the nodes as they are made.", 1),
    Scene("deep chain", _deep, lambda: {"count": DEEP + 1}, f"{DEEP} nodes in a row are no problem",
          "A function that calls itself for each node stops at Python's recursion limit; keep a list of what is still to do.", 1.375,
          says={"count": "the number of nodes in the list"}, slips=[
              Slip("missing", "One node of the chain is missing", "The root, all steps and the leaf are in the list.",
                   lambda: {"count": DEEP})]),
))  # fmt: skip


FOUR = np.array([0.4, -1.3, 2.7, 0.6])


def _pass(f, g) -> Data:
    a = Leaf("a")
    f(CountingNode("d", 2, (CountingNode("c", 1, (a,), (2.0,)),), (3.0,)), g)
    return {"a": a.grad}


def _diamond(f, g) -> Data:
    a, c, d, e = _late()
    f(e, g)
    return {"a": a.grad, "calls": [c.calls, d.calls, e.calls]}


def _diamond_whole(f, g) -> Data:
    _, c, *_, e = _late()
    f(e, g)
    return {"g of c": c.received, "calls": c.calls}


def _leaf_used_thrice(f, g) -> Data:
    a = Leaf("a")
    b = CountingNode("b", 1, (a,), (2.0,))
    c = CountingNode("c", 2, (b, a), (3.0, 5.0))
    f(CountingNode("d", 3, (c, a), (7.0, 11.0)), g)
    return {"a": a.grad}


def _same_parent(f, g) -> Data:
    a = Leaf("a")
    c = CountingNode("c", 1, (a, a), (2.0, 3.0))
    f(CountingNode("d", 2, (c, c), (5.0, 7.0)), g)
    return {"a": a.grad, "calls": c.calls}


def _unequal_pass(f, g) -> Data:
    a, b, c, d, e = _unequal()
    f(e, g)
    return {"a": a.grad, "calls": [n.calls for n in (b, c, d, e)]}


def _sum_pass(f, g) -> Data:
    a, b, before = Leaf("a"), Leaf("b"), g.copy()
    c = CountingNode("c", 1, (a,), (2.0,))
    d = CountingNode("d", 2, (b,), (3.0,))
    e = CountingNode("e", 3, (c,), (5.0,))
    f(SumNode("f", 4, (e, c, d), ()), g)
    return {"a": a.grad, "b": b.grad, "changed": bool(np.any(g != before))}


def _second_pass(f, g, h) -> Data:
    a = Leaf("a")
    c = CountingNode("c", 1, (a,), (2.0,))
    d = CountingNode("d", 2, (c,), (3.0,))
    f(d, g)
    first = np.array(a.grad)
    f(d, h)
    return {"first": first, "both": a.grad}


def _leaf_pass(f, g) -> Data:
    a = Leaf("a")
    f(a, g)
    return {"a": a.grad}


def _deep_pass(f) -> Data:
    a, last = _deep_chain()
    with usual_limit():
        f(last, FOUR.copy())
    return {"a": a.grad}


SAME_PARENT = "Of two parts for one parent only one arrives: the second takes the place of the first"
SHARED = "A sum is made in place (+=), in an array that another node has received as well"
RUN = Behaviour("run_backward", (
    Scene("a chain", _pass, lambda g: {"a": 6 * g}, "g times every factor on the way",
          "Each rule gives one gradient for each parent.", 1, arrays((4,)), slips=[
              Slip("upstream ignored", "The gradient that comes in is not passed on", "What does the rule get as g?",
                   lambda g: {"a": 6 * np.ones_like(g)}),
              Slip("upstream only", "The leaf receives g itself: what the rules return does not reach it",
                   "What a rule returns is what its parents receive.", lambda g: {"a": g})]),
    Scene("diamond", _diamond, lambda g: {"a": 2 * (5 + 21) * g, "calls": [1, 1, 1]}, "both ways are added",
          "Two ways lead from e to c: 5 directly, 3 times 7 through d.", 1, arrays((4,)),
          says={"calls": "how often the rules of c, d, e were called", "a": "gradient of a"}, slips=[
              Slip("overwritten", "Only one of the two ways to c counts: the second overwrites the first",
                   "Keep the sum of what has arrived for each node.", lambda g: {"a": 42 * g}),
              Slip("overwritten", "Only one of the two ways to c counts: the other is lost",
                   "Keep the sum of what has arrived for each node.", lambda g: {"a": 10 * g}),
              Slip("averaged", "The two ways to c are averaged", "Contributions add up.", lambda g: {"a": 26 * g}),
              Slip("twice", "The rule of e runs once for each of its parents", "One call returns the gradients for all parents.",
                   lambda g: {"a": 52 * g, "calls": [1, 1, 2]}),
              Slip("twice", "The rule of c runs twice, once for each way: right, and exponentially slow in a deep graph",
                   "Wait until all of c's gradient has arrived.", lambda g: {"a": 52 * g, "calls": [2, 1, 1]})]),
    Scene("the whole gradient", _diamond_whole, lambda g: {"g of c": 26 * g, "calls": 1},
          "each rule is called once, with everything that arrived", "Wait until all of c's gradient has arrived.", 0.75,
          arrays((4,)), says={"calls": "how often the rule of c was called", "g of c": "what the rule of c received"}),
    Scene("a leaf used three times", _leaf_used_thrice, lambda g: {"a": (42 + 35 + 11) * g}, "a leaf adds up all that arrives",
          "Three ways lead from d to a: 11 directly, 7 times 5 by way of c, 7 times 3 times 2 by way of c and b.", 0.75, arrays((4,)),
          says={"a": "gradient of a"}, slips=[
              Slip("overwritten", "A leaf keeps only the last contribution to its gradient: it is assigned (=) and not added (+=)",
                   "Use accumulate for each part that arrives, or for their sum.", lambda g, c=c: {"a": c * g}) for c in (42, 35, 11)]),
    Scene("one parent twice", _same_parent, lambda g: {"a": 60 * g, "calls": 1}, "x * x sends two parts to x",
          "A node may be its child's first and second parent; each place has a part of its own.", 0.5, arrays((4,)),
          says={"a": "gradient of a", "calls": "how often the rule of c was called"}, slips=[
              Slip("overwritten", SAME_PARENT, "zip(node.parents, parts) has two pairs for x * x.", lambda g, c=c: {"a": c * g})
              for c in (2 * 5, 2 * 7, 3 * 5, 3 * 7)]),
    Scene("unequal ways", _unequal_pass, lambda g: {"a": 11 * 2 * 26 * g, "calls": [1, 1, 1, 1]}, "what follows a node waits with it",
          "c has to wait for d; so has what comes after c.", 0.5, arrays((4,)),
          says={"a": "gradient of a", "calls": "how often the rules of b, c, d, e were called"}),
    Scene("a sum", _sum_pass, lambda g: {"a": 12 * g, "b": 3 * g, "changed": False}, "arrays that others hold are left as they are",
          "The rule of a sum gives the same array to all its parents: who else sees it when you write `+=`?", 0.5, arrays((4,)),
          says={"a": "gradient of a", "b": "gradient of b", "changed": "the g that was handed in was written into"}, slips=[
              Slip("mutation", SHARED, "Add with `a + b`, which makes a new array.", lambda g: {"b": 18 * g}),
              Slip("mutation", SHARED, "Add with `a + b`, which makes a new array.", lambda g: {"changed": True})]),
    Scene("a second call", _second_pass, lambda g, h: {"first": 6 * g, "both": 6 * g + 6 * h}, "a leaf adds up what several calls send",
          "What does PyTorch do with .grad when backward is called twice?", 0.5, arrays((4,), (4,)), says=GRAD, slips=[
              Slip("overwritten", "The second call replaces the gradient of a leaf instead of adding to it",
                   "Who empties .grad, and when?", lambda g, h: {"both": 6 * h}),
              Slip("accumulation", "The second call sends the gradients of the first along once more",
                   "Which gradients belong to this call only?", lambda g, h: {"both": 6 * g + 6 * (g + h)})]),
    Scene("a leaf as the root", _leaf_pass, lambda g: {"a": g}, "the gradient of a leaf with itself", "A leaf has no rule; what arrives, "
          "stays.", 0.5, arrays((4,)), says={"a": "gradient of a"}),
    Scene("deep chain", _deep_pass, lambda: {"a": FOUR}, f"{DEEP} nodes in a row are no problem",
          "A function that calls itself for each node stops at Python's recursion limit.", 2),
), ARRAY_PASSES)  # fmt: skip


def _small(log=None):
    a = Leaf("a")
    c = CountingNode("c", 1, (a,), (2.0,), log)
    return a, c, CountingNode("d", 2, (c,), (3.0,), log)


def _frees(f, g) -> Data:
    a, c, d = _small()
    f(d, g)
    return {"a": a.grad, "held": sum(n.saved is not None for n in (c, d))}


def _again(f, g) -> Data:
    a, _, d = _small()
    f(d, g)
    said = error_text(lambda: f(d, g))
    return {"error": said.split(":")[0], "says": "second time" in said, "a": a.grad}


def _shared_part(f, g) -> Data:
    a, c, d = _small()
    e = CountingNode("e", 3, (c,), (5.0,))
    f(d, g)
    said = error_text(lambda: f(e, g))
    return {"error": said.split(":")[0], "says": "second time" in said, "a": a.grad}


def _retains(f, g) -> Data:
    a, c, d = _small()
    f(d, g, retain_graph=True)
    held = sum(n.saved is not None for n in (c, d))
    f(d, g)
    return {"held": held, "a": a.grad, "error": error_name(lambda: f(d, g))}


FREE = Behaviour("free_graph", (
    Scene("memory", _frees, lambda g: {"a": 6 * g, "held": 0}, "what was saved is let go", "Set node.saved to None after "
          "its rule has run.", 2, arrays((4,)), says={"held": "nodes that still hold what they saved"}, slips=[
              Slip("held", "Nothing is freed: the graph holds its memory until it is forgotten",
                   "Set node.saved to None after its rule has run.", lambda g: {"a": 6 * g, "held": 2})]),
    Scene("a second time", _again, lambda g: {"error": "RuntimeError", "says": True, "a": 6 * g},
          "a second backward says what is wrong", "Look at node.saved before you call the rule, and raise RuntimeError "
          "with PyTorch's words: trying to backward through the graph a second time.", 2, arrays((4,)),
          says={"error": "what the second call raised", "says": "the message speaks of a second time",
                "a": "gradient of a afterwards"}, slips=[
              Slip("error", "The second call fails by accident, with an error that says nothing about the graph",
                   "Look at node.saved before you call the rule.", lambda g: {"error": "TypeError"})]),
    Scene("a shared part", _shared_part, lambda g: {"error": "RuntimeError", "says": True, "a": 6 * g},
          "another root over a part that was freed says so too", "Look at node.saved of each node below the root, not of one.", 1,
          arrays((4,)), says={"error": "what backward from the other root raised", "says": "the message speaks of a second time",
                "a": "gradient of a afterwards"}, slips=[
              Slip("error", "Only the root is asked whether it was freed: a part below it was, and the call fails by accident",
                   "Look at node.saved of each node below the root.", lambda g: {"error": "TypeError"})]),
    Scene("retain_graph", _retains, lambda g: {"held": 2, "a": 12 * g, "error": "RuntimeError"},
          "kept while asked for, and freed by the next call", "retain_graph=True skips the freeing, nothing else.", 1,
          arrays((4,)), says={"held": "nodes that hold what they saved after the first call", "error": "what the third call raised"}),
))  # fmt: skip


def _hook_sees(f, g) -> Data:
    seen, (_, c, _, e) = [], _late()
    c.hooks.append(lambda g: seen.append(np.array(g)))
    f(e, g)
    return {"calls": len(seen), "saw": seen[0] if seen else 0.0}


def _hook_replaces(f, g) -> Data:
    a, c, d = _small()
    c.hooks.append(lambda g: 10 * g)
    f(d, g)
    return {"a": a.grad}


def _hook_at_root(f, g) -> Data:
    a, _, d = _small()
    d.hooks.append(lambda g: 10 * g)
    f(d, g)
    return {"a": a.grad}


def _hooks_in_order(f, g) -> Data:
    a, c, d = _small()
    c.hooks += [lambda g: g + 1, lambda g: None, lambda g: 3 * g]
    f(d, g)
    return {"a": a.grad}


def _hook_before_rule(f, g) -> Data:
    log: list[str] = []
    _, c, d = _small(log)
    c.hooks.append(lambda g: log.append("hook of c"))
    f(d, g)
    return {"order": ", ".join(log)}


HOOKS = Behaviour("hooks", (
    Scene("the whole gradient", _hook_sees, lambda g: {"calls": 1, "saw": 26 * g}, "a hook fires once, with the sum",
          "A hook fires when everything for its node has arrived; this one returns None and only looks.", 1, arrays((4,)),
          says={"calls": "how often the hook fired", "saw": "what the hook saw"}, slips=[
              Slip("twice", "The hook fires for each contribution instead of once for their sum",
                   "A hook fires when everything for its node has arrived.", lambda g: {"calls": 2})]),
    Scene("replaces", _hook_replaces, lambda g: {"a": 60 * g}, "what a hook returns takes the place of g",
          "What does the rule receive?", 2, arrays((4,)), slips=[
              Slip("ignored", "What the hook returns is ignored", "What does the rule receive?", lambda g: {"a": 6 * g})]),
    Scene("at the root", _hook_at_root, lambda g: {"a": 60 * g}, "a hook of the root sees the g that backward was given",
          "The root is a step like the others.", 1, arrays((4,)), slips=[
              Slip("ignored", "A hook of the root is not called, or what it returns is ignored", "The root is a step like the others.",
                   lambda g: {"a": 6 * g})]),
    Scene("several", _hooks_in_order, lambda g: {"a": 2 * 3 * (3 * g + 1)}, "in order, each on what the one before left; None leaves g",
          "Each hook sees what the one before it left; None leaves it as it was.", 2, arrays((4,)), slips=[
              Slip("order", "The hooks run in the wrong order", "First registered, first called.", lambda g: {"a": 2 * (9 * g + 1)}),
              Slip("late", "The hooks run on what the rule returned", "A hook sees what the rule is about to see.",
                   lambda g: {"a": 3 * (6 * g + 1)}),
              Slip("stopped", "A hook that returns None ends the row: those after it do not run", "None leaves g as it is, and the next "
                   "hook still has its turn.", lambda g: {"a": 2 * (3 * g + 1)}),
              Slip("ignored", "Each hook sees the original g instead of what the hook before it left",
                   "What one hook returns is what the next one sees.", lambda g: {"a": 2 * 9 * g})]),
    Scene("before the rule", _hook_before_rule, lambda g: {"order": "d, hook of c, c"}, "hooks run before the rule of their node",
          "The rule has to see what the hooks left.", 1, arrays((4,))),
), HOOK_PASSES)  # fmt: skip


def _inside(cls) -> Data:
    state = SimpleNamespace(recording=True)
    with cls(state):
        inside = state.recording
    return {"inside": inside, "after": state.recording}


def _nested(cls) -> Data:
    state = SimpleNamespace(recording=True)
    with cls(state):
        with cls(state):
            innermost = state.recording
        inside = state.recording
    return {"innermost": innermost, "inside": inside, "after": state.recording}


def _reused(cls) -> Data:
    state = SimpleNamespace(recording=True)
    off = cls(state)
    made = state.recording
    with off:
        with off:
            pass
        inside = state.recording
    return {"made": made, "inside": inside, "after": state.recording}


def _raises(cls) -> Data:
    state = SimpleNamespace(recording=True)

    def broken():
        with cls(state):
            raise ValueError("a bug in the middle")

    return {"error": error_name(broken), "after": state.recording}


def _was_off(cls) -> Data:
    state = SimpleNamespace(recording=False)
    with cls(state):
        within = state.recording
    return {"within": within, "after": state.recording}


OFF = {"innermost": "recording inside the inner block", "inside": "recording inside the outer block",
       "within": "recording inside the block", "after": "recording afterwards",
       "made": "recording where the object was made, before the block",
       "error": "the error that came out"}  # fmt: skip
NO_GRAD = Behaviour("no_grad", (
    Scene("off and on", _inside, lambda: {"inside": False, "after": True}, "off inside, on afterwards",
          "__enter__ switches off, __exit__ brings back.", 2, says={**OFF, "inside": "recording inside the block"}, slips=[
              Slip("on", "Recording stays on inside the block", "Whose attribute does the engine ask?", lambda: {"inside": True})]),
    Scene("nested", _nested, lambda: {"innermost": False, "inside": False, "after": True}, "the inner block leaves the outer one off",
          "On leaving, bring back what was there before, not True.", 2, says=OFF, slips=[
              Slip("state", "Leaving the inner block switches recording on inside the outer one",
                   "On leaving, bring back what was there before, not True.", lambda: {"innermost": False, "inside": True}),
              Slip("toggled", "Entering the inner block switches recording on again", "Off is off, whatever was there before.",
                   lambda: {"innermost": True, "inside": False})]),
    Scene("was off", _was_off, lambda: {"within": False, "after": False}, "what was off stays off", "Bring back what was there before.", 1,
          says=OFF, slips=[
              Slip("toggled", "Recording was off before the block, and is on inside it", "Off is off, whatever was there before.",
                   lambda: {"within": True})]),
    Scene("an exception", _raises, lambda: {"error": "ValueError", "after": True}, "an error passes through and recording comes back",
          "__exit__ is called for an exception as well; what it returns decides whether the exception goes on.", 2, says=OFF, slips=[
              Slip("swallowed", "The block swallows the exception", "__exit__ must not return True.", lambda: {"error": "nothing"}),
              Slip("state", "After an exception recording stays off", "__exit__ runs after an exception as well; what does it do then?",
                   lambda: {"error": "ValueError", "after": False})]),
    Scene("the same object twice", _reused, lambda: {"made": True, "inside": False, "after": True}, "one object can be entered again",
          "Each entry needs its own memory of what was there: a list, last in, first out.", 1, says=OFF, slips=[
              *(Slip("early", "Making the object switches recording off already: that is for entering the block",
                     "What runs at `cls(state)`, and what at `with`?", lambda inside=inside: {"made": False, "inside": inside})
                for inside in (True, False)),
              Slip("state", "The second entry overwrites what the first one remembered", "How many things does one object remember?",
                   lambda: {"inside": False, "after": False}),
              Slip("state", "Leaving the inner block brings back what was there before the outer one", "What was there just "
                   "before the last entry?", lambda: {"inside": True})]),
))  # fmt: skip


def _array(a):
    return SimpleNamespace(data=a, version=0)


def _write(t, factor=2.0):
    t.data *= factor
    t.version += 1


def _unpack_right(cls, a) -> Data:
    t = _array(a)
    return {"value": cls(t).unpack()}


def _unpack_written(cls, a) -> Data:
    t = _array(a)
    saved = cls(t)
    _write(t)
    said = error_text(saved.unpack)
    return {"error": said.split(":")[0], "names both": "version 1" in said and "version 0" in said}


def _written_before(cls, a) -> Data:
    t = _array(a)
    _write(t)
    return {"value": cls(t).unpack()}


def _no_copy(cls, a) -> Data:
    t = _array(a)
    return {"shares": bool(np.shares_memory(cls(t).unpack(), t.data))}


def _back_again(cls, a) -> Data:
    t = _array(a)
    saved = cls(t)
    _write(t, 2.0)
    _write(t, 0.5)
    return {"error": error_name(saved.unpack)}


VERSIONS = Behaviour("version_counter", (
    Scene("unchanged", _unpack_right, lambda a: {"value": a}, "what was saved comes back", "unpack returns the array.", 1,
          arrays((3, 5))),
    Scene("written since", _unpack_written, lambda a: {"error": "RuntimeError", "names both": True},
          "a write after saving is found", "Compare the version now with the version at saving; the message says both: "
          "`is at version 1; expected version 0`.", 3, arrays((3, 5)),
          says={"error": "what unpack raised", "names both": "the message names version 1 and version 0"}, slips=[
              Slip("unnoticed", "A write after saving raises nothing, and backward would use the wrong numbers",
                   "Remember the version when you save.", lambda a: {"error": "nothing"})]),
    Scene("written before", _written_before, lambda a: {"value": 2 * a}, "a write before saving does no harm",
          "It is the version at saving that counts, not 0.", 2, arrays((3, 5)), slips=[]),
    Scene("no copy", _no_copy, lambda a: {"shares": True}, "saving copies nothing",
          "A copy would cost the memory of every activation again; a counter costs one number.", 1, arrays((3, 5)),
          says={"shares": "shares the memory of the tensor"}),
    Scene("written twice", _back_again, lambda a: {"error": "RuntimeError"}, "the counter decides, not the numbers",
          "Comparing numbers costs time and misses a write that was undone; compare versions.", 1, arrays((3, 5)),
          says={"error": "what unpack raised after a write and its undoing"}),
))  # fmt: skip

ENGINE = (ACCUMULATE, VISITS, RUN, FREE, HOOKS, NO_GRAD, VERSIONS)
