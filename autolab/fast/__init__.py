"""What is written out for a row of the table: the text of its formulas, and the Python functions made from it, for speed.

`formula` finds the source of a rule; `row` spells out, for one row, what ``engine.apply`` and ``engine.node`` do for all of them.
The engine gives the same results without this package.
"""

from autolab.fast import backward

__all__ = ["backward"]
