"""no_grad, enable_grad, set_grad_enabled: as blocks, as decorators, on generators, in each thread for itself."""

import pytest


@pytest.fixture(autouse=True)
def _recording_is_on_again(lib):
    assert lib.is_grad_enabled()
    yield
    left_on = lib.is_grad_enabled()
    lib.set_grad_enabled(True)
    assert left_on


def test_results_within_no_grad_remember_nothing(lib):
    x = lib.tensor(1.0, requires_grad=True)
    with lib.no_grad():
        y = x * 2
        assert not y.requires_grad and y.grad_fn is None and y.is_leaf
        assert x.requires_grad
        assert lib.tensor(1.0, requires_grad=True).requires_grad
    assert (x * 2).requires_grad and not (y * 2).requires_grad


def test_enable_grad_records_within_no_grad(lib):
    x = lib.tensor(1.0, requires_grad=True)
    with lib.no_grad():
        with lib.enable_grad():
            assert (x * 2).requires_grad
        assert not (x * 2).requires_grad


def test_a_mode_is_true_or_false(lib):
    for mode in ("False", 1, None):
        with pytest.raises(TypeError, match=r"set_grad_enabled\(\): argument 'enabled' \(position 1\) must be bool, not "):
            lib.set_grad_enabled(mode)
        with pytest.raises(TypeError, match=r"set_anomaly_enabled\(\): argument 'enabled' \(position 1\) must be bool, not "):
            lib.autograd.set_detect_anomaly(mode)
    assert lib.is_grad_enabled() and not lib.is_anomaly_enabled()
    assert repr(lib.set_grad_enabled(True)) == "torch.autograd.grad_mode.set_grad_enabled(mode=True)"


def test_set_grad_enabled_as_a_block_ends_with_the_block(lib):
    with lib.set_grad_enabled(False):
        assert not lib.is_grad_enabled()
        with lib.set_grad_enabled(True):
            assert lib.is_grad_enabled()
        assert not lib.is_grad_enabled()
    assert lib.is_grad_enabled()


def test_set_grad_enabled_as_a_call_lasts(lib):
    lib.set_grad_enabled(False)
    assert not lib.is_grad_enabled()
    lib.set_grad_enabled(True)
    assert lib.is_grad_enabled()


def test_a_mode_ends_with_an_exception_too(lib):
    with pytest.raises(KeyError), lib.no_grad():
        raise KeyError
    assert lib.is_grad_enabled()


def test_one_no_grad_may_be_entered_again_while_it_is_open():
    import autolab as lib

    off = lib.no_grad()
    with off:
        with off:
            assert not lib.is_grad_enabled()
        assert not lib.is_grad_enabled()


@pytest.mark.parametrize("brackets", [True, False])
def test_no_grad_decorates_a_function(lib, brackets):
    def twice(x):
        """Doubles."""
        return x * 2

    quiet = (lib.no_grad() if brackets else lib.no_grad)(twice)
    assert not quiet(lib.tensor(1.0, requires_grad=True)).requires_grad
    assert quiet.__name__ == "twice" and quiet.__doc__ == "Doubles." and lib.is_grad_enabled()


def test_enable_grad_decorates_a_function(lib):
    x = lib.tensor(1.0, requires_grad=True)
    with lib.no_grad():
        assert lib.enable_grad()(lambda: x * 2)().requires_grad


def test_a_decorated_function_may_call_itself(lib):
    @lib.no_grad()
    def countdown(n):
        assert not lib.is_grad_enabled()
        return n if n == 0 else countdown(n - 1)

    assert countdown(3) == 0 and lib.is_grad_enabled()


def test_set_grad_enabled_decorates_without_changing_anything_outside(lib):
    @lib.set_grad_enabled(False)
    def quiet():
        return lib.is_grad_enabled()

    assert lib.is_grad_enabled()
    assert quiet() is False and lib.is_grad_enabled()


def test_a_decorated_generator_has_its_mode_while_it_runs_and_not_while_it_waits(lib):
    seen = []

    @lib.no_grad()
    def numbers():
        for n in range(3):
            seen.append(lib.is_grad_enabled())
            yield n

    for _ in numbers():
        assert lib.is_grad_enabled()
    assert seen == [False] * 3


def test_a_decorated_generator_still_takes_what_is_sent_thrown_and_returned(lib):
    heard = []

    @lib.no_grad()
    def talk():
        heard.append((yield "ready"))
        try:
            yield "listening"
        except KeyError:
            heard.append(lib.is_grad_enabled())
        return "done"

    generator = talk()
    assert next(generator) == "ready"
    assert generator.send("hello") == "listening"
    with pytest.raises(StopIteration) as stop:
        generator.throw(KeyError())
    assert heard == ["hello", False] and stop.value.value == "done"


def test_closing_a_decorated_generator_runs_its_end_in_its_mode(lib):
    seen = []

    @lib.no_grad()
    def numbers():
        try:
            yield 1
        finally:
            seen.append(lib.is_grad_enabled())

    generator = numbers()
    next(generator)
    generator.close()
    assert seen == [False] and lib.is_grad_enabled()


def test_backward_works_within_no_grad(lib):
    x = lib.tensor(2.0, requires_grad=True)
    y = x * x
    with lib.no_grad():
        y.backward()
        assert not lib.is_grad_enabled()
    assert x.grad.item() == 4.0
