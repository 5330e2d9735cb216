"""Formgrader's page of a submission in a browser: an instructor of three hundred goes on by keys."""

import pytest
from nbgrader.server_extensions.formgrader import handlers
from playwright.sync_api import expect

from tests.course.test_formgrader import RUBRIC, answer_page

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


@pytest.fixture
def marking(page):
    """The page of an answer with a rubric, in front of a gradebook that remembers."""
    kept = {"grades": {"name": "why", "id": 1, "manual_score": None, "max_score": 4, "needs_manual_grade": True},
            "comments": {"name": "why", "id": 2, "manual_comment": "Almost."}}  # fmt: skip

    def api(route):
        kind = "grades" if "/api/grade" in route.request.url else "comments"
        if route.request.method == "PUT":
            kept[kind] |= route.request.post_data_json
        route.fulfill(json=kept[kind] if route.request.method == "PUT" else [kept[kind]])

    page.route("http://127.0.0.1/**", serve)
    page.route("http://127.0.0.1/**/api/**", api)
    page.route("http://127.0.0.1/", lambda route: route.fulfill(body=answer_page("My answer.", RUBRIC), content_type="text/html"))
    page.goto("http://127.0.0.1/")
    expect(page.locator("#why-comment")).to_have_value("Almost.")
    return page, kept


def test_a_page_opens_at_the_first_row_of_the_answer_that_waits(marking):
    page, _ = marking
    expect(page.get_by_label("of 3 for: the sum")).to_be_focused()


def test_the_next_page_opens_at_the_first_row_if_the_last_one_was_left_in_another(marking):
    page, _ = marking
    page.get_by_label("of 1 for: a reason").focus()
    page.wait_for_url("**/?index=*")
    page.route("http://127.0.0.1/?*", lambda route: route.fulfill(body=answer_page("Another.", RUBRIC), content_type="text/html"))
    page.goto(page.url.replace("/formgrader/submissions/1", ""))
    expect(page.get_by_text("Another.")).to_be_visible()
    expect(page.get_by_label("of 3 for: the sum")).to_be_focused()


def test_rows_are_marked_with_the_end_of_a_long_answer_in_sight(marking):
    page, _ = marking
    text = "\n\n".join(f"Step {i}." for i in range(100))
    page.route("http://127.0.0.1/", lambda route: route.fulfill(body=answer_page(text, RUBRIC), content_type="text/html"))
    page.goto("http://127.0.0.1/")
    expect(page.get_by_label("of 1 for: a reason")).to_be_in_viewport()
    expect(page.get_by_text("Step 99.", exact=True)).to_be_in_viewport()


def test_the_rows_of_a_rubric_make_the_score_and_are_kept_in_the_comment(marking):
    page, kept = marking
    page.get_by_label("of 3 for: the sum").fill("2.5")
    page.keyboard.press("Tab")
    page.keyboard.type("1")
    page.keyboard.press("Tab")
    expect(page.locator("#why")).to_have_value("3.5")
    assert (float(kept["grades"]["manual_score"]), kept["comments"]["manual_comment"]) == (3.5, "Rows: 2.5 1\nAlmost.")
    assert not page.errors


def test_rows_that_are_typed_into_the_comment_make_the_score(marking):
    page, kept = marking
    page.locator("#why-comment").fill("rows: 2, 0")
    page.locator("#why-comment").blur()
    expect(page.get_by_label("of 3 for: the sum")).to_have_value("2")
    expect(page.locator("#why")).to_have_value("2")
    assert float(kept["grades"]["manual_score"]) == 2


def test_a_line_with_too_few_numbers_is_said_to_make_no_score(marking):
    page, kept = marking
    page.locator("#why-comment").fill("Rows: 2")
    page.locator("#why-comment").blur()
    expect(page.get_by_role("status")).to_have_text("Numbers in the comment: 1, rows: 2. They do not change the score.")
    page.locator("#why-comment").fill("Rows: 2 1")
    page.locator("#why-comment").blur()
    expect(page.get_by_role("status")).to_have_text("")
    assert float(kept["grades"]["manual_score"]) == 3


def test_marks_that_are_typed_while_others_are_being_saved_are_kept(marking):
    page, kept = marking
    page.unroute("http://127.0.0.1/**/api/**")
    held = []

    def hold(route):
        kind = "grades" if "/api/grade" in route.request.url else "comments"
        kept[kind] |= route.request.post_data_json
        held.append((route, dict(kept[kind])))

    page.route("http://127.0.0.1/**/api/**", hold)
    for label, mark in (("of 3 for: the sum", "2"), ("of 1 for: a reason", "1")):
        page.get_by_label(label).fill(mark)
        page.keyboard.press("Tab")
    for _ in range(3):  # what was sent first is answered last
        page.wait_for_timeout(100)
        while held:
            route, answer = held.pop()
            route.fulfill(json=answer)
    expect(page.locator("#why")).to_have_value("3")
    assert (float(kept["grades"]["manual_score"]), kept["comments"]["manual_comment"]) == (3, "Rows: 2 1\nAlmost.")
