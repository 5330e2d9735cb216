"""A large graph in sixty boxes: modules, repeated structure and stretches of operations stand for what is inside.

Every group is a stretch of the order in which operations were made, and a leaf stands where all its users are together.
So groups joined by edges have no cycle either, and the layout does not need to know about them. Only what is open is drawn:
the members of one group, and beside it the members of the groups around it. Nothing here looks at a value, so groups are
the same in every run of the same code.
"""

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, pairwise, zip_longest

from autolab.trace.model import Trace, TraceNode
from autolab.trace.values import TraceValue

LIMIT = 60  # boxes in one picture
LEAST = 24  # fewer could not show a group and what is around it
LONGEST = 64  # operations in one round of a loop that is recognised
WHOLE = ""  # id of the group of everything
NEVER = float("inf")


@dataclass(slots=True)
class CollapsedGroup:
    """A box that stands for several nodes; `members` are ids of nodes and of groups in the order in which they were made."""

    id: str
    name: str
    members: list[str]
    parent: str = WHOLE
    size: int = 0
    kind: str = "group"
    label: str = ""
    symbol: str = ""
    value: TraceValue | None = None
    shape: tuple[int, ...] | None = None
    forward: str | None = None
    outputs: int = 1

    @property
    def display_name(self) -> str:
        """How a sentence refers to it."""
        return self.name


@dataclass(slots=True)
class EdgeLine:
    """What joins two boxes: one edge, or all edges from one box into one group (`count`). `id` is that of the first."""

    id: str
    source: str
    target: str
    input: str
    count: int
    at: int | None  # number of the step that sends the first gradient along it


@dataclass(slots=True)
class CollapsedView:
    """What one picture shows of a trace: boxes (nodes and groups) and lines between them, in the order of the trace."""

    root: str
    nodes: list[TraceNode | CollapsedGroup]
    edges: list[EdgeLine]
    contents: dict[str, list[str]]  # id of a box -> ids of the nodes of the trace that it is, or that are in it
    firings: dict[str, list[int]]  # id of a box -> numbers of the steps at which these fire, in order

    @property
    def inside(self) -> dict[str, str]:
        """Id of a node of the trace -> id of the box that it is, or is in."""
        return {node: box for box, nodes in self.contents.items() for node in nodes}


class Groups:
    """The groups of a trace, `by_id`; none if it has at most `limit` nodes."""

    def __init__(self, trace: Trace, limit: int = LIMIT):
        if limit < LEAST:
            raise ValueError(f"limit is {limit!r}; a picture with groups needs room for at least {LEAST} boxes")
        self.trace, self.limit = trace, limit
        self.by_id = {WHOLE: CollapsedGroup(WHOLE, "Whole graph", [])}
        nodes = trace.nodes
        self.names = {node.id: node.label if node.kind == "leaf" else node.name for node in nodes}
        operations = [node.id for node in reversed(nodes) if node.kind != "leaf"]
        leaves = [node.id for node in nodes if node.kind == "leaf"]
        levels = 1
        while (limit / levels) ** levels < len(nodes) and levels < limit / 3:  # the product is greatest at limit / e
            levels += 1
        self.most = max(3, limit // levels * (2 if levels > 1 else 3) // 3)  # operations of one group
        if levels == 1:
            self._set_members(WHOLE, [*leaves, *operations])
            return
        self.paths = _module_paths(trace, operations)
        self._set_members(WHOLE, self._limit(self._modules(operations, 0)))
        self._place(leaves)
        self._count(WHOLE)

    # -- making them ---------------------------------------------------------------------------------

    def _group(self, name, members):
        made = CollapsedGroup(f"g{len(self.by_id)}", name, [])
        self.by_id[made.id] = made
        self._set_members(made.id, members)
        return made.id

    def _set_members(self, parent, members):
        self.by_id[parent].members = members
        for member in members:
            if member in self.by_id:
                self.by_id[member].parent = parent

    def _modules(self, operations, depth):
        """Operations that work for one module, together; `depth` counts the parts of its path."""
        runs = [(path, list(run)) for path, run in groupby(operations, lambda op: self.paths[op][: depth + 1])]
        members = []
        for path, run in runs:
            if len(path) <= depth or len(run) <= 2:  # a product and its transposed weight need no group of their own
                members += run
            elif len(runs) == 1:
                return self._modules(run, depth + 1)
            else:
                members.append(self._group(".".join(path), self._limit(self._modules(run, depth + 1))))
        return members

    def _limit(self, members):
        """At most `most` members: rounds of a loop become groups, and what is still too much is cut into stretches."""
        if len(members) <= self.most:
            return members
        start, period, rounds = _find_repetition([self._signature(member) for member in members])
        if period > 1 and 2 * period * rounds > len(members):
            end = start + period * rounds
            turns = self._rounds(members[start:end], period, rounds)
            return self._limit([*members[:start], *turns, *members[end:]])
        return self._stretches(members)

    def _rounds(self, members, period, rounds):
        # short rounds share a box, which one of them would leave nearly empty
        together = max(1, self.most // period) if rounds > self.most else 1
        turns = []
        for first in range(0, rounds, together):
            last = min(first + together, rounds)
            inside = members[first * period : last * period]
            name = f"round {last} of {rounds}" if last == first + 1 else f"rounds {first + 1} to {last}"
            if together == 1 and period < 4 and any(m in self.by_id for m in inside):
                name = " + ".join(sorted(map(self._name, inside), key=lambda text: "." not in text))
            turns.append(self._group(name, self._limit(inside)))
        return turns

    def _stretches(self, members):
        while len(members) > self.most:
            count = max(2, min(self.most, -(-len(members) // self.most)))
            at = [i * len(members) // count for i in range(count + 1)]
            members = [self._group(self._between(members[i], members[j - 1]), members[i:j]) for i, j in pairwise(at)]
            for member in members:
                self.by_id[member].members = self._stretches(self.by_id[member].members)
        return members

    def _between(self, first, last):
        first, last = self._name(first), self._name(last)
        if first.startswith("round") and last.startswith("round"):
            return f"rounds {first.split()[1]} to {(last.partition(' to ')[2] or last).removeprefix('round ').split()[0]}"
        return f"{first.partition(' … ')[0]} … {last.rpartition(' … ')[2]}"

    def _name(self, member):
        return self.by_id[member].name if member in self.by_id else self.names[member].removesuffix("Backward0")

    def _signature(self, member):
        # of a group the kinds of its members: two blocks of a network do the same operations on other weights
        group = self.by_id.get(member)
        return self.names[member] if group is None else tuple(self._signature(m) for m in group.members)

    def _place(self, leaves):
        """Leaves into the innermost group with all their users; where they are many, bundled."""
        inside = {m: group.id for group in self.by_id.values() for m in group.members}
        users = {}
        for edge in self.trace.edges:
            users.setdefault(edge.source, []).append(edge.target)
        homes = {}
        for leaf in leaves:
            common, *others = [self._above(inside[user], inside) for user in users[leaf]]
            for other in others:
                common = [id for id, twin in zip(common, other) if id == twin]
            homes.setdefault(common[-1], []).append(leaf)
        for home, members in homes.items():
            if len(members) > max(2, self.most // 2):
                members = self._stretches([self._group(f"{len(members)} leaves", members)])
                bundle = self.by_id[members[0]]
                bundle.members = self._stretches(bundle.members)
                self._set_members(bundle.id, bundle.members)
            self._set_members(home, [*members, *self.by_id[home].members])

    def _above(self, id, inside):
        path = [id]
        while path[-1] != WHOLE:
            path.append(inside[path[-1]])
        return path[::-1]

    def _count(self, id):
        group = self.by_id[id]
        for member in group.members:
            if member in self.by_id:
                self.by_id[member].parent = id
        group.size = sum(self._count(m) if m in self.by_id else 1 for m in group.members)
        return group.size

    # -- looking at them -----------------------------------------------------------------------------

    @property
    def start(self) -> str:
        """The group that is open at first: the whole graph, or the one inside that holds nearly all of it."""
        at = self.by_id[WHOLE]
        while True:
            inner = [self.by_id[m] for m in at.members if m in self.by_id and self.by_id[m].size > 0.8 * at.size]
            if not inner:
                return at.id
            at = inner[0]

    def path(self, id: str) -> list[str]:
        """The groups around a group and itself, from the outside in.

        Raises
        ------
        KeyError
            If there is no such group.
        """
        if id not in self.by_id:
            raise KeyError(f"this picture has no group {id!r}; it has {len(self.by_id) - 1}")
        path = [id]
        while path[-1] != WHOLE:
            path.append(self.by_id[path[-1]].parent)
        return path[::-1]

    def homes(self) -> dict[str, str]:
        """Id of a node or a group -> id of the group that it is a member of."""
        return {member: group.id for group in self.by_id.values() for member in group.members}

    @cached_property
    def _homes(self):
        return self.homes()

    @cached_property
    def _contents(self):
        """Id of a node or a group -> ids of the nodes that it is, or that are in it."""
        found = {}

        def fill(id):
            members = self.by_id[id].members if id in self.by_id else None
            found[id] = [id] if members is None else [node for member in members for node in fill(member)]
            return found[id]

        fill(WHOLE)
        return found

    @cached_property
    def _newest(self):
        # an id is a place in the order of the trace
        return {id: min(int(node[1:]) for node in nodes) for id, nodes in self._contents.items()}

    @cached_property
    def _joins(self):
        """Id of a group -> (member, other member) -> places of the edges from one to the other, and the first step that sends along one.

        Each edge is in the innermost group of both its ends.
        """
        above = {id: self.path(id) for id in self.by_id}
        found = {id: {} for id in self.by_id}
        for i, edge in enumerate(self.trace.edges):
            ends = [[*above[self._homes[end]], end] for end in (edge.source, edge.target)]
            same = next(k for k, (a, b) in enumerate(zip(*ends)) if a != b)
            found[ends[0][same - 1]].setdefault((ends[0][same], ends[1][same]), []).append(i)
        at = self._edge_steps
        return {id: {ends: (places, min([at[i] for i in places])) for ends, places in joins.items()} for id, joins in found.items()}

    @cached_property
    def _firings(self):
        fires = steps_of(self.trace)
        return {id: sorted(fires[node] for node in nodes if node in fires) for id, nodes in self._contents.items()}

    @cached_property
    def _edge_steps(self):
        # for each edge the step that sends a gradient along it
        fires = steps_of(self.trace)
        return [fires.get(edge.target, NEVER) for edge in self.trace.edges]

    def view(self, open: str = WHOLE) -> CollapsedView:
        """What is seen when the group `open` is open: its members, and the members of the groups around it."""
        path = self.path(open)
        levels = [[m for m in self.by_id[id].members if m != next] for id, next in zip(path, [*path[1:], None])]
        befores = []
        for k, (id, inner) in enumerate(pairwise(path)):
            at = self.by_id[id].members.index(inner)
            befores.append(self.by_id[id].members[:at])
            if sum(map(len, levels)) > self.limit:
                sides = (befores[k], "earlier"), (self.by_id[id].members[at + 1 :], "later")
                levels[k] = [box for members, word in sides if (box := self._remainder(id, members, word))]
        contents, firings, inside = {}, {}, {}
        boxes = [
            box if isinstance(box, CollapsedGroup) else self.by_id.get(box) or self.trace.node(box) for level in levels for box in level
        ]
        for box in boxes:
            members = [box.id] if box.id in self._contents else box.members
            inside |= dict.fromkeys(members, box.id)
            contents[box.id], fired = self._concatenate(self._contents, members), self._concatenate(self._firings, members)
            firings[box.id] = fired if len(members) == 1 else sorted(fired)
        newest = {box: min(self._newest[m] for m in members) for box, members in groupby(inside, inside.get)}
        boxes.sort(key=lambda box: newest[box.id])

        def box_of(id):
            while id not in inside:
                id = self._homes[id]
            return inside[id]

        return CollapsedView(box_of(self.trace.root), boxes, self._lines(path, box_of), contents, firings)

    @staticmethod
    def _concatenate(lists, members):
        return lists[members[0]] if len(members) == 1 else [item for member in members for item in lists[member]]

    def _remainder(self, parent, members, word):
        # a box for one of the two sides of what is open, where there is no room for its members
        if len(members) < 2:
            return members[0] if members else None
        size = sum(self.by_id[m].size if m in self.by_id else 1 for m in members)
        return CollapsedGroup(f"{parent}-{word}", f"{word} in {self.by_id[parent].name}", members, parent, size)

    def _lines(self, path, box_of):
        """The lines between boxes: one for each edge into a node, one for all edges from a box into a group."""
        edges, sent_at = self.trace.edges, self._edge_steps
        found = []  # (first edge, step, how many, source, target)
        for id, inner in zip_longest(path, path[1:]):
            for (source, target), (places, at) in self._joins[id].items():
                if inner in (source, target) or target in self.names:
                    found += [(i, sent_at[i], 1, box_of(edges[i].source), box_of(edges[i].target)) for i in places]
                else:
                    found.append((places[0], at, len(places), box_of(source), box_of(target)))
        lines = {}
        for line in found:
            i, at, count, source, target = line
            key = i if target in self.names else (source, target)
            known = lines.get(key)
            if source != target:
                lines[key] = line if known is None else (min(i, known[0]), min(at, known[1]), count + known[2], source, target)
        return [EdgeLine(edges[i].id, s, t, edges[i].input, n, None if at == NEVER else at) for i, at, n, s, t in sorted(lines.values())]


def steps_of(trace: Trace) -> dict[str, int]:
    """Id of a node -> number of the step at which it fires, counted from 1."""
    return {step.node: i for i, step in enumerate(trace.steps, 1)}


def _module_paths(trace, operations):
    """For each operation the path of the module that it works for, as a tuple; () if there is none.

    An operation that takes parameters belongs to their module, one between two such to what these have in common.
    """
    own = {}
    labels = {node.id: node.label for node in trace.nodes if node.kind == "leaf" and node.label.replace(".", "_").isidentifier()}
    for edge in trace.edges:
        path = tuple(labels.get(edge.source, "").split(".")[:-1])
        if path:
            own[edge.target] = _common(own.get(edge.target, path), path)
    after, following = {}, ()
    for op in reversed(operations):
        following = own.get(op, following)
        after[op] = following
    paths, before = {}, ()
    for op in operations:
        before = own.get(op, before)
        paths[op] = own.get(op) or _common(before, after[op])
    return paths


def _common(one, other):
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    return one[:same]


def _find_repetition(signatures):
    """(start, period, rounds) of the longest stretch that repeats itself at least three times; (0, 1, 0) if there is none."""
    ids = {s: i for i, s in enumerate(Counter(signatures))}
    row = [ids[s] for s in signatures]
    best = 0, 1, 0
    for period in range(1, min(LONGEST, len(row) // 3) + 1):
        length = 0
        for i in range(len(row) - period + 1):
            if i < len(row) - period and row[i] == row[i + period]:
                length += 1
                continue
            rounds = length // period + 1
            if length and rounds >= 3 and rounds * period > best[1] * best[2]:
                best = i - length, period, rounds
            length = 0
    return best
