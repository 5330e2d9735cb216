"""All exercises on the engine, by name."""

from __future__ import annotations

from .broken_programs import BROKEN
from .ps1_scalar import VALUE
from .ps6_engine import ENGINE
from .ps7_memory import MEMORY
from .ps8_second_order import SECOND
from .ps10_implicit import IMPLICIT
from .ps11_transformations import TRANSFORMATIONS
from .ps12_cost import COST
from .ps13_expectations import EXPECTATION
from .ps14_machines import PARALLEL
from .ps15_complex import COMPLEX
from .ps16_debugging import DEBUGGING
from .ps17_compiler import COMPILER
from .ps_capstone_budget import BUDGET
from .ps_capstone_fused import FUSED
from .ps_capstone_gpt import NEXT
from .ps_capstone_higher import CHECKPOINT
from .ps_capstone_higher import SECOND as CAPSTONE_SECOND
from .ps_capstone_scalars import SCALARS
from .ps_capstone_tensors import TENSORS
from .ps_capstone_training import DIGITS, LAYERS
from .ps_variants import VARIANTS
from .scenes import Behaviour

CAPSTONE = SCALARS, TENSORS, LAYERS, DIGITS, CAPSTONE_SECOND, CHECKPOINT, FUSED, NEXT, BUDGET
SETS = (
    VALUE, ENGINE, MEMORY, SECOND, IMPLICIT, TRANSFORMATIONS, COST, EXPECTATION, PARALLEL, COMPLEX, CAPSTONE, VARIANTS, BROKEN, DEBUGGING,
    COMPILER,
)  # fmt: skip
BEHAVIOURS: dict[str, Behaviour] = {b.name: b for behaviours in SETS for b in behaviours}
