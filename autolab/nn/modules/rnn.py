"""Recurrent networks: a cell that is applied step by step, in layers and directions."""

from __future__ import annotations

import math
import warnings
from typing import Any

from autolab.dtypes import float32, float64
from autolab.engine.apply import apply
from autolab.engine.modes import modes
from autolab.engine.tensor import Tensor
from autolab.nn import functional as F
from autolab.nn import init
from autolab.nn.modules.module import Module
from autolab.nn.parameter import Parameter
from autolab.nn.utils.rnn import PackedSequence
from autolab.rules import recurrent as rows
from autolab.torch_api.creation import empty, zeros
from autolab.torch_api.dims import require_tensor
from autolab.torch_api.shape import cat, stack

GATES = {"RNN_TANH": 1, "RNN_RELU": 1, "GRU": 3, "LSTM": 4}

# -- one step: what comes from the input (x), and the state before it ---------------------------------


def rnn_step(activation: Any) -> Any:
    """h' = activation(x + W h)."""

    def step(x: Any, state: Any, w: Any, b: Any, project: Any) -> Any:
        return (activation(x + F.linear(state[0], w, b)),)

    return step


def lstm_step(x: Any, state: Any, w: Any, b: Any, project: Any) -> Any:
    """c' = f * c + i * g, h' = o * tanh(c'). Source: Hochreiter and Schmidhuber 1997, Gers et al. 1999."""
    h, c = state
    i, f, g, o = (x + F.linear(h, w, b)).chunk(4, -1)
    c = F.sigmoid(f) * c + F.sigmoid(i) * F.tanh(g)
    h = F.sigmoid(o) * F.tanh(c)
    return (h if project is None else F.linear(h, project)), c


def gru_step(x: Any, state: Any, w: Any, b: Any, project: Any) -> Any:
    """h' = n + z * (h - n), with n from the input and r times the state. Source: Cho et al. 2014."""
    (h,) = state
    xr, xz, xn = x.chunk(3, -1)
    hr, hz, hn = F.linear(h, w, b).chunk(3, -1)
    n = F.tanh(xn + F.sigmoid(xr + hr) * hn)
    return (n + F.sigmoid(xz + hz) * (h - n),)


STEPS = {"RNN_TANH": rnn_step(F.tanh), "RNN_RELU": rnn_step(F.relu), "GRU": gru_step, "LSTM": lstm_step}


def walk(step: Any, xs: Any, state: Any, backwards: bool, w: Any, b: Any, project: Any) -> Any:
    """All steps in one direction; fewer sequences may reach the later ones. (outputs in order of time, the last states)"""
    start, outputs, ended = state, [], []
    now = tuple(s[: xs[-1].shape[0]] for s in start) if backwards else start
    for x in reversed(xs) if backwards else xs:
        n, m = x.shape[0], now[0].shape[0]
        if n < m:  # forwards, sequences end
            ended.append(tuple(s[n:] for s in now))
            now = tuple(s[:n] for s in now)
        elif n > m:  # backwards, they begin
            now = tuple(cat([s, first[m:n]]) for s, first in zip(now, start))
        now = step(x, now, w, b, project)
        outputs.append(now[0])
    for states in reversed(ended):
        now = tuple(cat([s, more]) for s, more in zip(now, states))
    return (outputs[::-1] if backwards else outputs), now


# -- all steps at once: a row, for sequences of one length ----------------------------------------------


def in_a_row(gates: Any, state: Any, w: Any, b: Any, project: Any) -> bool:
    """Whether a row can do it: nothing is projected, and all are of one dtype, which is no 16-bit float."""
    kinds = {t.dtype for t in (gates, *state, w)}
    return project is None and len(kinds) == 1 and kinds <= {float32, float64}


def lstm_row(gates: Any, state: Any, backwards: bool, w: Any, b: Any) -> Any:
    """What `walk` gives for an LSTM, of one row."""
    gates = gates if b is None else gates + b
    out, cells = apply(rows.lstm, (gates.flip(0) if backwards else gates, w, *state), {})
    return (out.flip(0) if backwards else out), (out[-1], cells[-1])


def gru_row(gates: Any, state: Any, backwards: bool, w: Any, b: Any) -> Any:
    """What `walk` gives for a GRU, of one row."""
    b = zeros(w.shape[0], dtype=w.dtype) if b is None else b
    out = apply(rows.gru, (gates.flip(0) if backwards else gates, w, b, *state), {})
    return (out.flip(0) if backwards else out), (out[-1],)


ROWS = {"LSTM": lstm_row, "GRU": gru_row}


class RNNBase(Module):
    """What RNN, LSTM and GRU share. All parameters start uniform within 1 / sqrt(hidden_size).

    For layer k: weight_ih_lk (gates * hidden, inputs), weight_hh_lk (gates * hidden, hidden), bias_ih_lk, bias_hh_lk; with _reverse for
    the other direction; weight_hr_lk (proj_size, hidden) for LSTMs that project their state.

    >>> [(name, list(p.shape)) for name, p in nn.LSTM(3, 5).named_parameters()]  # 4 gates of 5 units
    [('weight_ih_l0', [20, 3]), ('weight_hh_l0', [20, 5]), ('bias_ih_l0', [20]), ('bias_hh_l0', [20])]
    """

    def __init__(
        self, mode: str, input_size: int, hidden_size: int, num_layers: int = 1, bias: bool = True, batch_first: bool = False,
        dropout: float = 0.0, bidirectional: bool = False, proj_size: int = 0, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        check_settings(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode, self.input_size, self.hidden_size, self.num_layers = mode, input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout, self.bidirectional = bias, batch_first, float(dropout), bidirectional
        self.proj_size = proj_size
        out, gates = proj_size or hidden_size, GATES[mode] * hidden_size
        self._all_weights = []
        for layer in range(num_layers):
            inputs = input_size if layer == 0 else out * (2 if bidirectional else 1)
            shapes: dict[str, tuple[int, ...]] = {"weight_ih": (gates, inputs), "weight_hh": (gates, out)}
            shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)} if bias else {}
            shapes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
            for suffix in (f"_l{layer}", f"_l{layer}_reverse")[: 2 if bidirectional else 1]:
                for name, shape in shapes.items():
                    setattr(self, name + suffix, Parameter(empty(shape, device=device, dtype=dtype)))
                self._all_weights.append([name + suffix for name in shapes])
        self.reset_parameters()

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights_names(self) -> list[str]:
        """The names of the parameters, layer by layer, for programs that look into PyTorch's layers."""
        return [name for names in self._all_weights for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    @_flat_weights.setter
    def _flat_weights(self, weights: list[Any]) -> None:
        """Old programs list the parameters anew after they have replaced some: the names say it already."""
        for name, weight in zip(self._flat_weights_names, weights, strict=True):
            if weight is not getattr(self, name, None):
                setattr(self, name, weight)

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: parameters need not lie side by side here."""

    def extra_repr(self) -> str:
        """The sizes; the rest where it is not usual."""
        usual = {"proj_size": 0, "num_layers": 1, "bias": True, "batch_first": False, "dropout": 0, "bidirectional": False}
        more = "".join(f", {name}={getattr(self, name)}" for name, value in usual.items() if getattr(self, name) != value)
        return f"{self.input_size}, {self.hidden_size}{more}"

    # -- checks ------------------------------------------------------------------------------------------

    def check_input(self, input: Tensor, batch_sizes: Any) -> None:
        """Raise unless the input has the right dtype and sizes."""
        dtype, dims = self.weight_ih_l0.dtype, 3 if batch_sizes is None else 2
        if modes.autocast is None and input.dtype != dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype ({dtype}). Convert input: input.to({dtype}), or convert "
                f"model: model.to({input.dtype})"
            )
        if input.ndim != dims:
            raise RuntimeError(f"input must have {dims} dimensions, got {input.ndim}")
        if input.shape[-1] != self.input_size:
            raise RuntimeError(f"input.size(-1) must be equal to input_size. Expected {self.input_size}, got {input.shape[-1]}")

    def _sizes(self, batch: int) -> list[tuple[int, ...]]:
        layers = self.num_layers * (2 if self.bidirectional else 1)
        return [(layers, batch, self.proj_size or self.hidden_size), (layers, batch, self.hidden_size)]

    def _check_state(self, state: Any, batch: int) -> None:
        for k, (s, size) in enumerate(zip(state, self._sizes(batch))):
            if tuple(s.shape) != size:
                name = "hidden size" if len(state) == 1 else f"hidden[{k}] size"
                raise RuntimeError(f"Expected {name} {size}, got {list(s.shape)}")

    def _check_dims(self, batched: bool, state: Any) -> None:
        dims = 3 if batched else 2
        if state is None or all(s.ndim == dims for s in state):
            return
        start = f"For {'' if batched else 'un'}batched {dims}-D input, hx "
        if len(state) == 2:
            raise RuntimeError(f"{start}and cx should also be {dims}-D but got ({state[0].ndim}-D, {state[1].ndim}-D) tensors")
        raise RuntimeError(f"{start}should also be {dims}-D but got {state[0].ndim}-D tensor")

    # -- forward -----------------------------------------------------------------------------------------

    def forward(self, input: Any, hx: Any = None) -> Any:
        """(outputs of the last layer, last state): shapes (L, N, H) or (N, L, H) or (L, H), and (layers * directions, N, H).

        hx: the first state, zeros by default; for an LSTM a pair. The input may be a PackedSequence, and then the outputs are one.
        """
        pair = self.mode == "LSTM"
        state = hx if pair or hx is None else (hx,)
        if isinstance(input, PackedSequence):
            self.check_input(input.data, input.batch_sizes)
            state = self._sorted(state, input.sorted_indices)
            state = self._started(state, input.data, int(input.batch_sizes[0]))
            out, last = self._layers(input.data, input.batch_sizes.tolist(), state)
            last = self._sorted(last, input.unsorted_indices)
            packed = PackedSequence(out, input.batch_sizes, input.sorted_indices, input.unsorted_indices)
            return packed, (last if pair else last[0])
        if require_tensor(input, self.mode.partition("_")[0].lower()).ndim not in (2, 3):
            name = self.mode.partition("_")[0]
            what = f"{input.ndim}D" + (" tensor" if name == "RNN" else "")
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {what} instead")
        batched = input.ndim == 3
        self._check_dims(batched, state)
        if not batched:
            input, state = input.unsqueeze(1), state and tuple(s.unsqueeze(1) for s in state)
        elif self.batch_first:
            input = input.transpose(0, 1)
        self.check_input(input, None)
        steps, n = input.shape[:2]
        if not steps:
            raise RuntimeError("Expected sequence length to be larger than 0 in RNN")
        out, last = self._layers(input, None, self._started(state, input, n))
        if not batched:
            out, last = out.squeeze(1), tuple(s.squeeze(1) for s in last)
        elif self.batch_first:
            out = out.transpose(0, 1)
        return out, (last if pair else last[0])

    def _sorted(self, state: Any, order: Any) -> Any:
        return state if state is None or order is None else tuple(s.index_select(1, order) for s in state)

    def permute_hidden(self, hx: Any, permutation: Any) -> Any:
        """The state, its sequences in another order."""
        return self._sorted(hx, permutation) if isinstance(hx, tuple) else self._sorted((hx,), permutation)[0]

    def _started(self, state: Any, x: Any, batch: int) -> Any:
        if state is None:
            sizes = self._sizes(batch)[: 2 if self.mode == "LSTM" else 1]
            return tuple(zeros(size, dtype=x.dtype) for size in sizes)
        self._check_state(state, batch)
        return state

    def _layers(self, x: Any, sizes: list[int] | None, state: Any) -> Any:
        """x: (L, N, inputs), or (all entries, inputs) with the number of sequences at each step."""
        directions = 2 if self.bidirectional else 1
        last: list[Any] = []
        for layer in range(self.num_layers):
            found = []
            for direction in range(directions):
                k = layer * directions + direction
                p = dict(zip((name.rpartition("_l")[0] for name in self._all_weights[k]), self.all_weights[k]))
                gates = F.linear(x, p["weight_ih"], p.get("bias_ih"))
                start = tuple(s[k] for s in state)
                weights = p["weight_hh"], p.get("bias_hh"), p.get("weight_hr")
                if sizes is None and self.mode in ROWS and in_a_row(gates, start, *weights):
                    out, end = ROWS[self.mode](gates, start, direction == 1, *weights[:2])
                else:
                    xs = gates.unbind(0) if sizes is None else gates.split(sizes)
                    out, end = walk(STEPS[self.mode], xs, start, direction == 1, *weights)
                    out = stack(out) if sizes is None else cat(out)
                found.append(out)
                last.append(end)
            x = cat(found, -1) if directions == 2 else found[0]
            if self.dropout and layer < self.num_layers - 1:
                x = F.dropout(x, self.dropout, self.training)
        return x, tuple(stack(parts) for parts in zip(*last))


def check_settings(input_size: Any, hidden_size: Any, num_layers: Any, bias: Any, batch_first: Any, dropout: Any, proj_size: Any) -> None:
    """Raise PyTorch's exceptions for settings that cannot be."""
    if isinstance(dropout, bool) or not isinstance(dropout, int | float) or not 0 <= dropout <= 1:
        raise ValueError("dropout should be a number in range [0, 1] representing the probability of an element being zeroed")
    if dropout > 0 and num_layers == 1:
        warnings.warn(
            "dropout option adds dropout after all but last recurrent layer, so non-zero dropout expects num_layers greater than 1, but "
            f"got dropout={dropout} and num_layers={num_layers}",
            stacklevel=4,
        )
    for name, value in (("bias", bias), ("batch_first", batch_first)):
        if not isinstance(value, bool):
            raise TypeError(f"{name} should be of type bool, got: {type(value).__name__}")
    for name, value in (("input_size", input_size), ("hidden_size", hidden_size)):
        if not isinstance(value, int):
            raise TypeError(f"{name} should be of type int, got: {type(value).__name__}")
        if value <= 0:
            raise ValueError(f"{name} must be greater than zero")
    if num_layers <= 0:
        raise ValueError("num_layers must be greater than zero")
    if proj_size < 0:
        raise ValueError("proj_size should be a positive integer or zero to disable projections")
    if proj_size >= hidden_size:
        raise ValueError("proj_size has to be smaller than hidden_size")


def no_projection(kwargs: dict[str, Any]) -> None:
    if "proj_size" in kwargs:
        raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")


class RNN(RNNBase):
    """h' = tanh(W_ih x + b_ih + W_hh h + b_hh), or relu with nonlinearity="relu". Source: Elman 1990.

    RNN(input_size, hidden_size, num_layers=1, nonlinearity="tanh", bias=True, batch_first=False, dropout=0.0, bidirectional=False)
    Shapes: input (L, N, inputs), with batch_first (N, L, inputs), without a batch (L, inputs); state (layers * directions, N, hidden).

    >>> out, h = nn.RNN(3, 5)(ones(7, 2, 3))  # seven steps of two sequences
    >>> out.shape, h.shape, bool((out[-1] == h[0]).all())
    (torch.Size([7, 2, 5]), torch.Size([1, 2, 5]), True)
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        no_projection(kwargs)
        if len(args) > 3:
            nonlinearity, args = args[3], args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.")
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: gates (i, f, g, o), c' = f * c + i * g, h' = o * tanh(c'). Its state is the pair (h, c).

    LSTM(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False, proj_size=0)
    Shapes: input (L, N, inputs), with batch_first (N, L, inputs), without a batch (L, inputs); h and c (layers * directions, N, hidden).
    Source: Hochreiter and Schmidhuber 1997, Gers et al. 1999.

    >>> out, (h, c) = nn.LSTM(3, 5, num_layers=2, bidirectional=True)(ones(7, 2, 3))  # seven steps of two sequences
    >>> out.shape, h.shape, c.shape
    (torch.Size([7, 2, 10]), torch.Size([4, 2, 5]), torch.Size([4, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units: gates (r, z, n), n = tanh(x_n + r * h_n), h' = (1 - z) * n + z * h.

    GRU(input_size, hidden_size, num_layers=1, bias=True, batch_first=False, dropout=0.0, bidirectional=False)
    Shapes: input (L, N, inputs), with batch_first (N, L, inputs), without a batch (L, inputs); state (layers * directions, N, hidden).
    Source: Cho et al. 2014.

    >>> out, h = nn.GRU(3, 5, batch_first=True)(ones(2, 7, 3))  # two sequences of seven steps
    >>> out.shape, h.shape
    (torch.Size([2, 7, 5]), torch.Size([1, 2, 5]))
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        no_projection(kwargs)
        super().__init__("GRU", *args, **kwargs)


# -- single steps --------------------------------------------------------------------------------------


class RNNCellBase(Module):
    """What the cells share: weight_ih, weight_hh, bias_ih, bias_hh, uniform within 1 / sqrt(hidden_size).

    Shapes: weight_ih (gates * hidden, inputs), weight_hh (gates * hidden, hidden), biases (gates * hidden,).

    >>> [(name, list(p.shape)) for name, p in nn.GRUCell(3, 5).named_parameters()]  # 3 gates of 5 units
    [('weight_ih', [15, 3]), ('weight_hh', [15, 5]), ('bias_ih', [15]), ('bias_hh', [15])]
    """

    mode = ""
    bias_ih: Any
    bias_hh: Any

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates, like = num_chunks * hidden_size, {"device": device, "dtype": dtype}
        self.weight_ih = Parameter(empty((gates, input_size), **like))
        self.weight_hh = Parameter(empty((gates, hidden_size), **like))
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, Parameter(empty(gates, **like)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again, in place, as the constructor does."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for p in self.parameters():
            init.uniform_(p, -bound, bound)

    def extra_repr(self) -> str:
        """The sizes; the rest where it is not usual."""
        text = f"{self.input_size}, {self.hidden_size}" + ("" if self.bias else f", bias={self.bias}")
        relu = getattr(self, "nonlinearity", "tanh") != "tanh"
        return text + (f", nonlinearity={self.nonlinearity}" if relu else "")

    def _stepped(self, step: Any, input: Tensor, state: Any, pair: bool = False) -> Any:
        """One step for a batch (N, inputs) or one sample (inputs,). A state that is None is zero."""
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(f"{name}: Expected input to be 1D or 2D, got {input.ndim}D instead")
        for k, s in enumerate(state or ()):
            if s.ndim not in (1, 2):
                raise ValueError(f"{name}: Expected {f'hx[{k}]' if pair else 'hidden'} to be 1D or 2D, got {s.ndim}D instead")
        alone = input.ndim == 1
        x = input.unsqueeze(0) if alone else input
        if x.shape[1] != self.input_size:
            raise RuntimeError(f"input has inconsistent input_size: got {x.shape[1]} expected {self.input_size}")
        if state is None:
            state = (zeros((x.shape[0], self.hidden_size), dtype=x.dtype),) * (2 if pair else 1)
        elif alone:
            state = tuple(s.unsqueeze(0) for s in state)
        for k, s in enumerate(state):
            if s.shape[0] != x.shape[0]:
                raise RuntimeError(f"Input batch size {x.shape[0]} doesn't match hidden{k} batch size {s.shape[0]}")
            if s.shape[1] != self.hidden_size:
                raise RuntimeError(f"hidden{k} has inconsistent hidden_size: got {s.shape[1]}, expected {self.hidden_size}")
        out = step(F.linear(x, self.weight_ih, self.bias_ih), state, self.weight_hh, self.bias_hh, None)
        return tuple(s.squeeze(0) for s in out) if alone else out


class RNNCell(RNNCellBase):
    """One step of `RNN`. Shapes: input (N, inputs) or (inputs,), state (N, hidden) or (hidden,).

    >>> cell, h = nn.RNNCell(3, 5), zeros(2, 5)
    >>> for x in ones(7, 2, 3):
    ...     h = cell(x, h)
    >>> h.shape
    torch.Size([2, 5])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, (N, hidden_size) or (hidden_size,); without hx the state before is zero."""
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return self._stepped(STEPS[f"RNN_{self.nonlinearity.upper()}"], input, hx if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of `LSTM`. Its state is the pair (h, c), each of shape (N, hidden) or (hidden,).

    >>> h, c = nn.LSTMCell(3, 5)(ones(2, 3))  # from a state of zeros
    >>> h.shape, c.shape
    (torch.Size([2, 5]), torch.Size([2, 5]))
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next (h, c)."""
        return self._stepped(lstm_step, input, hx, pair=True)


class GRUCell(RNNCellBase):
    """One step of `GRU`. Shapes: input (N, inputs) or (inputs,), state (N, hidden) or (hidden,).

    >>> nn.GRUCell(3, 5)(ones(2, 3)).shape  # from a state of zeros
    torch.Size([2, 5])
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state, (N, hidden_size) or (hidden_size,); without hx the state before is zero."""
        return self._stepped(gru_step, input, hx if hx is None else (hx,))[0]
