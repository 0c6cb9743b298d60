"""The pages in a browser: they fill, they move, and what comes from data does no harm."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from rheos.server.config import Config
from rheos.server.serve import served
from tests.browser.conftest import ADDRESS, COUNTS, IMAGE, PATIENCE, QUOTES, SCRIPT, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Page

expect.set_options(timeout=PATIENCE)

RIGHT = f"REGISTER QUERY mine AS\n{COUNTS}"
WRONG = RIGHT.replace("registers ?car", "registers ?car ?oops")


def until(page: Page, function: str, arg: object = None) -> None:
    """Wait until a function gives true in the page. (Playwright's own way to wait needs eval inside of the
    page, which the policy of the pages forbids.)"""
    deadline = time.monotonic() + PATIENCE / 1000
    while not page.evaluate(function, arg):
        assert time.monotonic() < deadline, f"waited in vain for {function}"
        page.wait_for_timeout(100)


NUMBER = "selector => Number((document.querySelector(selector)?.textContent || '').replaceAll(',', ''))"


def grows(page: Page, selector: str) -> None:
    """Wait until a number is there, and then until it is larger."""
    until(page, f"selector => ({NUMBER})(selector) > 0", selector)
    before = page.evaluate(NUMBER, selector)
    until(page, f"([selector, before]) => ({NUMBER})(selector) > before", [selector, before])


def moves(page: Page, selector: str) -> None:
    """Wait until a picture is another one."""
    page.wait_for_selector(selector)
    drawn = "selector => document.querySelector(selector).toDataURL()"
    before = page.evaluate(drawn, selector)
    until(page, f"([selector, before]) => ({drawn})(selector) !== before", [selector, before])


def test_the_overview_fills_with_live_numbers(page: Page) -> None:
    page.goto("/")
    grows(page, "#streams tr[data-name=tolls] [data-field=elements]")
    grows(page, "#queries tr[data-name=counts] [data-field=rows]")
    row = page.locator("#streams tr[data-name=tolls]")
    expect(row.locator("[data-field=time]")).to_have_text(re.compile(r"\d\d:\d\d:\d\d"))
    expect(row.locator("[data-field=lag]")).to_have_text(re.compile(r" m?s$"))
    expect(row.locator("[data-field=dead]")).to_have_text("0 · 0")
    expect(page.locator("#queries tr[data-name=counts] [data-field=state]")).to_have_text("running")
    expect(page.locator("#queries tr[data-name=counts] .badge")).to_have_text("C-SPARQL")
    expect(page.locator("#queries tr[data-name=said] .badge")).to_have_text("CQELS-QL")
    expect(page.locator("#streams tr[data-name=told] .badge")).to_have_text("derived")
    expect(page.locator("#health")).to_have_text("live")
    moves(page, "#streams tr[data-name=tolls] canvas")
    until(page, f"selector => ({NUMBER})(selector) > 1", "#tiles [data-field=rate]")


def test_a_query_is_written_mended_tried_and_registered(page: Page, site: Site) -> None:
    page.goto("/new")
    until(page, "() => fetch('/counts/answers').then(r => r.json()).then(r => r.last > 0)")  # there is life
    editor, problem = page.locator("#editor"), page.locator("#problem")
    editor.fill(WRONG)
    line = WRONG[: WRONG.index("?oops")].count("\n") + 1
    column = WRONG.index("?oops") - WRONG.rindex("\n", 0, WRONG.index("?oops"))
    expect(problem).to_contain_text(f"line {line}, column {column}")
    expect(page.locator(".editor .mistake")).to_have_text("?oops")
    # The underlined word lies under the same word of the field.
    assert page.locator(".editor code").inner_text().rstrip("\n") == WRONG
    problem.locator("button").click()
    selected = "editor => editor.value.slice(editor.selectionStart, editor.selectionEnd)"
    assert editor.evaluate(selected) == "?oops"
    expect(page.locator("#name")).to_have_value("mine")  # as the text says
    page.click("#register")
    expect(problem).to_be_visible()
    assert page.url.endswith("/new")
    assert "mine" not in site.host.queries
    editor.fill(RIGHT)
    expect(page.locator("#checked")).to_contain_text("no mistake")
    expect(problem).to_be_hidden()
    page.click("#try")
    expect(page.locator("#trial tbody tr").first).to_contain_text("gate")
    assert "mine" not in site.host.queries
    page.click("#register")
    page.wait_for_url("**/page/mine")
    # Its answers come, and the chart has found what to draw: a line for each gate.
    expect(page.locator("#answers tbody tr").first).to_contain_text("gate")
    expect(page.locator("#value")).to_have_value("cars")
    expect(page.locator("#key")).to_have_value("gate")
    expect(page.locator("#plot .u-legend")).to_contain_text("gate2")
    moves(page, "#plot canvas")
    expect(page.locator("#plan")).to_contain_text("C-SPARQL")
    expect(page.locator("#text .t-streaming").first).to_have_text("REGISTER")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#delete")
    page.wait_for_url(site.base + "/")
    assert "mine" not in site.host.queries


MAPPING = """\
PREFIX : <http://ex/>
CONSTRUCT { ?sensor :temperature ?temperature }
WHERE { BIND(IRI(CONCAT("http://ex/sensor/", STR(?id))) AS ?sensor) }"""


def test_a_stream_is_made_after_its_mapping_was_tried(page: Page, site: Site) -> None:
    page.goto("/")
    page.click("text=New stream")
    page.wait_for_url("**/new-stream")
    page.fill("#name", "rooms")
    page.fill("#mapping", MAPPING.replace("BIND(", "BIND"))
    page.fill("#time", "field:at")
    page.fill("#records", f'{{"id": 7, "temperature": "{SCRIPT}", "at": "2026-01-01T00:00:05Z"}}')
    page.click("#preview")
    expect(page.locator("#problem")).to_contain_text("line 3, column")
    page.fill("#mapping", MAPPING)
    page.click("#preview")
    expect(page.locator("#elements")).to_contain_text(
        f'<http://ex/sensor/7> <http://ex/temperature> "{SCRIPT}"'
    )
    expect(page.locator("#count")).to_have_text("1 element")
    expect(page.locator("#problem")).to_be_hidden()
    page.fill("#records", '{"id": 7, "temperature": 21.5}')
    page.click("#preview")
    expect(page.locator("#bad")).to_contain_text("record 1")
    assert "rooms" not in site.host.streams
    page.click("#make")
    page.wait_for_url("**/page/rooms")
    assert site.host.streams["rooms"].described == {"mapping": MAPPING, "time": "field:at"}
    site.host.delete_stream("rooms")


def test_the_text_at_the_click_is_registered(page: Page, site: Site) -> None:
    page.goto("/new")
    page.fill("#editor", WRONG)
    expect(page.locator("#name")).to_have_value("mine")
    with page.expect_request(lambda request: request.method == "PUT") as sent:
        page.evaluate(
            """(text) => {
              const editor = document.getElementById("editor");
              document.getElementById("register").click();
              editor.value = text;
              editor.dispatchEvent(new Event("input"));
            }""",
            RIGHT,
        )
    assert sent.value.post_data == WRONG
    expect(page.locator("#checked")).to_contain_text("no mistake")
    expect(page.locator("#problem")).to_be_hidden()
    assert page.url.endswith("/new")
    assert "mine" not in site.host.queries


def test_examples_can_be_loaded(page: Page) -> None:
    page.goto("/new")
    page.wait_for_selector("#example option:nth-child(2)", state="attached")
    page.select_option("#example", label="how many of each predicate")
    expect(page.locator("#editor")).to_have_value(re.compile("FROM STREAM <tolls>"))
    expect(page.locator("#checked")).to_contain_text("no mistake")
    page.goto("/new?from=counts")
    expect(page.locator("#editor")).to_have_value(COUNTS)
    expect(page.locator("#name")).to_have_value("counts")


def test_a_query_is_stopped_and_started(page: Page, site: Site) -> None:
    page.goto("/page/counts")
    state, button = page.locator("#state"), page.locator("#run")
    expect(state).to_have_text("running")
    button.click()
    expect(state).to_have_text("stopped")
    expect(button).to_have_text("Start")
    assert not site.host.queries["counts"].kept.running
    button.click()
    expect(state).to_have_text("running")
    before = site.host.answers.last("counts")
    until(page, "before => fetch('/counts/answers').then(r => r.json()).then(r => r.last > before)", before)
    page.click("#pause")
    expect(page.locator("#count")).to_contain_text("waiting")


@pytest.mark.slow
def test_a_stream_and_a_moment_of_it(page: Page) -> None:
    page.goto("/page/tolls")
    grows(page, "#numbers div:nth-child(5) strong")
    moves(page, "#rates canvas")
    first = page.locator("#window tbody a").first
    expect(first).to_have_attribute("href", re.compile(r"^/tolls/20\d\d-"))
    expect(page.locator("#window tbody tr").first).to_contain_text("registers")
    latest = first.inner_text()
    # The window moves.
    until(page, "before => document.querySelector('#window tbody a').textContent !== before", latest)
    link = page.locator("#window tbody a[href*='/tolls/20']").first
    name = link.inner_text()
    link.click()
    expect(page.locator("h1")).to_contain_text(name)
    expect(page.locator("table")).to_contain_text("registers")
    page.goto("/page/tolls")
    page.fill("form[data-kind=physical] input", "5")
    page.click("form[data-kind=physical] button")
    page.wait_for_url("**/page/tolls/physical/5")
    expect(page.locator("#window")).to_contain_text("5 triples")
    page.get_by_text("10 s, every second").click()
    page.wait_for_url("**/logical/PT10S/PT1S")
    expect(page.locator("#window tbody tr").first).to_contain_text("registers")


def test_a_moment_that_is_gone_has_a_page_that_says_so(page: Page) -> None:
    response = page.goto("/tolls/2001-01-01T00%3A00%3A00Z")
    assert response is not None
    assert response.status == 404
    expect(page.locator("h1")).to_have_text("There is no such moment")


@pytest.mark.parametrize("path", ["/", "/page/talk", "/page/said", "/page/told", "/new?from=said", "moment"])
def test_hostile_terms_do_no_harm(page: Page, path: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a page said {dialog.message}"))
    page.goto("/page/talk" if path == "moment" else path)
    if path == "moment":
        page.locator("#window tbody a[href*='/talk/20']").first.click()
    body = page.locator("body")
    if path == "/":
        grows(page, "#queries tr[data-name=said] [data-field=rows]")
    elif path == "/new?from=said":
        expect(page.locator(".editor code")).to_contain_text(SCRIPT)
    else:
        expect(body).to_contain_text(SCRIPT)
    if path in ("/page/talk", "/page/said", "/page/told", "moment"):
        expect(body).to_contain_text(IMAGE)
        page.locator("td", has_text="onmouseover").first.hover()
    if path == "/page/said":
        page.select_option("#key", "what")  # hostile names of lines, too
        expect(page.locator("#plot .u-legend")).to_contain_text("<script>")
        expect(page.locator("#text")).to_contain_text(SCRIPT)
    assert page.evaluate("window.harmed") is None
    assert page.locator("main script, main img, [onmouseover], [onerror]").count() == 0
    hrefs = page.eval_on_selector_all("a", "links => links.map(link => link.href)")
    assert not [href for href in hrefs if not href.startswith("http")]
    assert ADDRESS not in hrefs
    assert QUOTES.startswith("http")  # so that it may be a link, and is one


def test_intervals_have_a_timeline(page: Page) -> None:
    page.goto("/page/counts")
    page.evaluate(
        """async (hostile) => {
          const { Timeline } = await import("/static/timeline.js");
          const place = document.getElementById("timeline");
          const { Colours } = await import("/static/colours.js");
          const section = document.getElementById("intervals");
          const timeline = new Timeline(section, place, new Colours(), () => null);
          const time = (second) => `2026-01-01T00:00:${second}Z`;
          const answer = (id, from, to) => ({
            id, at: time(to), start: time(from), end: time(to),
            row: { x: { type: "literal", value: hostile } },
          });
          const found = [["01", "30"], ["10", "40"], ["41", "59"], ["50", "50"]];
          timeline.add(found.map(([from, to], id) => answer(id, from, to)));
        }""",
        SCRIPT,
    )
    bars = page.locator("#timeline rect")
    expect(bars).to_have_count(4)
    # All at once: what is above them may move.
    boxes = bars.evaluate_all("found => found.map((bar) => bar.getBoundingClientRect().toJSON())")
    tops = [round(box["y"]) for box in boxes]
    assert tops[0] != tops[1]  # these two overlap, so they are in different lanes
    assert tops[2] == tops[0]  # and this one begins when the first has ended
    widths = [box["width"] for box in boxes]
    assert widths[0] / widths[1] == pytest.approx(29 / 30, abs=0.01)
    assert 0 < widths[3] < 10
    expect(bars.first.locator("title")).to_contain_text(SCRIPT)
    assert page.evaluate("window.harmed") is None


def test_a_page_asks_for_the_token(browser: Browser, tmp_path: Path) -> None:
    with served(Config(port=0, state=tmp_path, token="a-long-secret")) as host:
        context = browser.new_context(base_url=host.base)
        page = context.new_page()
        asked: list[str] = []

        def answer(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept("a-long-secret")

        page.on("dialog", answer)
        page.goto("/new")
        page.fill("#editor", COUNTS)
        page.wait_for_timeout(1500)
        assert not asked  # checking by itself does not bother anybody
        expect(page.locator("#problem")).to_be_hidden()
        page.click("#try")
        expect(page.locator("#problem")).to_contain_text("tolls")  # the server has no such stream
        assert len(asked) == 1
        page.fill("#editor", COUNTS.replace("SELECT", "SELEKT"))
        expect(page.locator(".mistake")).to_have_text("SELEKT")  # and now it is checked
        assert len(asked) == 1
        assert "a-long-secret" not in page.content()
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_a_phone_light_and_dark(browser: Browser, site: Site, scheme: str) -> None:
    context = browser.new_context(
        base_url=site.base, viewport={"width": 390, "height": 844}, color_scheme=scheme, is_mobile=True
    )  # type: ignore[arg-type]
    page = context.new_page()
    for path in ("/", "/page/counts", "/page/said", "/page/tolls", "/new?from=counts"):
        page.goto(path)
        page.wait_for_timeout(700)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, path
        back = page.evaluate("getComputedStyle(document.body).backgroundColor")
        brightness = sum(map(int, re.findall(r"\d+", back)[:3]))
        assert (brightness > 600) == (scheme == "light")
    page.goto("/")
    page.click("#theme")
    other = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", other)[:3])) > 600) == (scheme == "dark")
    context.close()


def test_answers_come_over_a_websocket(page: Page, site: Site) -> None:
    """A script of a page of this server may open one; it goes on where another one has ended."""
    page.goto("/")
    listen = """after => new Promise((resolve, reject) => {
        const found = [];
        const socket = new WebSocket(`ws://${location.host}/counts/ws${after ? "?after=" + after : ""}`);
        socket.onmessage = event => {
            found.push(JSON.parse(event.data));
            if (found.length == 3) { socket.close(); resolve(found); }
        };
        socket.onerror = () => reject(new Error("it was refused"));
    })"""
    first = page.evaluate(listen, 0)
    assert {answer["query"] for answer in first} == {"counts"}
    assert all(int(answer["row"]["cars"]["value"]) > 0 for answer in first)
    again = page.evaluate(listen, first[0]["id"])
    assert again[:2] == first[1:]
