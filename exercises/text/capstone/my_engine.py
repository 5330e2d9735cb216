"""My own engine: reverse-mode automatic differentiation on NumPy.

capstone.ipynb says what each part does, and checks it. The names below are the contract: keep them and their arguments. What they
are made of is yours: add functions, classes and attributes, or other modules beside this one. Import NumPy and what comes with
Python, nothing else.
"""

import contextlib
import itertools
import math

import numpy as np

# Milestone 1: scalars


class Value:
    """A number that remembers how it was computed.

    `data` is a float, `grad` a float that is 0.0 until `backward` has been called. The other operand of `+`, `*`, `-` and `/` may be
    a plain number, on either side; the exponent of `**` is a plain number.
    """

    def __init__(self, data, parents=(), local=()):
        ### BEGIN SOLUTION
        self.data, self.parents, self.local, self.grad = float(data), parents, local, 0.0
        ### END SOLUTION

    def __add__(self, other):
        ### BEGIN SOLUTION
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data + other.data, (self, other), (1.0, 1.0))
        ### END SOLUTION

    def __mul__(self, other):
        ### BEGIN SOLUTION
        other = other if isinstance(other, Value) else Value(other)
        return Value(self.data * other.data, (self, other), (other.data, self.data))
        ### END SOLUTION

    def __pow__(self, n):
        ### BEGIN SOLUTION
        return Value(self.data**n, (self,), (n * self.data ** (n - 1),))
        ### END SOLUTION

    def exp(self):
        """e to this power."""
        ### BEGIN SOLUTION
        out = math.exp(self.data)
        return Value(out, (self,), (out,))
        ### END SOLUTION

    def log(self):
        """The natural logarithm."""
        ### BEGIN SOLUTION
        return Value(math.log(self.data), (self,), (1 / self.data,))
        ### END SOLUTION

    def tanh(self):
        """The hyperbolic tangent."""
        ### BEGIN SOLUTION
        out = math.tanh(self.data)
        return Value(out, (self,), (1 - out**2,))
        ### END SOLUTION

    def relu(self):
        """This number if it is positive, else 0; the derivative at 0 is 0."""
        ### BEGIN SOLUTION
        return Value(max(self.data, 0.0), (self,), (float(self.data > 0),))
        ### END SOLUTION

    def backward(self):
        """Add to the `grad` of every input the derivative of this value with respect to it.

        Only inputs collect from call to call: values in between start at 0 in each call, also those that two results share.
        A chain of thousands of values is no problem, so nothing here calls itself once for each value.
        """
        ### BEGIN SOLUTION
        order, seen, waiting = [], set(), [(self, False)]
        while waiting:
            node, done = waiting.pop()
            if done:
                order.append(node)
            elif id(node) not in seen:
                seen.add(id(node))
                waiting.append((node, True))
                waiting += [(parent, False) for parent in node.parents]
        for node in order:
            if node.parents:
                node.grad = 0.0  # only inputs collect from call to call
        self.grad = 1.0
        for node in reversed(order):
            for parent, local in zip(node.parents, node.local):
                parent.grad += node.grad * local
        ### END SOLUTION

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * other**-1

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return self**-1 * other


# Milestone 2: tensors and broadcasting

### BEGIN SOLUTION
_numbers = itertools.count()
_recording = True


@contextlib.contextmanager
def _recorded(flag):
    """Record operations in this block, or do not."""
    global _recording
    before, _recording = _recording, flag
    try:
        yield
    finally:
        _recording = before


def _result(data, parents, rule):
    """What an operation returns. `rule` takes the gradient of the result, and returns one for each parent."""
    out = Tensor(data)
    if _recording and any(parent.requires_grad for parent in parents):
        out.requires_grad, out.parents, out.rule = True, parents, rule
    return out


def _tensor(value):
    return value if isinstance(value, Tensor) else Tensor(value)


def _unbroadcast(g, shape):
    """Sum a gradient over the axes along which an operand of this shape was stretched."""
    if g.shape == shape:
        return g
    added = len(g.shape) - len(shape)
    axes = (*range(added), *(added + i for i, n in enumerate(shape) if n == 1 and g.shape[added + i] != 1))
    return g.sum(axes).reshape(*shape)


def _put(g, index, shape):
    """Zeros of this shape, to which g is added at an index; what the index names twice receives both."""
    data = np.zeros(shape)
    np.add.at(data, index, g.data)
    return _result(data, (g,), lambda h: (h[index],))


def _gone(g):
    raise RuntimeError("Trying to backward through the graph a second time: it was let go after the first. Compute the result again.")


def _order(root):
    """All tensors that the root depends on and that require a gradient, the newest first."""
    found, waiting = {}, [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += [parent for parent in node.parents if parent.requires_grad]
    return sorted(found.values(), key=lambda node: -node.number)


def _gradients(order, g, wanted=()):
    """(tensor, gradient) for each leaf, and for the tensors wanted."""
    arrived = {id(order[0]): g}
    for node in order:
        g = arrived.pop(id(node))
        if node.rule is None or id(node) in wanted:
            yield node, g
        if node.rule is None:
            continue
        for parent, part in zip(node.parents, node.rule(g)):
            if parent.requires_grad:
                before = arrived.get(id(parent))
                arrived[id(parent)] = part if before is None else before + part


### END SOLUTION


def no_grad():
    """A block in which nothing is recorded: `with no_grad(): ...`. Afterwards it is as before, also after an error."""
    ### BEGIN SOLUTION
    return _recorded(False)
    ### END SOLUTION


class Tensor:
    """An array of floats that remembers how it was computed.

    `data` is the NumPy array, `shape` its shape, `requires_grad` whether gradients are wanted, `grad` is None or what has arrived (an
    array or a Tensor, of the shape of `data`). Operands broadcast as in NumPy; one of them may be a number or an array.
    """

    __array_ufunc__ = None  # so that `array * tensor` asks the tensor

    def __init__(self, data, requires_grad=False):
        ### BEGIN SOLUTION
        self.data, self.requires_grad, self.grad = np.asarray(data, dtype=float), requires_grad, None
        self.parents, self.rule, self.number = (), None, next(_numbers)
        ### END SOLUTION

    @property
    def shape(self):
        """The shape of the array."""
        return self.data.shape

    def __add__(self, other):
        ### BEGIN SOLUTION
        other = _tensor(other)
        return _result(self.data + other.data, (self, other), lambda g: (_unbroadcast(g, self.shape), _unbroadcast(g, other.shape)))
        ### END SOLUTION

    def __mul__(self, other):
        ### BEGIN SOLUTION
        other = _tensor(other)
        return _result(
            self.data * other.data, (self, other), lambda g: (_unbroadcast(g * other, self.shape), _unbroadcast(g * self, other.shape))
        )
        ### END SOLUTION

    def __pow__(self, n):
        ### BEGIN SOLUTION
        return _result(self.data**n, (self,), lambda g: (g * (self ** (n - 1) * n),))
        ### END SOLUTION

    def __matmul__(self, other):
        """Matrix product of tensors with two axes or more; the axes before the last two broadcast."""
        ### BEGIN SOLUTION
        return _result(
            self.data @ other.data,
            (self, other),
            lambda g: (_unbroadcast(g @ other.transpose(-1, -2), self.shape), _unbroadcast(self.transpose(-1, -2) @ g, other.shape)),
        )
        ### END SOLUTION

    def sum(self, axis=None, keepdims=False):
        """The sum over an axis, over several (a tuple), or over all."""
        ### BEGIN SOLUTION
        data = self.data.sum(axis=axis, keepdims=keepdims)
        kept = self.data.sum(axis=axis, keepdims=True).shape
        return _result(data, (self,), lambda g: (g.reshape(*kept) * np.ones(self.shape),))
        ### END SOLUTION

    def mean(self, axis=None, keepdims=False):
        """The mean over an axis, over several (a tuple), or over all."""
        ### BEGIN SOLUTION
        total = self.sum(axis, keepdims)
        return total * (total.data.size / self.data.size)
        ### END SOLUTION

    def reshape(self, *shape):
        """The same numbers in another shape."""
        ### BEGIN SOLUTION
        return _result(self.data.reshape(shape), (self,), lambda g: (g.reshape(*self.shape),))
        ### END SOLUTION

    def transpose(self, i, j):
        """With axes i and j swapped."""
        ### BEGIN SOLUTION
        return _result(np.swapaxes(self.data, i, j), (self,), lambda g: (g.transpose(i, j),))
        ### END SOLUTION

    def __getitem__(self, index):
        """What NumPy gives for this index: a number, a slice, an array of rows, or a tuple of these."""
        ### BEGIN SOLUTION
        return _result(self.data[index], (self,), lambda g: (_put(g, index, self.shape),))
        ### END SOLUTION

    def exp(self):
        """e to these powers."""
        ### BEGIN SOLUTION
        return _result(np.exp(self.data), (self,), lambda g: (g * self.exp(),))
        ### END SOLUTION

    def log(self):
        """The natural logarithm."""
        ### BEGIN SOLUTION
        return _result(np.log(self.data), (self,), lambda g: (g * self**-1,))
        ### END SOLUTION

    def tanh(self):
        """The hyperbolic tangent."""
        ### BEGIN SOLUTION
        return _result(np.tanh(self.data), (self,), lambda g: (g * (1 - self.tanh() ** 2),))
        ### END SOLUTION

    def relu(self):
        """Each number if it is positive, else 0; the derivative at 0 is 0."""
        ### BEGIN SOLUTION
        return _result(np.maximum(self.data, 0), (self,), lambda g: (g * (self.data > 0),))
        ### END SOLUTION

    def backward(self, gradient=None):
        """Add to the `grad` of every leaf that requires one its gradient; then let the graph go.

        `gradient` is that of this tensor, a Tensor of its shape; it may be left out if the tensor has one entry. Raises RuntimeError
        if it is left out otherwise, and if the graph was let go before.
        """
        ### BEGIN SOLUTION
        if gradient is None and self.data.size != 1:
            raise RuntimeError(f"grad can be implicitly created only for scalar outputs; this one has shape {self.shape}")
        g = Tensor(np.ones(self.shape)) if gradient is None else gradient
        order = _order(self)
        with no_grad():
            for leaf, arrived in _gradients(order, g):
                leaf.grad = arrived if leaf.grad is None else leaf.grad + arrived
        for node in order:
            if node.rule is not None:
                node.parents, node.rule = (), _gone
        ### END SOLUTION

    def __neg__(self):
        return self * -1.0

    def __sub__(self, other):
        return self + -other

    def __truediv__(self, other):
        return self * other**-1.0

    def __radd__(self, other):
        return self + other

    def __rmul__(self, other):
        return self * other

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return self**-1.0 * other


# Milestone 3: layers


class Linear:
    """x @ weight.T + bias, with `weight` of shape (outputs, inputs) and `bias` of shape (outputs,).

    The entries of `weight` are drawn from `rng`, a NumPy Generator, between -1 / sqrt(inputs) and 1 / sqrt(inputs); those of `bias` are 0.
    With `bias=False` there is none, and `self.bias` is None.
    """

    def __init__(self, inputs, outputs, rng, bias=True):
        ### BEGIN SOLUTION
        bound = 1 / math.sqrt(inputs)
        self.weight = Tensor(rng.uniform(-bound, bound, (outputs, inputs)), requires_grad=True)
        self.bias = Tensor(np.zeros(outputs), requires_grad=True) if bias else None
        ### END SOLUTION

    def __call__(self, x):
        ### BEGIN SOLUTION
        out = x @ self.weight.transpose(0, 1)
        return out if self.bias is None else out + self.bias
        ### END SOLUTION

    def parameters(self):
        """The tensors that learn."""
        ### BEGIN SOLUTION
        return [self.weight] if self.bias is None else [self.weight, self.bias]
        ### END SOLUTION


class Sequential:
    """Layers one after the other: objects with `parameters()`, or functions such as `Tensor.relu`."""

    def __init__(self, *layers):
        ### BEGIN SOLUTION
        self.layers = layers
        ### END SOLUTION

    def __call__(self, x):
        ### BEGIN SOLUTION
        for layer in self.layers:
            x = layer(x)
        return x
        ### END SOLUTION

    def parameters(self):
        """The tensors that learn, in the order of the layers."""
        ### BEGIN SOLUTION
        return [p for layer in self.layers if hasattr(layer, "parameters") for p in layer.parameters()]
        ### END SOLUTION


def cross_entropy(scores, target):
    """The mean negative log-probability of the right class, for scores (n, classes), also large ones, and n whole numbers."""
    ### BEGIN SOLUTION
    shifted = scores - scores.data.max(axis=1, keepdims=True)
    log_probabilities = shifted - shifted.exp().sum(1, True).log()
    return -log_probabilities[np.arange(len(target)), target].mean()
    ### END SOLUTION


class SGD:
    """Gradient descent with momentum: v = momentum * v + gradient, then parameter = parameter - lr * v; v begins as 0."""

    def __init__(self, parameters, lr, momentum=0.0):
        ### BEGIN SOLUTION
        self.parameters, self.lr, self.momentum = list(parameters), lr, momentum
        self.speeds = [0.0] * len(self.parameters)
        ### END SOLUTION

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        ### BEGIN SOLUTION
        for p in self.parameters:
            p.grad = None
        ### END SOLUTION

    def step(self):
        """One step; a parameter without a gradient stays."""
        ### BEGIN SOLUTION
        for i, p in enumerate(self.parameters):
            if p.grad is not None:
                self.speeds[i] = self.momentum * self.speeds[i] + p.grad.data
                p.data = p.data - self.lr * self.speeds[i]
        ### END SOLUTION


# Milestone 4: training


def train(model, inputs, target, optimizer, batch, steps):
    """Train with cross-entropy; return the loss of each step, floats.

    `inputs` (n, features) and `target` (n,) are arrays. Step k takes the `batch` rows after those of step k - 1; after the last row
    comes the first.
    """
    ### BEGIN SOLUTION
    losses = []
    for k in range(steps):
        rows = np.arange(k * batch, (k + 1) * batch) % len(inputs)
        optimizer.zero_grad()
        loss = cross_entropy(model(Tensor(inputs[rows])), target[rows])
        loss.backward()
        optimizer.step()
        losses.append(float(loss.data))
    return losses
    ### END SOLUTION


def accuracy(model, inputs, target):
    """The part of the rows whose largest score is that of the right class, from 0.0 to 1.0. Nothing is recorded."""
    ### BEGIN SOLUTION
    with no_grad():
        return float((model(Tensor(inputs)).data.argmax(axis=1) == target).mean())
    ### END SOLUTION


# Milestone 5: second derivatives


def grad(output, inputs, create_graph=False):
    """The gradients of an output with one entry for these tensors, a list of Tensors; the `grad` of no tensor changes.

    With `create_graph` the gradients can be differentiated in turn. Raises RuntimeError if the output does not depend on an input.
    """
    ### BEGIN SOLUTION
    with _recorded(create_graph):
        found = {id(node): g for node, g in _gradients(_order(output), Tensor(np.ones(output.shape)), {id(x) for x in inputs})}
    if any(id(x) not in found for x in inputs):
        raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph")
    return [found[id(x)] for x in inputs]
    ### END SOLUTION


# Milestone 6: checkpointing


def checkpoint(f, *inputs):
    """f(*inputs), one tensor, without keeping what is computed on the way: it is computed again when gradients are wanted.

    What f uses besides its inputs, such as the weights of a layer, receives its gradients all the same.
    """
    ### BEGIN SOLUTION
    with no_grad():
        data = f(*inputs).data

    def rule(g):
        if _recording:
            raise RuntimeError("checkpoint has no second derivative")
        copies = [Tensor(x.data, x.requires_grad) for x in inputs]
        with _recorded(True):
            again = f(*copies)
        again.backward(g)
        return [Tensor(np.zeros(x.shape)) if x.grad is None else x.grad for x in copies]

    out = _result(data, inputs, rule)
    if _recording:
        out.requires_grad, out.parents, out.rule = True, inputs, rule  # f may use weights, even where no input needs a gradient
    return out
    ### END SOLUTION


# Milestone 7: a fused operation


def attention(q, k, v):
    """Causal attention as one operation: softmax(q @ k.T / sqrt(d)) @ v, where place t sees the places up to t; axes (..., time, d).

    One tensor is made, the result, and the gradients of q, k and v come from one rule that you write.
    """
    ### BEGIN SOLUTION
    scale, time = 1 / math.sqrt(q.shape[-1]), q.shape[-2]
    scores = np.where(np.tri(time, dtype=bool), q.data @ np.swapaxes(k.data, -1, -2) * scale, -np.inf)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)

    def rule(g):
        if _recording:
            raise RuntimeError("attention has no second derivative")
        to_weights = g.data @ np.swapaxes(v.data, -1, -2)
        to_scores = weights * (to_weights - (to_weights * weights).sum(axis=-1, keepdims=True)) * scale
        return (Tensor(to_scores @ k.data), Tensor(np.swapaxes(to_scores, -1, -2) @ q.data), Tensor(np.swapaxes(weights, -1, -2) @ g.data))

    return _result(weights @ v.data, (q, k, v), rule)
    ### END SOLUTION


# Milestone 8: what a GPT needs


class Embedding:
    """Row i of `weight`, of shape (n, d), for each whole number i of an array; drawn from a normal distribution of width 0.02."""

    def __init__(self, n, d, rng):
        ### BEGIN SOLUTION
        self.weight = Tensor(rng.normal(0, 0.02, (n, d)), requires_grad=True)
        ### END SOLUTION

    def __call__(self, index):
        ### BEGIN SOLUTION
        return self.weight[index]
        ### END SOLUTION

    def parameters(self):
        """The tensors that learn."""
        ### BEGIN SOLUTION
        return [self.weight]
        ### END SOLUTION


class LayerNorm:
    """(x - mean) / sqrt(variance + 1e-5) * weight + bias along the last axis; variance is the mean square of x - mean.

    `weight` and `bias` of shape (d,) begin as ones and zeros.
    """

    def __init__(self, d):
        ### BEGIN SOLUTION
        self.weight, self.bias = Tensor(np.ones(d), requires_grad=True), Tensor(np.zeros(d), requires_grad=True)
        ### END SOLUTION

    def __call__(self, x):
        ### BEGIN SOLUTION
        centred = x - x.mean(-1, True)
        variance = (centred * centred).mean(-1, True)
        return centred * (variance + 1e-5) ** -0.5 * self.weight + self.bias
        ### END SOLUTION

    def parameters(self):
        """The tensors that learn."""
        ### BEGIN SOLUTION
        return [self.weight, self.bias]
        ### END SOLUTION


class Adam:
    """Adam as Kingma and Ba (2015, algorithm 1) write it, with the bias of both averages corrected."""

    def __init__(self, parameters, lr=0.001, betas=(0.9, 0.999), eps=1e-8):
        ### BEGIN SOLUTION
        self.parameters, self.lr, self.betas, self.eps = list(parameters), lr, betas, eps
        self.first, self.second, self.steps = [0.0] * len(self.parameters), [0.0] * len(self.parameters), 0
        ### END SOLUTION

    def zero_grad(self):
        """Forget the gradients of all parameters."""
        ### BEGIN SOLUTION
        for p in self.parameters:
            p.grad = None
        ### END SOLUTION

    def step(self):
        """One step; a parameter without a gradient stays."""
        ### BEGIN SOLUTION
        self.steps += 1
        b1, b2 = self.betas
        for i, p in enumerate(self.parameters):
            if p.grad is None:
                continue
            self.first[i] = b1 * self.first[i] + (1 - b1) * p.grad.data
            self.second[i] = b2 * self.second[i] + (1 - b2) * p.grad.data**2
            first, second = self.first[i] / (1 - b1**self.steps), self.second[i] / (1 - b2**self.steps)
            p.data = p.data - self.lr * first / (np.sqrt(second) + self.eps)
        ### END SOLUTION
