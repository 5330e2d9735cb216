"""Formulas of rules, and what lies one slip of the pen, or one misconception, away from them."""
