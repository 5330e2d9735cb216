"""Function transforms with PyTorch's names: they take a function of tensors and give a function that computes a derivative of it.

`grad`, `vjp` and `jacrev` go backward; `jvp` and `jacfwd` forward; `vmap` runs a function for one sample on a batch of them; `hessian`
is forward over reverse. They nest in any order, because each runs on a level of its own (`autolab.engine.levels`), and `backward()`
goes through their results to captured tensors that require grad.

Not yet as in PyTorch: what is differentiated or mapped must be a Tensor argument of its own (no dicts or lists of tensors), and a function
returns a Tensor or a tuple of Tensors.
"""

from autolab.func.forward import jvp
from autolab.func.jacobian import hessian, jacfwd, jacrev
from autolab.func.mapped import vmap
from autolab.func.reverse import grad, grad_and_value, vjp

__all__ = ["grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "vjp", "vmap"]
