"""Other exercises on behaviour, of the kind of those in the problem sets: other steps, other operations, the opposite switch."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

from ..run.inputs import draw
from .ps1_scalar import table_of
from .scenes import Behaviour, Data, Scene, Slip, UnexpectedResult, arrays, error_name, pair

# --- problem set 1: a trace table


def _table(names: tuple[str, ...]) -> Callable[..., Data]:
    return lambda f, x: {name: value for name, value in table_of(f, x).items() if name in names}


def _one(rng):
    return (draw(rng, (), 0.3, 1.7),)


def _trace(name: str, slope: float, shift: float, outer: Callable, slope_of_outer: Callable) -> Behaviour:
    """y = outer(slope * x + shift), step by step."""

    def u(x):
        return slope * x + shift

    return Behaviour(name, (
        Scene("values", _table(("u", "y")), lambda x: {"u": u(x), "y": outer(u(x))}, "u and y are right",
              "Compute u and y at x = 1 by hand.", 1, _one),
        Scene("local derivatives", _table(("dy_du", "du_dx")), lambda x: {"dy_du": slope_of_outer(u(x)), "du_dx": slope},
              "each step has its derivative", "Differentiate each line of the table for itself, as if the others were not there.",
              2, _one, slips=[
                  Slip("variable", "dy/du is computed at x and not at u", "At which number does the second step work: x or u?",
                       lambda x: {"dy_du": slope_of_outer(x)}),
                  Slip("power", "dy/du is the second step itself, not its derivative", "What is the derivative of y for u?",
                       lambda x: {"dy_du": outer(u(x))})]),
        Scene("chain rule", _table(("dy_dx",)), lambda x: {"dy_dx": slope * slope_of_outer(u(x))}, "dy/dx is the product",
              "Nudge x by 0.01: how far does u move, and how far does y move for that?", 2, _one, slips=[
                  Slip("term", "The local derivatives are added; the chain rule multiplies them", "How far does y move when u moves?",
                       lambda x: {"dy_dx": slope_of_outer(u(x)) + slope}),
                  Slip("factor", "The inner derivative is missing", "y depends on u; how does u depend on x?",
                       lambda x: {"dy_dx": slope_of_outer(u(x))})]),
    ))  # fmt: skip


TRACES = (
    _trace("trace_cube", 2, 5, lambda u: u**3, lambda u: 3 * u**2),
    _trace("trace_inverse", 4, 3, lambda u: 1 / u, lambda u: -1 / u**2),
    _trace("trace_exp", -2, 1, np.exp, np.exp),
    _trace("trace_root", 5, 4, np.sqrt, lambda u: 0.5 / np.sqrt(u)),
)

# --- problem set 6: a switch for a block, on and not off, or to what is asked


def _switch(name: str, enter: Callable, inside: bool) -> Behaviour:
    """A context manager that sets `state.recording` to `inside` for a block, and brings back what was there before."""
    other = not inside

    def plain(cls):
        state = SimpleNamespace(recording=other)
        with enter(cls, state):
            within = state.recording
        return {"inside": within, "after": state.recording}

    def nested(cls):
        state = SimpleNamespace(recording=other)
        with enter(cls, state):
            with enter(cls, state):
                innermost = state.recording
            within = state.recording
        return {"innermost": innermost, "inside": within, "after": state.recording}

    def already(cls):
        state = SimpleNamespace(recording=inside)
        with enter(cls, state):
            within = state.recording
        return {"inside": within, "after": state.recording}

    def reused(cls):
        state = SimpleNamespace(recording=other)
        block = enter(cls, state)
        made = state.recording
        with block:
            with block:
                pass
            within = state.recording
        return {"made": made, "inside": within, "after": state.recording}

    def raises(cls):
        state = SimpleNamespace(recording=other)

        def broken():
            with enter(cls, state):
                raise ValueError("a bug in the middle")

        return {"error": error_name(broken), "after": state.recording}

    says = {"innermost": "recording inside the inner block", "inside": "recording inside the block", "after": "recording afterwards",
            "error": "the error that came out", "made": "recording before the block, where the object was made"}  # fmt: skip
    before = "On leaving, bring back what was there before."
    return Behaviour(name, (
        Scene("a block", plain, lambda: {"inside": inside, "after": other}, "switched inside, brought back afterwards",
              "__enter__ switches, __exit__ brings back.", 2, says=says, slips=[
                  Slip("on", "The block switches nothing", "Whose attribute does the engine ask?", lambda: {"inside": other})]),
        Scene("nested", nested, lambda: {"innermost": inside, "inside": inside, "after": other}, "the inner block leaves the outer one",
              before, 2, says=says, slips=[
                  Slip("state", "Leaving the inner block ends the outer one as well", before,
                       lambda: {"innermost": inside, "inside": other})]),
        Scene("was so before", already, lambda: {"inside": inside, "after": inside}, "what was so before stays so", before, 1, says=says,
              slips=[Slip("toggled", "The block turns the switch around instead of setting it", before, lambda: {"inside": other}),
                     Slip("state", "On leaving, a fixed value is set", before, lambda: {"inside": inside, "after": other})]),
        Scene("an exception", raises, lambda: {"error": "ValueError", "after": other}, "an error passes through, and the switch comes back",
              "__exit__ is called for an exception as well; what it returns decides whether the exception goes on.", 2, says=says, slips=[
                  Slip("swallowed", "The block swallows the exception", "__exit__ must not return True.", lambda: {"error": "nothing"}),
                  Slip("state", "After an exception the switch is not brought back", "What does __exit__ do after an exception?",
                       lambda: {"error": "ValueError", "after": inside})]),
        Scene("the same object twice", reused, lambda: {"made": other, "inside": inside, "after": other}, "one object can be entered again",
              "Each entry needs its own memory of what was there: a list, last in, first out.", 1, says=says, slips=[
                  *(Slip("early", "Making the object switches already: that is for entering the block",
                         "What runs where the object is made, and what at `with`?", lambda now=now: {"made": inside, "inside": now})
                    for now in (True, False)),
                  Slip("state", "The second entry overwrites what the first one remembered", "How many things does one object remember?",
                       lambda: {"inside": inside, "after": inside})]),
    ))  # fmt: skip


SWITCHES = (
    _switch("enable_grad", lambda cls, state: cls(state), True),
    _switch("set_grad_off", lambda cls, state: cls(state, False), False),
)

# --- problem set 7: which operation in which precision

GROUPS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "products": (("bmm", "conv1d", "addmm"), "float16", "Most of the time goes into these, and their sums are kept in float32."),
    "exponentials and logarithms": (("expm1", "log1p", "softplus"), "float32", "exp(12) is beyond the largest float16."),
    "long sums": (("prod", "cumprod", "logsumexp"), "float32", "Adding 1 to 2048 in float16 gives 2048."),
    "softmax and norms": (("softmax", "group_norm"), "float32", "Which operations are inside?"),
    "losses": (("nll_loss", "kl_div"), "float32", "Differences of nearly equal numbers lose their digits."),
    "the rest": (("neg", "permute", "max_pool2d"), "input", "Nothing to gain and nothing to lose."),
}


def _asked(names: tuple[str, ...]) -> Callable[..., Data]:
    def play(table, *_):
        found = {name: str(table[name]).removeprefix("torch.") for name in names}
        for name, said in found.items():
            if said not in ("float16", "float32", "input"):
                raise UnexpectedResult(f"{name} is {said}, expected one of: float16, float32, input")
        return found

    return play


PRECISION = Behaviour("precision_of_others", tuple(
    Scene(group, _asked(names), lambda names=names, answer=answer: dict.fromkeys(names, answer), ", ".join(names), hint, 1, tells=False)
    for group, (names, answer, hint) in GROUPS.items()
))  # fmt: skip
del GROUPS  # the answers: a process that runs answers of learners keeps none

# --- problem set 8: forward mode, and batches


def _moved(found: Any) -> Data:
    return dict(zip(("out", "tangent"), pair(found, "the result and its tangent"), strict=True))


def _jvp(name: str, value: Callable, for_x: Callable, for_y: Callable) -> Behaviour:
    """A jvp rule of an elementwise operation on two inputs, by its two partial derivatives."""

    def positive(rng):
        return tuple(draw(rng, (4,), low, high) for low, high in ((0.3, 3.0), (0.3, 3.0), (-3.0, 3.0), (-3.0, 3.0)))

    def tangent(x, y, dx, dy):
        return for_x(x, y) * dx + for_y(x, y) * dy

    terms = "Two inputs move: two terms."
    return Behaviour(name, (
        Scene("both move", lambda f, x, y, dx, dy: _moved(f(x, y, dx, dy)),
              lambda x, y, dx, dy: {"out": value(x, y), "tangent": tangent(x, y, dx, dy)}, "both inputs move the result",
              "Move x by dx and y by dy at once.", 3, positive, slips=[
                  Slip("term", "Only one of the two inputs moves the result", terms, lambda x, y, dx, dy: {"tangent": for_x(x, y) * dx}),
                  Slip("term", "Only one of the two inputs moves the result", terms, lambda x, y, dx, dy: {"tangent": for_y(x, y) * dy}),
                  Slip("sign", "One of the two terms has the wrong sign", "In which direction does the result move when y grows?",
                       lambda x, y, dx, dy: {"tangent": tangent(x, y, dx, -dy)}),
                  Slip("swapped", "Each tangent is multiplied by the other input's derivative", "How far does the result move with x?",
                       lambda x, y, dx, dy: {"tangent": tangent(x, y, dy, dx)}),
                  Slip("exchanged", "The result and its tangent are exchanged", "Return the result first.",
                       lambda x, y, dx, dy: {"out": tangent(x, y, dx, dy), "tangent": value(x, y)})]),
    ))  # fmt: skip


def _share(x):
    return x / x.sum()


JVPS = (
    _jvp("div_jvp", lambda x, y: x / y, lambda x, y: 1 / y, lambda x, y: -x / y**2),
    _jvp("hypot_jvp", np.hypot, lambda x, y: x / np.hypot(x, y), lambda x, y: y / np.hypot(x, y)),
    _jvp("mul_square_jvp", lambda x, y: x * y**2, lambda x, y: y**2, lambda x, y: 2 * x * y),
    Behaviour("shares_jvp", (
        Scene("value and tangent", lambda f, x, dx: _moved(f(x, dx)),
              lambda x, dx: {"out": _share(x), "tangent": (dx - _share(x) * dx.sum()) / x.sum()}, "the tangent of the result",
              "Every entry of the result moves with every entry of x.", 5,
              lambda rng: (draw(rng, (5,), 0.3, 3.0), draw(rng, (5,))), slips=[
                  Slip("diagonal only", "Each entry moves with its own score only", "All shares have one sum.",
                       lambda x, dx: {"tangent": dx * (1 - _share(x)) / x.sum()}),
                  Slip("term", "The sum over all entries does not move", "All shares have one sum.",
                       lambda x, dx: {"tangent": dx / x.sum()}),
                  Slip("averaged", "What all entries share is averaged", "Contributions add up.",
                       lambda x, dx: {"tangent": (dx - _share(x) * dx.mean()) / x.sum()})]),
        Scene("sum", lambda f, x, dx: {"sum": np.sum(_moved(f(x, dx))["tangent"])}, lambda x, dx: {"sum": 0.0},
              "shares keep adding up to 1", "The shares add up to 1 before and after the move, so their tangents add up to 0.", 1,
              lambda rng: (draw(rng, (5,), 0.3, 3.0), draw(rng, (5,))), side=True),
    )),
)  # fmt: skip


def _vmap(name: str, value: Callable) -> Behaviour:
    """A vmap rule of an operation that makes one number of two vectors: `value` takes stacks (B, n), and gives (B,)."""

    def played(axes, arrange):
        return lambda f, x, y: {"out": f(*arrange(x, y), axes)}

    return Behaviour(name, (
        Scene("both", played((0, 0), lambda x, y: (x, y)), lambda x, y: {"out": value(x, y)}, "sample by sample",
              "Which axis is left when each sample is one number?", 2, arrays((4, 4), (4, 4)), slips=[
                  Slip("axis", "The wrong axis is summed: entries of different samples are mixed", "Which axis are the samples?",
                       lambda x, y: {"out": value(x.T, y.T)}),
                  Slip("axis", "Everything is added up, the samples too", "Which axis is left when each sample is one number?",
                       lambda x, y: {"out": value(x, y).sum()}),
                  Slip("keepdims", "The axis that was summed is still there, with size 1", "Compare the shape with the table.",
                       lambda x, y: {"out": value(x, y)[:, None]})]),
        Scene("one is shared", played((0, None), lambda x, y: (x, y[0])), lambda x, y: {"out": value(x, y[:1])}, "None: the same for all",
              "An input without a batch axis takes part in every sample.", 1, arrays((6, 4), (6, 4))),
        Scene("the other is shared", played((None, 0), lambda x, y: (x[0], y)), lambda x, y: {"out": value(x[:1], y)}, "on either side",
              "An input without a batch axis takes part in every sample.", 1, arrays((6, 4), (6, 4))),
        Scene("another axis", played((1, 0), lambda x, y: (np.ascontiguousarray(x.T), y)), lambda x, y: {"out": value(x, y)},
              "samples along any axis", "Move the batch axis to the front first (np.moveaxis).", 2, arrays((4, 4), (4, 4))),
    ))  # fmt: skip


VMAPS = (_vmap("distance_vmap", lambda x, y: ((x - y) ** 2).sum(1)), _vmap("largest_gap_vmap", lambda x, y: np.abs(x - y).max(1)))

VARIANTS = (*TRACES, *SWITCHES, PRECISION, *JVPS, *VMAPS)
