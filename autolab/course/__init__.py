"""Problem sets and grading. What knows nbgrader's formats lives here, and is loaded only when it is used."""
