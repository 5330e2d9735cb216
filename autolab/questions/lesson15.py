"""What lesson 15 asks."""

from autolab.questions.drawn import draws
from autolab.utils.wording import words
from autolab.widgets.questions import choice, number, order, prediction, several


@draws(size=(2, 40))
def traffic(size=4):
    moved = [("read", "x"), ("write", "t"), ("read", "t"), ("write", "y")]
    return number(
        f"x has {size} MB, and t = x * 2, y = t + 5. How many megabytes travel between memory and processor?",
        size * len(moved),
        why=f"{words(len(moved)).capitalize()} transfers of {size} MB: {', '.join(f'{way} {array}' for way, array in moved)}.",
        wrong=[
            (2 * size, "That would be enough: read x, write y. But t is written and read in between."),
            (3 * size, "Writing t and reading it are two transfers."),
            (size, "That is one array once. It is read, and others are written."),
            (6 * size, "Each of the two operations reads one array and writes one. The numbers 2 and 5 are not arrays."),
        ],
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


@draws(known=(2, 6), a=(2, 6), b=(2, 6), c=(2, 6), d=(2, 6))
def guards(known=4, a=3, b=3, c=4, d=3):
    calls, lists = (a, b, c, d), {known}
    for call in calls:
        lists.add(call)  # a list is written where no guards hold
    added, others = len(lists) - 1, [call for call in calls if call != known]
    if not (others and known in calls and added < 3):
        return None
    return number(
        f"fast has a list for shape ({known}) already, and is called with shapes ({a}), ({b}), ({c}), ({d}). How many lists are added?",
        added,
        why=f"The list for ({known}) exists already. Only {' and '.join(f'({call})' for call in sorted({*others}))} {'is' if added == 1 else 'are'} new, once.",
        wrong=[
            (len({*calls}), f"({known}) was seen before."),
            (len(calls), "A list is used again as long as its guards hold."),
            *([(len(others), "A shape that comes again has its list from the first time.")] if len(others) > added + 1 else []),
            (0, f"A list is valid for one shape, and ({others[0]}) is not ({known})."),
        ],
    )


@draws(before=(2, 9), after=(2, 9))
def outside(before=3, after=4):
    if before == after:
        return None
    return number(
        f"scale(x) returns x * factor and is compiled with factor = {before}. Then factor = {after}, and scale(1) is called. What is the result?",
        after * 1,
        why="The number is guarded. It has changed, so the call is traced again, and a second list is written.",
        wrong=[
            (before, "That would be the result without a guard. A guard checks factor before each call."),
            (
                before * after,
                f"{before} · {after}: the list with the {before} is not run first. Its guard fails, and the function itself runs.",
            ),
            (before + after, f"{before} + {after}: nothing is added. The function multiplies by what factor is now."),
        ],
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


@draws(k=(3, 12), size=(2, 16))
def apart(k=8, size=4):
    return number(
        f"{words(k).capitalize()} cheap operations in a chain on an array of {size} MB. How many MB travel without fusion?",
        sum(size + size for _ in range(k)),  # each reads an array and writes one
        why=f"Each operation reads {size} MB and writes {size} MB: {k} · {2 * size}.",
        wrong=[
            (k * size, "Each operation reads and writes: twice that."),
            (2 * size, "That is the fused chain."),
            ((k + 1) * size, "The result of one operation is written and read again: that is two transfers, not one."),
        ],
    )


@draws(k=(3, 12), size=(2, 16))
def fused(k=8, size=4):
    return number(
        f"{words(k).capitalize()} cheap operations in a chain on an array of {size} MB are fused. How many MB travel?",
        size + size,
        why="The input is read once, the result is written once.",
        wrong=[
            (2 * k * size, "In a fused chain the intermediate results stay in the cache."),
            (size, f"The input is read and the result is written: twice {size} MB."),
            (k * size, "In a fused chain the results in between are neither written to memory nor read."),
            (0, "The input has to come from memory, and the result has to go there."),
        ],
    )


quiz = (
    "15 compile",
    apart,
    fused,
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
