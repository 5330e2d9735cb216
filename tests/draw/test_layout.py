"""Laws of the layout: they hold for every graph, so they are asked of many random ones."""

import random

import pytest

from autolab.draw.layout import LayoutBox, layout


def random_graph(seed):
    """A connected graph without cycles: box 0 is the root, each other box is used by up to three before it."""
    r = random.Random(seed)
    count = r.randint(2, 40)
    edges = [(i, r.randrange(max(0, i - 6), i)) for i in range(1, count) for _ in range(r.randint(1, 3))]
    boxes = [LayoutBox(r.choice([100, 160]), r.choice([40, 64, 90])) for _ in range(count)]
    return boxes, edges


SEEDS = range(30)
NARROW = {"side": 6, "within": 300}


@pytest.mark.parametrize("options", [{}, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", SEEDS)
def test_boxes_do_not_overlap(seed, options):
    boxes, edges = random_graph(seed)
    made = layout(boxes, edges, **options)
    for i in range(len(boxes)):
        for j in range(i):
            apart_along = abs(made.centres[i][0] - made.centres[j][0]) - (boxes[i].along + boxes[j].along) / 2
            apart_across = abs(made.centres[i][1] - made.centres[j][1]) - (boxes[i].across + boxes[j].across) / 2
            assert max(apart_along, apart_across) > 1


@pytest.mark.parametrize("options", [{}, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", SEEDS)
def test_data_flows_one_way(seed, options):
    boxes, edges = random_graph(seed)
    made = layout(boxes, edges, **options)
    for source, target in edges:
        assert made.centres[source][0] < made.centres[target][0]
    for points in [*made.routes, *[points for points, _ in made.trunks]]:
        assert [along for along, _ in points] == sorted(along for along, _ in points)


@pytest.mark.parametrize("options", [{}, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_line_leads_from_its_source_to_its_target(seed, options):
    boxes, edges = random_graph(seed)
    made = layout(boxes, edges, **options)
    for i, (source, target) in enumerate(edges):
        pieces = [points for points, users in made.trunks if i in users]
        line = [p for points in [*sorted(pieces), made.routes[i]] for p in points]
        assert line[0] == (made.centres[source][0] + boxes[source].along / 2, made.centres[source][1])
        assert line[-1][0] == made.centres[target][0] - boxes[target].along / 2
        assert abs(line[-1][1] - made.centres[target][1]) < boxes[target].across / 2


@pytest.mark.parametrize("options", [{}, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", SEEDS)
def test_lines_pass_beside_boxes(seed, options):
    boxes, edges = random_graph(seed)
    made = layout(boxes, edges, **options)
    for points, _ in made.trunks:
        for x, y in points[1:]:
            for (along, across), box in zip(made.centres, boxes):
                assert abs(x - along) >= box.along / 2 or abs(y - across) >= box.across / 2


@pytest.mark.parametrize("options", [{}, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("seed", SEEDS)
def test_everything_is_inside_the_picture(seed, options):
    boxes, edges = random_graph(seed)
    made = layout(boxes, edges, **options)
    lines = [*made.routes, *[points for points, _ in made.trunks]]
    across = [y for points in lines for _, y in points]
    assert min(across) >= -1e-6
    assert max(across) <= made.across + 1e-6
    assert max(x + b.along / 2 for (x, _), b in zip(made.centres, boxes)) == pytest.approx(made.along)


def test_places_are_the_same_in_every_run():
    boxes, edges = random_graph(7)
    assert layout(boxes, edges) == layout(boxes, edges)


def test_a_chain_is_a_straight_line():
    made = layout([LayoutBox(100, 60)] * 8, [(i + 1, i) for i in range(7)])
    assert len({round(across, 6) for _, across in made.centres}) == 1


def test_two_inputs_stand_in_their_order():
    made = layout([LayoutBox(100, 60)] * 3, [(1, 0), (2, 0)])
    assert made.centres[1][1] < made.centres[2][1]


def test_lines_into_one_box_keep_their_distance():
    made = layout([LayoutBox(100, 60)] * 2, [(1, 0), (1, 0)], port=24)
    assert made.routes[1][-1][1] - made.routes[0][-1][1] == 24


def test_a_leaf_stands_beside_its_user():
    # a long chain whose last box has a weight of its own
    edges = [(i + 1, i) for i in range(9)] + [(10, 0)]
    assert layout([LayoutBox(100, 60)] * 11, edges).ranks[10] == 1


def test_two_separate_chains_do_not_cross():
    # both read one leaf at one end and meet in the root at the other
    edges = [(1, 0), (2, 1), (3, 2), (4, 0), (5, 4), (6, 5), (7, 3), (7, 6)]
    made = layout([LayoutBox(100, 60)] * 8, edges)
    sides = {made.centres[i][1] < made.centres[0][1] for i in (1, 2, 3)}
    assert len(sides) == 1


def test_a_cycle_is_refused():
    with pytest.raises(ValueError, match="cycle"):
        layout([LayoutBox(100, 60)] * 3, [(0, 1), (1, 2), (2, 0)])


def test_nothing_is_a_picture_too():
    assert layout([], []).centres == []


def test_a_weight_used_at_every_step_has_one_line_along_the_graph():
    # an unrolled recurrence: 200 steps, one weight
    steps = 200
    edges = [(i + 1, i) for i in range(steps)] + [(steps + 1, i) for i in range(steps)]
    made = layout([LayoutBox(100, 60)] * (steps + 2), edges)
    trunk = [users for _, users in made.trunks]
    assert len(trunk) == steps - 1
    assert sorted(len(users) for users in trunk) == list(range(1, steps))


def test_leaves_without_room_beside_each_other_stand_in_rows():
    boxes, edges = [LayoutBox(60, 140) for _ in range(7)], [(i, 0) for i in range(1, 7)]
    wide, narrow = layout(boxes, edges), layout(boxes, edges, **NARROW)
    assert wide.across > 800
    assert narrow.across <= 320  # lines pass beside them
    assert len({along for along, _ in narrow.centres}) == 4


def test_a_layer_that_leans_out_of_a_narrow_picture_is_moved_into_it():
    # as in x**2 * sin(x) + y: each layer has room, and a straight line to the next would lead out of it
    boxes, edges = [LayoutBox(60, 140) for _ in range(6)], [(1, 0), (2, 0), (3, 1), (4, 1), (5, 3), (5, 4)]
    assert layout(boxes, edges).across > 300
    assert layout(boxes, edges, **NARROW).across <= 300
