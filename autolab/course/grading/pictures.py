"""Pictures that a student pasted into a written answer. A photo of a derivation on paper is an answer, and a person reads it."""

from __future__ import annotations

import re
from typing import Any

from nbformat import NotebookNode

KINDS = ("image/png", "image/jpeg", "image/gif", "image/webp")  # a browser shows these, and none of them can hold a script
BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")


def pictures(attachments: Any) -> NotebookNode:
    """What of a cell's attachments is a picture, by its name: its kind, and its bytes in base64.

    >>> pictures({"a.png": {"image/png": ["iVBO", "Rw=="]}, "b.svg": {"image/svg+xml": "PHN2"}, "c.png": {"image/png": "\\"><script>"}})
    {'a.png': {'image/png': 'iVBORw=='}}
    """
    found = NotebookNode()
    for name, data in attachments.items() if isinstance(attachments, dict) else ():
        for kind in KINDS:
            text = data.get(kind) if isinstance(data, dict) else None
            lines = text if isinstance(text, list) else [text]
            data64 = "".join("".join(line.split()) for line in lines if isinstance(line, str))
            if BASE64.fullmatch(data64):
                found[name] = NotebookNode({kind: data64})
                break
    return found
