"""Collecting from nbgrader's exchange without following links.

A submission lies in a folder of its student, who may put a link there to what only the instructor can read: nbgrader would
copy that, and feedback would show it to the student. `exercises/nbgrader_config.py` puts this in its place.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import Any

from nbgrader.exchange.default import ExchangeCollect


class CollectWithoutLinks(ExchangeCollect):
    """Copies what is handed in, except links."""

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """As nbgrader's, from a copy in which a link is still a link."""
        if os.path.islink(src):
            self.log.error("%s is a link, which is not followed", src)
            return
        if self.get_size(src) > 1000 * self.coursedir.max_dir_size:
            raise RuntimeError(f"{src} is larger than CourseDirectory.max_dir_size, which is {self.coursedir.max_dir_size} KB")
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain")
            shutil.copytree(src, plain, symlinks=True)
            for place, folders, files in os.walk(plain):
                for path in (os.path.join(place, name) for name in folders + files):
                    if os.path.islink(path):
                        self.log.warning("%s of %s is a link, which is not followed", os.path.relpath(path, plain), src)
                        os.unlink(path)
            super().do_copy(plain, dest, log)
