"""In the tests of the checker a diagnosis that fails is a mistake, and not a sentence less."""

import pytest

from autolab.check.diagnosis import quiet


@pytest.fixture(autouse=True)
def strict(monkeypatch):
    monkeypatch.setattr(quiet, "STRICT", True)
