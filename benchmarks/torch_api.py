"""The workloads as one writes them with PyTorch's API: PyTorch and autolab run this same code."""

from itertools import pairwise

from benchmarks.workloads import Data, Program


def programs(torch, compiled=lambda step: step):
    """The workloads by name, for a module with PyTorch's names; `compiled` makes a step faster."""
    functional = torch.nn.functional

    def leaves(arrays):
        return {name: torch.tensor(value, requires_grad=True) for name, value in arrays.items()}

    def array(tensor):
        return tensor.detach().numpy().copy()

    def gradients_only(parameters, forward):
        tensors = list(parameters.values())

        @compiled
        def step():
            for tensor in tensors:
                tensor.grad = None
            loss = forward()
            loss.backward()
            return loss

        def answer():
            loss = [array(step()) for _ in range(2)][-1]  # of a compiled step, the first call is the eager one
            return {"loss": loss, **{name: array(tensor.grad) for name, tensor in parameters.items()}}

        return Program(step, answer)

    def training(data: Data, widths, loss_function, optimizer):
        modules = []
        for fan_in, fan_out in pairwise(widths):
            modules += [torch.nn.Linear(fan_in, fan_out), torch.nn.ReLU()]
        model = torch.nn.Sequential(*modules[:-1])
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), data["parameters"].values(), strict=True):
                parameter.copy_(torch.tensor(value.T.copy()))  # Linear keeps (out, in)
        x, target, optimizer = torch.tensor(data["x"]), torch.tensor(data["target"]), optimizer(model.parameters())

        @compiled
        def step():
            optimizer.zero_grad()
            loss = loss_function(model(x), target)
            loss.backward()
            optimizer.step()
            return loss

        def answer():
            loss = [array(step()) for _ in range(3)][-1]
            values = (array(parameter).T for parameter in model.parameters())
            return {"loss": loss, **dict(zip(data["parameters"], values, strict=True))}

        return Program(step, answer)

    def scalar_chain(data: Data):
        parameters = leaves(data["parameters"])
        x, a, b = parameters.values()

        def forward():
            y = x
            for _ in range(data["rounds"]):
                y = y * a
                y = y + b
                y = y.tanh()
            return y * a

        return gradients_only(parameters, forward)

    def small_mlp(data: Data):
        return training(data, (2, 16, 16, 1), functional.mse_loss, lambda p: torch.optim.SGD(p, lr=data["lr"]))

    def mlp(data: Data):
        return training(data, (784, 256, 10), functional.cross_entropy, lambda p: torch.optim.Adam(p, lr=data["lr"]))

    def rnn(data: Data):
        parameters = leaves(data["parameters"])
        wx, wh, b = parameters.values()
        xs, target = [torch.tensor(row) for row in data["x"]], torch.tensor(data["target"])
        start = torch.zeros(*data["target"].shape)

        def forward():
            h = start
            for x in xs:
                h = torch.tanh(x @ wx + h @ wh + b)
            return ((h - target) ** 2).mean()

        return gradients_only(parameters, forward)

    def elementwise(data: Data):
        parameters = leaves(data["parameters"])
        x, y = parameters.values()

        def forward():
            z = (x * y + x).tanh() * y
            z = (z.exp() + 1).log() - y
            return (z * z * 0.5).sum()

        return gradients_only(parameters, forward)

    def hvp(data: Data):
        parameters = leaves(data["parameters"])
        tensors = list(parameters.values())
        w1, b1, w2, b2, w3, b3 = tensors
        direction = [torch.tensor(value) for value in data["direction"].values()]
        x, target = torch.tensor(data["x"]), torch.tensor(data["target"])

        @compiled
        def step():
            h = torch.tanh(x @ w1 + b1)
            h = torch.tanh(h @ w2 + b2)
            loss = ((h @ w3 + b3 - target) ** 2).mean()
            gradients = torch.autograd.grad(loss, tensors, create_graph=True)
            slope = sum((g * v).sum() for g, v in zip(gradients, direction, strict=True))
            return torch.autograd.grad(slope, tensors)

        return Program(step, lambda: [dict(zip(parameters, map(array, step()), strict=True)) for _ in range(2)][-1])

    def deep(data: Data):
        parameters = leaves(data["parameters"])
        x, c = parameters.values()

        def forward():
            y = x
            for _ in range(data["nodes"]):
                y = y + c
            return y

        return gradients_only(parameters, forward)

    return {f.__name__: f for f in (scalar_chain, small_mlp, mlp, rnn, elementwise, hvp, deep)}
