"""An exercise put to a candidate: what to try, how it is called, what is right, what came back."""
