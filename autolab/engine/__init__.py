"""The engine: tensors that remember how they were made, and the one backward pass.

Read the files in this order: tensor, node, op, record, apply, backward, saved, inplace, modes.
Nothing in here knows a single derivative; those are in ``autolab.rules``.
"""
