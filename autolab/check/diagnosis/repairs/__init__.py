"""The student's own rule with one thing in it changed: what makes it right is what was wrong."""
