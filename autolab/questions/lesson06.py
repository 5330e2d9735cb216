"""What lesson 06 asks."""

import autolab as torch
from autolab.questions.drawn import draws, slope
from autolab.utils.wording import power, signed
from autolab.widgets.questions import choice, number, prediction, several


@draws(a=(2, 5), b=(2, 5), x=(2, 9))
def nograd(a=3, b=5, x=2):
    def f(x):
        with torch.no_grad():
            cut = a * b * x
        return cut + x

    return number(
        f"c = {a * b}x + x has the value {a * b * x + x}, and {a * b}x was computed within no_grad. What is `x.grad` after c.backward()?",
        slope(f, x),
        why=f"Only the path through `+ x` is recorded. The path through {a * b}x ends there: it has no past.",
        wrong=[
            (a * b + 1, f"That is the derivative of {a * b + 1}x. But the first part was not recorded, so its {a * b} is missing."),
            (0, "One of the two paths from c to x is still there: the x in `+ x`."),
            (a * b, "It is the other way round: this is the path that was cut."),
        ],
    )


inference = prediction(
    "y was computed within inference_mode, w is a leaf that requires a gradient. Which line is refused?",
    "y * w",
    {
        "y + y": "Nothing in it requires a gradient, so nothing has to be kept. It is an ordinary sum.",
        "y * w": "The rule of the product has to keep y for the gradient of w, and y cannot be watched: it has no version counter.",
        "y.item()": "Reading is always allowed.",
    },
)


@draws(a=(1, 9), b=(2, 9), new=[10, 20, 50, 100])
def shares(a=1, b=2, new=100):
    d = torch.tensor([float(a), float(b), 3.0], requires_grad=True)
    d.detach()[0] = float(new)
    return number(
        f"d = ({a}, {b}, 3) requires a gradient; e = d.detach(), and then e[0] = {new}. What is d[0]?",
        d[0].item(),
        why="detach copies nothing: d and e are two tensors over the same memory.",
        wrong=[
            (a, "That would be so for d.detach().clone(). detach alone copies nothing."),
            (0, "Nothing is set to zero. Both names look at the same memory."),
            (a + new, f"The {new} is written over the {a}, not added to it."),
        ],
    )


@draws(x=(2, 5), a=(2, 9))
def retain(x=2, a=4):
    cube = slope(lambda x: x**3, x)
    return number(
        f"z = y + {a}x with y = x³ at {x}; `x.grad` was set to None before. What is it after z.backward()?",
        slope(lambda x: x**3 + a * x, x),
        why=f"{cube:g} through y, and {a} through the product.",
        wrong=[
            (cube, "That is the part through y."),
            (2 * cube + a, f"{cube:g} + {cube + a:g} it would be if the gradient of the walk before had not been cleared."),
            (a, "The path through y is still there: retain_graph kept it."),
        ],
    )


@draws(before=(2, 30), x=(2, 5))
def grad(before=16, x=2):
    leaf = torch.tensor(float(x), requires_grad=True)
    leaf.grad = torch.tensor(float(before))
    returned = torch.autograd.grad(leaf**3, leaf)[0].item()
    return number(
        f"x.grad is {before}, and x is {x}. We call torch.autograd.grad(x**3, x), which returns {3 * x * x}. What is x.grad now?",
        leaf.grad.item(),
        why="autograd.grad returns its result and leaves every .grad alone.",
        wrong=[
            (before + returned, "Adding to .grad is what backward does. autograd.grad stores nothing."),
            (returned, f"The {returned:g} is returned, not stored."),
            (0, "Nothing has cleared it: autograd.grad does not touch .grad at all."),
        ],
    )


freeze = prediction(
    "In which of the three cases does the input receive no gradient?",
    "cut",
    {
        "all trained": "Everything is open: head, encoder, input.",
        "frozen": "The encoder's parameters receive nothing, but the path through its operations to the input is recorded.",
        "cut": "detach ends the path back right before the head. Freezing takes out the parameters, not the path.",
    },
)

freeze_plain = prediction(
    "Frozen encoder, head, mean; the inputs require no gradient. How many nodes does the graph have, accumulators included?",
    5,
    why="The mean, the layer, the transpose of its weight, and the accumulators of weight and bias. Nothing in the encoder requires a gradient, so nothing there is recorded.",
    wrong={
        9: "That was with inputs that require a gradient: then the path through the encoder is recorded.",
        3: "The head's weight and bias have an accumulator each.",
        4: "The layer multiplies with the transposed weight: the transpose is a node, too.",
        15: "That is everything trained.",
    },
)


@draws(w=(1, 3), s=(1, 3), after=(1, 4), r=(0, 3))
def target(w=1, s=1, after=2, r=1):
    goal = r + 0.5 * w * after
    delta = w * s - goal
    right = slope(lambda w: (w * s - (r + 0.5 * w * after).detach()) ** 2, w)
    way = (
        "negative: v(s) is too small, so w has to grow, and the gradient is negative"
        if delta < 0
        else "positive: v(s) is too large, so w has to fall, and the gradient is positive"
    )
    if delta == 0:
        return None
    return number(
        f"v(s) = ws, with w = {w}, s = {s}, s' = {after}, r = {r} and γ = 1/2. The loss is δ², with δ = v(s) - (r + γ v(s')), and the target in brackets is a fixed number, as it is for any other data. What is the gradient with respect to w?",
        right,
        why=f"2δ · s = 2 · {signed(delta)} · {s}.",
        wrong=[
            (slope(lambda w: (w * s - (r + 0.5 * w * after)) ** 2, w), "That is what comes out if the target is differentiated as well."),
            (-right, f"δ is {way}."),
            (right / 2, "That is δ · s. The square contributes a factor 2."),
        ],
    )


eval_mode = prediction(
    "net.eval() was called, nothing else. Does net(x) leave a graph?",
    "yes",
    {
        "yes": "eval() is a flag of the layers. Recording depends on requires_grad and no_grad alone.",
        "no": "Believing this costs memory: evaluation with eval() alone records every batch.",
    },
)


@draws(a=(1, 5), n=(2, 4), x=(2, 5))
def detached(a=1, n=2, x=3):
    return number(
        f"y = {'x' if a == 1 else f'({a} * x)'}.detach() * x**{n} at x = {x}. What is x.grad after y.backward()?",
        slope(lambda x: (a * x).detach() * x**n, x),
        why=f"The first factor is the number {a * x}; {a * x} · {n}x{power(n - 1)} = {a * n * x**n}.",
        wrong=[
            (
                slope(lambda x: a * x * x**n, x),
                f"That is the derivative of {'' if a == 1 else a}x{power(n + 1)}. The first x is cut and counts as the number {x}.",
            ),
            (
                n * x ** (n - 1),
                f"{n}x{power(n - 1)} = {n * x ** (n - 1)} is multiplied by the other factor, which is {a * x} whether it is cut or not.",
            ),
            (a * x**n, "That would come through the first factor, the one that is cut."),
        ],
    )


quiz = (
    "06 stopping the tape",
    detached,
    choice(
        "You compute the accuracy on 10,000 test images and memory runs out, although net.eval() was called. What is missing?",
        {
            "zero_grad": "Gradients are not the trouble, since backward is never called. It is the graphs that pile up.",
            "torch.no_grad() or inference_mode()": "eval() records everything. Without recording, each batch's intermediate results are freed.",
            "a smaller network": "It would only put the trouble off. Each batch's graph is recorded and kept.",
        },
        "torch.no_grad() or inference_mode()",
    ),
    several(
        "Which of these leave x.grad as it is?",
        {
            "torch.autograd.grad(x * 2, x)": "It returns the gradient and stores nothing.",
            "(x * 2).backward()": "It adds 2 to x.grad.",
            "with torch.no_grad(): y = x * 2": "No graph, no walk, no gradient.",
            "(x.detach() * 2 + x).backward()": "The second x is not cut: 1 is added.",
        },
        ["torch.autograd.grad(x * 2, x)", "with torch.no_grad(): y = x * 2"],
    ),
    choice(
        "A frozen encoder should let a gradient through to the image in front of it. Which of these does?",
        {
            "encoder(image).detach()": "It cuts the path to the image together with the encoder.",
            "computing it within no_grad": "Nothing is recorded there, so there is no path back to the image.",
            "requires_grad_(False) on the encoder's parameters": "The parameters receive nothing, and the operations are recorded for the sake of the image.",
        },
        "requires_grad_(False) on the encoder's parameters",
    ),
    choice(
        "Which of these does not stop anything from being recorded?",
        {
            "t.detach()": "It cuts one tensor from its past: what is computed from it does not lead back.",
            "torch.no_grad()": "Nothing within its region is recorded.",
            "y.backward(retain_graph=True)": "It keeps what is recorded already, for another walk.",
            "torch.inference_mode()": "Nothing within its region is recorded, and later graphs may not keep its results.",
        },
        "y.backward(retain_graph=True)",
    ),
)
