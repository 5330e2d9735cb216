"""Numbers as a sentence has them: in words, as an exponent, in brackets if negative."""

from __future__ import annotations

WORDS = (
    "no one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty"
).split()
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def words(n: int) -> str:
    """A whole number up to twenty in words, and a larger one in digits.

    >>> words(16), words(400), words(10**6)
    ('sixteen', '400', 'a million')
    """
    return "a million" if n == 10**6 else WORDS[n] if 0 <= n < len(WORDS) else f"{n:,}"


def times(n: int) -> str:
    """How often.

    >>> times(2), times(3)
    ('twice', 'three times')
    """
    return "once" if n == 1 else "twice" if n == 2 else f"{words(n)} times"


def power(n: int) -> str:
    """An exponent; 1 is not written.

    >>> "x" + power(3), "x" + power(1)
    ('x³', 'x')
    """
    return "" if n == 1 else str(n).translate(RAISED)


def signed(value: float) -> str:
    """A number that may follow a sign or a dot.

    >>> f"2 · {signed(-6)}", f"2 · {signed(0.5)}"
    ('2 · (-6)', '2 · 0.5')
    """
    return f"({value:g})" if value < 0 else f"{value:g}"
