"""What is written out for a row of the table, for speed: the text of its formulas, and the Python functions made from it; and kernels.

The engine and the transforms give the same results without it: with AUTOLAB_FAST=0 their hooks stay empty, and all goes the general way.
"""

import os

from autolab.engine.backward import LOOPS
from autolab.engine.op import CODEGEN
from autolab.fast.backward import run_pass
from autolab.fast.in_both import compile_mapped
from autolab.fast.in_grad import compile_taped
from autolab.fast.in_vmap import compile_batched
from autolab.fast.row import compile_forward, compile_run

if os.environ.get("AUTOLAB_FAST") != "0":
    LOOPS.add(run_pass.__code__)
    CODEGEN.update(
        forward=compile_forward, run=compile_run, backward=run_pass, taped=compile_taped, batched=compile_batched, mapped=compile_mapped
    )
