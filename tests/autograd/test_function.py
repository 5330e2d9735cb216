"""Functions of one's own: what forward may say, what backward may ask and return, what is refused. Told on both sides."""

import gc
import math
import weakref

import pytest

FREED = "Trying to backward through the graph a second time"


def function(lib, forward, backward, name="My", **more):
    """A Function made of plain functions."""
    members = {"forward": forward, "backward": backward, **more}
    return type(name, (lib.autograd.Function,), {k: staticmethod(f) for k, f in members.items()})


@pytest.fixture
def x(lib):
    return lib.tensor([1.0, 2.0], requires_grad=True)


@pytest.fixture
def square(lib):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    return function(lib, forward, lambda ctx, g: g * 2 * ctx.saved_tensors[0], "Square")


# -- the node ----------------------------------------------------------------------------------------


def test_a_function_is_a_node_like_any_other(x, square):
    y = square.apply(x)
    assert y.tolist() == [1.0, 4.0]
    assert type(y.grad_fn).__name__ == y.grad_fn.name() == "SquareBackward"
    assert y.grad_fn.next_functions[0][0].variable is x
    assert repr(y) == "tensor([1., 4.], grad_fn=<SquareBackward>)"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]


def test_a_functions_node_has_an_edge_for_each_tensor_and_none_for_a_number(lib, x):
    scale = function(lib, lambda ctx, n, x, y: x * n, lambda ctx, g: (None, g * 2, None), "Scale")
    y, given = scale.apply(2, x, lib.ones(2)), []
    assert [child is not None for child, _ in y.grad_fn.next_functions] == [True, False]
    y.grad_fn.register_hook(lambda inputs, outputs: given.append(inputs) or (inputs[0] * 10, None))
    y.sum().backward()
    assert [g if g is None else g.tolist() for g in given[0]] == [[2.0, 2.0], None]
    assert x.grad.tolist() == [20.0, 20.0]


def test_what_is_set_on_ctx_can_be_read_from_the_node(lib, x):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        ctx.exponent = 5
        return x**5

    node = function(lib, forward, lambda ctx, g: g).apply(x).grad_fn
    assert node.exponent == 5 and node.needs_input_grad == (True,)
    assert node.saved_tensors[0] is x


def test_no_attribute_of_a_users_can_break_the_engine(lib, x):
    names = """outputs edges op hooks seq function node call ctx saved plan like settings metadata_ gradients_ inputs dirty
               materialize outputs_like _saved _to_save _metadata _node _call variable payload""".split()

    def forward(ctx, x):
        for n, name in enumerate(names):
            setattr(ctx, name, n)
        ctx.save_for_backward(x)
        return x * 2

    def backward(ctx, g):
        assert [getattr(ctx, name) for name in names] == list(range(len(names)))
        return g * ctx.saved_tensors[0]

    y = function(lib, forward, backward).apply(x)
    y.register_hook(lambda g: g * 10)
    y.retain_grad()
    y.grad_fn.register_hook(lambda inputs, outputs: None)
    y.sum().backward()
    assert x.grad.tolist() == [10.0, 20.0]


def test_ctx_knows_its_node(lib, x):
    asked = []

    def backward(ctx, g):
        asked.extend([ctx.name(), ctx.next_functions[0][0].variable is x])
        return g

    function(lib, lambda ctx, x: x * 1, backward).apply(x).sum().backward()
    assert asked == ["MyBackward", True]


# -- what forward may say ------------------------------------------------------------------------------


def test_forward_runs_unrecorded_and_backward_is_recorded_only_if_the_pass_is(lib, x):
    modes = []

    def forward(ctx, x):
        modes.append(lib.is_grad_enabled())
        return x * 2

    def backward(ctx, g):
        modes.append(lib.is_grad_enabled())
        return g * 2

    f = function(lib, forward, backward)
    f.apply(x).sum().backward()
    lib.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    assert modes == [False, False, False, True]


def test_needs_input_grad_tells_which_gradients_are_wanted(lib, x):
    seen = []

    def forward(ctx, x, w, n, nothing):
        seen.append(ctx.needs_input_grad)
        return x * w * n

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None, None

    function(lib, forward, backward).apply(x, lib.tensor(3.0), 2, None).sum().backward()
    assert seen == [(True, False, False, False)] * 2


def test_a_function_of_constants_is_not_recorded(lib, square):
    assert square.apply(lib.tensor([1.0])).grad_fn is None
    assert square.apply(lib.tensor([1])).grad_fn is None


def test_a_function_under_no_grad_is_not_recorded(lib, x, square):
    with lib.no_grad():
        assert not square.apply(x).requires_grad


@pytest.mark.parametrize("dirty", [False, True])
@pytest.mark.parametrize("mode", ["no_grad", "inference_mode"])
def test_where_nothing_is_recorded_an_input_comes_back_without_its_history(lib, x, mode, dirty):
    def forward(ctx, x):
        if dirty:
            ctx.mark_dirty(x.add_(1))
        return x

    handed_back = function(lib, forward, lambda ctx, g: g)
    for t in (x, x * 1):
        with getattr(lib, mode)():
            out = handed_back.apply(t)
        assert out is not t and out.data_ptr() == t.data_ptr() and out.tolist() == t.tolist()
        assert (out.requires_grad, out.is_leaf, out._is_view()) == (False, True, False) and t.requires_grad


def test_saved_tensors_come_back_as_they_were_saved(lib, x):
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(x, None, out)
        return out

    y = function(lib, forward, lambda ctx, g: g).apply(x)
    leaf, nothing, out = y.grad_fn.saved_tensors
    assert leaf is x and nothing is None
    assert out.grad_fn is y.grad_fn and out.tolist() == y.tolist()


def test_setup_context_does_the_saving_apart_from_forward(lib, x):
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])
        ctx.n = inputs[1]

    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * ctx.n * x ** (ctx.n - 1), None

    power = function(lib, lambda x, n=3: x**n, backward, setup_context=setup_context)
    power.apply(x, 2).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0]
    power.apply(x).sum().backward()
    assert x.grad.tolist() == [5.0, 16.0]


def test_several_outputs_have_one_node_and_numbers(lib, x):
    f = function(lib, lambda ctx, x: (x * 2, x * 3), lambda ctx, a, b: a * 2 + b * 3)
    a, b = f.apply(x)
    assert a.grad_fn is b.grad_fn and (a.output_nr, b.output_nr) == (0, 1)
    b.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_missing_gradient_arrives_as_zeros_unless_forward_says_otherwise(lib, x):
    seen = []

    def forward(ctx, x, materialize):
        ctx.set_materialize_grads(materialize)
        return x * 2, x * 3

    def backward(ctx, a, b):
        seen.append(a if a is None else a.tolist())
        return b * 3, None

    f = function(lib, forward, backward)
    f.apply(x, True)[1].sum().backward()
    f.apply(x, False)[1].sum().backward()
    assert seen == [[0.0, 0.0], None]


def test_outputs_marked_as_not_differentiable_get_no_gradient(lib, x):
    def forward(ctx, x):
        order, double = x.argmax(), x * 2
        ctx.mark_non_differentiable(order, double)
        return x * 3, double, order

    f = function(lib, forward, lambda ctx, a, b, c: a * 3)
    a, double, order = f.apply(x)
    assert (a.requires_grad, double.requires_grad, order.requires_grad) == (True, False, False)
    a.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_integer_outputs_are_not_differentiable(lib, x):
    y = function(lib, lambda ctx, x: x.long(), lambda ctx, g: g).apply(x)
    assert not y.requires_grad and y.grad_fn is None


def test_outputs_that_are_no_tensors_pass_through(lib, x):
    f = function(lib, lambda ctx, x: (x * 2, "text", None, 5), lambda ctx, g, *others: g * 2)
    y, *others = f.apply(x)
    assert others == ["text", None, 5]
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_input_returned_as_output_becomes_a_tensor_of_its_own(lib, x):
    y = function(lib, lambda ctx, x: x, lambda ctx, g: g * 7).apply(x)
    assert y is not x and x.is_leaf
    y.sum().backward()
    assert x.grad.tolist() == [7.0, 7.0]


def test_an_input_marked_as_dirty_is_returned_itself_with_its_new_history(lib, x):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    h = x * 1
    y = function(lib, forward, lambda ctx, g: g * 2).apply(h)
    assert y is h and h.grad_fn.name() == "MyBackward"
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# -- what backward may return --------------------------------------------------------------------------


def test_none_stands_for_no_gradient(lib, x):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: None)
    (f.apply(x) + x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_nones_too_many_are_dropped(lib, x):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: (g, None, None))
    f.apply(x).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_gradient_for_an_argument_without_one_is_dropped(lib, x):
    f = function(lib, lambda ctx, x, w: x * w, lambda ctx, g: (g, g))
    f.apply(x, lib.tensor(3.0)).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0]


def test_a_gradient_that_was_broadcast_is_summed(lib, x):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: lib.ones(3, 2))
    f.apply(x).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]


def test_a_gradient_of_another_float_type_is_converted(lib, x):
    f = function(lib, lambda ctx, x: x * 2, lambda ctx, g: g.double())
    f.apply(x).sum().backward()
    assert x.grad.dtype == lib.float32


def test_one_tensor_given_twice_gets_both_gradients(lib, x):
    f = function(lib, lambda ctx, a, b: a * 2 + b * 3, lambda ctx, g: (g * 2, g * 3))
    f.apply(x, x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_backward_may_be_written_under_the_name_vjp(lib, x):
    f = type("F", (lib.autograd.Function,), {"forward": staticmethod(lambda ctx, x: x * 2), "vjp": staticmethod(lambda ctx, g: g * 2)})
    f.apply(x).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


# -- more than once --------------------------------------------------------------------------------------


def test_a_function_is_differentiated_twice_through_what_it_saved(lib, x, square):
    (g,) = lib.autograd.grad(square.apply(x).sum(), x, create_graph=True)
    assert lib.autograd.grad(g.sum(), x)[0].tolist() == [2.0, 2.0]


def test_a_function_is_differentiated_twice_through_its_saved_result(lib):
    def forward(ctx, x):
        out = x.exp()
        ctx.save_for_backward(out)
        return out

    f = function(lib, forward, lambda ctx, g: g * ctx.saved_tensors[0])
    x = lib.tensor([0.0, 1.0], dtype=lib.float64, requires_grad=True)
    (g,) = lib.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    (second,) = lib.autograd.grad(g.sum(), x)
    assert second.tolist() == pytest.approx([1.0, 2.718281828459045])


def test_a_backward_may_call_a_function(lib, x, square):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3 / 3

    f = function(lib, forward, lambda ctx, g: g * square.apply(ctx.saved_tensors[0]))
    (g,) = lib.autograd.grad(f.apply(x).sum(), x, create_graph=True)
    assert g.tolist() == [1.0, 4.0]
    assert lib.autograd.grad(g.sum(), x)[0].tolist() == [2.0, 4.0]


def test_once_differentiable_refuses_the_second_time(lib, x):
    once = lib.autograd.function.once_differentiable

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    f = function(lib, forward, once(lambda ctx, g: g * 2 * ctx.saved_tensors[0]))
    (g,) = lib.autograd.grad((f.apply(x) * x).sum(), x, create_graph=True)
    assert g.tolist() == [3.0, 12.0]
    with pytest.raises(RuntimeError, match="differentiate twice a function that was marked with @once_differentiable"):
        g.sum().backward()


def test_a_function_that_saved_nothing_can_run_backward_again(lib, x):
    y = function(lib, lambda ctx, x: x * 2, lambda ctx, g: g * 2).apply(x).sum()
    y.backward()
    y.backward()
    assert x.grad.tolist() == [4.0, 4.0]


def test_saved_tensors_are_freed_by_backward(lib, x, square):
    y = square.apply(x)
    y.sum().backward()
    for again in (lambda: y.sum().backward(), lambda: y.grad_fn.saved_tensors):
        with pytest.raises(RuntimeError, match=FREED):
            again()


def test_an_exception_in_backward_leaves_the_engine_usable(lib, x):
    y = function(lib, lambda ctx, x: x * 2, lambda ctx, g: 1 / 0).apply(x)
    with pytest.raises(ZeroDivisionError):
        y.sum().backward()
    assert lib.is_grad_enabled() and x.grad is None
    (x * 2).sum().backward()
    assert x.grad.tolist() == [2.0, 2.0]


def test_an_exception_in_forward_leaves_recording_on(lib, x):
    with pytest.raises(ZeroDivisionError):
        function(lib, lambda ctx, x: 1 / 0, lambda ctx, g: g).apply(x)
    assert lib.is_grad_enabled()


def test_nothing_arrives_at_a_function_above_which_a_gradient_was_none(lib, x):
    seen = []

    def backward(ctx, g):
        seen.append(g.tolist())
        return g * 2

    h = function(lib, lambda ctx, x: x * 2, backward).apply(x)
    function(lib, lambda ctx, x: x * 2, lambda ctx, g: None).apply(h).sum().backward()
    assert seen == [[0.0, 0.0]] and x.grad.tolist() == [0.0, 0.0]


# -- of autolab only -----------------------------------------------------------------------------------------


def test_arguments_may_be_given_by_name():
    import autolab as torch

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    f = function(torch, lambda ctx, x, n: x * n, lambda ctx, g: (g * 5, None))
    f.apply(n=3, x=x).sum().backward()
    assert x.grad.tolist() == [5.0, 5.0]


def test_saved_values_are_shown_under_the_names_of_forwards_arguments():
    import autolab as torch

    def forward(ctx, base, scale):
        out = base * scale
        ctx.save_for_backward(scale, out, base + 1)
        return out

    f = function(torch, forward, lambda ctx, g: (g, None))
    node = f.apply(torch.ones(2, requires_grad=True), torch.ones(2)).grad_fn
    assert [v.name for v in node.saved_values()] == ["scale", "out", "saved_tensors[2]"]
    assert all(v.version_ok for v in node.saved_values()) and node.op is None and not node.is_freed()


# -- messages --------------------------------------------------------------------------------------------


def run(lib, forward, backward, *others):
    x = lib.tensor([2.0, 3.0], requires_grad=True)
    function(lib, forward, backward).apply(x, *others).sum().backward()


def scaled(ctx, x, scale):
    return x * scale


def doubled(ctx, x):
    return x * 2


def saving_a_number(ctx, x):
    ctx.save_for_backward(3)
    return x


def modified(lib):
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    h = lib.tensor([2.0, 3.0], requires_grad=True) * 1
    y = function(lib, forward, lambda ctx, g: g * ctx.saved_tensors[0]).apply(h)
    h.add_(1)
    y.sum().backward()


def dirty_leaf(lib):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2)

    run(lib, forward, lambda ctx, g: g)


def dirty_but_not_returned(lib):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        return x * 2

    h = lib.tensor([2.0, 3.0], requires_grad=True) * 1
    function(lib, forward, lambda ctx, g: g).apply(h)


def telling(lib, tell):
    """A Function whose forward tells ctx something."""

    def forward(ctx, x):
        tell(ctx)
        return x * 2

    return run(lib, forward, lambda ctx, g: g)


# what is done; error; phrases that both say; phrases that only autolab adds
MESSAGES = [
    (lambda lib: run(lib, scaled, lambda ctx, g: g, 3), RuntimeError,
     ["function MyBackward returned an incorrect number of gradients (expected 2, got 1)"], ["forward took (x, scale)"]),
    (lambda lib: run(lib, doubled, lambda ctx, g: (g, g)), RuntimeError,
     ["function MyBackward returned an incorrect number of gradients (expected 1, got 2)"], ["forward took (x)"]),
    (lambda lib: run(lib, lambda ctx, *xs: sum(xs), lambda ctx, g: (g, g, g), 3), RuntimeError,
     ["(expected 2, got 3)"], ["forward took (xs[0], xs[1])"]),
    (lambda lib: run(lib, doubled, lambda ctx, g: lib.ones(3)), RuntimeError,
     ["Function MyBackward returned an invalid gradient at index 0 - got [3] but expected shape compatible with [2]"],
     ["gradient for `x` must have the shape of `x`"]),
    (lambda lib: run(lib, doubled, lambda ctx, g: g.sum()), RuntimeError,
     ["invalid gradient at index 0 - got [] but expected shape compatible with [2]"], []),
    (lambda lib: run(lib, scaled, lambda ctx, g: (g, g), 3), RuntimeError,
     ["returned a gradient different than None at position 2, but the corresponding forward input was not a Variable"],
     ["`scale` was int", "Return None"]),
    (lambda lib: run(lib, doubled, lambda ctx, g: 3.0), RuntimeError, ["expected Variable or None (got float)"], ["for `x`"]),
    (lambda lib: run(lib, doubled, lambda ctx, g: [g]), RuntimeError, ["expected Variable or None (got list)"], ["tuple"]),
    (lambda lib: run(lib, saving_a_number, lambda ctx, g: g), TypeError,
     ["save_for_backward can only save variables, but argument 0 is of type int"], ["ctx.n = n"]),
    (modified, RuntimeError, ["has been modified by an inplace operation", "is at version 1; expected version 0"],
     ["`x` of MyBackward"]),
    (dirty_leaf, RuntimeError, ["a leaf Variable that requires grad has been used in an in-place operation"], ["clone()"]),
    (dirty_but_not_returned, RuntimeError, ["Some elements marked as dirty during the forward method were not returned"], []),
    (lambda lib: run(lib, doubled, lib.autograd.Function.backward), NotImplementedError,
     ["You must implement either the backward or vjp method for your custom autograd.Function"], []),
    (lambda lib: run(lib, lib.autograd.Function.forward, lambda ctx, g: g), NotImplementedError,
     ["You must implement the forward function for custom autograd.Function"], []),
    (lambda lib: run(lib, doubled, lambda ctx, g: g * ctx.factor), AttributeError,
     ["'MyBackward' object has no attribute 'factor'"], ["ctx.factor = ..."]),
    (lambda lib: telling(lib, lambda ctx: ctx.mark_dirty(3)), RuntimeError,
     ["mark_dirty can only accept variables, but argument"], ["0 is of type int"]),
    (lambda lib: telling(lib, lambda ctx: ctx.mark_non_differentiable([lib.ones(2)])), RuntimeError,
     ["mark_non_differentiable only accepts variable arguments, but got"], ["list as argument 0"]),
    (lambda lib: telling(lib, lambda ctx: ctx.set_materialize_grads(0)), TypeError,
     ["set_materialize_grads received an invalid combination of arguments", "but expected (bool)"], ["got (int)"]),
    (lambda lib: telling(lib, lambda ctx: ctx.save_for_forward(3)), AssertionError,
     ["save_for_forward expects all arguments to be tensors; you should save non-tensors as attributes on ctx."], ["type int"]),
]  # fmt: skip


@pytest.mark.parametrize(("done", "error", "phrases", "more"), MESSAGES)
def test_what_a_function_may_not_do_is_explained(lib, done, error, phrases, more):
    with pytest.raises(error) as caught:
        done(lib)
    expected = phrases if lib.__name__ == "torch" else phrases + more
    assert [p for p in expected if p not in str(caught.value)] == []


def test_a_function_is_not_to_be_instantiated(lib):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        instance = function(lib, doubled, lambda ctx, g: g)()
    with pytest.raises(RuntimeError, match="Legacy autograd function with non-static forward method"):
        instance(lib.ones(2))


def test_an_argument_that_has_no_position_is_refused():
    import autolab as torch

    f = function(torch, lambda ctx, x, *, n: x * n, lambda ctx, g: g)
    with pytest.raises(TypeError, match="takes n by keyword only"):
        f.apply(torch.ones(2), n=3)


# -- what a second derivative would miss ---------------------------------------------------------------


def test_a_second_derivative_through_what_forward_computed_is_refused_with_the_reason():
    import autolab as torch

    class Sinh(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            e = x.exp()
            ctx.save_for_backward(e)
            return (e - 1 / e) / 2

        @staticmethod
        def backward(ctx, g):
            (e,) = ctx.saved_tensors
            return g * (e + 1 / e) / 2

    x = torch.tensor(1.0, requires_grad=True)
    (g,) = torch.autograd.grad(Sinh.apply(x), x, create_graph=True)
    assert g.item() == pytest.approx(math.cosh(1))
    with pytest.raises(
        RuntimeError, match=r"SinhBackward cannot be differentiated twice: `saved_tensors\[0\]` was computed inside forward"
    ):
        torch.autograd.grad(g, x)


def test_what_forward_drew_or_was_told_may_be_saved_and_differentiated_past(lib):
    class Scale(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            factor = lib.ones(3) * 2
            ctx.save_for_backward(factor)
            return x * factor

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    x = lib.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (g,) = lib.autograd.grad((Scale.apply(x) ** 2).sum(), x, create_graph=True)
    g.sum().backward()
    assert x.grad.tolist() == [8.0, 8.0, 8.0]


def test_inputs_come_back_as_themselves(lib):
    came = []

    class Keep(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, c):
            ctx.save_for_backward(x, c, None)
            return x * c

        @staticmethod
        def backward(ctx, g):
            came.extend(ctx.saved_tensors)
            return g * ctx.saved_tensors[1], None

    x, c = lib.ones(2, requires_grad=True), lib.ones(2)
    Keep.apply(x, c).sum().backward()
    assert came[0] is x and came[1] is c and came[2] is None


def test_outputs_that_are_no_tensors_have_no_gradient(lib):
    class Mixed(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return "name", x * 2, None, 3

        @staticmethod
        def backward(ctx, *gs):
            assert [g is None for g in gs] == [True, False, True, True]
            return gs[1] * 2

    x = lib.ones(2, requires_grad=True)
    name, y, nothing, number = Mixed.apply(x)
    y.sum().backward()
    assert (name, nothing, number) == ("name", None, 3) and x.grad.tolist() == [2.0, 2.0]


def test_saved_tensors_may_be_given_away_once(lib):
    class Once(lib.autograd.Function):
        clear_saved_tensors_on_access = True

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, g):
            _ = ctx.saved_tensors
            return ctx.saved_tensors[0]

    with pytest.raises(RuntimeError, match="saved_tensors can only be accessed once"):
        Once.apply(lib.ones(2, requires_grad=True)).sum().backward()


def test_backward_and_vjp_are_two_names_for_one_thing(lib):
    class Both(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g

        @staticmethod
        def vjp(ctx, g):
            return g

    with pytest.raises(RuntimeError, match="Implementing both 'backward' and 'vjp'"):
        Both.apply(lib.ones(2, requires_grad=True)).sum().backward()


def test_what_is_marked_dirty_is_returned(lib, x):
    my = function(lib, lambda ctx, x: ctx.mark_dirty(x * 2) or x * 2, lambda ctx, g: g)
    with pytest.raises(RuntimeError, match="Some elements marked as dirty during the forward method were not returned as output"):
        my.apply(x)


def test_what_is_no_input_need_not_be_marked_dirty(lib):
    class Fresh(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2

    with pytest.warns(UserWarning, match="received a tensor that was not an input"):
        Fresh.apply(lib.ones(2, requires_grad=True))


def test_a_view_that_a_function_returns_cannot_be_written_to(lib):
    class First(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.n = len(x)
            return x[:1]

        @staticmethod
        def backward(ctx, g):
            return lib.cat([g, lib.zeros(ctx.n - 1)])

    x = lib.ones(3, requires_grad=True)
    y = First.apply(x * 2)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 0.0, 0.0]
    with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
        First.apply(x * 2).add_(1)


def test_a_write_in_place_through_a_view_gives_the_base_its_history(lib):
    class Double(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x.mul_(2)

        @staticmethod
        def backward(ctx, g):
            return g * 2

    x = lib.ones(3, requires_grad=True)
    base = x.clone()
    assert Double.apply(base[:2]) is not None
    base.sum().backward()
    assert type(base.grad_fn).__name__ == "CopySlices" and x.grad.tolist() == [2.0, 2.0, 1.0]


def test_once_differentiable_refuses_the_second_time_at_the_node_called_error(lib):
    class Once(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * x.detach()

        @staticmethod
        @lib.autograd.function.once_differentiable
        def backward(ctx, g):
            assert not lib.is_grad_enabled()
            return g * 2

    x = lib.ones(2, requires_grad=True)
    (g,) = lib.autograd.grad((Once.apply(x) * x).sum(), x, create_graph=True)
    names = [node.name() for node, _ in g.grad_fn.next_functions]
    assert "torch::autograd::Error" in names
    with pytest.raises(RuntimeError, match="trying to differentiate twice a function that was marked with @once_differentiable"):
        g.sum().backward()


@pytest.mark.parametrize("what", ["input", "output", "intermediate"])
def test_what_a_function_saves_is_gone_with_its_graph_without_the_collector(what):
    import autolab as torch

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            z = y * 1
            ctx.save_for_backward({"input": x, "output": z, "intermediate": y}[what])
            ctx.note = Note()
            notes.append(weakref.ref(ctx.note))
            return z

        @staticmethod
        def backward(ctx, g):
            return g * 2

    class Note:
        pass

    notes = []
    gc.disable()
    try:
        Keep.apply(torch.ones(2, requires_grad=True).clone())
        assert notes[0]() is None
    finally:
        gc.enable()


def test_gradients_may_come_in_a_list_that_backward_empties(lib, x):
    def backward(ctx, gs):
        g, seen = gs[0] * 2, weakref.ref(gs[0])
        gs.clear()
        kept.append(seen())
        return g

    kept = []
    boxed = function(lib, lambda ctx, x: (x * 2, x * 3), backward)
    boxed.boxed_grads_call = True
    y, _ = boxed.apply(x)
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 2.0] and kept == [None]
    assert y.grad_fn.apply(lib.ones(2), lib.zeros(2)).tolist() == [2.0, 2.0]


def test_a_marked_view_that_is_saved_goes_without_the_collector(lib):
    def forward(ctx, x):
        ctx.mark_dirty(x)
        ctx.save_for_backward(x)
        return x

    x = lib.ones(3, requires_grad=True).clone()
    x = x.view_as(x)
    gone = weakref.ref(x)
    gc.disable()
    try:
        y = function(lib, forward, lambda ctx, g: g).apply(x)
        assert y is x
        del x, y
        assert gone() is None
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("named", "phrase"), [({"z": 1}, "got an unexpected keyword argument 'z'"), ({"x": 1}, "got multiple values for argument 'x'")]
)
def test_a_wrong_name_is_refused_as_by_any_function(lib, x, named, phrase):
    with pytest.raises(TypeError, match=phrase):
        function(lib, lambda ctx, x, y: x + y, lambda ctx, g: (g, g)).apply(x, **named)


def test_what_old_code_imports_is_where_it_was(lib, x):
    import importlib

    resize = importlib.import_module(f"{lib.__name__}.autograd._functions").Resize
    resize.apply(x * 3, (2, 1)).sum().backward()
    assert x.grad.tolist() == [3.0, 3.0]
    with pytest.raises(RuntimeError, match="requested resize to 3 "):
        resize.apply(x, (3,))
    handle = importlib.import_module(f"{lib.__name__}.utils.hooks").RemovableHandle
    assert isinstance(x.register_hook(lambda g: g), handle)


def test_a_ctx_that_is_kept_keeps_what_was_saved_if_the_graph_was_retained(lib):
    kept = []

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    x = lib.ones(1, requires_grad=True)
    function(lib, forward, lambda ctx, g: kept.append(ctx) or g).apply(x).backward(retain_graph=True)
    assert kept[0].saved_tensors[0] is x


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_an_instance_answers_as_a_node_of_no_graph(lib):
    f = function(lib, lambda ctx, x: x, lambda ctx, g: g)()
    assert (f.name(), f.next_functions, f.metadata, f._input_metadata) == ("My", (), {}, ())
    f.register_hook(lambda inside, outside: None).remove()
