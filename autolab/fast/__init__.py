"""What is written out for a row of the table, for speed: the text of its formulas, and the Python functions made from it; and kernels.

The engine and the transforms give the same results without it: with AUTOLAB_FAST=0 their hooks stay empty, and all goes the general way.
"""

import os
from collections.abc import Callable
from importlib import import_module
from typing import Any

from autolab.engine.backward import LOOPS
from autolab.engine.op import CODEGEN
from autolab.fast.backward import run_pass
from autolab.fast.row import compile_forward, compile_run


def loaded_with_first_call(module: str, name: str) -> Callable[..., Any]:
    return lambda *args: getattr(import_module(module), name)(*args)


if os.environ.get("AUTOLAB_FAST") != "0":
    LOOPS.add(run_pass.__code__)
    CODEGEN.update(
        forward=compile_forward,
        run=compile_run,
        backward=run_pass,
        taped=loaded_with_first_call("autolab.fast.in_grad", "compile_taped"),
        batched=loaded_with_first_call("autolab.fast.in_vmap", "compile_batched"),
        mapped=loaded_with_first_call("autolab.fast.in_both", "compile_mapped"),
    )
