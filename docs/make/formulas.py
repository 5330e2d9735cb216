"""The formula of a row as mathematics: `g * (1 - out * out)` as TeX, for pages that GitHub and MyST render.

Only signs that Markdown leaves alone: no underscores, no backslash before punctuation.
"""

import ast
import itertools
import re

GREEK = {"alpha", "beta", "lambd", "delta"}
NAMES = {
    "TWO_OVER_SQRT_PI": r"\frac{2}{\sqrt{\pi}}", "SQRT_HALF": r"\sqrt{1/2}", "SQRT_HALF_PI": r"\frac{1}{\sqrt{2 \pi}}",
    "SQRT_PI": r"\sqrt{\pi}", "SQRT_2": r"\sqrt{2}", "LN2": r"\ln 2", "LN10": r"\ln 10", "lambd": r"\lambda",
    "math.pi": r"\pi", "np.pi": r"\pi", "np.nan": r"\text{nan}", "math.nan": r"\text{nan}", "np.inf": r"\infty", "math.inf": r"\infty",
}  # fmt: skip
SUM, PRODUCT, SIGN, POWER, ATOM = range(5)
COMPARISONS = {ast.Eq: "=", ast.NotEq: r"\ne", ast.Lt: "<", ast.LtE: r"\le", ast.Gt: ">", ast.GtE: r"\ge"}
LOGIC = {ast.BitAnd: r"\land", ast.BitOr: r"\lor", ast.BitXor: r"\oplus"}
# {0}, {1}: the arguments. And how tightly it binds.
CALLS = {
    "np.sqrt": (r"\sqrt{{{0}}}", ATOM), "math.sqrt": (r"\sqrt{{{0}}}", ATOM), "np.abs": (r"\lvert {0} \rvert", ATOM),
    "np.floor": (r"\lfloor {0} \rfloor", ATOM), "np.ceil": (r"\lceil {0} \rceil", ATOM),
    "np.floor_divide": (r"\lfloor {0} / {1} \rfloor", ATOM), "floor_divide": (r"\lfloor {0} / {1} \rfloor", ATOM),
    "np.exp2": (r"2^{{{0}}}", POWER), "power": (r"{0}^{{{1}}}", POWER), "np.expm1": (r"\exp({0}) - 1", SUM),
    "np.log1p": (r"\ln(1 + {0})", ATOM), "log1p_exp": (r"\ln(1 + \exp({0}))", ATOM), "log_of_base": (r"\ln({0})", ATOM),
    "normal_cdf": (r"\Phi({0})", ATOM), "normal_density": (r"\varphi({0})", ATOM),
    "between": (r"{1} \le {0} \le {2}", SUM), "or_one": ("{0}", ATOM), "np.zeros_like": ("0", ATOM), "np.copy": ("{0}", ATOM),
    "np.array": ("{0}", ATOM), "np.broadcast_to": ("{0}", ATOM), "np.full": ("{1}", ATOM), "straight_at": ("{0}", SUM),
    "np.isnan": (r"{0} = \text{{nan}}", SUM), "np.isinf": (r"\lvert {0} \rvert = \infty", SUM),
    "np.isfinite": (r"\lvert {0} \rvert < \infty", SUM), "np.logical_not": (r"\lnot {0}", SIGN),
    "np.logical_and": (r"{0} \land {1}", SUM), "np.logical_or": (r"{0} \lor {1}", SUM), "np.logical_xor": (r"{0} \oplus {1}", SUM),
}  # fmt: skip
FUNCTIONS = {
    "np.exp": r"\exp", "np.log": r"\ln", "np.sin": r"\sin", "np.cos": r"\cos", "np.tan": r"\tan", "np.tanh": r"\tanh", "np.sinh": r"\sinh",
    "np.cosh": r"\cosh", "np.arcsin": r"\arcsin", "np.arccos": r"\arccos", "np.arctan": r"\arctan", "np.maximum": r"\max",
    "np.minimum": r"\min", "np.sign": r"\mathrm{sgn}", "sigmoid": r"\sigma", "np.gcd": r"\gcd",
}  # fmt: skip
LONG = r"\mathrm", r"\frac"  # words and fractions
IN_MEMORY = {"np.array", "straight_at"}  # whose keywords do not change the value
SUMS = {"np.sum": r"\sum", "sum_to": r"\sum", "np.prod": r"\prod", "np.max": r"\max", "np.min": r"\min", "np.mean": r"\mathrm{mean}"}
SAME = {"np.expand_dims", "flat"}  # the same entries along other axes


def is_arithmetic(formula):
    """Whether a formula is made of arithmetic, sums and products of matrices, and nothing that only moves entries about."""
    functions = {ast.unparse(node.func) for node in ast.walk(ast.parse(formula)) if isinstance(node, ast.Call)}
    return functions <= {*CALLS, *FUNCTIONS, *SUMS, *SAME, "np.where", "keep", "softmax_values", "log_softmax_values", "softmax"}


class NoMathematics(ValueError):
    """What moves entries about is better read as code."""


def mathematics(formula):
    """A formula as TeX; None if it is better read as code.

    >>> mathematics("g * (1 - out * out)")
    'g (1 - \\\\mathrm{out}^2)'
    """
    try:
        return tex(ast.parse(formula, mode="eval").body)
    except NoMathematics:
        return None


def tex(node, level=SUM):
    text, own = typeset(node)
    return f"({text})" if own < level else text


def typeset(node):
    """The TeX of an expression, and how tightly it binds."""
    match node:
        case ast.Name() | ast.Attribute() if ast.unparse(node) in NAMES:
            return NAMES[ast.unparse(node)], ATOM
        case ast.Name(name):
            return word(name), ATOM
        case ast.Constant(value) if type(value) in (int, float):
            return re.sub(r"^1e(.*)$", r"10^{\1}", repr(value)), ATOM
        case ast.UnaryOp(ast.USub(), operand):
            return f"-{tex(operand, PRODUCT)}", SUM
        case ast.UnaryOp(ast.Invert() | ast.Not(), operand):
            return rf"\lnot {tex(operand, ATOM)}", SIGN
        case ast.BinOp(left, ast.Add() | ast.Sub() as sign, right):
            return f"{tex(left)} {'+' if isinstance(sign, ast.Add) else '-'} {tex(right, PRODUCT)}", SUM
        case ast.BinOp(_, ast.Mult()):
            first, *others = factors(node)
            if isinstance(first, ast.UnaryOp) and isinstance(first.op, ast.USub):
                return f"-{product([first.operand, *others])}", SUM
            return product([first, *others]), PRODUCT
        case ast.BinOp(ast.UnaryOp(ast.USub(), left), ast.Div() as by, right):
            return f"-{tex(ast.BinOp(left, by, right))}", SUM
        case ast.BinOp(left, ast.Div(), right):
            return rf"\frac{{{tex(left)}}}{{{tex(right)}}}", POWER
        case ast.BinOp(left, ast.Pow(), right):
            return f"{tex(left, ATOM)}^{{{tex(right)}}}", POWER
        case ast.BinOp(left, sign, right) if type(sign) in LOGIC:
            return f"{tex(left)} {LOGIC[type(sign)]} {tex(right)}", SUM
        case ast.Compare(left, [sign], [right]) if type(sign) in COMPARISONS:
            return f"{tex(left)} {COMPARISONS[type(sign)]} {tex(right)}", SUM
        case ast.IfExp(test, body, orelse):
            return cases([(body, test)], orelse), ATOM
        case ast.Subscript(value, ast.Tuple([])) | ast.Call(ast.Attribute(value, "astype")):
            return typeset(value)
        case ast.BinOp(left, ast.MatMult(), right):
            return rf"{tex(left, SIGN)} \mathbin{{@}} {tex(right, SIGN)}", PRODUCT
        case ast.Attribute(value, "mT" | "T"):
            return rf"{tex(value, ATOM)}^\top", POWER
        case ast.Call(function, [value, *_]) if ast.unparse(function) in SUMS:  # over the axes that the row names
            return f"{SUMS[ast.unparse(function)]} {tex(value, SIGN)}", SIGN
        case ast.Call(function, [value, *_]) if ast.unparse(function) in SAME:
            return typeset(value)
        case ast.Call(function, arguments):
            return call(ast.unparse(function), arguments, node.keywords)
    raise NoMathematics


def word(name):
    if len(name) == 1:
        return name
    return rf"\{name}" if name in GREEK else rf"\mathrm{{{name.replace('_', '~')}}}"


def factors(node):
    """The factors of a product, from left to right."""
    product = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult)
    return [*factors(node.left), *factors(node.right)] if product else [node]


def product(nodes):
    """Side by side: what follows itself as a power, and with a point what would run together."""
    text = last = ""
    for factor, same in itertools.groupby(tex(node, SIGN) for node in nodes):
        count = len(list(same))
        factor = f"{factor}^{count}" if count > 1 else factor
        point = factor[0].isdigit() or (factor.startswith(LONG) and last.startswith(LONG))
        text += (r" \cdot " if point else " ") + factor if text else factor
        last = factor
    return text


def call(name, arguments, keywords):
    if name == "np.where":
        return where(*arguments), ATOM
    if name in ("keep", "keep_at"):
        return rf"{tex(arguments[0], PRODUCT)} [{tex(arguments[1])}]", PRODUCT
    if name in CALLS and (not keywords or name in IN_MEMORY):
        template, level = CALLS[name]
        return template.format(*[tex(a) if f"{{{k}}}" in template else "" for k, a in enumerate(arguments)]), level
    if keywords or name == "values" or not name.removeprefix("np.").replace("_", "").isalnum():
        raise NoMathematics
    function = FUNCTIONS.get(name) or word(name.removeprefix("np.").removesuffix("_values"))
    return f"{function}({', '.join(map(tex, arguments))})", ATOM


def where(*arguments):
    """np.where as cases; one within its last branch as further cases."""
    pairs, (condition, value, rest) = [], arguments
    pairs.append((value, condition))
    while isinstance(rest, ast.Call) and ast.unparse(rest.func) == "np.where":
        condition, value, rest = rest.args
        pairs.append((value, condition))
    return cases(pairs, rest)


def cases(pairs, rest):
    lines = [f"{tex(value)} & {tex(condition)}" for value, condition in pairs] + [rf"{tex(rest)} & \text{{otherwise}}"]
    return r"\begin{cases} " + r" \cr ".join(lines) + r" \end{cases}"
