"""Right rules, differently written: none of them may be refused."""

from __future__ import annotations

import numpy as np

from autolab.autograd import Function

RIGHT: list[tuple[str, object]] = []


def right(operation):
    def keep(rule):
        RIGHT.append((operation, rule))
        return rule

    return keep


def sum_to(g, shape):
    while g.ndim > len(shape):
        g = g.sum(0)
    for axis, n in enumerate(shape):
        if n == 1:
            g = np.sum(g, axis=axis, keepdims=True)
    return g


@right("square")
class Square(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return 2 * x * g


@right("square")
class SquareWithSetupContext(Function):
    @staticmethod
    def forward(x):
        return x**2

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        return ctx.saved_tensors[0] * g + g * ctx.saved_tensors[0]


@right("square")
class SquareWithAttribute(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.x = x
        return x.square()

    @staticmethod
    def backward(ctx, g):
        return [g * 2 * ctx.x]


@right("square")
def square_in_a_loop(g, x):
    out = np.empty_like(x)
    for i in np.ndindex(x.shape):
        out[i] = 2 * x[i] * g[i]
    return out


@right("square")
def square_printing(g, x):
    print("g", g)
    return np.multiply(2, x) * g


@right("mul")
class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return sum_to(g * y, x.shape), sum_to(g * x, y.shape)


@right("mul")
class MulAsksWhatIsNeeded(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        ctx.shapes = x.shape, y.shape
        return x * y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        gx = gy = None
        if ctx.needs_input_grad[0]:
            gx = sum_to(g * y, ctx.shapes[0])
        if ctx.needs_input_grad[1]:
            gy = sum_to(g * x, ctx.shapes[1])
        return gx, gy


@right("mul")
def mul_by_hand(g, x, y):
    def collect(full, shape):
        out = np.zeros(shape, full.dtype)
        for i in np.ndindex(full.shape):
            j = i[len(i) - len(shape) :]
            out[tuple(k if n > 1 else 0 for k, n in zip(j, shape, strict=True))] += full[i]
        return out

    return collect(g * y, x.shape), collect(g * x, y.shape)


@right("mul")
def mul_with_names_of_its_own(upstream, a, b):
    return [sum_to(upstream * b, a.shape), sum_to(upstream * a, b.shape)]


@right("add")
def add(g, x_shape, y_shape):
    return sum_to(g, x_shape), sum_to(g, y_shape)


@right("relu")
class ReluFromOutput(Function):
    @staticmethod
    def forward(ctx, x):
        out = x.clamp(min=0)
        ctx.save_for_backward(out)
        return out

    @staticmethod
    def backward(ctx, g):
        (out,) = ctx.saved_tensors
        return g * (out > 0)


@right("relu")
class ReluWritesIntoACopy(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * (x > 0)

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        g = g.clone()
        g[x <= 0] = 0
        return g


@right("relu")
def relu_takes_one_at_the_kink(g, x):
    return g * (x >= 0)


@right("relu")
def relu_takes_a_half_at_the_kink(g, x):
    return g * (np.sign(x) + 1) / 2


@right("exp")
def exp_again(g, x):
    return g * np.exp(x)


@right("tanh")
def tanh_factored(g, out):
    return g * (1 - out) * (1 + out)


@right("tanh")
def tanh_cosh(g, x):
    return g / np.cosh(np.clip(x, -300, 300)) ** 2


@right("sigmoid")
def sigmoid(g, out):
    return g * out * (1 - out)


@right("log")
def log(g, x):
    return g * x**-1.0


@right("div")
def div(g, x, y):
    return sum_to(g / y, x.shape), sum_to(-g * x / y**2, y.shape)


@right("matmul")
def matmul_einsum(g, x, y):
    return np.einsum("...ik,...jk->...ij", g, y), np.einsum("...ki,...kj->...ij", x, g)


@right("matmul")
class MatMul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x @ y

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.transpose(-1, -2), x.transpose(-1, -2) @ g


@right("sum")
def sum_repeats(g, x, axis):
    return np.repeat(np.expand_dims(g, axis), x.shape[axis], axis)


@right("sum")
class Sum(Function):
    @staticmethod
    def forward(ctx, x, dim):
        ctx.dim, ctx.shape = dim, x.shape
        return x.sum(dim)

    @staticmethod
    def backward(ctx, g):
        return g.unsqueeze(ctx.dim).expand(ctx.shape), None


@right("mean")
def mean(g, x_shape, axis):
    return np.broadcast_to(np.expand_dims(g, axis) / x_shape[axis], x_shape)


@right("softmax")
def softmax(g, out, axis):
    return out * (g - (g * out).sum(axis, keepdims=True))


@right("softmax")
def softmax_with_its_jacobian(g, out, axis):
    p, g = np.moveaxis(out, axis, -1), np.moveaxis(g, axis, -1)
    jacobian = np.einsum("...i,ij->...ij", p, np.eye(p.shape[-1], dtype=p.dtype)) - np.einsum("...i,...j->...ij", p, p)
    return np.moveaxis(np.einsum("...ij,...j->...i", jacobian, g), -1, axis)
