"""58 of William Shakespeare's sonnets, London 1609, in modern spelling. Public domain."""

from pathlib import Path

FILE = Path(__file__).with_name("shakespeare_sonnets.txt")


def sonnets() -> str:
    """58 sonnets, each under its number: 36 thousand characters, to learn the next one from those before.

    It is ASCII: letters, digits (in the numbers only), punctuation, spaces and line ends. The last two lines of a sonnet are
    indented by two spaces.

    Examples
    --------
    >>> text = sonnets()
    >>> len(text), len(set(text))
    (35919, 69)
    >>> print(text[text.index("18"):].split(chr(10))[2])
    Shall I compare thee to a summer's day?

    """
    return FILE.read_text(encoding="ascii")
