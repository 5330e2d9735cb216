import subprocess
import sys

import pytest

from autolab.torch_api import families

# what NumPy has not loaded already and what would double the cost of `import autolab`
SLOW = {
    "asyncio",
    "concurrent.futures",
    "doctest",
    "email",
    "http",
    "importlib.metadata",
    "multiprocessing",
    "pydoc",
    "sqlite3",
    "unittest",
    "xml",
}


def modules_after(statement):
    code = f"{statement}\nimport sys\nprint(*sys.modules)"
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


@pytest.fixture(scope="module")
def added():
    return modules_after("import autolab") - modules_after("import numpy, ml_dtypes")


def test_importing_autolab_loads_nothing_else_that_is_installed(added):
    outside = {name.partition(".")[0] for name in added} - sys.stdlib_module_names
    assert {name for name in outside if "cython" not in name} <= {"autolab", "numpy"}


def test_importing_autolab_loads_no_slow_part_of_the_standard_library(added):
    assert not added & SLOW


def test_importing_autolab_loads_bfloat16_and_threads_with_their_first_use():
    added = modules_after("import autolab") - modules_after("import numpy")
    assert not added & {"copy", "ml_dtypes", "threading"}
    assert "ml_dtypes" in modules_after("import autolab; autolab.ones(2, dtype=autolab.bfloat16)")


def test_printing_a_tensor_does_not_load_bfloat16():
    assert "ml_dtypes" not in modules_after("import autolab, sys; sys.stderr.write(str(autolab.ones(2)))")


def test_importing_autolab_asks_about_notebooks_only_in_one(added):
    assert "autolab.utils.tracebacks" not in added
    assert "autolab.utils.tracebacks" in modules_after("import IPython, autolab")


@pytest.mark.parametrize("use", ["autolab.topk", "autolab.Tensor.topk", "autolab.ones(2).topk", "from autolab import topk"])
def test_a_family_of_functions_is_loaded_with_the_first_use_of_a_name(added, use):
    listed = {f"autolab.torch_api.{family}" for family in families.FUNCTIONS | families.METHODS}
    assert not added & listed
    assert "autolab.torch_api.sorting" in modules_after(f"import autolab\n{use}")


def test_names_of_families_are_there_before_they_are_loaded(added):
    shown = modules_after("import autolab\nprint(*dir(autolab), *dir(autolab.Tensor))")
    assert {name for names in (families.FUNCTIONS | families.METHODS).values() for name in names.split() if name[0] != "_"} <= shown
    assert "autolab.torch_api.sorting" not in shown


def test_a_class_made_before_a_family_is_loaded_goes_through_its_functions():
    code = """
import autolab as torch
class Metres(torch.Tensor):
    pass
x = torch.ones(2).as_subclass(Metres)
print(type(torch.topk(x, 1).values).__name__, type(x.topk(1).values).__name__, type(x.logit_()).__name__)
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "Metres Metres Metres\n"


@pytest.mark.parametrize("before", ["enable", "disable"])
def test_importing_autolab_leaves_the_garbage_collector_as_it_was(before):
    code = f"import gc; gc.{before}(); import autolab; print(gc.isenabled())"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output == f"{before == 'enable'}\n"


def test_importing_autolab_compiles_little_source():
    # without a cache of bytecode its time is that of Python's compiler: what is not needed for a first gradient may come later
    code = "import autolab, os, sys\nprint(sum(os.path.getsize(m.__file__) for n, m in sys.modules.items() if n.partition('.')[0] == 'autolab'))"
    size = int(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
    assert size < 430_000


def test_importing_autolab_leaves_little_for_the_next_collection():
    """What was loaded counts as old, and not as new: two collections would go through all of it. What was frozen stays frozen."""
    code = (
        "import gc; import numpy; {}; import autolab; print(gc.get_freeze_count() > 0, len(gc.get_objects(0) + gc.get_objects(1)) < 5000)"
    )
    for before, frozen in (("pass", False), ("gc.freeze()", True)):
        output = subprocess.run([sys.executable, "-c", code.format(before)], capture_output=True, text=True, check=True).stdout
        assert output.split()[0] == str(frozen)
        assert frozen or output.split()[1] == "True"


def test_what_writes_functions_for_rows_is_loaded_when_a_row_has_been_called_often(added):
    code = "import autolab as t; x = t.tensor([2.0], requires_grad=True)\nfor _ in range({}):\n    (x * x).sum().backward()"
    writing = {"autolab.fast.row", "autolab.fast.inline"}
    assert "autolab.fast.backward" not in added
    assert not writing & modules_after(code.format(10))
    assert writing <= modules_after(code.format(200))


NOT_FOR_A_FIRST_GRADIENT = {
    *(f"autolab.autograd.{name}" for name in ("anomaly_mode", "context", "function", "fused", "graph", "mutation", "saved", "variable")),
    *(f"autolab.transforms.{name}" for name in ("batched", "dual", "level", "taped")),
    "autolab.autograd.gradcheck.mismatch", "autolab.fast.entries", "autolab.fast.row", "autolab.rules.nn",
}  # fmt: skip


def test_a_first_gradient_loads_no_custom_functions_hooks_and_transforms():
    loaded = modules_after("import autolab as t; x = t.tensor([2.0], requires_grad=True); (x * x).sum().backward(); assert x.grad == 4")
    assert not loaded & NOT_FOR_A_FIRST_GRADIENT


@pytest.mark.parametrize("before", ["GradcheckError", "gradgradcheck", "Function", "graph", "Variable", "detect_anomaly"])
def test_names_of_autograd_do_not_depend_on_what_was_asked_for_first(before):
    code = f"from autolab import autograd\nautograd.{before}\nimport autolab.autograd.graph, autolab.autograd.gradcheck.mismatch\n"
    code += "print(*(type(getattr(autograd, name)).__name__ for name in autograd.__all__))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    from autolab import autograd

    assert output.split() == [type(getattr(autograd, name)).__name__ for name in autograd.__all__]


def test_a_class_of_tensors_sees_backward_though_nothing_has_asked_for_it():
    code = """
import autolab as torch
class Log(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        print(func.__name__)
        return super().__torch_function__(func, types, args, kwargs)
torch.ones(1, requires_grad=True).as_subclass(Log).backward()
"""
    assert "backward" in subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()


def test_an_attribute_that_cannot_be_set_says_so_before_it_is_loaded():
    code = "import autolab\ntry:\n    autolab.ones(2, 2).T = 1\nexcept AttributeError:\n    print('refused')"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "refused\n"


FOR_TRANSFORMS = {
    *(f"autolab.autograd.function_in_{kind}" for kind in ("grad", "jvp", "vmap")),
    "autolab.fast.in_grad",
    "autolab.fast.in_vmap",
}


def test_what_only_the_transforms_use_is_loaded_with_them(added):
    assert not added & FOR_TRANSFORMS
    used = "import autolab as t; t.vmap(t.func.grad(lambda x: x.sin()))(t.ones(2)); t.func.jvp(t.sin, (t.ones(2),), (t.ones(2),))"
    assert modules_after(used) >= FOR_TRANSFORMS


def test_a_batch_of_gradients_goes_through_a_custom_function():
    # nothing but grad is asked for, and it needs what vmap does with a Function
    code = """
import autolab as torch
class Cube(torch.autograd.Function):
    generate_vmap_rule = True
    forward = staticmethod(lambda x: x**3)
    setup_context = staticmethod(lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    backward = staticmethod(lambda ctx, g: Double.apply(g) * 1.5 * ctx.saved_tensors[0] ** 2)
class Double(torch.autograd.Function):
    generate_vmap_rule = True
    forward = staticmethod(lambda x: 2 * x)
    setup_context = staticmethod(lambda ctx, inputs, output: None)
    backward = staticmethod(lambda ctx, g: 2 * g)
x = torch.tensor([2.0], requires_grad=True)
print(torch.autograd.grad(Cube.apply(x), x, torch.tensor([[1.0], [10.0]]), is_grads_batched=True)[0].tolist())
"""
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[[12.0], [120.0]]\n"


@pytest.mark.parametrize("package", ["trace", "draw", "check"])
def test_pictures_and_checks_work_without_jupyter(package):
    loaded = {name.partition(".")[0] for name in modules_after(f"import autolab.{package}")}
    assert not loaded & {"IPython", "ipykernel", "ipywidgets", "anywidget", "nbformat", "nbgrader", "traitlets"}
