"""What lesson 08 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

versions = prediction(
    "y is fresh. Then y.mul_(2), y.add_(1) and y[0] = 5. What is y._version?",
    3,
    why="Three writes; an assignment to an entry is one, too.",
    wrong={
        2: "y[0] = 5 writes into y as much as the methods do.",
        5: "The counter counts writes, not numbers that were written.",
        0: "y + 1 would leave it at 0, because it makes a new tensor. add_ writes.",
    },
)

allowed = prediction(
    "(x * 3).mul_(2), x.exp().mul_(2), (x.exp() + 1).mul_(2): which is refused?",
    "the second",
    {
        "the first": "The product keeps the 3, not its result: nothing that a rule needs is overwritten.",
        "the second": "exp keeps its result, and mul_ has overwritten it.",
        "the third": "What is overwritten is the result of the sum, and a sum keeps nothing. exp still has its own.",
        "all three": "All three write, but a write matters only if a rule needs what was there.",
    },
)

views = prediction(
    "a = zeros(2, 3); row = a[0]; row[1] = 5. What is a[0, 1]?",
    5,
    why="row is a view: it names the same memory as the first row of a.",
    wrong={
        0: "That would be so for a copy, such as a[0].clone(). a[0] is a view.",
        1: "The 1 is the index within the row. What is written there is 5.",
    },
)

views_history = prediction(
    "`y = x * 1; row = y[0]; row.mul_(10); y.sum().backward()`. What is x.grad[0, 0]?",
    10,
    why="y's first row is 10x now, and the engine gave y a new history that says so.",
    wrong={
        1: "That would be the history of y before the write. The engine notices that row is a part of y.",
        0: "The old value is overwritten, but by 10 times itself, so the gradient goes on to x.",
        11: "1 + 10: the old history of the row is replaced, not added to.",
    },
)

chain = prediction(
    "Three times w = w - 0.1 * slope, with the slope from autograd.grad. How many subtractions has the graph of w?",
    3,
    why="Each step computes the new w from the one before, and all of it is recorded.",
    wrong={
        1: "The w of the last step was computed from the one before, and that one remembers, too.",
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
        "inf": "That is the slope of sqrt at 0. It is multiplied by the 0 that where has sent.",
        "nan": "where sends 0 to sqrt for this entry, and sqrt multiplies it by its slope at 0, which is infinite. 0 · ∞ is NaN.",
    },
)

quiz = (
    "08 gotchas",
    choice(
        "y = sigmoid(x); y += 1; y.sum().backward(). What happens?",
        {
            "the gradient is right": "It would be for an operation that does not keep its result. The rule of sigmoid is g * out * (1 - out).",
            "the gradient is silently wrong": "It would be, but the version of y is 1 where the node has noted 0.",
            "an error: y was kept by sigmoid and has been modified": "+= writes in place, and sigmoid's rule needs y as it was.",
        },
        "an error: y was kept by sigmoid and has been modified",
    ),
    several(
        "Which of these lines run without an error and spoil the training all the same?",
        {
            "w = w - lr * w.grad": "The name gets a new tensor, which is no leaf: its .grad stays None.",
            "w -= lr * w.grad, without no_grad": "It is refused at once: a leaf that requires grad.",
            "loss = torch.tensor(loss.item(), requires_grad=True); loss.backward()": "A fresh leaf without a history: its gradient is 1, and the weights get nothing.",
            "y = exp(x); y.mul_(2); y.sum().backward()": "It is refused: exp has kept its result.",
        },
        ["w = w - lr * w.grad", "loss = torch.tensor(loss.item(), requires_grad=True); loss.backward()"],
    ),
    number(
        "a = zeros(4); b = a.reshape(2, 2); b[0] = 1; c = a.clone(); c[0] = 9. What is a._version?",
        1,
        why="b is a view of a and shares its counter: one write. c is a copy with a counter of its own.",
        wrong={
            2: "The write into c does not count: clone() has made a copy.",
            0: "b is a view of a. Writing into it is writing into a.",
            3: "reshape and clone write nothing. Only b[0] = 1 writes into the memory of a.",
        },
    ),
    choice(
        "The loss is 0.7 and all gradients are NaN. What do you do first?",
        {
            "lower the learning rate": "It helps if weights explode. Here the loss is a decent number, and the NaN is born on the way back.",
            "run one step with detect_anomaly() and read the forward line that it names": "The NaN was born in one rule; all others only pass it on.",
            "replace NaN by 0 in the gradients": "It hides the place. All gradients behind it would be 0, and nothing is learned there.",
        },
        "run one step with detect_anomaly() and read the forward line that it names",
    ),
    order(
        "Put in order how the engine notices an overwritten result.",
        [
            "exp computes its result and its node keeps it",
            "the node notes the version, 0",
            "mul_ writes, and the version becomes 1",
            "backward reaches the node",
            "1 is not 0: an error",
        ],
        why="Nothing is compared at the time of the write. Until backward needs the value, it may still turn out that nobody does.",
        early={
            "the node notes the version, 0": "There is nothing to note before exp has a result and a node that keeps it.",
            "mul_ writes, and the version becomes 1": "The version has to be noted before the write, or the node would note 1 and find nothing wrong.",
            "backward reaches the node": "The trouble is made in the forward run: the write comes before the walk back.",
            "1 is not 0: an error": "Versions are compared when a rule asks for its value, not before.",
        },
    ),
)
