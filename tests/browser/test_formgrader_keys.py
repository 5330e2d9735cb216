"""Formgrader's page of a submission in a browser: an instructor of three hundred goes on by keys."""

import pytest
from nbgrader.server_extensions.formgrader import handlers
from playwright.sync_api import expect

from tests.course.test_formgrader import answer_page

pytestmark = pytest.mark.browser


def serve(route):
    """nbgrader's own files; no grades and no comments."""
    path = route.request.url.partition("/static/")[2]
    route.fulfill(path=f"{handlers.static_path}/{path}") if path else route.fulfill(json=[])


def test_the_page_takes_its_keys_without_a_network(page):
    page.route("http://127.0.0.1/**", serve)
    page.route("http://127.0.0.1/", lambda route: route.fulfill(body=answer_page("My answer."), content_type="text/html"))
    page.goto("http://127.0.0.1/")
    page.locator(".help").click()
    expect(page.get_by_text("Move to the same score or comment input of the next submission", exact=True)).to_be_visible()
    assert not page.errors and not page.external
