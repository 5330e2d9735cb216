"""All exercises on the engine, by name."""

from __future__ import annotations

from .ps1_scalar import VALUE
from .ps6_engine import ENGINE
from .ps7_memory import MEMORY
from .ps8_second_order import SECOND
from .ps11_transformations import TRANSFORMATIONS
from .ps13_expectations import EXPECTATION
from .ps_variants import VARIANTS
from .scenes import Behaviour

BEHAVIOURS: dict[str, Behaviour] = {b.name: b for b in (*VALUE, *ENGINE, *MEMORY, *SECOND, *TRANSFORMATIONS, *EXPECTATION, *VARIANTS)}
