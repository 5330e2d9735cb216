"""pip in the sandbox: it says that there is no network, and ends well, so that the cell goes on."""

OFFLINE = "While this is graded there is no network and nothing is installed: numpy and autolab are here."


def main(*_: object) -> int:
    """What `pip`, `python -m pip` and `pip.main` run."""
    print(OFFLINE)
    return 0
