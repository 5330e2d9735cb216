"""What lesson 15 asks."""

from autolab.widgets.questions import choice, number, order, prediction, several

traffic = prediction(
    "How many megabytes travel between memory and processor?",
    16,
    why="Four journeys of 4 MB: read x, write t, read t, write y.",
    wrong={
        8: "That would be enough: read x, write y. But t is written and read in between.",
        12: "Writing t and reading it are two journeys.",
        4: "That is one array once. It is read, and others are written.",
        24: "Two operations, each with one array in and one out: the numbers 2 and 5 are no arrays.",
    },
)

bits = prediction(
    "Is the result of the blocks the same as that of whole arrays?",
    "to the last bit",
    {
        "to the last bit": "Each number goes through the same operations in the same order. What is cut is the array, not the arithmetic.",
        "up to rounding": "Rounding differs if operations are done in another order. For each single number the order is the same here.",
        "no": "Each block is a part of the array, and each number of it goes through all five operations.",
    },
)

blocks = prediction(
    "And for a million numbers and a longer chain: how will the program differ?",
    "it has a loop over blocks",
    {
        "not at all": "A program is written for each shape, and for a large one a chain is worth blocks.",
        "it has a loop over blocks": "On large arrays the journeys count, and the chain is run block by block, as by hand above.",
        "it has fewer operations": "The results must be the same to the last bit, so no operation is dropped.",
    },
)

guards = prediction(
    "fast is called with shapes (3), (3), (4), (3). How many lists are there then, besides the one for (4) from above?",
    1,
    why="The list for (4) exists already from the first call. Only (3) is new, once.",
    wrong={
        2: "(4) was seen before, in the first example.",
        4: "A list is used again as long as its guards hold.",
        3: "The second and the last call have the shape of the first, and its list serves them, too.",
        0: "A list holds for one shape. (3) is another one than (4).",
    },
)

outside = prediction(
    "scale(x) returns x * factor and is compiled with factor = 3. Then factor = 4, and scale(1) is called. What is the result?",
    4,
    why="The number is guarded. It has changed, so the call is watched anew, and a second list is written.",
    wrong={
        3: "A compiler that had simply written the 3 down would say so. A guard looks at factor before each call.",
        12: "3 · 4: the list with the 3 is not run first. Its guard fails, and the function itself runs.",
        7: "3 + 4: nothing is added. The function multiplies by what factor is now.",
    },
)

decides = prediction(
    "shrink(x) returns x / 2 if x.sum() > 1, else x. What does compile do with it?",
    "it runs it as before",
    {
        "it writes down the branch that was taken": "For other numbers that would be wrong.",
        "it writes down both branches": "A watcher sees the operations that ran; the other branch did not run.",
        "it runs it as before": "It saw that Python looked at a number, so a list of operations would not say what the next call does.",
        "it raises an error": "Only with fullgraph=True. Otherwise it does without.",
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
            36: "The result of one operation is written and read again: that is two journeys, not one.",
        },
    ),
    number(
        "And fused?",
        8,
        why="The input is read once, the result is written once.",
        wrong={
            64: "In a fused chain the intermediate results stay in the cache.",
            4: "The input is read and the result is written: twice 4 MB.",
            32: "In a fused chain the results in between do not travel at all: neither written nor read.",
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
            "an error": "A new shape is nothing wrong.",
            "the old list runs, and gives wrong numbers": "This is what guards prevent.",
            "the call is watched, and a second list is written": "Both are kept, and the guards choose.",
        },
        "the call is watched, and a second list is written",
    ),
    several(
        "What ends an attempt to capture?",
        {
            "if loss.item() < 0.1:": "Python looks at a number, and the next call may look at another.",
            "print(x)": "It has to happen each time, and is no operation on tensors.",
            "torch.where(x > 0, x, 0)": "The choice is an operation on tensors like any other.",
            "x @ w": "An ordinary operation on tensors, and easily captured.",
        },
        ["if loss.item() < 0.1:", "print(x)"],
    ),
    order(
        "Put in order what compile does.",
        [
            "run the function once and watch",
            "write the operations and their rules as a list",
            "plan buffers, and blocks for long chains",
            "write guards",
            "check the guards and run the list, from the second call on",
        ],
        why="Watched once, run often.",
        early={
            "write the operations and their rules as a list": "It does not know them yet: the function has to run once, under its eyes.",
            "plan buffers, and blocks for long chains": "A plan for which operations? The list comes first.",
            "write guards": "Guards say when the finished program holds, so they close it.",
            "check the guards and run the list, from the second call on": "There is nothing to check or to run before the first call has been watched and written down.",
        },
    ),
)
