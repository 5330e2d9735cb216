"""What programs set about the machine is taken; what they ask is answered truthfully."""

import math

import pytest

import autolab


def test_constants(lib):
    assert (lib.pi, lib.e, lib.inf, lib.newaxis) == (math.pi, math.e, math.inf, None) and math.isnan(lib.nan)
    assert repr(lib.strided) == "torch.strided" and repr(lib.contiguous_format) == "torch.contiguous_format"


def test_settings_are_taken_and_remembered():
    autolab.set_num_threads(2)
    autolab.set_float32_matmul_precision("high")
    assert autolab.get_num_threads() == 2 and autolab.get_float32_matmul_precision() == "high"
    autolab.use_deterministic_algorithms(True)
    assert autolab.are_deterministic_algorithms_enabled()
    autolab.backends.cudnn.benchmark = True
    autolab.backends.cuda.matmul.allow_tf32 = True


@pytest.mark.parametrize(("call", "error"), [
    (lambda T: T.set_num_threads(0), RuntimeError), (lambda T: T.set_num_threads("2"), RuntimeError),
    (lambda T: T.set_default_tensor_type("torch.LongTensor"), TypeError),
    (lambda T: T.cuda.current_device(), (AssertionError, RuntimeError)),
])  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_what_cannot_be_is_refused(lib, call, error):
    with pytest.raises(error):
        call(lib)


def test_the_default_dtype_by_the_name_of_a_type():
    autolab.set_default_tensor_type("torch.DoubleTensor")
    try:
        assert autolab.ones(1).dtype == autolab.float64
    finally:
        autolab.set_default_tensor_type("torch.FloatTensor")


def test_no_other_device_is_there(lib):
    assert not lib.cuda.is_available() and lib.cuda.device_count() == 0 and not lib.backends.mps.is_available()
    assert lib.cpu.is_available() and lib.get_default_device() == lib.device("cpu")
    assert not lib.accelerator.is_available() and lib.accelerator.current_accelerator() is None and not lib.xpu.is_available()
    assert lib.cuda.get_rng_state_all() == [] and lib.cuda.max_memory_allocated() == 0 and not lib.distributed.is_initialized()
    lib.cuda.manual_seed_all(3)
    lib.set_default_device("cpu")
    with lib.device("cpu") as place:
        assert lib.ones(1).device == place


def test_a_block_on_another_device_is_refused():
    with pytest.raises(AssertionError, match="Torch not compiled with CUDA enabled"), autolab.device("cuda"):
        pass


def test_what_was_said_about_warnings_is_remembered(lib):
    lib.set_warn_always(True)
    assert lib.is_warn_always_enabled()
    lib.set_warn_always(False)
    assert not lib.is_warn_always_enabled()


@pytest.mark.filterwarnings("ignore:volatile was removed")
def test_a_tensor_has_every_attribute_that_it_lists():
    x = autolab.ones(2, 2)
    assert [name for name in dir(x) if name != "imag" and not hasattr(x, name)] == []
