"""The checkpoint game: its best count is that of the binomial schedule, and its numbers are the engine's."""

import itertools

import pytest

import autolab as torch

pytest.importorskip("anywidget")

from autolab import widgets
from autolab.widgets.schedule_game import Position, fewest_runs, moves
from autolab.widgets.checkpointing import fewest

WINNING = ["Run", "Run", "Keep", "Run", "Back", "Back", "Run", "Back", "Back"]


@pytest.fixture
def game():
    return widgets.checkpoint_game(4, 1)


def play(game, actions):
    for action in actions:
        game.press(action)
    return game


def number_of(game, name):
    return dict(game.rows)[name]


def test_no_play_takes_fewer_runs_than_the_binomial_schedule_and_one_takes_as_few():
    for layers, slots in itertools.product(range(2, 9), range(1, 4)):
        assert fewest_runs(layers, slots)[Position(layers, 0, ())] == fewest(layers, slots)[0]


def test_the_best_play_wins_with_the_gradient_of_the_chain(game):
    x = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    x.sin().sin().sin().sin().backward()
    said = play(game, WINNING).sentence
    assert said == f"You win: {fewest(4, 1)[0]} runs, the fewest with 1 slot. dy/dx = {x.grad.item():.6g} has arrived."


def test_a_run_that_is_wasted_shows_in_the_count_and_undo_takes_it_back(game):
    assert number_of(game, "runs in the end, at best") == str(fewest(4, 1)[0])
    play(game, ["Run", "Restore x"])
    assert number_of(game, "runs in the end, at best") == str(fewest(4, 1)[0] + 1)
    assert number_of(game.undo().undo(), "runs in the end, at best") == str(fewest(4, 1)[0])


def test_a_game_that_cannot_be_won_within_three_runs_more_is_over(game):
    play(game, ["Run", "Restore x"] * 4)
    assert "the game is lost" in game.sentence
    with pytest.raises(KeyError, match="none of what can be done here"):
        game.press("Run")


def test_a_value_that_is_not_needed_any_more_gives_its_slot_back():
    after, runs = moves(Position(4, 3, (1, 2)), 2)["Back"]
    assert (after, runs) == (Position(3, 2, (1, 2)), 1)
    assert moves(after, 2)["Back"][0] == Position(2, 1, (1,))


def test_a_value_is_kept_once_and_only_while_a_slot_is_free():
    assert "Keep" in moves(Position(5, 2, (1,)), 2)
    assert "Keep" not in moves(Position(5, 1, (1,)), 2)
    assert "Keep" not in moves(Position(5, 3, (1, 2)), 2)


@pytest.mark.parametrize(("layers", "slots", "said"), [(2, 1, "3 to 10 layers, got 2"), (8, 4, "1 to 3 slots, got 4")])
def test_a_board_that_does_not_fit_is_refused(layers, slots, said):
    with pytest.raises(ValueError, match=said):
        widgets.checkpoint_game(layers, slots)
