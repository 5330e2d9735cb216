"""Learning rates that change: the same numbers as PyTorch's, epoch by epoch; saved, combined, misused."""

import inspect
import warnings

import numpy as np
import pytest

import autolab

SGD, ADAM = ("SGD", dict(lr=0.5, momentum=0.9)), ("Adam", dict(lr=0.5))
CASES = [
    ("StepLR", dict(step_size=3)), ("StepLR", dict(step_size=2, gamma=0.7)),
    ("MultiStepLR", dict(milestones=[2, 5, 5, 9])), ("MultiStepLR", dict(milestones=[0, 3], gamma=0.3)),
    ("ConstantLR", {}), ("ConstantLR", dict(factor=0.25, total_iters=3)),
    ("LinearLR", {}), ("LinearLR", dict(start_factor=0.1, end_factor=0.6, total_iters=7)),
    ("ExponentialLR", dict(gamma=0.9)),
    ("PolynomialLR", {}), ("PolynomialLR", dict(total_iters=8, power=2.0)),
    ("CosineAnnealingLR", dict(T_max=5)), ("CosineAnnealingLR", dict(T_max=7, eta_min=0.01)),
    ("CosineAnnealingWarmRestarts", dict(T_0=3)), ("CosineAnnealingWarmRestarts", dict(T_0=2, T_mult=2, eta_min=0.01)),
    ("LambdaLR", dict(lr_lambda=lambda t: 0.9**t)), ("LambdaLR", dict(lr_lambda=[lambda t: 1 / (1 + t), lambda t: t])),
    ("MultiplicativeLR", dict(lr_lambda=lambda t: 0.9 + 0.01 * t)),
    ("CyclicLR", dict(base_lr=0.1, max_lr=0.9, step_size_up=3)),
    ("CyclicLR", dict(base_lr=0.1, max_lr=[0.9, 0.8], step_size_up=2, step_size_down=5, mode="triangular2")),
    ("CyclicLR", dict(base_lr=0.1, max_lr=0.9, step_size_up=3, mode="exp_range", gamma=0.9, base_momentum=0.5)),
    ("CyclicLR", dict(base_lr=0.1, max_lr=0.9, step_size_up=3, scale_fn=lambda x: 1 / (5 * x + 1), scale_mode="iterations")),
    ("OneCycleLR", dict(max_lr=0.8, total_steps=20)),
    ("OneCycleLR", dict(max_lr=[0.8, 0.4], epochs=5, steps_per_epoch=4, three_phase=True, anneal_strategy="linear")),
    ("OneCycleLR", dict(max_lr=0.8, total_steps=20, cycle_momentum=False, pct_start=0.5, div_factor=10.0)),
]  # fmt: skip
NAMES = sorted(set(autolab.optim.lr_scheduler.__all__) - {"LRScheduler", "ReduceLROnPlateau", "SequentialLR", "ChainedScheduler"})
LOSSES = [5, 4, 3, 3, 3, 3, 2.9999, 2.5, 2.5, 2.5, 2.5, 2.5, 2.4, 2.5, 2.5, 2.5]
PLATEAUS = [
    dict(patience=1), dict(patience=0, cooldown=2, factor=0.5), dict(mode="max", patience=2, threshold_mode="abs"),
    dict(patience=1, threshold=0.5, threshold_mode="abs"), dict(mode="max", patience=1, min_lr=[0.1, 0.01]), dict(patience=0, eps=0.1),
]  # fmt: skip


def make_optimizer(lib, kind=SGD):
    name, settings = kind
    p, q = (lib.ones(2, requires_grad=True) for _ in range(2))
    return getattr(lib.optim, name)([{"params": [p]}, {"params": [q], "lr": 0.2}], **settings)


def looked_at(optimizer):
    return [[float(g["lr"]), float(g["betas"][0]) if "betas" in g else g["momentum"]] for g in optimizer.param_groups]


def follow(lib, build, kind=SGD, epochs=19, start=0):
    """Learning rates and momenta, epoch by epoch."""
    optimizer = make_optimizer(lib, kind)
    scheduler = build(lib.optim.lr_scheduler, optimizer)
    rows = [looked_at(optimizer)]
    for _ in range(epochs):
        optimizer.step()
        scheduler.step()
        assert scheduler.get_last_lr() == [g["lr"] for g in optimizer.param_groups]
        rows.append(looked_at(optimizer))
    return np.array(rows), scheduler


def named(name, settings):
    return lambda schedulers, optimizer: getattr(schedulers, name)(optimizer, **settings)


@pytest.mark.parametrize(("name", "settings"), CASES)
@pytest.mark.parametrize("kind", [SGD, ADAM], ids=["momentum", "betas"])
def test_learning_rates_are_pytorchs_epoch_by_epoch(torch, name, settings, kind):
    here, there = (follow(lib, named(name, settings), kind)[0] for lib in (autolab, torch))
    np.testing.assert_allclose(here, there, rtol=1e-13)


def test_every_scheduler_has_a_case():
    assert sorted({name for name, _ in CASES}) == NAMES


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_a_saved_state_has_pytorchs_names_and_goes_on_where_it_was(torch, name, settings):
    states = [follow(lib, named(name, settings), epochs=4)[1].state_dict() for lib in (autolab, torch)]
    assert {*states[0]} == {*states[1]}
    whole, _ = follow(autolab, named(name, settings))
    optimizer = make_optimizer(autolab)
    scheduler = named(name, settings)(autolab.optim.lr_scheduler, optimizer)
    for _ in range(6):
        optimizer.step()
        scheduler.step()
    again = make_optimizer(autolab)
    other = named(name, settings)(autolab.optim.lr_scheduler, again)
    other.load_state_dict(scheduler.state_dict())
    again.load_state_dict(optimizer.state_dict())
    again.step()
    other.step()
    np.testing.assert_allclose(looked_at(again), whole[7], rtol=1e-13)


@pytest.mark.parametrize(("name", "settings"), [c for c in CASES if c[0] not in ("CyclicLR", "OneCycleLR", "MultiplicativeLR")])
def test_the_deprecated_step_to_an_epoch_takes_the_closed_form(torch, name, settings):
    rows = []
    for lib in (autolab, torch):
        optimizer = make_optimizer(lib)
        scheduler = named(name, settings)(lib.optim.lr_scheduler, optimizer)
        optimizer.step()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            rows.append([scheduler.step(epoch) or looked_at(optimizer) for epoch in (4, 2, 7)])
        assert name == "CosineAnnealingWarmRestarts" or str(caught[0].message).startswith("The epoch parameter in `scheduler.step()`")
    np.testing.assert_allclose(*rows, rtol=1e-13)


@pytest.mark.parametrize("settings", PLATEAUS)
def test_a_plateau_is_noticed_when_pytorch_notices_it(torch, settings):
    rows = []
    for lib in (autolab, torch):
        optimizer = make_optimizer(lib)
        scheduler = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, **settings)
        rows.append(
            [
                scheduler.step(lib.tensor(float(loss))) or [*looked_at(optimizer), [scheduler.num_bad_epochs, scheduler.in_cooldown]]
                for loss in LOSSES
            ]
        )
        rows.append({*scheduler.state_dict()})
    assert rows[1] == rows[3]
    np.testing.assert_allclose(rows[0], rows[2], rtol=1e-13)
    assert np.ptp(np.array(rows[2])[:, 0]) > 0


COMBINED = {
    "a warm-up, then a cosine": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, total_iters=4), s.CosineAnnealingLR(o, T_max=6)], milestones=[4]),
    "three in a row": lambda s, o: s.SequentialLR(
        o, [s.ConstantLR(o, 0.1, total_iters=9), s.ExponentialLR(o, 0.9), s.StepLR(o, 2)], milestones=[2, 7]),
    "two at once": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, total_iters=4), s.ExponentialLR(o, 0.9)]),
    "two at once, one after the other": lambda s, o: s.SequentialLR(
        o, [s.ChainedScheduler([s.LinearLR(o), s.ExponentialLR(o, 0.9)], optimizer=o), s.StepLR(o, 3)], milestones=[6]),
    "cosines that chain": lambda s, o: s.ChainedScheduler([s.CosineAnnealingLR(o, 5), s.StepLR(o, 4, 0.5)]),
    "cosine restarts after a warm-up": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.5, total_iters=3), s.CosineAnnealingWarmRestarts(o, 4)], milestones=[3]),
    "averaged weights": lambda s, o: swa(s).SWALR(o, swa_lr=0.05, anneal_epochs=5),
    "averaged weights, linear, two groups": lambda s, o: swa(s).SWALR(o, swa_lr=[0.05, 0.3], anneal_epochs=3, anneal_strategy="linear"),
    "averaged weights at once": lambda s, o: swa(s).SWALR(o, swa_lr=0.05, anneal_epochs=0),
}  # fmt: skip


def swa(schedulers):
    import importlib

    return importlib.import_module(schedulers.__name__.rpartition(".")[0] + ".swa_utils")


@pytest.mark.filterwarnings("ignore:Detected call")  # on both sides, for schedules in schedules
@pytest.mark.parametrize("case", COMBINED)
def test_combined_schedules_are_pytorchs(torch, case):
    (here, ours), (there, theirs) = (follow(lib, COMBINED[case]) for lib in (autolab, torch))
    np.testing.assert_allclose(here, there, rtol=1e-12)
    assert {*ours.state_dict()} == {*theirs.state_dict()}


@pytest.mark.filterwarnings("ignore:Detected call")
@pytest.mark.parametrize("case", [c for c in COMBINED if "averaged" not in c])
def test_a_combined_schedule_goes_on_from_its_saved_state(case):
    _, scheduler = follow(autolab, COMBINED[case], epochs=5)
    optimizer = make_optimizer(autolab)
    other = COMBINED[case](autolab.optim.lr_scheduler, optimizer)
    other.load_state_dict(scheduler.state_dict())
    optimizer.load_state_dict(scheduler.optimizer.state_dict())
    for s in (scheduler, other):
        s.optimizer.step()
        s.step()
    assert other.get_last_lr() == scheduler.get_last_lr()


def test_training_can_be_resumed_at_an_epoch(torch):
    rows = []
    for lib in (autolab, torch):
        for name, settings in CASES:
            optimizer = make_optimizer(lib)
            for group in optimizer.param_groups:
                group.update(initial_lr=1.0, max_lr=0.9, min_lr=1e-4, max_momentum=0.9, base_momentum=0.8)
            scheduler = getattr(lib.optim.lr_scheduler, name)(optimizer, **settings, last_epoch=3)
            optimizer.step()
            scheduler.step()
            rows.append(looked_at(optimizer))
    np.testing.assert_allclose(rows[: len(CASES)], rows[len(CASES) :], rtol=1e-13)


@pytest.mark.parametrize("name", [*NAMES, "ReduceLROnPlateau", "SequentialLR", "ChainedScheduler", "LRScheduler"])
def test_signatures_are_pytorchs(torch, name):
    here, there = (inspect.signature(getattr(lib.optim.lr_scheduler, name).__init__).parameters.values() for lib in (autolab, torch))
    assert [(p.name, p.kind, p.default) for p in here] == [(p.name, p.kind, p.default) for p in there]


def test_a_learning_rate_that_is_a_tensor_is_written_to(lib):
    rate = lib.tensor(0.5)
    optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], lr=rate)
    scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 1)
    optimizer.step()
    scheduler.step()
    assert rate.item() == pytest.approx(0.05) and optimizer.param_groups[0]["lr"] is rate


def test_a_schedule_of_ones_own_says_what_the_rates_are(lib):
    class Halving(lib.optim.lr_scheduler.LRScheduler):
        def get_lr(self):
            return [base / 2**self.last_epoch for base in self.base_lrs]

    rows, _ = follow(lib, lambda schedulers, optimizer: Halving(optimizer), epochs=2)
    assert rows[:, :, 0].tolist() == [[0.5, 0.2], [0.25, 0.1], [0.125, 0.05]]


def test_objects_in_the_place_of_functions_are_saved(lib):
    class Decay:
        def __init__(self, rate):
            self.rate = rate

        def __call__(self, t):
            return self.rate**t

    schedulers = lib.optim.lr_scheduler
    scheduler, other = (schedulers.LambdaLR(make_optimizer(lib), [Decay(rate), lambda t: 1]) for rate in (0.5, 0.9))
    state = scheduler.state_dict()
    assert state["lr_lambdas"] == [{"rate": 0.5}, None]
    other.load_state_dict(state)
    assert other.lr_lambdas[0].rate == 0.5


# -- warnings and errors ------------------------------------------------------------------------------------


def test_a_scheduler_that_steps_before_its_optimizer_is_warned_about(lib):
    scheduler = lib.optim.lr_scheduler.StepLR(make_optimizer(lib), 2)
    with pytest.warns(UserWarning, match=r"Detected call of `lr_scheduler.step\(\)` before `optimizer.step\(\)`"):
        scheduler.step()


def test_an_optimizer_whose_step_is_replaced_is_warned_about(lib):
    optimizer = make_optimizer(lib)
    scheduler = lib.optim.lr_scheduler.StepLR(optimizer, 2)
    optimizer.step = lambda: None
    optimizer.step()
    with pytest.warns(UserWarning, match=r"Seems like `optimizer.step\(\)` has been overridden after learning rate scheduler"):
        scheduler.step()


def test_who_asks_for_the_next_rate_instead_of_the_last_is_warned(lib):
    scheduler = lib.optim.lr_scheduler.ExponentialLR(make_optimizer(lib), 0.5)
    with pytest.warns(UserWarning, match="To get the last learning rate computed by the scheduler, please use `get_last_lr"):
        scheduler.get_lr()


def test_a_scheduler_keeps_no_optimizer_alive_by_a_cycle():
    import gc
    import weakref

    optimizer = make_optimizer(autolab)
    scheduler, alive = autolab.optim.lr_scheduler.StepLR(optimizer, 2), weakref.ref(optimizer)
    gc.disable()
    try:
        del optimizer, scheduler
        assert alive() is None
    finally:
        gc.enable()


MESSAGES = [
    ("StepLR(3, 1)", TypeError, "int is not an Optimizer"),
    ("ReduceLROnPlateau(3)", TypeError, "int is not an Optimizer"),
    ("StepLR(o, 1, last_epoch=2)", KeyError, "param 'initial_lr' is not specified in param_groups[0] when resuming"),
    ("LambdaLR(o, [abs])", ValueError, "Expected 2 lr_lambdas, but got 1"),
    ("MultiplicativeLR(o, 3)", TypeError, "lr_lambda should be a function, but got int"),
    ("ConstantLR(o, factor=2)", ValueError, "Constant multiplicative factor expected to be between 0 and 1."),
    ("LinearLR(o, start_factor=0)", ValueError, "Starting multiplicative factor expected to be greater than 0 and less or equal to 1."),
    ("LinearLR(o, end_factor=2)", ValueError, "Ending multiplicative factor expected to be between 0 and 1."),
    ("ReduceLROnPlateau(o, factor=1)", ValueError, "Factor should be < 1.0."),
    ("ReduceLROnPlateau(o, min_lr=[1])", ValueError, "expected 2 min_lrs, got 1"),
    ("ReduceLROnPlateau(o, mode='up')", ValueError, "mode up is unknown!"),
    ("ReduceLROnPlateau(o, threshold_mode='x')", ValueError, "threshold mode x is unknown!"),
    ("CyclicLR(o, [0.1], 1)", ValueError, "base_lr must have the same length as optimizer.param_groups. base_lr has 1 values"),
    ("CyclicLR(o, 0.1, 1, mode='x')", ValueError, "mode is invalid and scale_fn is None"),
    ("CyclicLR(plain, 0.1, 1)", ValueError, "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"),
    ("OneCycleLR(o, 1)", ValueError, "You must define either total_steps OR (epochs AND steps_per_epoch)"),
    ("OneCycleLR(o, 1, total_steps=0)", ValueError, "Expected positive integer total_steps, but got 0"),
    ("OneCycleLR(o, 1, epochs=1.5, steps_per_epoch=1)", ValueError, "Expected positive integer epochs, but got 1.5"),
    ("OneCycleLR(o, 1, total_steps=3, pct_start=2)", ValueError, "Expected float between 0 and 1 pct_start, but got 2"),
    ("OneCycleLR(o, 1, total_steps=3, anneal_strategy='x')", ValueError, "anneal_strategy must be one of 'cos' or 'linear', instead got x"),
    ("[s.step() for s in [OneCycleLR(o, 1, total_steps=3)] for _ in range(4)]", ValueError,
     "Tried to step 4 times. The specified number of total steps is 3"),
    ("CosineAnnealingWarmRestarts(o, 0)", ValueError, "Expected positive integer T_0, but got 0"),
    ("CosineAnnealingWarmRestarts(o, 1, 0.5)", ValueError, "Expected integer T_mult >= 1, but got 0.5"),
    ("CosineAnnealingWarmRestarts(o, 1).step(-1)", ValueError, "Expected non-negative epoch, but got -1"),
    ("SequentialLR(o, [], [])", ValueError, "SequentialLR expects at least one scheduler, but got no scheduler."),
    ("SequentialLR(o, [StepLR(o, 1)], [1])", ValueError, "Sequential Schedulers expects number of schedulers provided to be one more"),
    ("SequentialLR(o, [ReduceLROnPlateau(o)], [])", ValueError, "SequentialLR does not support `ReduceLROnPlateau` scheduler"),
    ("SequentialLR(o, [3], [])", TypeError, "SequentialLR at index 0 should have `optimizer` as its attribute."),
    ("SequentialLR(o, [StepLR(plain, 1)], [])", ValueError, "SequentialLR expects all schedulers to belong to the same optimizer"),
    ("ChainedScheduler([])", ValueError, "ChainedScheduler expects at least one scheduler to be chained, but got no scheduler."),
]  # fmt: skip


@pytest.mark.parametrize(("snippet", "error", "opening"), MESSAGES, ids=[m[0] for m in MESSAGES])
@pytest.mark.filterwarnings("ignore:Detected call")
def test_what_cannot_be_scheduled_is_refused_in_pytorchs_words(lib, snippet, error, opening):
    names = {**vars(lib.optim.lr_scheduler), "o": make_optimizer(lib), "plain": make_optimizer(lib, ("Adagrad", {}))}
    with pytest.raises(error) as caught:
        eval(snippet, names)
    assert str(caught.value.args[0]).startswith(opening)
