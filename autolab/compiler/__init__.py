"""`autolab.compile(f)`: capture a call once, replay it without Python's cost between NumPy's calls.

Read in order: trace (what a call did), guards (when that may be used again), lower (formulas into single steps), program (with the
way back), emit (buffers and blocks, as source), api. With numba: machine, and direct, lanes, one_pass, loops, notes, moves.
"""

from autolab.compiler.api import CompileError, Explanation, OptimizedModule, compile, explain, source_of

__all__ = ["CompileError", "Explanation", "OptimizedModule", "compile", "explain", "source_of"]
