"""Modules: a tree that finds its parameters, prints itself, keeps its state and refuses what would go wrong quietly."""

import copy
import pickle
from collections import OrderedDict

import pytest


@pytest.fixture
def net(lib):
    """Two equal blocks with a buffer, a head, an embedding, and a layer that stands in two places."""
    nn = lib.nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.lin = nn.Linear(3, 4)
            self.act = nn.Tanh()
            self.register_buffer("count", lib.zeros(1))
            self.scale = nn.Parameter(lib.ones(1))
            self.register_parameter("none", None)

        def forward(self, x):
            return self.act(self.lin(x)) * self.scale

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.blocks = nn.ModuleList([Block(), Block()])
            self.out = nn.Sequential(nn.Linear(4, 2, bias=False), nn.ReLU(), nn.Dropout(0.1))
            self.emb = nn.Embedding(5, 3, padding_idx=0)
            self.shared = self.blocks[0].lin
            self.number = 3

        def forward(self, x):
            return self.out(self.blocks[0](x))

    return Net()


# -- text -----------------------------------------------------------------------------------------------


def test_a_module_prints_its_tree(net):
    assert (
        repr(net)
        == """\
Net(
  (blocks): ModuleList(
    (0-1): 2 x Block(
      (lin): Linear(in_features=3, out_features=4, bias=True)
      (act): Tanh()
    )
  )
  (out): Sequential(
    (0): Linear(in_features=4, out_features=2, bias=False)
    (1): ReLU()
    (2): Dropout(p=0.1, inplace=False)
  )
  (emb): Embedding(5, 3, padding_idx=0)
  (shared): Linear(in_features=3, out_features=4, bias=True)
)"""
    )


LAYERS = """GELU() GELU(approximate="tanh") LeakyReLU() LeakyReLU(0.2, inplace=True) Softplus() Softmax(dim=1) Softmax() ReLU()
    ReLU(inplace=True) SiLU() Tanh() Sigmoid() Flatten() Flatten(0,1) Identity() MSELoss() BCEWithLogitsLoss() NLLLoss() CrossEntropyLoss()
    Sequential() ModuleList() Module() LayerNorm(3) LayerNorm((3,4),elementwise_affine=False) LayerNorm(3,bias=False) Dropout()
    Linear(2,3) Linear(2,3,bias=False) Embedding(3,2)"""


@pytest.mark.parametrize("made", LAYERS.replace(", ", ",").split())
def test_a_layer_prints_as_in_pytorch(torch, made):
    import autolab

    assert repr(eval(f"nn.{made}", {"nn": autolab.nn})) == repr(eval(f"nn.{made}", {"nn": torch.nn}))


def test_a_list_prints_equal_neighbours_once(lib):
    nn = lib.nn
    modules = nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU()])
    assert repr(modules) == "ModuleList(\n  (0-1): 2 x ReLU()\n  (2): Tanh()\n  (3): ReLU()\n)"


def test_extra_repr_stands_between_the_parentheses(lib):
    class Scale(lib.nn.Module):
        def extra_repr(self):
            return "by=3"

    assert repr(Scale()) == "Scale(by=3)"
    scale = Scale()
    scale.act = lib.nn.ReLU()
    assert repr(scale) == "Scale(\n  by=3\n  (act): ReLU()\n)"


def test_a_parameter_prints_as_one(lib):
    assert repr(lib.nn.Parameter(lib.ones(2))) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


# -- the tree --------------------------------------------------------------------------------------------


def test_parameters_come_in_order_of_registration_own_before_those_of_submodules_shared_ones_once(net):
    assert [name for name, _ in net.named_parameters()] == [
        "blocks.0.scale", "blocks.0.lin.weight", "blocks.0.lin.bias",
        "blocks.1.scale", "blocks.1.lin.weight", "blocks.1.lin.bias", "out.0.weight", "emb.weight",
    ]  # fmt: skip


def test_shared_parameters_can_be_listed_at_each_place(net):
    names = [name for name, _ in net.named_parameters(remove_duplicate=False)]
    assert names[-2:] == ["shared.weight", "shared.bias"]


def test_parameters_can_be_those_of_the_module_itself(net):
    block = net.blocks[0]
    assert [name for name, _ in block.named_parameters(recurse=False, prefix="p")] == ["p.scale"]


def test_buffers_and_modules_are_walked_like_parameters(net):
    assert [name for name, _ in net.named_buffers()] == ["blocks.0.count", "blocks.1.count"]
    assert [name for name, _ in net.named_children()] == ["blocks", "out", "emb", "shared"]
    assert [name for name, _ in net.named_modules()][:5] == ["", "blocks", "blocks.0", "blocks.0.lin", "blocks.0.act"]
    assert "shared" not in dict(net.named_modules())


def test_a_submodule_and_a_parameter_can_be_asked_for_by_their_path(net):
    assert net.get_submodule("blocks.1.lin") is net.blocks[1].lin
    assert net.get_submodule("") is net
    assert net.get_parameter("out.0.weight") is net.out[0].weight
    with pytest.raises(AttributeError, match="ModuleList has no attribute `7`"):
        net.get_submodule("blocks.7.lin")


def test_apply_goes_from_the_leaves_to_the_root(net):
    seen = []
    net.apply(lambda m: seen.append(type(m).__name__))
    assert seen[:4] == ["Linear", "Tanh", "Block", "Linear"] and seen[-1] == "Net"


def test_attributes_of_all_kinds_can_be_listed_replaced_and_deleted(lib, net):
    block = net.blocks[0]
    assert {"scale", "lin", "count", "forward"} <= set(dir(block))
    block.scale = None
    assert block.scale is None and "scale" not in dict(block.named_parameters())
    del block.lin
    assert not hasattr(block, "lin")
    block.count = lib.ones(1)
    assert block.count.item() == 1.0 and "count" in dict(block.named_buffers())


def test_a_name_stands_in_one_place_only(lib):
    m = lib.nn.Module()
    m.a = 3
    m.a = lib.nn.ReLU()
    assert "a" in dict(m.named_children()) and "a" not in vars(m)
    m.a = lib.nn.Parameter(lib.ones(1))
    assert "a" in dict(m.named_parameters()) and "a" not in dict(m.named_children())


def test_a_replaced_layer_keeps_its_place(lib):
    s = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.ReLU())
    s[0] = lib.nn.Tanh()
    assert [type(m).__name__ for m in s] == ["Tanh", "ReLU"]


def test_a_result_of_a_parameter_is_no_parameter(lib):
    p = lib.nn.Parameter(lib.ones(2))
    assert isinstance(p, lib.Tensor) and p.is_leaf
    assert not isinstance(p * 2, lib.nn.Parameter) and not isinstance(p.detach(), lib.nn.Parameter)


def test_a_parameter_shares_the_numbers_it_was_made_of(lib):
    t = lib.ones(2)
    assert lib.nn.Parameter(t).data_ptr() == t.data_ptr() and not t.requires_grad


# -- modes -----------------------------------------------------------------------------------------------


def test_eval_and_train_reach_every_module(net):
    assert net.training and net.eval() is net
    assert not any(m.training for m in net.modules())
    assert all(m.training for m in net.train().modules())


def test_freezing_stops_gradients(lib, net):
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())
    assert not net(lib.ones(3)).requires_grad


def test_zero_grad_forgets_or_zeroes(lib):
    m = lib.nn.Linear(2, 2)
    m(lib.ones(2)).sum().backward()
    gradient = m.bias.grad
    m.zero_grad(set_to_none=False)
    assert m.bias.grad is gradient and gradient.tolist() == [0.0, 0.0]
    m.zero_grad()
    assert m.bias.grad is None


def test_the_dtype_of_a_whole_module_can_be_changed(lib, net):
    weight = net.out[0].weight
    assert net.double() is net and net.out[0].weight is weight
    assert {p.dtype for p in net.parameters()} == {net.blocks[0].count.dtype} == {lib.float64}
    assert net.half().out[0].weight.dtype == lib.float16
    assert net.to(lib.float32).out[0].weight.dtype == lib.float32


def test_hooks_around_forward_may_replace_arguments_and_result(lib):
    m = lib.nn.Identity()
    before = m.register_forward_pre_hook(lambda module, args: (args[0] * 2,))
    after = m.register_forward_hook(lambda module, args, out: out + args[0])
    assert m(lib.ones(1)).item() == 4.0
    before.remove()
    assert m(lib.ones(1)).item() == 2.0
    after.remove()
    assert m(lib.ones(1)).item() == 1.0


def test_a_copy_is_equal_and_independent_and_shares_what_was_shared(lib, net):
    twin = copy.deepcopy(net)
    assert twin.shared is twin.blocks[0].lin
    assert isinstance(twin.out[0].weight, lib.nn.Parameter) and twin.out[0].weight.requires_grad
    with lib.no_grad():
        twin.out[0].weight.zero_()
    assert net.out[0].weight.abs().sum().item() > 0


def test_a_copy_can_be_trained(lib, net):
    twin = copy.deepcopy(net).eval()
    twin(lib.ones(3)).sum().backward()
    assert twin.blocks[0].lin.weight.grad is not None and net.blocks[0].lin.weight.grad is None


def test_a_module_can_be_pickled(lib):
    m = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.LeakyReLU(0.3))
    again = pickle.loads(pickle.dumps(m))
    assert again(lib.ones(2)).tolist() == m(lib.ones(2)).tolist()
    assert isinstance(again[0].weight, lib.nn.Parameter) and repr(again) == repr(m)
    again(lib.ones(2)).sum().backward()


# -- state -------------------------------------------------------------------------------------------------


def test_the_state_is_parameters_and_buffers_by_path_shared_ones_at_each_place(net):
    assert list(net.state_dict()) == [
        "blocks.0.scale", "blocks.0.count", "blocks.0.lin.weight", "blocks.0.lin.bias",
        "blocks.1.scale", "blocks.1.count", "blocks.1.lin.weight", "blocks.1.lin.bias",
        "out.0.weight", "emb.weight", "shared.weight", "shared.bias",
    ]  # fmt: skip
    assert isinstance(net.state_dict(), OrderedDict)
    assert list(net.out.state_dict(prefix="x.")) == ["x.0.weight"]


def test_the_state_is_detached_and_shares_memory_with_the_module(lib, net):
    weight = net.state_dict()["out.0.weight"]
    assert not weight.requires_grad
    with lib.no_grad():
        net.out[0].weight.zero_()
    assert weight.abs().sum().item() == 0
    assert net.state_dict(keep_vars=True)["out.0.weight"] is net.out[0].weight


def test_a_buffer_need_not_be_part_of_the_state(lib):
    m = lib.nn.Module()
    m.register_buffer("kept", lib.ones(1))
    m.register_buffer("lost", lib.ones(1), persistent=False)
    assert list(m.state_dict()) == ["kept"] and len(list(m.buffers())) == 2


def test_loading_copies_values_into_the_tensors_that_are_there(lib):
    a, b = lib.nn.Linear(2, 2), lib.nn.Linear(2, 2)
    weight = a.weight
    state = {name: t.double() for name, t in b.state_dict().items()}
    assert repr(a.load_state_dict(state)) == "<All keys matched successfully>"
    assert a.weight is weight and weight.tolist() == b.weight.tolist() and weight.dtype == lib.float32
    assert weight.requires_grad and weight.data_ptr() != b.weight.data_ptr()


def test_loading_what_does_not_match_says_what_is_missing_and_what_is_too_much(lib):
    m = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 2))
    state = m.state_dict()
    del state["0.weight"], state["0.bias"]
    state["a"], state["b"] = lib.ones(1), lib.ones(1)
    with pytest.raises(RuntimeError) as caught:
        m.load_state_dict(state)
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Sequential:\n"
        '\tMissing key(s) in state_dict: "0.weight", "0.bias". \n'
        '\tUnexpected key(s) in state_dict: "a", "b". '
    )
    found = m.load_state_dict(state, strict=False)
    assert found.missing_keys == ["0.weight", "0.bias"] and found.unexpected_keys == ["a", "b"]
    assert repr(found) == "_IncompatibleKeys(missing_keys=['0.weight', '0.bias'], unexpected_keys=['a', 'b'])"


@pytest.mark.parametrize("strict", [True, False])
def test_loading_another_size_is_refused(lib, strict):
    m = lib.nn.Sequential(lib.nn.Linear(2, 2))
    state = {**m.state_dict(), "0.weight": lib.zeros(3, 2)}
    with pytest.raises(RuntimeError) as caught:
        m.load_state_dict(state, strict=strict)
    assert (
        "size mismatch for 0.weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
        "the shape in current model is torch.Size([2, 2])." in str(caught.value)
    )


def test_a_refused_state_changes_nothing():
    import autolab

    m = autolab.nn.Linear(2, 2)
    before = m.weight.tolist()
    with pytest.raises(RuntimeError):
        m.load_state_dict({"weight": autolab.zeros(2, 2), "bias": autolab.zeros(3)})
    assert m.weight.tolist() == before


# -- containers ----------------------------------------------------------------------------------------------


def names(modules):
    return [type(m).__name__ for m in modules]


def test_a_sequence_runs_through_its_modules(lib):
    class AddOne(lib.nn.Module):
        def forward(self, x):
            return x + 1

    assert lib.nn.Sequential(lib.nn.ReLU(), AddOne(), AddOne())(lib.tensor([-5.0])).tolist() == [2.0]


def test_a_sequence_can_be_indexed_sliced_named_and_extended(lib):
    nn = lib.nn
    s = nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh(), c=nn.Sigmoid()))
    assert s.b is s[1] and names([s[-1]]) == ["Sigmoid"]
    assert repr(s[1:]) == "Sequential(\n  (b): Tanh()\n  (c): Sigmoid()\n)"
    assert len(s) == 3 and names(s) == ["ReLU", "Tanh", "Sigmoid"]
    assert names(nn.Sequential(nn.ReLU()).append(nn.Tanh())) == ["ReLU", "Tanh"]
    del s[0]
    assert names(s) == ["Tanh", "Sigmoid"]


def test_a_list_of_modules_is_edited_like_a_list(lib):
    nn = lib.nn
    modules = nn.ModuleList([nn.ReLU(), nn.Sigmoid()])
    modules[0] = nn.Tanh()
    modules.insert(1, nn.SiLU())
    modules += [nn.GELU()]
    assert names(modules) == ["Tanh", "SiLU", "Sigmoid", "GELU"]
    assert names(modules[1:3]) == ["SiLU", "Sigmoid"] and type(modules[1:]) is nn.ModuleList
    del modules[0]
    assert [name for name, _ in modules.named_children()] == ["0", "1", "2"]


# -- messages --------------------------------------------------------------------------------------------------


def without_init(nn, value):
    class Forgetful(nn.Module):
        def __init__(self):
            self.it = value

    return Forgetful


MESSAGES = [
    ("M()(3)", NotImplementedError, 'Module [Module] is missing the required "forward" function'),
    ("L.foo", AttributeError, "'Linear' object has no attribute 'foo'"),
    ("without_init(nn, nn.ReLU())()", AttributeError, "cannot assign module before Module.__init__() call"),
    ("without_init(nn, P)()", AttributeError, "cannot assign parameters before Module.__init__() call"),
    ("setattr(L, 'weight', 3)", TypeError, "cannot assign 'int' as parameter 'weight' (torch.nn.Parameter or None expected)"),
    ("setattr(L, 'weight', nn.ReLU())", TypeError, "ReLU' as parameter 'weight' (torch.nn.Parameter or None expected)"),
    ("setattr(L, 'weight', T)", TypeError, "cannot assign 'torch.FloatTensor' as parameter 'weight' (torch.nn.Parameter or None"),
    ("setattr(S, '0', 3)", TypeError, "cannot assign 'int' as child module '0' (torch.nn.Module or None expected)"),
    ("M().register_parameter('p', T)", TypeError, "cannot assign 'torch.FloatTensor' object to parameter 'p'"),
    ("M().register_parameter('a.b', P)", KeyError, "parameter name can't contain"),
    ("M().register_parameter('', P)", KeyError, "parameter name can't be empty string"),
    ("L.register_parameter('forward', P)", KeyError, "attribute 'forward' already exists"),
    ("M().register_buffer('b', 3)", TypeError, "cannot assign 'int' object to buffer 'b' (torch Tensor or None required)"),
    ("M().register_buffer('a.b', T)", KeyError, "buffer name can't contain"),
    ("L.register_buffer('weight', T)", KeyError, "attribute 'weight' already exists"),
    ("M().add_module('m', 3)", TypeError, "int is not a Module subclass"),
    ("M().add_module('a.b', M())", KeyError, "module name can't contain"),
    ("M().add_module('', M())", KeyError, "module name can't be empty string"),
    ("nn.Sequential(3)", TypeError, "int is not a Module subclass"),
    ("S[3]", IndexError, "index 3 is out of range"),
    ("L.train('x')", ValueError, "training mode is expected to be boolean"),
    ("L.load_state_dict(3)", TypeError, "Expected state_dict to be dict-like, got <class 'int'>."),
    ("L.load_state_dict({'weight': 3, 'bias': T})", RuntimeError, "Error(s) in loading state_dict for Linear:\n"),
    ("nn.Parameter(torch.ones(2, dtype=torch.int64))", RuntimeError, "nly Tensors of floating point and complex dtype can require"),
]


@pytest.mark.parametrize(("snippet", "error", "phrase"), MESSAGES, ids=[m[0] for m in MESSAGES])
def test_what_a_module_cannot_do_is_refused_in_pytorchs_words(lib, snippet, error, phrase):
    nn = lib.nn
    names = {
        "torch": lib, "nn": nn, "M": nn.Module, "L": nn.Linear(2, 2), "S": nn.Sequential(nn.ReLU()), "without_init": without_init,
        "T": lib.ones(2), "P": nn.Parameter(lib.ones(2)),
    }  # fmt: skip
    with pytest.raises(error) as caught:
        eval(snippet, names)
    # A KeyError shows its text in quotes of its own.
    assert phrase in str(caught.value.args[0])


def test_a_class_in_place_of_a_module_is_explained():
    import autolab

    with pytest.raises(TypeError, match="ReLU is not a Module subclass: put parentheses after it to make one"):
        autolab.nn.Sequential(autolab.nn.ReLU)


@pytest.mark.parametrize("layer", ["Linear(2, 2)", "Conv1d(1, 1, 1)", "ReLU()", "LayerNorm(2)", "Embedding(3, 2)", "Dropout()", "GELU()"])
def test_a_layer_says_that_it_wants_a_tensor(lib, layer):
    with pytest.raises(TypeError, match=r"must be Tensor, not|invalid combination of arguments"):
        eval(f"nn.{layer}", {"nn": lib.nn})([[1.0, 2.0]])


def test_a_parameter_is_made_of_a_tensor(lib):
    with pytest.raises(AttributeError, match="'int' object has no attribute 'detach'"):
        lib.nn.Parameter(3)
    assert lib.nn.Parameter().shape == (0,)
