"""Transforms: what happens at `x * y` inside `grad`, `vjp`, `jvp` and `vmap`, in any order and depth.

Read `level` first: what a transform is, and its boxes. `taped` is reverse mode, `dual` forward mode, `batched` vmap. For speed `crossing`
writes out what happens where reverse mode meets a batch, with the arrays of `samples`, and `replay` repeats on them what rules call. The
API that takes functions is ``autolab.func``.
"""
