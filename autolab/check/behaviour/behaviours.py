"""All exercises on the engine, by name."""

from __future__ import annotations

from .ps1_scalar import VALUE
from .ps6_engine import ENGINE
from .ps7_memory import MEMORY
from .ps8_second_order import SECOND
from .ps10_implicit import IMPLICIT
from .ps_variants import VARIANTS
from .scenes import Behaviour

BEHAVIOURS: dict[str, Behaviour] = {b.name: b for b in (*VALUE, *ENGINE, *MEMORY, *SECOND, *IMPLICIT, *VARIANTS)}
