"""cuDNN is not there. Its switches can be set, and change nothing."""

__all__ = ["allow_tf32", "benchmark", "deterministic", "enabled", "is_available", "version"]

enabled, benchmark, deterministic, allow_tf32 = True, False, True, False


def is_available() -> bool:
    """False."""
    return False


def version() -> None:
    """None: there is none."""
