"""GradScaler scales, skips and adapts as PyTorch's does, and refuses misuse in the same words."""

import copy
import math
import pickle

import pytest

import autolab

INF, NAN = float("inf"), float("nan")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # autolab silences NumPy on overflow, pytest does not


def scaler_of(lib, **options):
    return lib.amp.GradScaler("cpu", **options)


def parameter(lib, value=1.0):
    p = lib.nn.Parameter(lib.tensor([value]))
    return p, lib.optim.SGD([p], lr=0.1)


def iterate(scaler, p, optimizer, factor):
    """One step of minimising factor * p; a factor of inf or nan makes such a gradient."""
    optimizer.zero_grad()
    scaler.scale((p * factor).sum()).backward()
    scaler.step(optimizer)
    scaler.update()


def test_a_step_is_that_without_scaling(lib):
    p, optimizer = parameter(lib)
    iterate(scaler_of(lib), p, optimizer, 2.0)
    assert p.item() == pytest.approx(0.8)


@pytest.mark.parametrize("bad", [INF, NAN])
def test_a_bad_gradient_skips_the_step_and_halves_the_scale(lib, bad):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib, init_scale=8.0)
    iterate(scaler, p, optimizer, bad)
    assert p.item() == 1 and scaler.get_scale() == 4


def test_the_scale_grows_after_enough_good_steps(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib, init_scale=8.0, growth_interval=3, growth_factor=4.0, backoff_factor=0.25)
    scales = []
    for factor in [1.0, 1.0, 1.0, 1.0, INF, 1.0, 1.0, 1.0, 1.0]:
        iterate(scaler, p, optimizer, factor)
        scales.append((scaler.get_scale(), scaler._get_growth_tracker()))
    assert scales == [(8, 1), (8, 2), (32, 0), (32, 1), (8, 0), (8, 1), (8, 2), (32, 0), (32, 1)]


def test_the_scale_does_not_grow_beyond_what_float32_holds(lib):
    p, optimizer = parameter(lib, 1e-30)
    scaler = scaler_of(lib, init_scale=2.0**127, growth_interval=1)
    iterate(scaler, p, optimizer, 1e-30)
    assert scaler.get_scale() == 2.0**127


def test_unscaled_gradients_can_be_clipped_before_the_step(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib)
    scaler.scale((p * 3).sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad.item() == 3
    p.grad.clamp_(max=1)
    scaler.step(optimizer)
    assert p.item() == pytest.approx(0.9)


def test_each_optimizer_steps_or_skips_on_its_own(lib):
    (p, one), (q, other) = parameter(lib), parameter(lib)
    scaler = scaler_of(lib, init_scale=8.0)
    scaler.scale((p * 2 + q * INF).sum()).backward()
    scaler.step(one)
    scaler.step(other)
    scaler.update()
    assert p.item() == pytest.approx(0.8) and q.item() == 1 and scaler.get_scale() == 4


def test_several_losses_are_scaled_alike(lib):
    scaler = scaler_of(lib, init_scale=4.0)
    a, b = scaler.scale([lib.ones(1), (lib.ones(2),)])
    assert a.item() == 4 and isinstance(b, tuple) and b[0].tolist() == [4, 4]
    assert [t.item() for t in scaler.scale(t for t in [lib.ones(1)])] == [4]


def test_step_returns_what_the_optimizer_returns(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib)
    scaler.scale(p.sum()).backward()
    assert scaler.step(optimizer, lambda: 7) == 7


def test_a_new_scale_can_be_set(lib):
    p, _ = parameter(lib)
    scaler = scaler_of(lib)
    scaler.scale(p)
    scaler.update(16.0)
    assert scaler.get_scale() == 16
    scaler.update(lib.tensor(32.0))
    assert scaler.get_scale() == 32


def test_disabled_it_is_not_there(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib, enabled=False)
    loss = (p * 2).sum()
    assert scaler.scale(loss) is loss and scaler.get_scale() == 1.0 and not scaler.is_enabled() and scaler.state_dict() == {}
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    assert p.item() == pytest.approx(0.8)


def test_the_state_goes_on_elsewhere(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib, init_scale=8.0, growth_interval=2)
    iterate(scaler, p, optimizer, 1.0)
    state = scaler.state_dict()
    assert state == {"scale": 8.0, "growth_factor": 2.0, "backoff_factor": 0.5, "growth_interval": 2, "_growth_tracker": 1}
    other = scaler_of(lib)
    other.load_state_dict(state)
    iterate(other, p, optimizer, 1.0)
    assert other.state_dict() == {**state, "scale": 16.0, "_growth_tracker": 0}


def test_it_can_be_copied_between_iterations(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib, init_scale=8.0)
    iterate(scaler, p, optimizer, INF)
    for twin in (pickle.loads(pickle.dumps(scaler)), copy.deepcopy(scaler)):
        assert twin.state_dict() == scaler.state_dict()
        iterate(twin, p, optimizer, 1.0)
    scaler.scale(p.sum()).backward()
    scaler.step(optimizer)
    with pytest.raises(AssertionError, match="may only be pickled at the beginning of an iteration"):
        pickle.dumps(scaler)


def test_its_settings_can_be_read_and_changed(lib):
    scaler = scaler_of(lib)
    scaler.set_growth_factor(3.0)
    scaler.set_backoff_factor(0.1)
    scaler.set_growth_interval(5)
    assert (scaler.get_growth_factor(), scaler.get_backoff_factor(), scaler.get_growth_interval()) == (3.0, 0.1, 5)


# -- misuse ------------------------------------------------------------------------------------------------


def ready(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib)
    scaler.scale(p.sum()).backward()
    return scaler, optimizer


def unscale_twice(lib):
    scaler, optimizer = ready(lib)
    scaler.unscale_(optimizer)
    scaler.unscale_(optimizer)


def step_twice(lib):
    scaler, optimizer = ready(lib)
    scaler.step(optimizer)
    scaler.step(optimizer)


def unscale_after_step(lib):
    scaler, optimizer = ready(lib)
    scaler.step(optimizer)
    scaler.unscale_(optimizer)


def closure(lib):
    scaler, optimizer = ready(lib)
    scaler.step(optimizer, closure=lambda: 0)


def half_gradients(lib):
    p = lib.nn.Parameter(lib.ones(1, dtype=lib.float16))
    scaler, optimizer = scaler_of(lib), lib.optim.SGD([p], lr=0.1)
    scaler.scale(p.float().sum()).backward()
    scaler.step(optimizer)


def without_gradients(lib):
    p, optimizer = parameter(lib)
    scaler = scaler_of(lib)
    scaler.scale(p)
    scaler.step(optimizer)


def update_without_step(lib):
    scaler, _ = ready(lib)
    scaler.update()


MISUSE = [
    (unscale_twice, RuntimeError, r"unscale_\(\) has already been called on this optimizer since the last update\(\)"),
    (unscale_after_step, RuntimeError, r"unscale_\(\) is being called after step\(\)"),
    (step_twice, RuntimeError, r"step\(\) has already been called since the last update\(\)"),
    (closure, RuntimeError, "Closure use is not currently supported if GradScaler is enabled"),
    (half_gradients, ValueError, "Attempting to unscale FP16 gradients"),
    (without_gradients, AssertionError, "No inf checks were recorded for this optimizer"),
    (update_without_step, AssertionError, "No inf checks were recorded prior to update"),
    (lambda lib: scaler_of(lib).update(), AssertionError, "Attempted update but _scale is None"),
    (lambda lib: scaler_of(lib).step(parameter(lib)[1]), AssertionError, "Attempted step but _scale is None"),
    (lambda lib: scaler_of(lib).unscale_(parameter(lib)[1]), AssertionError, "Attempted unscale_ but _scale is None"),
    (lambda lib: scaler_of(lib).scale(3), ValueError, "outputs must be a Tensor or an iterable of Tensors"),
    (lambda lib: scaler_of(lib, growth_factor=1.0), AssertionError, "The growth factor must be > 1.0"),
    (lambda lib: scaler_of(lib, backoff_factor=1.0), AssertionError, "The backoff factor must be < 1.0"),
    (lambda lib: scaler_of(lib).load_state_dict({}), RuntimeError, "The source state dict is empty, possibly because it was saved"),
    (lambda lib: ready(lib)[0].update(lib.ones(2)), AssertionError, "new_scale should be a float or a 1-element"),
]


@pytest.mark.parametrize(("misuse", "error", "words"), MISUSE, ids=[m[2][:30] for m in MISUSE])
def test_misuse_is_refused_in_the_same_words(lib, misuse, error, words):
    with pytest.raises(error, match=words):
        misuse(lib)


# -- why all this ------------------------------------------------------------------------------------------


def small_gradients(lib, scaler, steps=60):
    """A regression whose targets are so small that its gradients lie below float16's smallest number; its loss by the end."""
    lib.manual_seed(0)
    model = lib.nn.Sequential(lib.nn.Linear(4, 16), lib.nn.Tanh(), lib.nn.Linear(16, 1))
    optimizer = lib.optim.Adam(model.parameters(), lr=0.02)
    x = lib.randn(64, 4)
    y = x[:, :1] - x[:, 1:2]
    first = None
    for _ in range(steps):
        optimizer.zero_grad()
        with lib.autocast("cpu", dtype=lib.float16):
            out = model(x)
            loss = ((out.float() - y) ** 2).mean()
        first = loss.item() if first is None else first
        scaler.scale(loss * 1e-7).backward()  # a weight that a large sum of losses may have
        scaler.step(optimizer)
        scaler.update()
    return first, loss.item(), model


@pytest.mark.lesson11
def test_a_network_that_fails_in_float16_trains_with_a_scaled_loss(lib):
    first, stuck, model = small_gradients(lib, scaler_of(lib, enabled=False))
    assert stuck == first  # every gradient is 0
    assert all(not p.grad.any() for p in model[:2].parameters())
    first, trained, model = small_gradients(lib, scaler_of(lib))
    assert trained < 0.5 * first
    assert all(p.dtype == lib.float32 and p.grad.any() for p in model.parameters())


@pytest.mark.lesson11
def test_a_scale_that_is_too_large_finds_its_way_down(lib):
    scaler = scaler_of(lib, init_scale=2.0**60)
    first, trained, _ = small_gradients(lib, scaler, 100)
    assert trained < 0.5 * first and math.log2(scaler.get_scale()) < 45


def test_the_older_name_warns_and_works():
    from autolab.cuda.amp import GradScaler

    with pytest.warns(FutureWarning, match=r"`torch.cuda.amp.GradScaler\(args...\)` is deprecated"):
        scaler = GradScaler(init_scale=4.0)
    assert scaler.is_enabled() and scaler.scale(autolab.ones(1)).item() == 4
