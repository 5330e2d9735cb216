"""What lesson 08 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

versions = prediction(
    "y is a new tensor of three numbers. Then y.mul_(2), y.add_(1) and y[0] = 5. What is y._version?",
    3,
    why="Three writes: an assignment to an entry counts as well.",
    wrong={
        2: "y[0] = 5 writes to y just as the methods do.",
        5: "The counter counts writes, not the numbers that each one changes.",
        0: "y + 1 would leave it at 0, because it makes a new tensor. add_ writes.",
    },
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

views = prediction(
    "a = zeros(2, 3); row = a[0]; rows = a[[0]]; row[1] = 5; rows[0, 1] = 7. What is a[0, 1]?",
    5,
    why="row is a view: it shares memory with the first row of a. rows was indexed with a list, so it is a copy.",
    wrong={
        7: "rows was indexed with a list, which copies. The 7 is in the copy only.",
        0: "rows is a copy, but a[0] is a view: the 5 is written to the memory of a.",
        1: "The 1 is the index within the row. What is written there is 5.",
    },
)

views_history = prediction(
    "`y = x * 1; row = y[0]; row.mul_(10); y.sum().backward()`. What is x.grad[0, 0]?",
    10,
    why="The first row of y is 10x now, and the engine has given y a new history that says so.",
    wrong={
        1: "That would be the history of y before the write. The engine notices that row is a part of y.",
        0: "The old value is overwritten, but by 10 times itself, so the gradient goes on to x.",
        11: "1 + 10: the old history of the row is replaced, not added to.",
    },
)

chain = prediction(
    "w = w - 0.1 * slope runs three times, with the slope from autograd.grad. How many subtractions are in the graph of w?",
    3,
    why="Each step computes the new w from the one before, and all of it is recorded.",
    wrong={
        1: "The last w was computed from the one before, and that one has a history as well.",
        0: "That would be so within no_grad, or after detach().",
        6: "Each step has a product 0.1 * slope too, but autograd.grad returns a slope without a history, so only the subtractions are recorded.",
    },
)

cut = prediction(
    "y = x**2 * x.item() at x = 2: what is `x.grad`?",
    8,
    why="The second factor is the number 2, so y is 2x² with derivative 4x = 8.",
    wrong={
        12: "That is 3x², the whole derivative of x³. The part through the second factor is cut.",
        4: "2x = 4 is multiplied by the other factor, which is 2.",
        16: "That is 2 · 8 or 4 · 4. The derivative of 2x² is 4x, and x is 2.",
    },
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
    number(
        "a = zeros(4); b = a.reshape(2, 2); b[0] = 1; c = a.clone(); c[0] = 9. What is a._version?",
        1,
        why="b is a view of a and shares its counter: one write. c is a copy with a counter of its own.",
        wrong={
            2: "The write to c does not count: clone() has made a copy.",
            0: "b is a view of a. A write to b is a write to a.",
            3: "reshape and clone write nothing. Only b[0] = 1 writes to the memory of a.",
        },
    ),
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
