"""Explorable: writing in place into what a graph has saved, and the version counter that notices."""

import numpy as np

import autolab as torch
from autolab.draw import chart
from autolab.trace import graph
from autolab.trace.values import narrow
from autolab.widgets.functions import function_name
from autolab.widgets.panel import Frame, StateMachine
from autolab.widgets.real_numbers import of_real_numbers

WRITES = {
    "v.mul_(2)": "v.mul_(2)", "a = a + 1": "a = a + 1", "a.detach().add_(1)": "a.detach().add_(1)",
    "with no_grad: x.add_(1)": "with torch.no_grad(): x.add_(1)", "x.add_(1)": "x.add_(1)", "y.backward()": "y.backward()",
    **{f"{n}.{f}_(1)": f"{n}.{f}_(1)" for n in "av" for f in ("add", "sub")},
}  # fmt: skip
BACKWARD, REBIND, REFUSED = "y.backward()", "a = a + 1", "x.add_(1)"
PAGE_STATES = 4000  # three actions in a row, many fours, and pulls
PRESSED = {"x": "x.add_(1)"}  # what pressing a tensor does
PULLED = {"a": ("a.add_(1)", "a.sub_(1)"), "v": ("v.add_(1)", "v.sub_(1)")}  # what pulling the first number up and down does
MOST, FAR = 10, 6  # writes of a pull that a page knows, and those before it turns
SECOND = 284  # where the second tile begins
ROW = 84  # from a tensor to the next
LINE = 29  # characters of a line in a tile


@of_real_numbers
def version_counter(f=torch.square, values=(1.0, 2.0)):
    """A tensor, a view of it and what the graph saved: write in place, and see whose version moves and who notices.

    The code is `a = x * 2; v = a[:1]; y = f(a).sum()`. Memory that is shared has one counter; the graph remembers the version at
    which it saved a tensor, and compares when backward asks for it.

    Parameters
    ----------
    f : function
        Of `a`. A rule that saves its input (square) raises after a write to it; one that saves its result (exp) does not.
    values : tuple
        What x holds.

    Returns
    -------
    StateMachine

    Examples
    --------
    >>> counter = version_counter().press("v.mul_(2)")
    >>> counter.sentence
    'After v.mul_(2), a and its view v are at version 1. xʸ (PowBackward0) keeps a of version 0: it is stale, and backward() will raise.'
    >>> "modified by an inplace operation" in counter.press("y.backward()").sentence
    True
    """

    def run(state):
        x = torch.tensor([float(v) for v in values], requires_grad=True)
        names = {"torch": torch, "f": f, "x": x}
        exec("a = x * 2\nv = a[:1]\ny = f(a)", names)
        if not isinstance(names["y"], torch.Tensor):
            raise TypeError(f"{function_name(f)} returned {type(names['y']).__name__}; it must return a Tensor computed from a")
        names["y"] = names["y"].sum()
        first = {n: names[n] for n in "xav"}
        kept = list(_saved(names["y"], first, symbols))
        error = ""
        for action in state:
            error = ""
            try:
                exec(WRITES[action], names)
            except RuntimeError as raised:
                error = f"{type(raised).__name__}: {raised}"
        return names, first, kept, error

    def show(state):
        names, first, kept, error = run(state)
        tensors = {n: names[n] for n in "xa"}
        if names["a"] is not first["a"]:
            tensors["old a"] = first["a"]
        tensors["v"] = names["v"]
        rows = [[n, str([round(v, 4) for v in t.tolist()]), str(t._version)] for n, t in tensors.items()]
        rows += [[f"saved by {one['node']}", one["told"], one["state"]] for one in map(_now, kept)]
        said = f"{state[-1]} raises {error}" if error else _sentence(state, names, first, kept)
        code = ["a = x * 2", "v = a[:1]", f"y = {function_name(f)}(a).sum()", *(WRITES[s] for s in state), *(["", error] if error else [])]
        picture = [*_memory(tensors, start, "old a" in tensors), *_keeps(kept)]
        told = [one for one in kept if one["tensor"] is first["a"]] if state and "_(" in state[-1] else []  # who notices the write
        written = names["v"] if state and state[-1].startswith("v") else names["a"]
        flights = []
        if told and not error and "x." not in state[-1] and written._version == first["a"]._version:
            row = list(tensors).index("old a" if "old a" in tensors else "a")
            flights = [chart.flight(f"version {first['a']._version}", (90, 19 + ROW * row), (SECOND + 150, 133))]
        scene = "two" if "old a" in tensors else "one"
        return Frame(said, picture, rows, "\n".join(code), flights=flights, error=bool(error), scene=scene)

    def act(state, action):
        return (*(state[:-1] if state[-1:] == (REFUSED,) else state), action)  # what was refused has changed nothing

    symbols = {}
    names, first, _, _ = run(())
    symbols = {node.name: node.symbol or node.op or "" for node in graph(names["y"]).nodes}
    start = {n: t.tolist() for n, t in first.items()}
    size = (SECOND + 280, 376)
    walks = [[one] * k + [other] * (MOST - k) for ways in PULLED.values() for one, other in (ways, ways[::-1]) for k in range(1, FAR)]
    return StateMachine(
        "Version counter", (), act, show, lambda s: list(WRITES), ["Tensor", "Values", "Version"], size,
        walk=["v.mul_(2)", BACKWARD], walks=walks, page_states=PAGE_STATES, breaks=[SECOND - 8],
    )  # fmt: skip


def _saved(y, first, symbols):
    """What the graph keeps of tensors: the node, the value's name, the tensor that it is, and its version as it was saved."""
    nodes = [y.grad_fn]
    for node in nodes:
        nodes += [child for child, _ in getattr(node, "next_functions", ()) if child is not None and child not in nodes]
        for index, one in enumerate(node.saved_values() if hasattr(node, "saved_values") else ()):
            if isinstance(one.value, np.ndarray):
                tensor = next((n for n, t in first.items() if np.shares_memory(t.detach().numpy(), one.value)), "its result")
                sign, name = symbols.get(node.name(), ""), node.name()
                yield {"from": node, "index": index, "node": name, "symbol": sign, "called": f"{sign} ({name})" if sign else name,
                       "name": tensor, "tensor": first.get(tensor), "was": one.value.ravel()[:4].tolist(),
                       "version": first[tensor]._version if tensor in first else 0}  # fmt: skip


def _now(kept):
    """What has become of a saved value: "freed", "stale" or "unchanged"."""
    saved = kept["from"].saved_values()[kept["index"]]
    if saved.value is None:
        return kept | {"state": "freed", "told": "freed by backward()"}
    more = ", …" if saved.value.size > 4 else ""
    here, was = (f"[{', '.join(narrow(v, 5) for v in values)}{more}]" for values in (saved.value.ravel()[:4].tolist(), kept["was"]))
    return kept | {"state": "unchanged" if saved.version_ok else "stale", "told": f"{kept['name']} = {here}", "was_told": f"was {was}"}


def _sentence(state, names, first, kept):
    now = [_now(one) for one in kept]
    keeps = "; ".join(f"{one['called']} keeps {one['name']} of version {one['version']}" for one in now if one["state"] != "freed")
    grad = names["x"].grad
    if state and state[-1] == BACKWARD and grad is not None:
        return f"y.backward() has run and freed what the graph kept: x.grad is {[round(g, 4) for g in grad.tolist()]}."
    if not state:
        keeps = keeps or "The graph keeps no tensor"
        return f"a and its view v share memory and one version counter, at 0. {keeps}. Pull the number of one up or down."
    rebound, old = names["a"] is not first["a"], first["a"]._version
    if state[-1] == REBIND:
        said = f"the name a means another tensor; v and the graph have the old one, at version {old}"
    elif "x.add_" in state[-1]:
        said = f"x is at version {names['x']._version}"
    elif not rebound:
        said = f"a and its view v are at version {old}"
    elif state[-1].startswith("v"):
        said = f"v and the old a are at version {old}"
    else:
        said = f"the new a is at version {names['a']._version}; v and the graph have the old one, at version {old}"
    said = f"After {state[-1]}, {said}."
    if any(one["state"] == "stale" for one in now):
        if all(one["told"].endswith(one["was_told"].removeprefix("was")) for one in now if one["state"] == "stale"):
            return f"{said} {keeps}. The numbers are what they were, the version is not: it is stale, and backward() will raise."
        return f"{said} {keeps}: it is stale, and backward() will raise."
    return f"{said} {keeps}: unchanged, so backward() can run." if keeps else f"{said} The graph keeps nothing."


def _memory(tensors, before, rebound):
    for k, (n, t) in enumerate(tensors.items()):
        top = 24 + ROW * k
        version = f"version {t._version}" + (", new memory" if n == "a" and rebound else "")
        yield chart.words(14, top, n, "head")
        yield chart.words(26 + chart.HEAD * len(n), top, version + (", memory of " + ("old a" if rebound else "a") if n == "v" else ""),
                         "" if t._version else "note")  # fmt: skip
        begun, cells, texts = before["a" if n in ("a", "old a") else n], "", []
        for i, value in enumerate(t.tolist()[:4]):
            kind = "leaf" if n == "x" else "op"
            written = t._version if n == "a" and rebound else value != begun[i]
            kind = "custom" if written else kind
            cells += chart.rectangle(14 + 68 * i, top + 14, 64, 32, kind)
            texts.append(narrow(value, 6))
            cells += chart.words(46 + 68 * i, top + 35, texts[-1], "", "middle") + " " if i or n not in PULLED else ""
        yield chart.pressable(cells, action=PRESSED[n], label=f"{' '.join(texts)}: {PRESSED[n]}", key=n) if n in PRESSED else cells
        if n in PULLED:
            yield chart.pull_handle(46, top + 30, texts[0], *PULLED[n], f"{n}[0], up or down")
        if n == "v":
            yield chart.rectangle(14, top + 72, 22, 16, "custom") + chart.words(44, top + 85, "written since it was made", "note")
            yield f'<path d="M14 {top + 30}H6V{top + 30 - ROW}H14" class="al-l al-l-b"/>'


def _keeps(kept):
    yield chart.words(SECOND, 24, "The graph of y keeps", "head")
    if not kept:
        yield chart.words(SECOND, 50, "no tensor: its rules need none", "note")
    for k, one in enumerate(map(_now, kept[:2])):
        top, stale, freed = 38 + 128 * k, one["state"] == "stale", one["state"] == "freed"
        box = chart.rectangle(SECOND, top, 270, 116, "custom" if stale else "freed" if freed else "saved")
        yield chart.pressable(box, action=BACKWARD, label=f"{one['called']}: {BACKWARD}", key=f"saved {k}")
        yield chart.words(SECOND + 12, top + 24, one["symbol"], "head")
        yield chart.words(SECOND + 20 + chart.HEAD * len(one["symbol"]), top + 24, one["node"], "note")
        yield chart.words(SECOND + 12, top + 50, one["told"][:LINE], "freed" if freed else "")
        begun = f"{one['was_told']} at version {one['version']}"[:LINE] if stale else f"saved at version {one['version']}"
        yield chart.words(SECOND + 12, top + 76, begun, "" if stale else "note")
        now = "" if one["tensor"] is None else f", now at version {one['tensor']._version}"
        yield chart.words(
            SECOND + 12, top + 100, "freed" if freed else f"≠ stale{now}" if stale else f"unchanged{now}", "head" if stale else "note"
        )
    if len(kept) > 2:
        yield chart.words(SECOND, 296, f"and {len(kept) - 2} more in the table", "note")


__all__ = ["version_counter"]
