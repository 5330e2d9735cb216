"""Function transforms with PyTorch's names: they take a function of tensors and give a function that computes a derivative of it.

`grad`, `vjp` and `jacrev` go backward; `jvp` and `jacfwd` forward; `vmap` runs a function for one sample on a batch of them; `hessian`
is forward over reverse. They nest in any order, because each runs on a level of its own (`autolab.transforms.level`), and `backward()`
goes through their results to captured tensors that require grad.

What is differentiated or mapped may be Tensors in nested tuples, lists, dicts and named tuples; results come in the same form.
`functional_call` runs a module with other parameters, and `stack_module_state` makes one batch of many modules' parameters.
"""

from autolab.func.arguments import debug_unwrap
from autolab.func.forward import jvp
from autolab.func.jacobian import hessian, jacfwd, jacrev
from autolab.func.mapped import vmap
from autolab.func.modules import functional_call, replace_all_batch_norm_modules_, stack_module_state
from autolab.func.reverse import grad, grad_and_value, linearize, vjp
from autolab.func.rewriting import functionalize

__all__ = [
    "debug_unwrap", "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip
