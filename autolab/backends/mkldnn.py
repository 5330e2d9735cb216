"""oneDNN is not used: NumPy brings its own BLAS."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False
