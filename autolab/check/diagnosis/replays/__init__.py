"""The right rule run again with one thing changed: what a rule with that mistake returns."""
