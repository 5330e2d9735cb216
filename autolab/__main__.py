"""`python -m autolab` is the command `autolab`."""

from autolab.cli import main

if __name__ == "__main__":
    main()
