"""Where a newer `pip` command looks."""
