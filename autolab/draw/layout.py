"""Where the boxes of a graph stand: layers by longest path, few crossings, straight lines. No system program.

Everything here depends on the structure and the sizes of the boxes alone, so a picture keeps its places while values
change. Coordinates inside this file: `rank` counts layers back from the root, `along` runs from layer to layer, `across`
within a layer.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

SWEEPS = 4  # rounds of ordering there and back; most graphs are free of crossings after one
RELAX = 6  # rounds of straightening there and back
SIDE_GAP = 14  # between two boxes of a layer
LINE_GAP = 14  # beside a line that passes through a layer


@dataclass(slots=True)
class LayoutBox:
    """What the layout has to know about a node: its extent along and across the layers."""

    along: float
    across: float


@dataclass(slots=True)
class Layout:
    """Centres of boxes, and the points through which lines go, in (along, across) from the side of the leaves.

    An edge that passes other layers goes along a trunk, which it shares with the other edges from its source: `trunks`
    holds (points, indices of the edges that use it), piece by piece; `routes` holds for each edge its own last piece.
    """

    centres: list[tuple[float, float]]
    routes: list[list[tuple[float, float]]]
    trunks: list[tuple[list[tuple[float, float]], tuple[int, ...]]]
    along: float
    across: float
    ranks: list[int] = field(default_factory=list)


def layout(
    boxes: list[LayoutBox], edges: Sequence[tuple[int, int]], gap: float = 90, port: float = 24, side: float = SIDE_GAP,
    within: float | None = None,
) -> Layout:  # fmt: skip
    """Place boxes in layers.

    Parameters
    ----------
    boxes : list of LayoutBox
    edges : list of (source, target)
        Indices into `boxes`: data flows from source to target. The edges into one target are in the order of its
        inputs. Two edges may join the same boxes.
    gap : float
        Space between layers.
    port : float
        Distance between two edges that enter the same box.
    side : float
        Space between two boxes of a layer.
    within : float, optional
        A picture as wide as this, if that can be: a box without room in its layer goes to the next that has room.

    Returns
    -------
    Layout

    Raises
    ------
    ValueError
        If the edges form a cycle.
    """
    net = _Net(boxes, edges, ranks(len(boxes), edges) if within is None else _ranks_within(boxes, edges, side, within), port)
    _order(net)
    spaces = [_spaces(net, layer, side) for layer in net.layers]
    position = _straighten(net, spaces)
    if within is not None:
        _confine(net, spaces, position, within)
    return _place(net, position, gap)


def ranks(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """Layers between each box and the root side: one more than the furthest box that uses it."""
    targets = [[] for _ in range(count)]
    users = [0] * count
    for source, target in edges:
        targets[target].append(source)
        users[source] += 1
    ready = [i for i in range(count) if not users[i]]
    found = [0] * count
    for box in ready:
        for source in targets[box]:
            # Boxes become ready in the order of their ranks, so the last user to come is the furthest.
            found[source] = found[box] + 1
            users[source] -= 1
            if not users[source]:
                ready.append(source)
    if len(ready) < count:
        raise ValueError("the graph has a cycle, so it has no layers")
    return found


def _ranks_within(boxes, edges, side, within):
    """As `ranks`, but a layer has at most so many boxes as there is room for, beside the lines that pass it."""
    targets, users = [[] for _ in boxes], [0] * len(boxes)
    for source, target in edges:
        targets[target].append(source)
        users[source] += 1
    ready, found, used = [i for i in range(len(boxes)) if not users[i]], [0] * len(boxes), {}
    for box in ready:
        width = boxes[box].across + side
        while used.get(found[box]) and used[found[box]] + width > within + side:
            used[found[box]] += side  # its line passes
            found[box] += 1
        used[found[box]] = used.get(found[box], 0.0) + width
        for source in targets[box]:
            found[source] = max(found[source], found[box] + 1)
            users[source] -= 1
            if not users[source]:
                ready.append(source)
    return found


class _Net:
    """The graph with a point in every layer that an edge passes; edges that leave one box share these points."""

    def __init__(self, boxes, edges, ranks, port):
        self.boxes, self.edges, self.real = boxes, edges, len(boxes)
        self.rank = list(ranks)
        self.up = [[] for _ in boxes]  # (vertex one layer nearer the root, offset at its side)
        self.down = [[] for _ in boxes]  # (vertex one layer nearer the leaves, offset at my side)
        self.points = [[] for _ in boxes]  # those of the edges from a box, the one beside it first
        self.last = []  # what each edge comes from into its target: its source, or the last point before
        self.offsets = _ports(boxes, edges, port)
        for (source, target), offset in zip(edges, self.offsets):
            points, passed = self.points[source], ranks[source] - ranks[target] - 1
            while len(points) < passed:
                self._point(points[-1] if points else source)
                points.append(len(self.rank) - 1)
            self.last.append(points[passed - 1] if passed else source)
            self._join(self.last[-1], target, offset)
        self.layers = [[] for _ in range(max(ranks, default=-1) + 1)]

    def _point(self, lower):
        self.rank.append(self.rank[lower] - 1)
        self.up.append([])
        self.down.append([])
        self._join(lower, len(self.rank) - 1, 0.0)

    def _join(self, lower, upper, offset):
        self.up[lower].append((upper, offset))
        self.down[upper].append((lower, offset))

    def users(self):
        """For each point the edges that pass it, those that go furthest first."""
        from_box = [[] for _ in self.boxes]
        for i in sorted(range(len(self.edges)), key=lambda i: self.rank[self.edges[i][1]]):
            from_box[self.edges[i][0]].append(i)
        found = {}
        for points, edges in zip(self.points, map(tuple, from_box)):
            ends = [self.rank[self.edges[i][1]] for i in edges] if points else ()
            for point in points:
                found[point] = edges[: bisect_left(ends, self.rank[point])]
        return found

    def width(self, vertex):
        return self.boxes[vertex].across if vertex < self.real else 0.0


def _ports(boxes, edges, port):
    """How far from the middle of its target each edge enters; closer together where the box is too narrow."""
    into = {}
    for i, (_, target) in enumerate(edges):
        into.setdefault(target, []).append(i)
    offsets = [0.0] * len(edges)
    for target, group in into.items():
        apart = min(port, boxes[target].across / len(group))
        for k, i in enumerate(group):
            offsets[i] = (k - (len(group) - 1) / 2) * apart
    return offsets


def _order(net):
    """Order each layer by the mean place of its neighbours, back and forth; keep what has the fewest crossings."""
    seen = [False] * len(net.rank)
    for root in (v for v in range(net.real) if not net.up[v]):
        stack = [root]
        while stack:
            vertex = stack.pop()
            if seen[vertex]:
                continue
            seen[vertex] = True
            net.layers[net.rank[vertex]].append(vertex)
            stack += [lower for lower, _ in reversed(net.down[vertex])]
    place = [0.0] * len(net.rank)
    for layer in net.layers:
        _number(layer, place)
    best, kept = _crossings(net, place), [list(layer) for layer in net.layers]
    for _ in range(SWEEPS):
        if not best:
            break
        for layer in net.layers[1:]:
            _sort(layer, net.up, place)
        for layer in net.layers[-2::-1]:
            _sort(layer, net.down, place)
        crossings = _crossings(net, place)
        if crossings >= best:
            break
        best, kept = crossings, [list(layer) for layer in net.layers]
    net.layers = kept


def _number(layer, place):
    for i, vertex in enumerate(layer):
        place[vertex] = float(i)


def _sort(layer, neighbours, place):
    def wish(vertex):
        near = neighbours[vertex]
        if not near:
            return place[vertex]
        # The offset of the port is far below one place: it only breaks ties between inputs of one box.
        return sum([place[other] + offset * 1e-4 for other, offset in near]) / len(near)

    if len(layer) > 1:
        layer.sort(key=wish)
        _number(layer, place)


def _crossings(net, place):
    """How many pairs of lines cross, counted as inversions with a tree of sums per layer."""
    total = 0
    for layer in net.layers[1:]:
        ends = []
        for vertex in layer:
            mine = [place[upper] + offset * 1e-4 for upper, offset in net.up[vertex]]
            mine.sort()
            ends += mine
        total += _inversions(ends)
    return total


def _inversions(ends):
    ordered = sorted(ends)
    if ends == ordered:
        return 0
    order = {end: i + 1 for i, end in enumerate(dict.fromkeys(ordered))}
    size = len(order)
    tree = [0] * (size + 1)
    inversions = 0
    for seen, end in enumerate(ends):
        i = at = order[end]
        not_above = 0
        while i:
            not_above += tree[i]
            i &= i - 1
        inversions += seen - not_above
        while at <= size:
            tree[at] += 1
            at += at & -at
    return inversions


def _straighten(net, spaces):
    """Coordinates across: each vertex as near to its neighbours as its layer allows, back and forth."""
    position = [0.0] * len(net.rank)
    for layer, space in zip(net.layers, spaces):
        middle = space[-1] / 2 if space else 0.0
        for vertex, start in zip(layer, space):
            position[vertex] = start - middle
    up, down = _pulls(net, net.up, 1.0), _pulls(net, net.down, -1.0)
    both = [above + below for above, below in zip(up, down)]
    up, down, both = [[_weigh(v, near) for v, near in enumerate(pulls)] for pulls in (up, down, both)]
    there = list(zip(net.layers, spaces))
    for round in range(RELAX):
        for layer, space in there:
            _settle(layer, space, position, both if round > 1 else up)
        for layer, space in reversed(there):
            _settle(layer, space, position, both if round > 1 else down)
    return position


def _pulls(net, neighbours, side):
    """For each vertex (weight, neighbour, how far beside it) of its neighbours on one side."""
    real = net.real
    return [
        [(1.0 if vertex < real or other < real else 8.0, other, side * offset) for other, offset in near]
        for vertex, near in enumerate(neighbours)
    ]


def _weigh(vertex, near):
    """What pulls at a vertex, behind its whole weight; one without neighbours stays where it is."""
    near = near or [(0.01, vertex, 0.0)]
    return sum([weight for weight, _, _ in near]), near


def _confine(net, spaces, position, within):
    """Move what is outside of a window as wide as `within`, or as the widest layer; the window is where least has to move."""
    if not net.layers:
        return
    ends = [(net.width(layer[0]) / 2, net.width(layer[-1]) / 2) for layer in net.layers]
    spans = [(position[layer[0]] - a, position[layer[-1]] + b) for layer, (a, b) in zip(net.layers, ends)]
    room = max(within, *(space[-1] + a + b for space, (a, b) in zip(spaces, ends)))

    def outside(left):
        return sum([max(left - low, 0.0) + max(high - left - room, 0.0) for low, high in spans])

    left = min([end for low, high in spans for end in (low, high - room)], key=outside)
    for layer, space, (a, b) in zip(net.layers, spaces, ends):
        for vertex, start in zip(layer, space):  # between the layer packed at the left and at the right, so no distance becomes too short
            position[vertex] = min(max(position[vertex], left + a + start), left + room - b - space[-1] + start)


def _spaces(net, layer, side):
    """Where each vertex of a layer stands if the layer is packed."""
    at, starts, before = 0.0, [], None
    for vertex in layer:
        if before is not None:
            gap = side if before < net.real and vertex < net.real else min(side, LINE_GAP)
            at += (net.width(before) + net.width(vertex)) / 2 + gap
        starts.append(at)
        before = vertex
    return starts


def _settle(layer, starts, position, pulls):
    """Move a layer to the mean of its neighbours, in least squares without overlap: pool whatever would collide."""
    blocks = []  # (sum of weight * wish, weight, how many vertices)
    for vertex, start in zip(layer, starts):
        weight, near = pulls[vertex]
        total = 0.0
        for w, other, offset in near:
            total += w * (position[other] + offset)
        total -= weight * start
        count = 1
        while blocks and blocks[-1][0] * weight >= total * blocks[-1][1]:
            t, w, n = blocks.pop()
            total, weight, count = total + t, weight + w, count + n
        blocks.append((total, weight, count))
    i = 0
    for total, weight, count in blocks:
        mean = total / weight
        for _ in range(count):
            position[layer[i]] = mean + starts[i]
            i += 1


def _place(net, position, gap):
    """Turn ranks and positions into coordinates that start at zero, leaves first."""
    depth = [max((net.boxes[v].along for v in layer if v < net.real), default=0.0) for layer in net.layers]
    along, at = [0.0] * len(depth), 0.0
    for r in range(len(depth) - 1, -1, -1):
        along[r] = at + depth[r] / 2
        at += depth[r] + gap
    low = min((position[v] - net.width(v) / 2 for v in range(len(position))), default=0.0)
    high = max((position[v] + net.width(v) / 2 for v in range(len(position))), default=0.0)

    centres = [(along[rank], place - low) for rank, place in zip(net.rank, position)]
    # lines come to the side of a box that faces the leaves and leave at the other; at a point they pass the boxes of its layer
    half = [box.along / 2 for box in net.boxes] + [depth[rank] / 2 for rank in net.rank[net.real :]]
    comes = [(a - h, c) for (a, c), h in zip(centres, half)]
    leaves = [(a + h, c) for (a, c), h in zip(centres, half)]
    ends = [comes[target] for _, target in net.edges]
    routes = [[leaves[last], (a, c + offset)] for last, (a, c), offset in zip(net.last, ends, net.offsets)]
    trunks = [([leaves[net.down[p][0][0]], comes[p], leaves[p]], users) for p, users in sorted(net.users().items())]
    return Layout(centres[: net.real], routes, trunks, max(at - gap, 0.0), high - low, net.rank[: net.real])
