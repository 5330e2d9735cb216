"""A row with one thing wrong: every formula that lies one slip of the pen away from the right one."""

from __future__ import annotations

import ast
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from ...run.observation import number
from .expressions import Expressions, Wrong
from .reductions import reductions_around

CONFUSED = {
    "sin": "cos", "cos": "sin", "exp": "log", "log": "exp", "sinh": "cosh", "cosh": "sinh", "tanh": "cosh",
    "maximum": "minimum", "minimum": "maximum", "sqrt": "square", "sum": "mean", "mean": "sum", "max": "min", "min": "max",
    "sigmoid": "tanh", "tril": "triu", "triu": "tril",
}  # fmt: skip
EXCHANGES = ("swapaxes", "transpose", "moveaxis", "permute")
REDUCTIONS = ("sum", "mean", "max", "min")
_FUNCTIONS = {"mean": "an average", "sum": "a sum", "max": "a maximum", "min": "a minimum"}
_TRANSPOSED = ("transposed", "the right one with one factor transposed the wrong way")
_NOT_PUT_BACK = ("keepdims", "the right one without the axis that forward removed: it was not put back in its place")
_LEFT_OUT = {
    "mT": _TRANSPOSED, "swapaxes": _TRANSPOSED, "transpose": _TRANSPOSED,
    "restore": _NOT_PUT_BACK, "expand_dims": _NOT_PUT_BACK,
    "sum": ("not summed", "the right one without its sum"),
    "argsort": ("permutation", "moved by the permutation of forward, where its inverse belongs"),
    "flip": ("flipped", "the right one without a flip: it runs the wrong way"),
    "sigmoid": ("factor", "the right one without its sigmoid"),
    "floor": ("number", "the right one with a number that is not rounded down"),
    "softmax_back": ("step", "the right one without the derivative of softmax"),
    "exp": ("factor", "the right one without its exp"), "log": ("factor", "the right one without its log"),
}  # fmt: skip


class Mutant(NamedTuple):
    """A wrong formula, the family of the mistake, and a sentence that continues "Your gradient is ..."."""

    family: str
    text: str
    formula: str = ""  # spelled out where that is asked for


class Mutants:
    """All mutants of a formula and what is wrong in each, made as they are asked for and kept."""

    def __init__(self, formula: str, names: tuple[str, ...], spelled: bool):
        self._made: list[tuple[Mutant, Wrong]] = []
        self._more = _made(formula, names, ast.unparse if spelled else lambda tree: "")

    def __iter__(self) -> Iterator[tuple[Mutant, Wrong]]:
        place = 0
        while True:
            if place == len(self._made):
                following = next(self._more, None)
                if following is None:
                    return
                self._made.append(following)
            yield self._made[place]
            place += 1


@cache
def mutants(formula: str, names: tuple[str, ...], spelled: bool = False) -> Mutants:
    """All mutants of a formula, each with what it comes to; `names` are the values that may be taken for one another.

    `spelled`: with the text of each wrong formula, which takes longer to write than the formula to run.
    """
    return Mutants(formula, names, spelled)


def _made(formula: str, names: tuple[str, ...], spell: Callable[[ast.AST], str]) -> Iterator[tuple[Mutant, Wrong]]:
    try:
        tree = ast.parse(formula, mode="eval")
    except SyntaxError:
        return
    by_name = {str(node.arg) for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    tree = _LettersOfItsOwn({*names, *by_name}).visit(tree)
    expressions = Expressions(tree)
    seen = {expressions.root}
    for family, text, changed, touched in _changes(tree, formula, names):
        try:
            number = expressions.changed(changed, touched)
        except (SyntaxError, TypeError, ValueError):  # no formula any more
            continue
        if number not in seen and not (family == "variable" and expressions.compares_with_itself(number)):
            seen.add(number)
            yield Mutant(family, text, spell(changed)), Wrong(expressions, number)


class _LettersOfItsOwn(ast.NodeTransformer):
    """Gives what the lambdas in a formula call their arguments another letter: no student has seen it, and none should."""

    def __init__(self, kept: Container[str]):
        self.kept, self.bound = kept, set[str]()

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        a = node.args
        every = [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, (a.vararg, a.kwarg))]
        outside = self.bound
        self.bound = outside | {arg.arg for arg in every if arg.arg not in self.kept}
        for arg in every:
            arg.arg = self._letter(arg.arg)
        self.generic_visit(node)
        self.bound = outside
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._letter(node.id)
        return node

    def _letter(self, name: str) -> str:
        return f"{PART}_{name}" if name in self.bound else name


Change = tuple[str, str, ast.Expression, Sequence[ast.AST]]


def _changes(tree: ast.Expression, formula: str, names: Sequence[str]) -> Iterator[Change]:
    """The tree with one thing wrong, and the nodes that are others now: changed, handed on and changed back.

    A copy would cost ten times as much.
    """
    sized, reductions, roles = _asked_for_shape(tree), _reductions(tree), _roles(tree)
    rolls = [n for n in tree_nodes(tree) if isinstance(n, ast.Call) and _called(n) == "roll"]
    spots, around = list(_spots(tree)), reductions_around(tree, value_in_words)
    for parent, field, place, node in spots:
        for family, text, new in _edits(node, names):
            text += around.get(node, "")
            if family == "variable" and isinstance(new, ast.Name) and new.id == "g":
                if isinstance(parent, ast.Attribute):  # x.shape and g.shape
                    continue
                if isinstance(parent, ast.Compare):
                    family = "mask from g"
                    text = f"the right one with the incoming gradient where {_words(node)} belongs: the mask asks g"
            if family == "variable" and isinstance(new, ast.Name) and isinstance(node, ast.Name) and id(node) in sized:
                family, text = "number", f"the right one with the size of {value_in_words(new.id)} where that of {belongs(node.id)}"
            if family in ("number", "term sign") and id(node) in roles:
                family, text = roles[id(node)]
                if text is STEP and _is_turned(node, new):
                    family, text = _LEFT_OUT["flip"]
            elif family in ("number", "term sign") and any(parent in n.args[2:] or (parent is n and place == 2) for n in rolls):
                family, text = "axis", "what belongs to another axis: something in it is rolled along another one"
            elif family == "number" and _is_axis(parent, field, reductions):
                family, text = "axis", "what belongs to another axis"
            elif family == "number" and isinstance(parent, ast.Call) and _called(parent) in EXCHANGES:
                family, text = "permutation", "moved back along other axes than those that forward exchanged"
            _put(parent, field, place, new)
            yield family, text, tree, (parent,)
            _put(parent, field, place, node)
    if (bare := _untransposed(formula)) is not None:
        yield "transposed", "the right one without its transposes", bare, ()
    for old, other, changed, nodes in _everywhere(tree, names):
        yield "variable", f"the right one with {value_in_words(other)} where {belongs(old)}", changed, nodes
    for axis, changed, calls in _other_axes(tree):
        where = f"along axis {axis}" if axis is not None else "over everything"
        yield "axis", f"what belongs to another axis: its sums go {where}", changed, calls


ANOTHER = "the right one with another "
STEP = f"{ANOTHER}step in one of its slices"
INDEX = f"{ANOTHER}place in one of its indices"
ALONG_ANOTHER = "what belongs to another axis: one of its steps goes along another one"
JOINED = "the right one with its parts joined along another axis"
JOINS = {"stack", "concatenate", "concat", "cat", "split", "array_split", "unstack", "chunk"}
ALONG_AN_AXIS = {"cumsum", "cumprod", "flip", "sort", "argsort", "diff", "expand_dims", "squeeze", "sum", "mean", "max", "min"}
OTHER_PLACE = {"repeat": 2, "split": 2, "array_split": 2, "take": 2, "roll": 2, "diff": 2}


def _roles(tree: ast.AST) -> dict[int, tuple[str, str]]:
    """The numbers (as ids of their nodes, with those of their minus signs) that are no values: steps, places and axes."""
    found: dict[int, tuple[str, str]] = {}

    def note(node: ast.AST | None, family: str, text: str) -> None:
        number = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(number, ast.Constant):
            found.update(dict.fromkeys((id(node), id(number)), (family, text)))

    for node in tree_nodes(tree):
        if isinstance(node, ast.Slice):
            note(node.step, "number", STEP)
            note(node.lower, "number", INDEX)
            note(node.upper, "number", INDEX)
        elif isinstance(node, ast.Subscript):
            for index in node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]:
                note(index, "number", INDEX)
        elif isinstance(node, ast.Call) and (name := _called(node)) in JOINS | ALONG_AN_AXIS | OTHER_PLACE.keys():
            role = ("axis", JOINED if name in JOINS else ALONG_ANOTHER)
            place = OTHER_PLACE.get(name, 1)
            for axis in () if _is_method(node) or _starred(node.args) else node.args[place : place + 1]:
                note(axis, *role)
            for keyword in node.keywords if name in JOINS else ():
                if keyword.arg in ("axis", "dim"):
                    note(keyword.value, *role)
    return found


def _is_turned(old: ast.AST, new: ast.AST) -> bool:
    """Is a slice read in the other direction? Its step is -1 or, within the minus sign, 1."""
    return isinstance(old, ast.UnaryOp) or (isinstance(new, ast.Constant) and isinstance(new.value, (int, float)) and new.value < 0)


SHAPES = {"shape", "size", "ndim", "dtype", "len", "range", "ones_like", "zeros_like", "full_like", "empty_like"}


def _asked_for_shape(tree: ast.AST) -> set[int]:
    """The names (as ids of their nodes) of which only the shape counts: x in x.size, len(x), np.ones_like(x + y)."""
    asking = [n.value for n in tree_nodes(tree) if isinstance(n, ast.Attribute) and n.attr in SHAPES]
    asking += [a for n in tree_nodes(tree) if isinstance(n, ast.Call) and _called(n) in SHAPES for a in n.args]
    return {id(n) for part in asking for n in tree_nodes(part) if isinstance(n, ast.Name)}


def _untransposed(formula: str) -> ast.Expression | None:
    """The formula with no factor transposed, if it transposes several."""
    found = 0

    class Bare(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            nonlocal found
            self.generic_visit(node)
            if _called(node) not in ("mT", "swapaxes") or not node.args or _starred(node.args):
                return node
            found += 1
            return node.args[0]

    tree = Bare().visit(ast.parse(formula, mode="eval"))
    return tree if found > 1 else None


def _everywhere(tree: ast.Expression, names: Sequence[str]) -> Iterator[tuple[str, str, ast.Expression, Sequence[ast.AST]]]:
    """The formula with another value in the place of one that it uses more than once."""
    found: dict[str, list[ast.Name]] = {}
    sized = _asked_for_shape(tree)
    for node in tree_nodes(tree):
        if isinstance(node, ast.Name) and node.id in names and node.id not in FIXED:
            found.setdefault(node.id, []).append(node)
    for old, nodes in found.items():
        for new in names if len(nodes) > 1 and not all(id(n) in sized for n in nodes) else ():
            if new != old and new not in SPREAD and new != "g" and not _is_part(old, new):
                for node in nodes:
                    node.id = new
                yield old, new, tree, nodes
                for node in nodes:
                    node.id = old


def _other_axes(tree: ast.Expression) -> Iterator[tuple[int | None, ast.Expression, Sequence[ast.AST]]]:
    """The formula with every reduction along another axis."""
    calls = _reductions(tree)
    if len(calls) < 2:
        return
    axes = [call.args[0] for call in calls]
    for axis in (0, -1, 1, None):
        for call in calls:
            call.args[0] = ast.copy_location(ast.Constant(axis), call.func)
        yield axis, tree, calls
    for call, right in zip(calls, axes, strict=True):
        call.args[0] = right


def _reductions(tree: ast.AST) -> list[ast.Call]:
    """The calls such as x.sum(axis) in a tree."""
    return [n for n in tree_nodes(tree) if isinstance(n, ast.Call) and _is_method(n) and _called(n) in REDUCTIONS and n.args]


def _is_method(node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and getattr(node.func.value, "id", "") != "np"


def _is_axis(parent: ast.AST, field: str, reductions: list[ast.Call]) -> bool:
    """Is this number the axis of one of these reductions, with or without its minus?"""
    if isinstance(parent, ast.UnaryOp):
        return any(parent in call.args for call in reductions)
    return (parent in reductions and field == "args") or (isinstance(parent, ast.keyword) and parent.arg in ("axis", "dim"))


def tree_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree in the order of `ast.walk`, without operators and contexts, which are a third of its nodes and have no parts."""
    level = [tree]
    while level:
        yield from level
        level = [child for node in level for child in parts(node)]


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes right below a node, but operators and contexts."""
    for field in FIELDS.get(type(node), node._fields):
        value = getattr(node, field, None)
        if isinstance(value, list):
            yield from (part for part in value if isinstance(part, ast.AST))
        elif isinstance(value, ast.AST):
            yield value


# Where the parts of the commonest nodes are.
FIELDS: dict[type, tuple[str, ...]] = {
    ast.Name: (), ast.Constant: (), ast.Attribute: ("value",), ast.BinOp: ("left", "right"), ast.UnaryOp: ("operand",),
    ast.Compare: ("left", "comparators"), ast.BoolOp: ("values",), ast.Subscript: ("value", "slice"), ast.Tuple: ("elts",),
}  # fmt: skip


def _spots(tree: ast.Expression) -> Iterator[tuple[ast.AST, str, int | None, ast.AST]]:
    """Every expression in a tree, and where it hangs."""
    for parent in tree_nodes(tree):
        for field, value in ast.iter_fields(parent):
            if isinstance(value, ast.expr):
                yield parent, field, None, value
            elif isinstance(value, list):
                yield from ((parent, field, i, v) for i, v in enumerate(value) if isinstance(v, ast.expr))


def _put(parent: ast.AST, field: str, place: int | None, node: ast.AST) -> None:
    if place is None:
        setattr(parent, field, node)
    else:
        getattr(parent, field)[place] = node


def _edits(node: ast.AST, names: Sequence[str]) -> Iterator[tuple[str, str, ast.expr]]:
    """Every way to get this one node wrong."""
    match node:
        case ast.BinOp():
            yield from _binary(node)
        case ast.UnaryOp(op=ast.USub()):
            yield "term sign", "the right one with a minus sign left out", node.operand
        case ast.BoolOp():
            for side in node.values:
                yield "mask", "the right one with only one side of its mask", side
        case ast.Call(args=args) if not _starred(args):
            yield from _call(node)
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            for other in (value + 1, value - 1, 2 * value, value / 2, -value):
                if other != value:
                    text = f"the right one with another number in the formula ({number(other)} where {number(value)} belongs)"
                    yield "number", text, ast.Constant(other)
            if value > 4 and float(value) ** 0.5 == round(float(value) ** 0.5):
                yield (
                    "power",
                    f"the right one with {round(float(value) ** 0.5)} where its square belongs",
                    ast.Constant(float(value) ** 0.5),
                )
        case ast.Compare():
            if flipped := FLIPPED.get(type(node.ops[0])):
                yield "mask", "the right one with its mask the wrong way round", ast.Compare(node.left, [flipped()], node.comparators)
        case ast.Name() if node.id in names:
            yield from _name(node, names)


def _starred(args: Sequence[ast.AST]) -> bool:
    """Is one of these f(*args)? What it brings is not one value, and nothing else may take its place."""
    return any(isinstance(a, ast.Starred) for a in args)


FLIPPED: dict[type, type] = {ast.Gt: ast.Lt, ast.Lt: ast.Gt, ast.GtE: ast.LtE, ast.LtE: ast.GtE}


def _binary(node: ast.BinOp) -> Iterator[tuple[str, str, ast.expr]]:
    left, right = node.left, node.right

    def make(operator, a=left, b=right):
        return ast.BinOp(a, operator, b)

    match node.op:
        case ast.Add():
            yield "term", _without(right), left
            yield "term", _without(left), right
            yield "term sign", "the right one with the wrong sign on one of its terms", make(ast.Sub())
        case ast.Sub():
            match left, right:
                case ast.Name(id="n" | "_n"), ast.Constant(value=1):
                    yield "constant", "the right one with n where n - 1 belongs", left
            yield "term sign", "the right one with a difference the wrong way round", make(ast.Sub(), right, left)
            yield "term", _without(right), left
            yield "term", _without(left), ast.UnaryOp(ast.USub(), right)
            yield "term", _without(left), right
            yield "term sign", "the right one with the wrong sign on one of its terms", make(ast.Add())
        case ast.Mult() if ast.dump(left) == ast.dump(right):
            text = f"the right one with {_words(left)} where its square belongs"
            yield "power", text, left
        case ast.Mult():
            for kept, lost in ((left, right), (right, left)):
                if not _mentions(lost, "g"):
                    yield "factor", f"the right one without one of its factors ({_part(lost).removesuffix(ADDED)})", kept
            yield *_exchanged(left, right), make(ast.Div())
            if not _mentions(left, "g"):
                yield *_exchanged(right, left), make(ast.Div(), right, left)
            both = _mentions(left, "g") or _mentions(right, "g")
            yield "upstream added" if both else "operation", "the right one with a plus where a times belongs", make(ast.Add())
            for twice in (left, right):
                if not _mentions(twice, "g") and not isinstance(twice, ast.Constant):
                    yield "power", "the right one with one factor too often", make(ast.Mult(), node, twice)
        case ast.Div():
            yield "factor", f"the right one without its division by {_part(right).removesuffix(ADDED)}", left
            yield *_exchanged(left, right), make(ast.Mult())
            yield "division", "the right one turned upside down", make(ast.Div(), right, left)
            yield "power", "the right one divided once more than it should be", make(ast.Div(), node, right)
            root = ast.BinOp(right, ast.Pow(), ast.Constant(0.5))
            if not _is_square(right):
                yield (
                    "power",
                    "the right one divided by the root of its divisor: a root too many, or a square is missing",
                    make(ast.Div(), left, root),
                )
        case ast.Pow():
            yield "power", "the right one without one of its powers", left
            for step in (-1, 1):
                shifted = ast.BinOp(right, ast.Add(), ast.Constant(step))
                yield "power", "the right one with an exponent that is off by one", make(ast.Pow(), left, shifted)
        case ast.BitAnd() | ast.BitOr():
            for side in (left, right):
                yield "mask", "the right one with only one side of its mask", side
        case ast.MatMult():
            text = "the right product with one factor transposed the wrong way"
            for side in (left, right):
                turned = ast.Attribute(side, "T", ast.Load())
                yield "transposed", text, make(ast.MatMult(), *((turned, right) if side is left else (left, turned)))
            yield "order", "the right product with its factors in the other order", make(ast.MatMult(), right, left)
            for kept in (left, right):
                yield "factor", "the right one without one of its factors", kept


def _is_square(node: ast.AST) -> bool:
    """May its root be what a learner wrote, who took no root? A power and a product have slips of their own, and of 4 the root is 2."""
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Pow) or (isinstance(node.op, ast.Mult) and ast.dump(node.left) == ast.dump(node.right))
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Call) and _called(node) == "square")


def _call(node: ast.Call) -> Iterator[tuple[str, str, ast.expr]]:
    name = _called(node)
    if name == "where" and len(node.args) == 3:
        condition, yes, no = node.args
        yield "mask", "the right one with the two sides of its mask exchanged", _with_args(node, [condition, no, yes])
        yield "mask", "the right one without its mask", yes
        yield "mask", "the right one without its mask", no
        return
    method = _is_method(node)
    if isinstance(node.func, ast.Attribute) and method and name in _LEFT_OUT:
        yield *_LEFT_OUT[name], node.func.value
    elif node.args and not method:
        step = step_in_words(name)
        if step == A_STEP and isinstance(node.args[0], ast.Name):
            step += f", with {value_in_words(node.args[0].id)} itself where what is made of it belongs"
        yield *_LEFT_OUT.get(name, ("step", f"the right one without {step}")), node.args[0]
    if name == "floor_divide" and len(node.args) == 2:
        yield "number", "the right one with a quotient that is not rounded down", ast.BinOp(node.args[0], ast.Div(), node.args[1])
    if name == "sigmoid" and node.args:
        threshold = ast.Compare(node.args[0], [ast.Gt()], [ast.Constant(0)])
        yield "function", "the right one with a threshold (0 or 1) where sigmoid belongs", threshold
    if name in ("exp", "sigmoid") and node.args:
        turned = ast.UnaryOp(ast.USub(), node.args[0])
        yield "term sign", f"the right one with a minus sign put into {name}", _with_args(node, [turned, *node.args[1:]])
    if name in CONFUSED:
        other = CONFUSED[name]
        family = "averaged" if (name, other) == ("sum", "mean") else "function"
        text = f"the right one with {_FUNCTIONS.get(other, other)} where {_FUNCTIONS.get(name, name)} belongs"
        function = ast.Attribute(node.func.value, other, ast.Load()) if isinstance(node.func, ast.Attribute) else _load(other)
        yield family, text, ast.Call(function, node.args, node.keywords)
    if name == "transpose" and len(node.args) == 2:
        backwards = ast.parse(f"({ast.unparse(node.args[1])})[::-1]", mode="eval").body
        yield ("permutation", "moved by another permutation than the inverse", _with_args(node, [node.args[0], backwards]))
    if method and name == "var":
        unbiased = ast.Call(node.func, node.args, [*node.keywords, ast.keyword("ddof", ast.Constant(1))])
        yield "number", "the right one with a variance that divides by n - 1 where forward divides by n", unbiased
    if method and name in REDUCTIONS and node.args:
        for axis in (None, 0, -1, 1):
            text = f"what belongs to another axis: its {name} goes " + (f"along axis {axis}" if axis is not None else "over everything")
            yield "axis", text, _with_args(node, [ast.Constant(axis), *node.args[1:]])
        if isinstance(node.args[0], ast.Name):
            across = ast.BinOp(ast.Constant(-1), ast.Sub(), node.args[0])
            yield "axis", f"what belongs to another axis: its {name} goes along the other one", _with_args(node, [across, *node.args[1:]])
    for keyword in node.keywords:
        if keyword.arg in ("axis", "keepdims"):
            rest = [k for k in node.keywords if k is not keyword]
            text = JOINED if name in JOINS else f"the right one without its {keyword.arg}"
            yield "axis", text, ast.Call(node.func, node.args, rest)


# Letters that formulas use for themselves begin with an underscore: `equivalent_formulas.py` puts it there.
SPREAD = ("_G", "_OUT", "_flat", "_rows", "_onehot", "_mask", "_k", "_n", "_c")  # they stand in for nothing else
FIXED = ("g", "_G", "_n", "_c", "_k", "_flat", "_rows", "_onehot")  # and nothing else stands in for these
ALONG = {("_G", "g"), ("_OUT", "out")}


def _name(node: ast.Name, names: Sequence[str]) -> Iterator[tuple[str, str, ast.expr]]:
    for other in names:
        if (node.id, other) in ALONG:
            yield ("keepdims", "the right one without the axis that forward removed: it was not put back in its place", _load(other))
        elif other != node.id and node.id not in FIXED and other not in SPREAD and not _is_part(node.id, other):
            text = f"the right one with {value_in_words(other)} where {belongs(node.id)}"
            yield "variable", text, ast.Name(other, ast.Load())


def _is_part(*names: str) -> bool:
    """Is one a letter that only the source knows?"""
    return any(name.startswith(PART) for name in names)


def _exchanged(left: ast.AST, right: ast.AST) -> tuple[str, str]:
    """The mistake of a multiplication where a division belongs, or the other way round; of x * x that is another power."""
    if isinstance(right, ast.Name) and _mentions(left, right.id):
        return "power", f"the right one with another power of {value_in_words(right.id)}"
    return "division", "the right one with a multiplication and a division exchanged"


def _without(lost: ast.AST) -> str:
    return f"the right one without one of its terms ({_part(lost)})"


ADDED = " that is added"
SAID = {"sum": "a sum", "mean": "a mean", "exp": "an exponential", "log": "a logarithm", "sqrt": "a square root"}


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _part(node: ast.AST) -> str:
    """What a piece of a formula is, as far as that does not spell it out."""
    if isinstance(node, ast.Constant):
        return "a number" + ADDED
    if isinstance(node, ast.Name):
        return value_in_words(node.id)
    calls = [_called(n) for n in tree_nodes(node) if isinstance(n, ast.Call)]
    for call, words in SAID.items():
        if call in calls:
            return words
    if isinstance(node, ast.Call) and calls[0] in ("restore", "expand_dims", "log1p", "mT") and node.args:
        return _part(node.args[0])
    called = {n.func.id for n in tree_nodes(node) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
    named = [n.id for n in tree_nodes(node) if isinstance(n, ast.Name) and n.id not in {"np", "math", *called}]
    known = {value_in_words(name): None for name in named if len(name) == 1 or not name.isupper()}  # not a constant of its module
    how = "a power of " if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow) else "one with "
    return how + " and ".join(list(known)[:2]) if known else "a number"


def _words(node: ast.AST) -> str:
    return value_in_words(node.id) if isinstance(node, ast.Name) else "something"


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


PART = "__part"  # how the letters of a formula begin that was read from a source, with the underscore that all letters get
WORDS = {
    "out": "the result of forward", "g": "the incoming gradient", "_G": "the incoming gradient", "_OUT": "the result of forward",
    "_s": "sigmoid(x)", "_z": "the normalised x", "_h": "g * weight", "_p": "the probabilities", "_onehot": "the one-hot target",
    "_rstd": "1 / the standard deviation", "_mean": "the mean", "_n": "the number of entries", "_e": "exp(x)", "_cdf": "the normal cdf",
    "_pdf": "the normal density", "_mask": "the mask", "_k": "the number of ties", "_c": "the scale",
    "_inv": "the inverse of R", "_m": "the triangle", "_both": "the triangle with its mirror image", "_q": "Q",
    "_size": "the length", "_unit": "the unit vector", "_other": "the unit vector of the other input", "_covariance": "the covariance",
    "_tanh": "tanh(softplus(x))", "_softplus": "softplus(x)", "_left": "a projection", "_right": "a projection",
    "_v": "the matrix of eigenvectors", "_first": "the first eigenvector", "_last": "the last eigenvector",
    "_flat": "the rows of g", "_rows": "the rows of x",
}  # fmt: skip


def value_in_words(name: str) -> str:
    """What a letter is called in a sentence."""
    if name in WORDS:
        return WORDS[name]
    if name.startswith("_"):  # of a formula, which no student has seen
        return INTERMEDIATE
    return f"the shape of {name.removesuffix('_shape')}" if name.endswith("_shape") else name


def step_in_words(name: str) -> str:
    """What a function is called in a sentence: a student knows those of NumPy, and not the helpers of a formula."""
    if name in COMPARISONS:
        return "one of its comparisons"
    return f"its {name}" if hasattr(np, name) or hasattr(np.linalg, name) or name in SEEN else A_STEP


A_STEP = "one of its steps"  # which says little beside another explanation
INTERMEDIATE = "an intermediate value"
COMPARISONS = ("greater", "greater_equal", "less", "less_equal", "equal", "not_equal")
SEEN = ("softmax", "sigmoid", "softplus", "relu", "erf", "mask")


def belongs(name: str) -> str:
    """A letter and its verb."""
    words = value_in_words(name)
    return f"{words} belong{'' if words.endswith('ies') else 's'}"


def _with_args(node: ast.Call, args: list[ast.expr]) -> ast.Call:
    return ast.Call(node.func, args, node.keywords)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in tree_nodes(node))
