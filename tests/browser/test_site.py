"""The built site in a browser: what moves moves, nothing comes from elsewhere, and pages are light. `make site` builds it first."""

import gzip
import re
from xml.etree import ElementTree

import pytest

from docs.make.site import PAGES

pytestmark = [pytest.mark.browser, pytest.mark.skipif(not (PAGES / "index.html").exists(), reason="the site is not built (`make site`)")]
LESSONS = sorted(path.stem for path in (PAGES / "notebooks").glob("*.html") if path.stem != "README")
PICTURES = re.compile(rb'src="data:image/svg\+xml;base64,[^"]*"')
PROBLEM_SET = "exercises/handout/ps2/elementwise-rules"
LIGHT = 100_000  # bytes of a lesson page as it is sent, without pictures
PARTS = {"mfrac": 2, "mroot": 2, "msub": 2, "msup": 2, "munder": 2, "mover": 2, "msubsup": 3, "munderover": 3}  # of a MathML element
FETCHED = 400_000  # bytes of scripts and styles that a page asks for, not compressed


@pytest.mark.parametrize("name", LESSONS)
def test_every_explorable_of_a_lesson_works(look, name):
    page = look(f"notebooks/{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach((e) => { e.open = true; })")  # answers are folded
    places = page.locator("[data-autolab]")
    for place in places.all():
        place.scroll_into_view_if_needed()
        place.locator(".al-root").first.wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 1280


@pytest.mark.parametrize("name", LESSONS)
def test_a_lesson_is_light(name):
    page = PICTURES.sub(b"", (PAGES / "notebooks" / f"{name}.html").read_bytes())
    assert len(gzip.compress(page)) < LIGHT


def test_every_formula_has_all_its_parts():
    """Firefox's console is not asked about them: it also complains of a formula of which only a part has arrived."""
    seen, broken = 0, []
    for page in sorted(PAGES.rglob("*.html")):
        for formula in re.findall(r"<math\b.*?</math>", page.read_text("utf-8"), re.S):
            for element in ElementTree.fromstring(formula).iter():
                wanted = PARTS.get(element.tag.split("}")[-1])
                seen += wanted is not None
                if wanted not in (None, len(element)):
                    broken.append((page.name, ElementTree.tostring(element)))
    assert broken == []
    assert seen > 1000


@pytest.mark.parametrize(
    "page", ["index", "notebooks/04-inside-backward", "docs/rules", "api/autolab", "autolab/engine/backward", PROBLEM_SET]
)
def test_a_page_fits_its_window(look, page):
    tab = look(f"{page}.html")
    for width in (1280, 390, 320):
        tab.set_viewport_size({"width": width, "height": 800})
        assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_the_first_thing_to_see_can_be_stepped(look):
    page = look("index.html")
    step = page.get_by_role("button", name="Step", exact=True)
    step.click()
    page.get_by_text("Step 1 of 7").wait_for()
    assert step.bounding_box()["y"] < 900


def test_an_answer_is_there_after_a_reload(look):
    page = look("notebooks/04-inside-backward.html")
    question = page.locator("[data-autolab]").filter(has=page.locator("input[type=radio]")).first
    question.locator("input[type=radio]").nth(1).check()
    question.get_by_role("button").first.click()
    said = question.inner_text()
    page.reload()
    page.wait_for_function("document.querySelector('[data-autolab] .al-root')")
    question.locator(".al-root").wait_for()
    assert question.inner_text() == said


FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"
FORBIDDEN = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('denied', 'SecurityError'); } });"


@pytest.mark.parametrize("storage", [FULL, FORBIDDEN], ids=["full", "forbidden"])
def test_where_nothing_can_be_kept_it_is_said_and_answers_stay_until_the_page_is_left(browser, site, storage):
    context = browser.new_context()
    context.add_init_script(storage)
    page = context.new_page()
    page.goto(f"{site}/notebooks/04-inside-backward.html")
    question = page.locator("[data-autolab]").filter(has=page.locator("input[type=radio]")).first
    question.scroll_into_view_if_needed()
    question.locator("input[type=radio]").nth(1).check()
    question.get_by_role("button").first.click()
    page.get_by_text("This browser keeps no answers for this page").wait_for()
    assert question.locator("input[type=radio]").nth(1).is_checked()
    context.close()


@pytest.mark.parametrize("script", ["this is } not readable", None], ids=["too old", "not loaded"])
def test_where_the_script_does_not_run_it_is_said(browser, site, script):
    context = browser.new_context()
    context.route("**/autolab.mjs*", lambda route: route.fulfill(body=script, content_type="text/javascript") if script else route.abort())
    page = context.new_page()
    page.goto(f"{site}/notebooks/04-inside-backward.html")
    page.get_by_role("status").get_by_text("What moves on this page needs a newer browser").wait_for()
    assert page.locator("[data-autolab] img").count() > 5
    context.close()


@pytest.mark.parametrize("name", ["Live engine", "Graph builder", "Training room"])
def test_what_needs_python_says_where_it_runs(look, name):
    page = look("notebooks/gallery.html")
    place = page.locator("[data-autolab]").filter(has=page.locator(f"img[alt^='{name}'], [aria-label^='{name}']")).first
    place.scroll_into_view_if_needed()
    link = place.locator("xpath=following-sibling::*[1]").filter(has_text="Without Python").get_by_role("link")
    link.wait_for()
    assert link.get_attribute("href").endswith("/lite/notebooks/index.html?path=notebooks/gallery.ipynb")


@pytest.mark.parametrize("name", ["index", "notebooks/04-inside-backward"])
def test_a_page_fetches_little_until_its_first_explorable_works_and_nothing_jumps(look, name):
    page = look(f"{name}.html")
    page.locator("[data-autolab] .al-root").first.wait_for()
    sizes = page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.decodedBodySize)")
    assert len(sizes) < 20 and sum(sizes) < FETCHED
    page.wait_for_timeout(500)
    jumped = page.evaluate("""new Promise((done) => new PerformanceObserver((list) =>
      done(list.getEntries().reduce((sum, e) => sum + (e.hadRecentInput ? 0 : e.value), 0))).observe({ type: "layout-shift", buffered: true })
      || setTimeout(() => done(0), 500))""")
    assert jumped < 0.1


def test_what_search_engines_and_previews_show():
    pages = [p for p in PAGES.rglob("*.html") if "lite" not in p.parts and p.name not in ("genindex.html", "search.html")]
    described = {}
    for page in pages:
        text = page.read_text("utf-8")
        told = dict(re.findall(r'<meta property="(og:\w+)" content="([^"]*)"', text))
        assert told["og:title"], page
        assert told["og:image"].endswith("_static/preview.png"), page
        described[page] = re.search(r'<meta (?:name="description" content="([^"]+)"|content="([^"]+)" name="description")', text), page
    assert all(found for found, _ in described.values())
    assert (PAGES / "_static" / "preview.png").exists()


def test_without_scripts_the_pictures_and_the_text_are_there(look):
    page = look("notebooks/04-inside-backward.html", java_script_enabled=False)
    assert page.locator("[data-autolab] img").count() > 5


LOOKED_AT = ["index", "notebooks/04-inside-backward", "docs/rules", "autolab/engine/backward", "search", PROBLEM_SET]


@pytest.mark.parametrize("name", LOOKED_AT)
def test_nothing_bars_the_way(look, name):
    """axe-core finds no violation. It takes a minute for the table of rules; of a long table and a long program it gets the beginning."""
    from axe_playwright_python.sync_playwright import Axe

    page, found = look(f"{name}.html"), {}
    page.evaluate("document.querySelectorAll('tr:nth-child(n+6), .highlight pre > span:nth-child(n+200)').forEach((e) => e.remove())")
    for scheme in "light", "dark":
        page.emulate_media(color_scheme=scheme)
        page.wait_for_timeout(500)  # colours change slowly
        violations = Axe().run(page).response["violations"]
        found[scheme] = [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in violations]
    assert found == {"light": [], "dark": []}


def test_no_page_was_left_without_a_title_and_no_link_leads_nowhere():
    pages = {p.relative_to(PAGES).as_posix(): p.read_text("utf-8") for p in PAGES.rglob("*.html") if "lite" not in p.parts}
    dead = []
    for name, text in pages.items():
        assert re.search(r"<title>[^<]+</title>", text), name
        folder = (PAGES / name).parent
        for link in re.findall(r'<a [^>]*href="([^"#]+)[^"]*"', text):
            if not re.match(r"[a-z]+:", link) and not (folder / link.split("?")[0]).exists():
                dead += [f"{name}: {link}"]
    assert sorted(set(dead)) == []
