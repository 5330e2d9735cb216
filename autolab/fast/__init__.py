"""What is written out for a row of the table, for speed: the text of its formulas, and the Python functions made from it; and kernels.

The engine and the transforms give the same results without it: with AUTOLAB_FAST=0 their hooks stay empty, and all goes the general way.
"""

import os

from autolab.engine.node import OpNode
from autolab.engine.op import CODEGEN
from autolab.fast import first_calls
from autolab.fast.first_calls import loaded_with_first_call
from autolab.fast.sums import fit

if os.environ.get("AUTOLAB_FAST") != "0":
    OpNode.fit = staticmethod(fit)
    CODEGEN.update(
        forward=first_calls.forward,
        run=first_calls.run,
        backward=loaded_with_first_call("autolab.fast.backward", "run_pass"),
        taped=loaded_with_first_call("autolab.fast.in_grad", "compile_taped"),
        batched=loaded_with_first_call("autolab.fast.in_vmap", "compile_batched"),
        mapped=loaded_with_first_call("autolab.fast.in_both", "compile_mapped"),
    )
