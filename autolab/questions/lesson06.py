"""What lesson 06 asks."""

from autolab.widgets.questions import choice, number, prediction, several

nograd = prediction(
    "c = 15x + x has the value 32. What is `x.grad` after c.backward()?",
    1,
    why="Only the path through `+ x` is recorded. The path through a and b ends at b, which has no past.",
    wrong={
        16: "That is the derivative of 16x. But the part through b was not recorded, so its 15 is missing.",
        0: "One of the two paths from c to x is still there: the x in `b + x`.",
        15: "It is the other way round: this is the path that was cut.",
    },
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

shares = prediction(
    "d = (1, 2, 3) requires a gradient; e = d.detach(), and then e[0] = 100. What is d[0]?",
    100,
    why="detach copies nothing: d and e are two tensors over the same memory.",
    wrong={
        1: "That would be so for d.detach().clone(). detach alone copies nothing.",
        0: "Nothing is set to zero. Both names look at the same memory.",
        101: "The 100 is written over the 1, not added to it.",
    },
)

retain = prediction(
    "z = y + 4x with y = x³ at 2; `x.grad` was set to None before. What is it after z.backward()?",
    16,
    why="12 through y, and 4 through the product.",
    wrong={
        12: "That is the part through y.",
        28: "12 + 16 it would be if the gradient of the walk before had not been cleared.",
        4: "The path through y is still there: retain_graph kept it.",
    },
)

grad = prediction(
    "x.grad is 16 from above. We call torch.autograd.grad(x**3, x), which returns 12. What is x.grad now?",
    16,
    why="autograd.grad returns its result and leaves every .grad alone.",
    wrong={
        28: "Adding to .grad is what backward does. autograd.grad stores nothing.",
        12: "The 12 is returned, not stored.",
        0: "Nothing has cleared it: autograd.grad does not touch .grad at all.",
    },
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

target = prediction(
    "The loss is δ², and the target is a fixed number, as it is for any other data. What is the gradient with respect to w?",
    -2,
    why="2δ · s = 2 · (-1) · 1.",
    wrong={
        0: "That is what comes out if the target is differentiated as well. See below.",
        2: "δ is negative: v(s) is too small, so w has to grow, and the gradient is negative.",
        -1: "That is δ. The square contributes a factor 2.",
    },
)

eval_mode = prediction(
    "net.eval() was called, nothing else. Does net(x) leave a graph?",
    "yes",
    {
        "yes": "eval() is a flag of the layers. Recording depends on requires_grad and no_grad alone.",
        "no": "Believing this costs memory: evaluation with eval() alone records every batch.",
    },
)

quiz = (
    "06 stopping the tape",
    number(
        "y = x.detach() * x**2 at x = 3. What is x.grad after y.backward()?",
        18,
        why="The first factor is the number 3; 3 · 2x = 18.",
        wrong={
            27: "That is the derivative of x³ = x · x². The first x is cut and counts as the number 3.",
            6: "2x = 6 is multiplied by the other factor, which is 3 whether it is cut or not.",
            9: "x² would come through the first factor, the one that is cut.",
        },
    ),
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
