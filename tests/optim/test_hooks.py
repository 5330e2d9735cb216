"""Hooks around steps and saving; names of parameters; optimizers written for PyTorch."""

import pickle

import pytest


@pytest.fixture
def p(lib):
    return lib.tensor([1.0, 2.0], requires_grad=True)


def gradient(lib, p):
    p.grad = lib.ones(2)
    return p


def test_hooks_stand_around_a_step_in_the_order_of_pytorch(lib, p):
    said, optimizer = [], lib.optim.SGD([gradient(lib, p)], lr=0.5)
    from importlib import import_module

    everywhere = import_module(f"{lib.__name__}.optim.optimizer")
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: said.append(("before", p.tolist()))),
        optimizer.register_step_post_hook(lambda o, args, kwargs: said.append(("after", p.tolist()))),
        everywhere.register_optimizer_step_pre_hook(lambda o, args, kwargs: said.append("before any")),
        everywhere.register_optimizer_step_post_hook(lambda o, args, kwargs: said.append("after any")),
    ]
    optimizer.step()
    for handle in handles:
        handle.remove()
    optimizer.step()
    assert said == ["before any", ("before", [1.0, 2.0]), ("after", [0.5, 1.5]), "after any"]


def test_a_hook_before_a_step_can_change_what_the_step_is_given(lib, p):
    optimizer = lib.optim.SGD([gradient(lib, p)], lr=0.5)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: (args, {"closure": lambda: "another"}))
    assert optimizer.step() == "another"


def test_a_hook_before_a_step_that_returns_something_else_is_refused(lib, p):
    optimizer = lib.optim.SGD([gradient(lib, p)], lr=0.5)
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple of \(new_args, new_kwargs\), but got 3"):
        optimizer.step()


def test_hooks_around_saving_and_loading_see_and_change_the_state(lib, p):
    optimizer, said = lib.optim.SGD([p], lr=0.5), []
    optimizer.register_state_dict_pre_hook(lambda o: said.append("before save"))
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "note": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: said.append(("before load", d.pop("note"))))
    optimizer.register_load_state_dict_post_hook(lambda o: said.append("after load"))
    optimizer.register_state_dict_pre_hook(lambda o: said.append("first"), prepend=True)
    saved = optimizer.state_dict()
    optimizer.load_state_dict(saved)
    assert said == ["first", "before save", ("before load", 1), "after load"] and saved["note"] == 1


def test_parameters_may_come_with_their_names(lib, p):
    q = lib.ones(1, requires_grad=True)
    optimizer = lib.optim.SGD([("weight", p), ("bias", q)], lr=0.5)
    assert optimizer.param_groups[0]["param_names"] == optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight", "bias"]
    with pytest.raises(ValueError, match="all optimizer param groups should be with/without names. cannot add param group without"):
        optimizer.add_param_group({"params": lib.ones(1, requires_grad=True)})


def test_either_all_parameters_have_names_or_none(lib, p):
    with pytest.raises(ValueError, match="all optimizer params should be with/without names. Some param names are missing"):
        lib.optim.SGD([("weight", p), lib.ones(1, requires_grad=True)], lr=0.5)


def test_a_learning_rate_may_be_a_tensor(lib, p):
    optimizer = lib.optim.SGD([gradient(lib, p)], lr=lib.tensor(0.5))
    optimizer.step()
    optimizer.param_groups[0]["lr"].fill_(1.0)
    optimizer.step()
    assert p.tolist() == [-0.5, 0.5]
    with pytest.raises(ValueError, match="Tensor lr must be 1-element"):
        lib.optim.SGD([p], lr=lib.ones(2))


def test_an_optimizer_written_for_pytorch_works(lib, p):
    class Signs(lib.optim.Optimizer):
        def __init__(self, params, lr=0.5):
            super().__init__(params, {"lr": lr})

        @lib.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    self.state[p]["last"] = p.grad.clone()
                    p.add_(p.grad.sign(), alpha=-group["lr"])

    optimizer, said = Signs([gradient(lib, p)]), []
    optimizer.register_step_post_hook(lambda o, args, kwargs: said.append("after"))
    optimizer.step()
    assert p.tolist() == [0.5, 1.5] and said == ["after"]
    assert optimizer.state_dict()["state"][0]["last"].tolist() == [1.0, 1.0]


def test_a_step_built_on_another_calls_hooks_once():
    import autolab as lib  # PyTorch calls them twice, if the other class has been used before

    p = lib.tensor([1.0, 2.0], requires_grad=True)

    class Slower(lib.optim.SGD):
        def step(self, closure=None):
            for group in self.param_groups:
                group["lr"] /= 2
            return super().step(closure)

    optimizer, said = Slower([gradient(lib, p)], lr=1.0), []
    optimizer.register_step_post_hook(lambda o, args, kwargs: said.append("after"))
    optimizer.step()
    assert p.tolist() == [0.5, 1.5] and said == ["after"]


def test_a_step_that_fails_leaves_an_optimizer_that_works(lib, p):
    optimizer, said = lib.optim.SGD([gradient(lib, p)], lr=1.0), []
    optimizer.register_step_pre_hook(lambda o, args, kwargs: said.append("before"))
    with pytest.raises(ZeroDivisionError):
        optimizer.step(lambda: 1 / 0)
    optimizer.step()
    assert said == ["before", "before"]


def test_a_copy_of_an_optimizer_moves_its_own_parameters(lib, p):
    import copy

    optimizer = lib.optim.SGD([gradient(lib, p)], lr=0.5, momentum=0.5)
    optimizer.step()
    other = copy.deepcopy(optimizer)
    (q,) = other.param_groups[0]["params"]
    gradient(lib, q)
    other.step()
    assert p.tolist() == [0.5, 1.5] and q.tolist() == [-0.25, 0.75]


def test_an_optimizer_can_be_pickled_with_its_parameters_and_state(lib, p):
    optimizer = lib.optim.Adam([gradient(lib, p)], lr=0.5)
    optimizer.step()
    again = pickle.loads(pickle.dumps(optimizer))
    (q,) = again.param_groups[0]["params"]
    assert q.tolist() == p.tolist() and again.state[q]["step"].item() == 1.0
    gradient(lib, q)
    again.step()
    assert again.state[q]["step"].item() == 2.0


def test_a_setting_that_an_older_file_does_not_know_is_as_it_is_by_default(lib, p):
    optimizer = lib.optim.SGD([p], lr=0.5)
    saved = optimizer.state_dict()
    del saved["param_groups"][0]["maximize"]
    optimizer.load_state_dict(saved)
    assert optimizer.param_groups[0]["maximize"] is False


def test_a_group_must_name_what_has_no_default(lib, p):
    from importlib import import_module

    optimizer = import_module(f"{lib.__name__}.optim.optimizer")
    with pytest.raises(ValueError, match="parameter group didn't specify a value of required optimization parameter lr"):
        optimizer.Optimizer([p], {"lr": optimizer.required})
    assert repr(optimizer.required) == "<required parameter>"
    assert optimizer.Optimizer([{"params": p, "lr": 1}], {"lr": optimizer.required}).param_groups[0]["lr"] == 1
