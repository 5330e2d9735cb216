"""PyTorch's own samples for its operators and modules."""

from importlib.util import find_spec

import pytest


def skip_without_pytorch():
    """End the import of a test module whose parameters are PyTorch's lists."""
    if not (find_spec("torch") and find_spec("expecttest")):
        pytest.skip("PyTorch is not installed (`pip install torch==2.13.0 expecttest`)", allow_module_level=True)
