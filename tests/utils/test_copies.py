"""Copies to work in: nothing that a learner has changed is written to, and what cannot be written says so."""

import errno
from pathlib import Path

import pytest

from autolab.utils.copies import copy

RECORD = ".record.json"


@pytest.fixture
def failing(monkeypatch):
    """Let writing fail as the system does when something is wrong with the disk."""

    def fail(number, text):
        def write_bytes(self, content):
            self.open("wb").close()  # as much of a file as there was room for
            raise OSError(number, text, str(self))

        monkeypatch.setattr(Path, "write_bytes", write_bytes)

    return fail


@pytest.mark.parametrize(("number", "text", "todo"), [
    (errno.ENOSPC, "No space left on device", "Make room, then do this again."),
    (errno.EACCES, "Permission denied", "Choose a folder in which you may write."),
    (errno.EROFS, "Read-only file system", "Choose a folder in which you may write."),
])  # fmt: skip
def test_what_cannot_be_written_says_what_to_do_and_leaves_nothing(tmp_path, failing, number, text, todo):
    failing(number, text)
    with pytest.raises(OSError, match=f"{text}. Nothing of yours was changed. {todo}"):
        copy({"a.ipynb": b"new"}, tmp_path / "mine", RECORD)
    assert list((tmp_path / "mine").iterdir()) == []


def test_a_full_disk_leaves_the_older_copy_whole(tmp_path, failing):
    copy({"a.ipynb": b"old"}, tmp_path, RECORD)
    failing(errno.ENOSPC, "No space left on device")
    with pytest.raises(OSError, match="No space left"):
        copy({"a.ipynb": b"new"}, tmp_path, RECORD)
    assert (tmp_path / "a.ipynb").read_bytes() == b"old"


def test_where_nothing_is_new_nothing_is_written(tmp_path, failing):
    copy({"a.ipynb": b"old"}, tmp_path, RECORD)
    failing(errno.EROFS, "Read-only file system")
    assert copy({"a.ipynb": b"old"}, tmp_path, RECORD)["kept"] == ["a.ipynb"]
