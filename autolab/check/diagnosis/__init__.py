"""From observations of a wrong gradient to the kind of mistake."""
