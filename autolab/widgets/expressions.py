"""Expressions that are typed, as functions: numbers, names, + - * / ** and known functions, and nothing else that Python can do."""

import ast
import re

import autolab as torch

KNOWN = "abs cos cosh erf exp log log1p maximum minimum relu sigmoid sin sinh sqrt square tan tanh".split()
OPERATORS = ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub
ALLOWED = (ast.Expression, ast.BinOp, ast.UnaryOp, ast.Call, ast.Name, ast.Constant, ast.expr_context, *OPERATORS)
# What people type who have not met Python: what it means, and how Python writes it.
WRITTEN = {"^": "**", "²": "**2", "³": "**3", "×": "*", "·": "*", "−": "-", "÷": "/"}


def as_python(expression):
    """What was typed as Python writes it, and a sentence on the difference."""
    code, told = expression.strip(), []
    for sign, python in WRITTEN.items():
        if sign in code:
            code = code.replace(sign, python)
            told.append(f"{sign} as {python}")
    return code, f"Python writes {' and '.join(told)}: this is {code}." if told else ""


def function_of(expression):
    """The function that an expression stands for, and the names of its inputs."""
    code, _ = as_python(expression)
    try:
        tree = ast.parse(code, mode="eval")
    except SyntaxError as error:
        product = re.search(r"\d\s*[A-Za-z_(]|[\w)]\s+\w", code)
        hint = "a product is written with a star, as in 3 * x" if product else "write it as in Python, such as (3 * x + 2) ** 2"
        raise ValueError(f"{expression!r} is not an expression: {error.msg}; {hint}") from None
    functions = {id(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    names = []
    for node in ast.walk(tree):
        if not isinstance(node, ALLOWED) or (isinstance(node, ast.Constant) and type(node.value) not in (int, float)):
            told = ast.unparse(node) if isinstance(node, ast.expr) else type(node).__name__
            raise ValueError(f"{expression!r} has more in it than numbers, names, + - * / ** and functions: {told}")
        if id(node) in functions and not (isinstance(node, ast.Name) and node.id in KNOWN):
            raise ValueError(f"{ast.unparse(node)} is none of the functions that can be typed: {', '.join(KNOWN)}")
        if isinstance(node, ast.Name) and id(node) not in functions:
            if node.id in KNOWN:
                raise ValueError(f"{node.id} is a function: write {node.id}(x)")
            names.append((node.lineno, node.col_offset, node.id))
        if isinstance(node, ast.BinOp) and not any(isinstance(part, ast.Name) for part in ast.walk(node)):
            for part in ast.walk(node):  # 9 ** 9 ** 9 is infinite as a float, and takes for ever as an integer
                if isinstance(part, ast.Constant):
                    part.value = float(part.value)
    names = list(dict.fromkeys(name for _, _, name in sorted(names)))
    if not names:
        raise ValueError(f"{expression!r} has no input to slide: use a name, as in x ** 2")
    code = compile(tree, "<typed>", "eval")
    known = {name: getattr(torch, name) for name in KNOWN}

    def f(**inputs):
        return eval(code, {"__builtins__": {}, **known}, inputs)

    f.__name__ = expression.strip()
    return f, names
