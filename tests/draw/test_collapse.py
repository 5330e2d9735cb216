"""Large graphs in few boxes: every node is in exactly one of them, data still flows one way, and the groups mean something."""

import random
import xml.etree.ElementTree as ET

import pytest

import autolab as torch
from autolab.draw import svg
from autolab.draw.collapse import LEAST, LIMIT, WHOLE, Groups
from autolab.draw.layout import ranks
from autolab.trace import graph, record


def leaf():
    return torch.tensor(1.0, requires_grad=True)


def loop(rounds=300):
    x, w = leaf(), leaf()
    y = x
    for _ in range(rounds):
        y = (y * w).tanh() + x
    return graph(y)


def blocks(count=12):
    class Block(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner, self.outer = torch.nn.Linear(3, 3), torch.nn.Linear(3, 3)

        def forward(self, x):
            return x + self.outer(self.inner(x).relu())

    model = torch.nn.Sequential(torch.nn.Linear(2, 3), *[Block() for _ in range(count)])
    return graph((model(torch.ones(4, 2)) ** 2).mean())


def tangle(seed=0, count=400):
    r = random.Random(seed)
    made = [leaf() for _ in range(40)]
    for _ in range(count):
        a, b = r.choice(made[-30:]), r.choice(made)
        made.append(r.choice([lambda: a * b, lambda: a + b, lambda: a.sin()])())  # noqa: B023
    return graph(sum(made[-20:]))


CASES = [loop, blocks, tangle]


@pytest.mark.parametrize("make", CASES)
@pytest.mark.parametrize("limit", [LEAST, LIMIT])
def test_whatever_is_open_at_most_the_limit_is_seen(make, limit):
    groups = Groups(make(), limit)
    sizes = [len(groups.view(id).nodes) for id in groups.by_id]
    assert len(sizes) > 5
    assert max(sizes) <= limit


@pytest.mark.parametrize("make", CASES)
def test_every_node_is_in_one_box_whatever_is_open(make):
    trace = make()
    groups = Groups(trace)
    for id in groups.by_id:
        view = groups.view(id)
        assert view.inside.keys() == {node.id for node in trace.nodes}
        assert set(view.inside.values()) == {box.id for box in view.nodes}


@pytest.mark.parametrize("make", CASES)
def test_boxes_have_no_cycle_whatever_is_open(make):
    groups = Groups(make())
    for id in groups.by_id:
        view = groups.view(id)
        at = {box.id: i for i, box in enumerate(view.nodes)}
        ranks(len(at), [(at[line.source], at[line.target]) for line in view.edges])  # raises


@pytest.mark.parametrize("make", CASES)
def test_every_node_can_be_opened(make):
    trace = make()
    groups = Groups(trace)
    homes = groups.homes()
    for node in trace.nodes:
        assert node in groups.view(homes[node.id]).nodes


@pytest.mark.parametrize("make", CASES)
def test_the_size_of_a_group_is_what_is_inside(make):
    trace = make()
    groups = Groups(trace)
    assert groups.by_id[WHOLE].size == len(trace.nodes)


def test_a_small_graph_is_drawn_whole():
    trace = loop(10)
    groups = Groups(trace)
    assert list(groups.by_id) == [WHOLE]
    assert len(groups.view().nodes) == len(trace.nodes)


def test_modules_are_groups_by_their_names():
    groups = Groups(blocks())
    names = [group.name for group in groups.by_id.values()]
    assert {f"model.{k}" for k in range(1, 13)} <= set(names)


def test_a_module_holds_its_parameters():
    trace = blocks()
    groups = Groups(trace)
    homes = groups.homes()
    weight = next(node.id for node in trace.nodes if node.label == "model.3.inner.weight")
    assert [groups.by_id[id].name for id in groups.path(homes[weight])][-1].startswith("model.3")


def test_rounds_of_a_loop_are_groups():
    names = [group.name for group in Groups(loop()).by_id.values()]
    assert "rounds 1 to 4" in names
    assert names[1:] == [name for name in names if name.startswith("rounds")]


def test_groups_do_not_depend_on_values():
    assert Groups(loop()).by_id == Groups(loop()).by_id


def test_a_group_is_opened_by_name():
    picture = svg(blocks(), open="model.4")
    titles = [title.text for title in ET.fromstring(picture).iter("{http://www.w3.org/2000/svg}title")]
    assert "leaf model.4.inner.weight = " in "".join(title or "" for title in titles)
    assert sum(title.endswith("nodes, closed") for title in titles) == 11  # the other blocks, and what stands before


def test_an_unknown_group_is_named_with_those_that_are_there():
    with pytest.raises(ValueError, match=r"open is 'model\.40', .* its groups are model"):
        svg(blocks(), open="model.40")


def test_a_closed_group_says_how_much_of_it_has_fired():
    x = leaf()
    y = x
    for _ in range(100):
        y = y * 2
    picture = svg(record(y), step=3)
    assert ">3 of " in picture
    assert ">0 of " in picture


def test_without_a_limit_every_node_is_drawn():
    trace = loop(40)
    assert svg(trace, limit=None).count("data-node=") == len(trace.nodes) > LIMIT
    assert svg(trace).count("data-node=") <= LIMIT


def test_a_limit_without_room_is_refused():
    with pytest.raises(ValueError, match="at least 24 boxes"):
        svg(loop(), limit=5)
