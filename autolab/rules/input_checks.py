"""What PyTorch refuses although NumPy would take it. Rows call these on their raw operands, before they are joined."""

import numpy as np

from autolab.dtypes import FLOATING, INEXACT, of, result_type

INVERT = "If you are trying to invert a mask, use the `~` or `logical_not()` operator instead."


def is_bool(a):
    return type(a) is bool or getattr(a, "dtype", None) == np.bool_


def derivative(what):
    """For an input without a rule, where the gradient would silently be missing."""
    raise NotImplementedError(f"the derivative for '{what}' is not implemented.")


def bools_to_subtract(x, y):
    if is_bool(x) and is_bool(y):
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
        )
    if is_bool(x) or is_bool(y):
        raise RuntimeError(f"Subtraction, the `-` operator, with a bool tensor is not supported. {INVERT}")


def bools_to_negate(x):
    if is_bool(x):
        raise RuntimeError(f"Negation, the `-` operator, on a bool tensor is not supported. {INVERT}")


def bools_to_relu(x):
    if is_bool(x):
        raise RuntimeError("Boolean inputs not supported for relu. Convert it first: t.int() or t.float().")


def bools(kernel):
    """For functions of numbers."""

    def check(*operands):
        if all(map(is_bool, operands)):
            raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'. Convert it first: t.int() or t.float().")

    return check


def halves(kernel):
    """For functions that ask for more digits."""

    def check(*operands):
        common = result_type(list(operands))
        if common in FLOATING and common.itemsize < 4:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{of(common).title}'. Convert first: t.float().")

    return check


def bool_products(kernel):
    """For products of matrices; those without entries pass."""

    def check(*operands):
        if all(map(is_bool, operands)) and all(a.size for a in operands):
            raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'. Convert it first: t.int() or t.float().")

    return check


def integers(kernel):
    """For functions that are not whole at whole numbers."""

    def check(x):
        if x.dtype not in INEXACT:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{of(x.dtype).title}'. Convert it first: t.float().")

    return check


def floats(kernel):
    """For functions of bits."""

    def check(*operands):
        common = result_type(list(operands))
        if common in FLOATING:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{of(common).title}'. Bits are for integers and bools.")

    return check


def floats_to_invert(x):
    if x.dtype in INEXACT:
        raise TypeError(
            f"~ (operator.invert) is only implemented on integer and Boolean-type tensors; this one is {of(x.dtype)!r}. "
            "Compare first: ~(t > 0)."
        )


def whole_division_by_zero(kernel):
    """For functions of a quotient of integers. Floats give inf or nan."""

    def check(x, y):
        bools(kernel)(x, y)
        if result_type([x, y]) not in FLOATING and np.any(np.equal(y, 0)):
            raise RuntimeError("ZeroDivisionError: an integer is divided by 0. Convert to floating point for inf and nan.")

    return check


def whole(kernel):
    """For functions of floats, of two operands."""

    def check(*operands):
        common = result_type(list(operands))
        if common not in INEXACT:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{of(common).title}'. Convert first: t.float().")

    return check


def all_but_whole(kernel):
    """For functions of integers, and neither of floats nor of bools."""

    def check(*operands):
        common = result_type(list(operands))
        if common in FLOATING or common == np.bool_:
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{of(common).title}'. It is for integers.")

    return check


def bool_exponents(x, y):
    if is_bool(y) and x.dtype in FLOATING:
        raise NotImplementedError("\"ldexp\" not implemented for 'Bool'. Convert it first: t.int().")


def whole_quotients(x, a, b):
    if all(t.dtype not in INEXACT for t in (a, b) if hasattr(t, "dtype")):
        raise RuntimeError(
            "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
            "tensor1 and tensor2. Convert first: a.float()."
        )


def phases(name, what, turned):
    """For factors that are given up to a phase, of what a gradient would do to it; inside transforms the numbers are not known."""
    turned = getattr(turned, "payload", turned)
    if isinstance(turned, np.ndarray) and np.abs(turned).max(initial=0) > 1e-2:
        raise RuntimeError(
            f"{name}: The {what} in the complex case are specified up to multiplication by e^{{i phi}}. The specified loss function "
            "depends on this quantity, so it is ill-defined. Let it depend on what a phase does not change: v.abs(), or v @ v.mH."
        )
