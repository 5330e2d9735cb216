"""What `python -m pip` runs in place of pip: a message, for the sandbox has no network."""

from pip import main

main()
