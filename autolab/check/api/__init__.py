"""What people call: `check`, `judge`, the assertions, and the report."""
