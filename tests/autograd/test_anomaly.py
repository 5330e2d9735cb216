"""Anomaly mode: the forward line that made a failing node. Both sides."""

import warnings

import pytest

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # NumPy's words for the nan that is asked for here


def said(call, error=RuntimeError):
    """The warnings that come with an error, and its message."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.filterwarnings("always", category=UserWarning)
        with pytest.raises(error) as raised:
            call()
    return [str(w.message) for w in caught if issubclass(w.category, UserWarning)], str(raised.value)


def root_of_minus_one(lib):
    return (lib.ones(2, requires_grad=True) - 2).sqrt()  # the line in question


def test_nan_is_refused_with_the_node_and_the_line_that_made_it(lib):
    def call():
        with lib.autograd.detect_anomaly():
            root_of_minus_one(lib).sum().backward()

    (enabled, found), message = said(call)
    assert message == "Function 'SqrtBackward0' returned nan values in its 0th output."
    assert enabled.startswith("Anomaly Detection has been enabled")
    assert found.startswith("Error detected in SqrtBackward0. Traceback of forward call that caused the error:")
    assert "# the line in question" in found


@pytest.mark.parametrize(
    "nan", [lambda x: x.sqrt(), lambda x: x * float("nan"), lambda x: x @ (x * float("nan")), lambda x: x**0.5, lambda x: x.pow(0.5)]
)
def test_the_last_line_that_is_named_is_the_users(nan):
    import autolab

    def call():
        with autolab.autograd.detect_anomaly():
            nan(autolab.ones(2, 2, requires_grad=True) - 2).sum().backward()

    named = said(call)[0][1].splitlines()[-2]
    assert __file__ in named and "in <lambda>" in named


def test_a_graph_made_outside_has_no_line(lib):
    y = root_of_minus_one(lib)

    def call():
        with lib.autograd.detect_anomaly():
            y.sum().backward()

    assert "No forward pass information available" in said(call)[0][1]


def test_any_error_of_a_rule_is_explained(lib):
    def call():
        with lib.autograd.detect_anomaly():
            y = lib.ones(2, requires_grad=True).clone()
            z = y**2  # saved here
            y += 1
            z.sum().backward()

    warned, message = said(call)
    assert message.startswith("one of the variables needed for gradient computation has been modified by an inplace operation")
    assert warned[1].startswith("Error detected in PowBackward0") and "# saved here" in warned[1]


def test_a_node_made_by_a_rule_leads_back_to_the_node_of_that_rule(lib):
    def call():
        with lib.autograd.detect_anomaly():
            x = lib.zeros(2, requires_grad=True)
            (g,) = lib.autograd.grad((x**1.5 * 0).sum(), x, create_graph=True)  # first derivative
            g.sum().backward()

    warned, message = said(call)
    assert "returned nan values" in message
    assert any("Previous calculation was induced by PowBackward0" in text for text in warned)
    assert any("# first derivative" in text for text in warned)


def test_nan_can_be_let_through(lib):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=UserWarning)
        with lib.autograd.detect_anomaly(check_nan=False):
            assert lib.is_anomaly_enabled() and not lib.is_anomaly_check_nan_enabled()
            root_of_minus_one(lib).sum().backward()
    assert not lib.is_anomaly_enabled()


def test_the_mode_can_be_set_at_once(lib):
    lib.autograd.set_detect_anomaly(True, check_nan=False)
    assert lib.is_anomaly_enabled()
    with lib.autograd.set_detect_anomaly(False):
        assert not lib.is_anomaly_enabled()
    assert lib.is_anomaly_enabled()
    lib.autograd.set_detect_anomaly(False)
    assert not lib.is_anomaly_enabled() and lib.is_anomaly_check_nan_enabled()


def test_where_warnings_are_errors_the_line_goes_to_stderr(lib, capsys):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lib.autograd.detect_anomaly():
            y = root_of_minus_one(lib).sum()
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", category=RuntimeWarning)
            with pytest.raises(RuntimeError, match="returned nan values"):
                y.backward()
    assert "Error detected in SqrtBackward0" in capsys.readouterr().err


def test_a_function_is_named_and_its_call_shown(lib):
    class Nan(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, g):
            return g, g * float("nan")

    def call():
        with lib.autograd.detect_anomaly():
            Nan.apply(lib.ones(2, requires_grad=True), lib.ones(2, requires_grad=True)).sum().backward()

    warned, message = said(call)
    assert message == "Function 'NanBackward' returned nan values in its 1th output."
    assert "Nan.apply" in warned[1]


def test_the_gradients_are_the_same_and_the_engine_is_usable_afterwards(lib):
    x = lib.ones(2, requires_grad=True)
    said(lambda: _fail(lib))
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def _fail(lib):
    with lib.autograd.detect_anomaly():
        root_of_minus_one(lib).sum().backward()
