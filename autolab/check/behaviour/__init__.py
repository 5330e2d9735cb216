"""Exercises on pieces of the engine: scenes to play, and what each must give."""
