"""All exercises on the engine, by name."""

from __future__ import annotations

from .behaviour import Behaviour
from .behaviours_engine import ENGINE
from .behaviours_memory import MEMORY
from .behaviours_second import SECOND
from .behaviours_value import VALUE

BEHAVIOURS: dict[str, Behaviour] = {b.name: b for b in (*VALUE, *ENGINE, *MEMORY, *SECOND)}
