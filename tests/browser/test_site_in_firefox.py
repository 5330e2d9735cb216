"""The built site in Firefox. `make site` builds it first."""

import json
import time

import pytest

from docs.make.site import PAGES
from tests.browser.test_lite import runs

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not (PAGES / "index.html").exists(), reason="the site is not built (`make site`)")]


@pytest.fixture
def firefox(firefox, site):
    yield firefox
    assert [url for url in firefox.requests if url.startswith("http") and not url.startswith(site)] == []


def test_a_picture_steps(firefox, site):
    step = "[...document.querySelectorAll('button')].find((e) => e.textContent === 'Step')"
    firefox.open(f"{site}/index.html")
    firefox.until(step)
    firefox.evaluate(f"{step}.click()")
    firefox.until("document.body.innerText.includes('Step 1 of 7')")


def test_an_answer_is_there_after_a_reload(firefox, site):
    unseen = "[...document.querySelectorAll('[data-autolab]:has(> script)')].find((e) => e.textContent.includes('attempts'))"
    choice = "document.querySelector('[data-autolab] input[type=radio]')"
    firefox.open(f"{site}/notebooks/04-inside-backward.html")
    firefox.evaluate(f"{unseen}.scrollIntoView()")
    firefox.until(choice)
    firefox.evaluate(f"({choice}.click(), {choice}.closest('.al-root').querySelector('button').click())")
    said = firefox.evaluate(f"{choice}.closest('.al-root').innerText")
    firefox.open(f"{site}/notebooks/04-inside-backward.html")
    firefox.evaluate(f"{unseen}.scrollIntoView()")
    firefox.until(f"{choice}?.closest('.al-root').innerText === {json.dumps(said)}")


@runs
def test_a_program_is_typed_and_run(firefox, site):
    cell, idle = "document.querySelector('.jp-CodeCell')", ".jp-Notebook-ExecutionIndicator[data-status=idle]"
    firefox.open(f"{site}/lite/notebooks/index.html?path=pytorch.ipynb")
    firefox.until(f"document.querySelector('{idle}')", 120)
    end = time.monotonic() + 30
    while not firefox.evaluate("document.activeElement.matches('.cm-content')"):
        assert time.monotonic() < end
        firefox.drag(".jp-CodeCell .cm-content", 0, 0)  # it misses while the page is laid out
    firefox.press(*"import torch; x = torch.tensor(3.0, requires_grad=True); (x * x).backward(); x.grad", "Shift+Enter")
    firefox.until(f"{cell}.innerText.includes('tensor(6.)')", 120)
