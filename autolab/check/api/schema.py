"""What a report is as JSON, for the programs that read it. The number goes up when something is renamed or removed."""

from __future__ import annotations

from typing import Any

VERSION = 1

TEXT, NUMBER = {"type": "string"}, {"type": "number"}
MAYBE_TEXT = {"type": ["string", "null"]}

JSON_SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "The report of autolab.check",
    "type": "object",
    "required": ["schema", "exercise", "points", "max_points", "passed", "seed", "verdicts", "diagnoses"],
    "properties": {
        "schema": {"const": VERSION},
        "exercise": TEXT,
        "points": NUMBER,
        "max_points": NUMBER,
        "passed": {"type": "boolean"},
        "seed": {"type": "integer", "description": "draws the same inputs and incoming gradients again"},
        "seconds": NUMBER,
        "notes": {"type": "array", "items": TEXT, "description": "remarks that cost nothing: it prints, it is slow"},
        "verdicts": {"type": "array", "items": {
            "type": "object",
            "required": ["name", "passed", "reason", "points", "max_points"],
            "properties": {
                "name": {"type": "string", "description": "value, shape, upstream, broadcasting, ..."},
                "passed": {"type": ["boolean", "null"], "description": "null: it could not be judged"},
                "reason": TEXT, "points": NUMBER, "max_points": NUMBER,
            },
        }},
        "diagnoses": {"type": "array", "description": "the most likely cause first", "items": {
            "type": "object",
            "required": ["family", "certainty", "text", "hint"],
            "properties": {
                "family": TEXT, "text": TEXT, "hint": TEXT, "input": MAYBE_TEXT,
                "certainty": {"enum": ["certain", "likely", "unknown"]},
                "alternatives": {"type": "array", "items": TEXT, "description": "families that explain it as well"},
                "seen": {"type": ["array", "null"], "items": TEXT, "description": "families of its numbers alone, which decide its points"},
                "where": {"type": "string", "description": "the shapes and settings of the call"},
                "worst": {"type": ["object", "null"], "properties": {
                    "input": TEXT,
                    "index": {"type": ["array", "null"], "items": {"type": "integer"}},
                    "yours": {"description": "a number; a shape if index is null; a word if not finite"},
                    "expected": {"description": "as yours"},
                }},
            },
        }},
    },
}  # fmt: skip
