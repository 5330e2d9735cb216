"""What lesson 15 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

traffic = prediction(
    "How many megabytes travel between memory and processor?",
    16,
    why="Four transfers of 4 MB: read x, write t, read t, write y.",
    wrong={
        8: "That would be enough: read x, write y. But t is written and read in between.",
        12: "Writing t and reading it are two transfers.",
        4: "That is one array once. It is read, and others are written.",
        24: "Each of the two operations reads one array and writes one. The numbers 2 and 5 are not arrays.",
    },
)

bits = prediction(
    "Is the result of the blocks the same as that of whole arrays?",
    "to the last bit",
    {
        "to the last bit": "Each number goes through the same operations in the same order. Only the array is cut into blocks; the arithmetic is the same.",
        "up to rounding": "Rounding differs if operations run in another order. For each number the order is the same here.",
        "no": "Each block is a part of the array, and each number of it goes through all five operations.",
    },
)

blocks = prediction(
    "How does the program for a million numbers and a longer chain differ?",
    "it has a loop over blocks",
    {
        "not at all": "A program is written for each shape, and for a large one it uses blocks.",
        "it has a loop over blocks": "On large arrays memory traffic counts, and the chain runs block by block, as by hand above.",
        "it has fewer operations": "The results must be the same to the last bit, so no operation is dropped.",
    },
)

guards = prediction(
    "fast is called with shapes (3), (3), (4), (3). How many lists are added to the one for (4) from above?",
    1,
    why="The list for (4) exists already from the first call. Only (3) is new, once.",
    wrong={
        2: "(4) was seen before, in the first example.",
        4: "A list is used again as long as its guards hold.",
        3: "The second and the last call have the shape of the first, and its list serves them, too.",
        0: "A list is valid for one shape, and (3) is not (4).",
    },
)

outside = prediction(
    "scale(x) returns x * factor and is compiled with factor = 3. Then factor = 4, and scale(1) is called. What is the result?",
    4,
    why="The number is guarded. It has changed, so the call is traced again, and a second list is written.",
    wrong={
        3: "That would be the result without a guard. A guard checks factor before each call.",
        12: "3 · 4: the list with the 3 is not run first. Its guard fails, and the function itself runs.",
        7: "3 + 4: nothing is added. The function multiplies by what factor is now.",
    },
)

decides = prediction(
    "shrink(x) returns x / 2 if x.sum() > 1, else x. What does compile do with it?",
    "it runs it in eager mode",
    {
        "it compiles the branch that was taken": "For other numbers that would be wrong.",
        "it compiles both branches": "Tracing sees the operations that ran; the other branch did not run.",
        "it runs it in eager mode": "Python looked at a number, so a list of operations cannot tell what the next call does.",
        "it raises an error": "Only with fullgraph=True. Otherwise it falls back to eager mode.",
    },
)

quiz = (
    "15 compile",
    number(
        "Eight cheap operations in a chain on an array of 4 MB. How many MB travel without fusion?",
        64,
        why="Each operation reads 4 MB and writes 4 MB: 8 · 8.",
        wrong={
            32: "Each operation reads and writes: twice that.",
            8: "That is the fused chain.",
            36: "The result of one operation is written and read again: that is two transfers, not one.",
        },
    ),
    number(
        "The same chain is fused. How many MB travel?",
        8,
        why="The input is read once, the result is written once.",
        wrong={
            64: "In a fused chain the intermediate results stay in the cache.",
            4: "The input is read and the result is written: twice 4 MB.",
            32: "In a fused chain the results in between are neither written to memory nor read.",
            0: "The input has to come from memory, and the result has to go there.",
        },
    ),
    choice(
        "Why is compiled code for small arrays faster?",
        {
            "because the decisions of each operation were taken once, in the first call": "Dtypes, shapes, whether to record: none of it changes from call to call.",
            "because fewer bytes travel": "Small arrays are in the cache anyway.",
            "because NumPy calls are faster there": "They are the same calls.",
        },
        "because the decisions of each operation were taken once, in the first call",
    ),
    choice(
        "A compiled function is called with a new shape. What happens?",
        {
            "an error": "A new shape is allowed.",
            "the old list runs, and gives wrong numbers": "This is what guards prevent.",
            "the call is traced, and a second list is written": "Both are kept, and the guards choose.",
        },
        "the call is traced, and a second list is written",
    ),
    several(
        "Which of these make compile fall back to eager mode?",
        {
            "if loss.item() < 0.1:": "Python looks at a number, and the next call may look at another.",
            "print(x)": "It has to happen in each call, and is not an operation on tensors.",
            "torch.where(x > 0, x, 0)": "The choice is an operation on tensors like any other.",
            "x @ w": "An ordinary operation on tensors.",
        },
        ["if loss.item() < 0.1:", "print(x)"],
    ),
    order(
        "A compiled function is called with shape (3), then with shape (4), then with shape (3). Put in order what happens.",
        [
            "the function runs with shape (3) and is traced",
            "a list for shape (3) is written",
            "the guards of that list fail for shape (4)",
            "a second list is written, for shape (4)",
            "guards choose the first list, and it runs without the function",
        ],
        why="A call is traced when no guards hold, and a list runs when its guards do.",
        early={
            "a list for shape (3) is written": "The operations are not known yet: the function has to run once and be traced.",
            "the guards of that list fail for shape (4)": "There are no guards before the first list is written.",
            "a second list is written, for shape (4)": "The guards are checked first. Only when they fail is another list needed.",
            "guards choose the first list, and it runs without the function": "That is the third call. The list for (4) was written in the second.",
        },
    ),
)
