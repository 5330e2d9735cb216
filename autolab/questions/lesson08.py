"""What lesson 08 asks."""

import autolab as torch
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, times, words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(
    writes=[
        ("mul_(2)", "add_(1)"),
        ("mul_(3)",),
        ("add_(1)", "add_(1)"),
        ("mul_(2)", "add_(1)", "mul_(2)"),
        ("zero_()", "add_(1)"),
        ("add_(2)", "mul_(3)", "add_(4)", "zero_()"),
    ],
    new=["y + 1", "y * 2", ""],
    last=[4, 5, 7],
)
def versions(writes=("mul_(2)", "add_(1)"), new="", last=5):
    y = torch.zeros(3)
    for write in writes:
        method, _, value = write.rstrip(")").partition("(")
        getattr(y, method)(*([float(value)] if value else []))
    y[0] = last
    return number(
        f"y is a new tensor of three numbers. Then {', '.join(f'y.{write}' for write in writes)}{f', z = {new}' if new else ''} and y[0] = {last}. What is y._version?",
        y._version,
        why=f"{words(y._version).capitalize()} writes: an assignment to an entry counts as well."
        + f" {new} makes a new tensor." * bool(new),
        wrong=[
            (len(writes), f"y[0] = {last} writes to y just as the methods do."),
            (3 * len(writes) + 1, "The counter counts writes, not the numbers that each one changes."),
            (0, "A method with an underscore writes to y; only y + 1 or the like would leave it at 0."),
            *([(y._version + 1, f"z = {new} makes a new tensor, and writes nothing to y.")] if new else []),
        ],
    )


allowed = prediction(
    "(x * 3).mul_(2), x.exp().mul_(2), (x.exp() + 1).mul_(2): which is refused?",
    "the second",
    {
        "the first": "The product has saved the 3, not its result: nothing that a rule needs is overwritten.",
        "the second": "exp has saved its result, and mul_ overwrites it.",
        "the third": "What is overwritten is the result of the sum, which saves nothing. The result of exp is untouched.",
        "all three": "All three write, but a write matters only if a rule needs the old value.",
    },
)


@draws(i=(1, 2), first=(2, 9), second=(2, 9))
def views(i=1, first=5, second=7):
    a = torch.zeros(2, 3)
    row, rows = a[0], a[[0]]
    row[i] = first
    rows[0, i] = second
    return number(
        f"a = zeros(2, 3); row = a[0]; rows = a[[0]]; row[{i}] = {first}; rows[0, {i}] = {second}. What is a[0, {i}]?",
        a[0, i].item(),
        why="row is a view: it shares memory with the first row of a. rows was indexed with a list, so it is a copy.",
        wrong=[
            (second, f"rows was indexed with a list, which copies. The {second} is in the copy only."),
            (0, f"rows is a copy, but a[0] is a view: the {first} is written to the memory of a."),
            (i, f"The {i} is the index within the row. What is written there is {first}."),
        ],
    )


@draws(a=(1, 5), k=(2, 20))
def views_history(a=1, k=10):
    x = torch.ones(2, 2, requires_grad=True)
    y = x * a
    y[0].mul_(k)
    y.sum().backward()
    return number(
        f"`y = x * {a}; row = y[0]; row.mul_({k}); y.sum().backward()`. What is x.grad[0, 0]?",
        x.grad[0, 0].item(),
        why=f"The first row of y is {a * k}x now, and the engine has given y a new history that says so.",
        wrong=[
            (a, "That would be the history of y before the write. The engine notices that row is a part of y."),
            (0, f"The old value is overwritten, but by {k} times itself, so the gradient goes on to x."),
            (a + a * k, f"{a} + {a * k}: the old history of the row is replaced, not added to."),
        ],
    )


@draws(n=(2, 30))
def chain(n=3):
    w = torch.tensor(1.0, requires_grad=True)
    for _ in range(n):
        (grad,) = torch.autograd.grad(w**2, w)
        w = w - 0.1 * grad
    node, subtractions = w.grad_fn, 0
    while node is not None and node.name() == "SubBackward0":
        subtractions, node = subtractions + 1, node.next_functions[0][0]
    return number(
        f"w = w - 0.1 * slope runs {times(n)}, with the slope from autograd.grad. How many subtractions are in the graph of w?",
        subtractions,
        why="Each step computes the new w from the one before, and all of it is recorded.",
        wrong=[
            (1, "The last w was computed from the one before, and that one has a history as well."),
            (0, "That would be so within no_grad, or after detach()."),
            (
                2 * n,
                "Each step has a product 0.1 * slope too, but autograd.grad returns a slope without a history, so only the subtractions are recorded.",
            ),
        ],
    )


@draws(a=(1, 5), n=(2, 3), x=(2, 5))
def cut(a=1, n=2, x=2):
    front = f"{a} * " if a > 1 else ""
    return number(
        f"y = {f'{a} * ' if a > 1 else ''}x**{n} * x.item() at x = {x}: what is `x.grad`?",
        slope(lambda x: a * x**n * x.item(), x),
        why=f"The last factor is the number {x}, so y is {a * x}x{power(n)} with derivative {a * x * n}x{power(n - 1)} = {a * x * n * x ** (n - 1)}.",
        wrong=[
            (a * (n + 1) * x**n, f"That is the whole derivative of {front}x**{n + 1}. The part through the last factor is cut."),
            (a * n * x ** (n - 1), f"That is multiplied by the other factor, which is {x}."),
            (a * x ** (n + 1) * n, f"That has one x too many: the derivative of x{power(n)} is {n}x{power(n - 1)}."),
        ],
    )


nan = prediction(
    "y = where(x > 0, sqrt(x), 0) for x = (0, 4), and L = sum of y. L is 2. What is the first entry of x.grad?",
    "nan",
    {
        "0": "It is what you want, and what where sends. But sqrt still multiplies that 0 by 1 / (2√0).",
        "inf": "That is the slope of sqrt at 0. It is multiplied by the 0 that where sends.",
        "nan": "where sends 0 to sqrt for this entry, and sqrt multiplies it by its slope at 0, which is infinite. 0 · ∞ is NaN.",
    },
)


@draws(n=[2, 3, 4, 5], writes=(1, 3), copies=(1, 3))
def shared_counter(n=2, writes=1, copies=1):
    a = torch.zeros(2 * n)
    b, c = a.reshape(2, n), a.clone()
    for k in range(writes):
        b[k % 2] = k + 1
    for _ in range(copies):
        c[0] = 9
    return number(
        f"a = zeros({2 * n}); b = a.reshape(2, {n}); {'; '.join(f'b[{k % 2}] = {k + 1}' for k in range(writes))}; c = a.clone(); {'; '.join(f'c[{k % 2}] = 9' for k in range(copies))}. What is a._version?",
        a._version,
        why=f"b is a view of a and shares its counter: {words(writes)} write{'s' if writes > 1 else ''}. c is a copy with a counter of its own.",
        wrong=[
            (
                writes + copies,
                f"{'The write' if copies == 1 else 'Writes'} to c {'does' if copies == 1 else 'do'} not count: clone() has made a copy.",
            ),
            (0, "b is a view of a. A write to b is a write to a."),
            (writes + copies + 1, "reshape and clone write nothing. Only what is written to b goes to the memory of a."),
        ],
    )


quiz = (
    "08 gotchas",
    choice(
        "y = sigmoid(x); y += 1; y.sum().backward(). What happens?",
        {
            "the gradient is right": "It would be for an operation that does not save its result. The rule of sigmoid is g * out * (1 - out).",
            "the gradient is silently wrong": "It would be without the check. But the version of y is 1, and the node has noted 0.",
            "an error: y was saved by sigmoid and has been modified": "+= writes in place, and sigmoid's rule needs y as it was.",
        },
        "an error: y was saved by sigmoid and has been modified",
    ),
    several(
        "Each of these is the mistake of a training loop. Which loops run to the end without an error and learn nothing?",
        {
            "w = w - lr * w.grad as the update": "The second step raises a TypeError: the new w is a result, and its .grad is None.",
            "w -= lr * w.grad as the update, without no_grad": "It is refused in the first step: a leaf that requires grad.",
            "loss = torch.tensor(loss.item(), requires_grad=True) before loss.backward()": "A new leaf without a history: its gradient is 1, and the weights get none.",
            "net = Net() once more, after the optimizer was made": "The optimizer holds the leaves of the first net, and moves none of those that are used.",
        },
        [
            "loss = torch.tensor(loss.item(), requires_grad=True) before loss.backward()",
            "net = Net() once more, after the optimizer was made",
        ],
    ),
    shared_counter,
    choice(
        "The loss is 0.7 and all gradients are NaN. What do you do first?",
        {
            "lower the learning rate": "It helps if weights explode. Here the loss is an ordinary number, and the NaN appears on the way back.",
            "run one step with detect_anomaly() and read the forward line that it names": "One rule made the NaN; the others only pass it on.",
            "replace NaN by 0 in the gradients": "That hides the place. All gradients behind it would be 0, and nothing is learned there.",
        },
        "run one step with detect_anomaly() and read the forward line that it names",
    ),
    order(
        "Put in order how the engine notices an overwritten result.",
        [
            "exp computes its result and its node saves it",
            "the node notes the version, 0",
            "mul_ writes, and the version becomes 1",
            "backward reaches the node",
            "1 is not 0: an error",
        ],
        why="Nothing is compared at the time of the write: backward may never need the old value.",
        early={
            "the node notes the version, 0": "There is nothing to note before exp has a result and a node that saves it.",
            "mul_ writes, and the version becomes 1": "The version has to be noted before the write, or the node would note 1 and later find no difference.",
            "backward reaches the node": "The write happens in the forward pass, before the walk back.",
            "1 is not 0: an error": "Versions are compared when a rule asks for its value, not before.",
        },
    ),
)
