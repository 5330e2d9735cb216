"""Other exercises of the same kind and difficulty: the bank, the draw, the text, and their proof."""
