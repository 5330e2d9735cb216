"""Nested containers under PyTorch's names, as libraries import them: `from torch.utils._pytree import tree_map`.

Containers are those of `autolab.func`: tuples, lists, dicts, named tuples, deques. A TreeSpec is a `Form`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from autolab.autograd.pytree import Form as TreeSpec
from autolab.autograd.pytree import flatten, unflatten

__all__ = ["TreeSpec", "tree_all", "tree_any", "tree_flatten", "tree_leaves", "tree_map", "tree_map_", "tree_map_only", "tree_structure",
           "tree_unflatten"]  # fmt: skip


def tree_flatten(tree: Any, is_leaf: Any = None) -> tuple[list[Any], TreeSpec]:
    """All leaves from left to right, and the form in which they stood. Raises NotImplementedError for leaves of one's own making."""
    if is_leaf is not None:
        raise NotImplementedError("tree_flatten(is_leaf=...): autolab takes every container apart")
    return flatten(tree)


def tree_unflatten(leaves: Any, treespec: TreeSpec) -> Any:
    """The containers again, with other leaves. Raises ValueError if there are too few or too many."""
    leaves = list(leaves)
    if len(leaves) != treespec.size:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to a pytree that holds "
                         f"{treespec.size} items ({treespec!r}).")  # fmt: skip
    return unflatten(leaves, treespec)


def tree_leaves(tree: Any, is_leaf: Any = None) -> list[Any]:
    """All leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Any = None) -> TreeSpec:
    """The form of a nested structure, without its values."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """The same containers with func(leaf, its counterparts in `rests` ...) in place of each leaf."""
    leaves, form = tree_flatten(tree, is_leaf)
    others = [tree_leaves(rest) for rest in rests]
    if any(len(other) != len(leaves) for other in others):
        raise ValueError(f"tree_map: the trees hold {[len(leaves), *map(len, others)]} leaves; they must have one form")
    return unflatten([func(*each) for each in zip(leaves, *others)], form)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Any = None) -> Any:
    """Call func on each leaf; the tree as it is."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def tree_map_only(kind: Any, func: Callable[..., Any], tree: Any, is_leaf: Any = None) -> Any:
    """tree_map over the leaves of one type (or of several); the others stay."""
    return tree_map(lambda leaf: func(leaf) if isinstance(leaf, kind) else leaf, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether pred holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether pred holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))
