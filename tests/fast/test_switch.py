"""AUTOLAB_FAST=0 leaves the general way alone."""

import os
import subprocess
import sys

import pytest

from autolab.engine.op import CODEGEN

PROGRAM = """
import sys
import autolab as torch
from autolab.engine.op import CODEGEN
from autolab.func import grad, vmap
x = torch.tensor([1., 2.], requires_grad=True)
torch.nn.functional.softmax(torch.relu(x @ x * x), 0).sum().backward()
vmap(grad(lambda v: v.sin().sum()))(torch.ones(2, 3))
print(*sorted(CODEGEN), *(name for name in sys.modules if name.startswith("autolab.fast.kernels.")))
"""


def test_without_fast_no_hook_is_set_and_no_kernel_loaded():
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={**os.environ, "AUTOLAB_FAST": "0"}, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["attributes", "parts"]


@pytest.mark.speed
def test_fast_sets_the_hooks_that_the_engine_names():
    assert set(CODEGEN) == {"attributes", "parts", "forward", "run", "backward", "taped", "batched", "mapped"}
