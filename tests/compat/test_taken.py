"""What programs say to PyTorch's machinery, and what has no meaning here, is taken: the program runs."""

import pytest

import autolab
from autolab import fx, hub, jit
from autolab.backends import cuda
from autolab.nn.attention import SDPBackend, sdpa_kernel


def test_torchscripts_decorators_give_the_function_back():
    @jit.script
    def twice(x: autolab.Tensor) -> autolab.Tensor:
        return x * 2

    class Net(autolab.nn.Module):
        @jit.ignore
        def a(self):
            return 1

        @jit.ignore(drop=True)
        def b(self):
            return 2 if not jit.is_scripting() else 3

        @jit.unused
        def c(self):
            return jit.annotate(int, 3)

    net = jit.trace(Net(), autolab.ones(1))
    assert (net.a(), net.b(), net.c()) == (1, 2, 3) and jit.script(net) is net
    assert twice(autolab.ones(2)).tolist() == [2.0, 2.0] and fx.wrap(twice) is twice and fx.wrap("len") == "len"
    with pytest.raises(RuntimeError, match="Must be either a callable or string name"):
        fx.wrap(3)


def test_weights_are_read_where_pytorch_keeps_them(tmp_path, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    assert hub.get_dir() == str(tmp_path / "hub")
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    autolab.save({"weight": autolab.ones(2)}, folder / "net-1234.pth")
    assert hub.load_state_dict_from_url("https://a.example/models/net-1234.pth?raw")["weight"].tolist() == [1.0, 1.0]
    with pytest.raises(FileNotFoundError, match="fetches nothing from a network. Download https://a.example/other.pth and put it at"):
        hub.load_state_dict_from_url("https://a.example/other.pth")
    with pytest.raises(RuntimeError, match="Import the file that defines it"):
        hub.load("somebody/models", "net")


def test_kernels_of_attention_may_be_chosen():
    q = autolab.ones(1, 2, 4)
    plain = autolab.nn.functional.scaled_dot_product_attention(q, q, q)
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.MATH]), cuda.sdp_kernel(enable_flash=False):
        assert not cuda.flash_sdp_enabled() and cuda.math_sdp_enabled()
        assert autolab.nn.functional.scaled_dot_product_attention(q, q, q).tolist() == plain.tolist()
    assert cuda.flash_sdp_enabled()
    with pytest.raises(AssertionError, match="Backend must be an instance of SDPBackend"), sdpa_kernel("flash"):
        pass


def test_an_assertion_may_be_a_function():
    autolab._assert(True, "fine")
    with pytest.raises(AssertionError, match="wrong height"):
        autolab._assert(False, "wrong height")


def test_containers_are_taken_apart_under_pytorchs_names(lib):
    import importlib

    tree = importlib.import_module(f"{lib.__name__}.utils._pytree")
    nested = {"a": [1, (2.0, None)], "b": 3}
    leaves, form = tree.tree_flatten(nested)
    assert leaves == [1, 2.0, None, 3] and tree.tree_unflatten(leaves, form) == nested
    assert tree.tree_map(lambda x, y: (x, y), [1, 2], [3, 4]) == [(1, 3), (2, 4)]
    assert tree.tree_map_only(int, lambda x: -x, nested) == {"a": [-1, (2.0, None)], "b": -3}
    assert tree.tree_any(lambda x: x is None, nested) and not tree.tree_all(lambda x: x is None, nested)
    with pytest.raises(ValueError, match="`leaves` has length 1 but the spec refers to a pytree that holds"):
        tree.tree_unflatten([1], form)
