"""`python -m autolab.cli`: the command where it was not installed as a script."""

from autolab.cli import main

if __name__ == "__main__":
    main()
