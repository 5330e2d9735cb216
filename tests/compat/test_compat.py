"""A program that says `import torch` runs on autolab, and hears what is missing. Each runs in a process of its own: one has one torch."""

import subprocess
import sys
import textwrap

import pytest

START = "import autolab, autolab.compat\nautolab.compat.install()\n"


def run(program, start=START):
    result = subprocess.run([sys.executable, "-W", "error", "-c", start + textwrap.dedent(program)], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return result.stdout


def error_of(program):
    """What a line raises, as `type: text`."""
    return run(f"""
        import torch
        try:
            {program}
        except Exception as error:
            print(f"{{type(error).__name__}}: {{error}}")
        """).strip()


def test_a_program_written_for_pytorch_trains():
    out = run("""
        import torch
        import torch.nn as nn
        import torch.nn.functional as F
        from torch import Tensor, optim
        from torch.nn import Parameter
        from torch.optim import Adam
        from torch.optim.lr_scheduler import StepLR
        from torch.utils.checkpoint import checkpoint
        from torch.utils.data import DataLoader, TensorDataset
        import torch.backends.cudnn as cudnn
        from torch.cuda.amp import GradScaler
        from torch.nn.parameter import Parameter as P
        from torch.autograd import Function, Variable

        cudnn.benchmark = True
        device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
        torch.manual_seed(0)

        class Net(nn.Module):
            def __init__(self):
                super().__init__()
                self.fc1, self.fc2 = nn.Linear(2, 16), nn.Linear(16, 2)

            def forward(self, x):
                return self.fc2(F.relu(self.fc1(x)))

        x = torch.randn(128, 2)
        y = (x[:, 0] * x[:, 1] > 0).long()
        model = Net().to(device)
        optimizer = Adam(model.parameters(), lr=0.03)
        for epoch in range(30):
            for a, b in DataLoader(TensorDataset(x, y), batch_size=32):
                optimizer.zero_grad()
                F.cross_entropy(checkpoint(model, a, use_reentrant=False), b).backward()
                optimizer.step()
        print((model(x).argmax(1) == y).float().mean().item() > 0.95, P is Parameter, type(model(x)).__name__)
        """)
    assert out.split() == ["True", "True", "Tensor"]


def test_modules_are_the_same_under_both_names():
    out = run("""
        import torch, torch.nn.functional, torch.linalg, torch.func, torch.testing, torch.serialization, torch.random, torch.amp
        from autolab import nn
        print(torch.nn is nn, nn.functional is torch.nn.functional, torch.linalg is autolab.linalg, torch.Tensor is autolab.Tensor)
        print(nn.__name__, nn.__spec__.name, torch.random.fork_rng.__name__)
        print(torch.__version__, torch.version.cuda, torch.trace(torch.ones(2, 2)).item())
        """)
    assert out.splitlines() == ["True True True True", "autolab.nn autolab.nn fork_rng", "2.13.0+autolab None 2.0"]


def test_safetensors_files_are_read_under_the_librarys_name(tmp_path):
    out = run(f"""
        import torch
        from safetensors.torch import load_file, save_file
        save_file({{"a": torch.ones(2)}}, {str(tmp_path / "a")!r})
        print(load_file({str(tmp_path / "a")!r}), load_file.__module__)
        """)
    assert out.strip() == "{'a': tensor([1., 1.])} autolab.serialization.safetensors"


def test_it_can_be_taken_back():
    out = run("""
        import sys
        import importlib.util
        import autolab.compat as compat
        with compat.install():
            import torch.nn
            assert compat.is_installed() and torch.nn is autolab.nn
        print(compat.is_installed(), [name for name in sys.modules if name.partition(".")[0] == "torch"])
        compat.install(), compat.install()
        import torch
        compat.uninstall(), compat.uninstall()
        print(compat.is_installed(), torch.ones(2))
        """, start="import autolab\n")  # fmt: skip
    assert out.splitlines() == ["False []", "False tensor([1., 1.])"]


def test_it_refuses_where_pytorch_is_loaded(torch):
    import autolab.compat

    with pytest.raises(RuntimeError, match=r"PyTorch itself \(2.13.0.*\) is loaded in this process already"):
        autolab.compat.install()


@pytest.mark.parametrize(("program", "words"), [
    ("import torch.onnx", "ModuleNotFoundError: No module named 'torch.onnx'. autolab does not have"),
    ("torch.hub.load_state_dict_from_url('https://a.example/x.pth', '.')", "Download https://a.example/x.pth and put it at ./x.pth"),
    ("import torch.distributed.rpc as rpc", "one process computes; utils.data.DataLoader"),
    ("from torch import onnx", "ModuleNotFoundError: No module named 'torch.onnx'. autolab does not have"),
    ("torch.distributed.init_process_group('gloo')", "RuntimeError: distributed.init_process_group() needs a group of processes"),
    ("import torch.utils.tensorbored", "No module named 'torch.utils.tensorbored'"),
    ("from torch.nn import Linera", "ModuleNotFoundError: cannot import name 'Linera' from 'autolab.nn'. Did you mean: 'Linear'?"),
    ("torch.nn.Linera", "AttributeError: module 'autolab.nn' has no attribute 'Linera'. Did you mean: 'Linear'?"),
    ("torch.softmaxx", "Did you mean: 'softmax'?"),
    ("torch.optim.Adan", "Did you mean: 'Adam'?"),
    ("torch.nn.functional.croos_entropy", "Did you mean: 'cross_entropy'?"),
    ("torch.jit.load('model.pt')", "autolab has no TorchScript archives. Build the model and load its weights"),
    ("torch.ones(1).to_sparse()", "AttributeError: 'Tensor' object has no attribute 'to_sparse'. autolab does not have everything that PyTorch has: all tensors are dense"),
])  # fmt: skip
def test_what_is_missing_says_so(program, words):
    assert words in error_of(program)
