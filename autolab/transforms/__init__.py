"""Transforms: what happens at `x * y` inside `grad`, `vjp`, `jvp` and `vmap`, in any order and depth.

Read `level` first: what a transform is, and its boxes. `taped` is reverse mode, `dual` forward mode, `batched` vmap. The API that takes
functions is ``autolab.func``.
"""
