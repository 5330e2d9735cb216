"""The version, written here and nowhere else: the build reads this file, and so does ``autolab.__version__``."""

__version__ = "0.1.0"
