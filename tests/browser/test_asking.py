"""The pages on which somebody asks once, adds data, and sees what flows where."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from rheos.server.config import Config
from rheos.server.serve import served
from tests.browser.conftest import COUNTS, PATIENCE, SCRIPT, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Dialog, Locator, Page, Route

expect.set_options(timeout=PATIENCE)

TURTLE = """@prefix : <http://ex/> .
:gate0 :in :north ; :lat 45.4 ; :long 9.1 . :gate1 :in :south ; :lat 45.5 ; :long 9.2 ."""


@pytest.fixture
def known(site: Site) -> None:
    """Static data about the gates."""
    site.host.engine.load(data=TURTLE, format="turtle")


@pytest.mark.usefixtures("known")
def test_a_query_is_asked_once(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Ask").click()
    page.wait_for_url("**/sparql")
    page.fill("#editor", "PREFIX : <http://ex/> SELEKT * { ?gate :in ?district }")
    page.click("#ask")
    expect(page.locator("#problem")).to_contain_text("line 1, column")
    expect(page.locator(".mistake")).to_have_text("SELEKT")
    page.fill("#editor", "PREFIX : <http://ex/> SELECT * { ?gate :in ?district } ORDER BY ?gate")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#shown tbody tr")).to_have_count(2)
    expect(page.locator("#shown thead th").first).to_have_text("gate")
    expect(page.locator("#shown tbody tr").first).to_have_text("gate0north")
    expect(page.locator("#told")).to_contain_text("2 rows in")
    expect(page.locator("#problem")).to_be_hidden()
    page.get_by_role("tab", name="JSON").click()
    told = json.loads(page.locator("#shown pre").inner_text())
    assert told["head"]["vars"] == ["gate", "district"]
    page.select_option("#format", "CSV")
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "answer.csv"
    text = Path(download.value.path()).read_text()
    assert text.splitlines() == [
        "gate,district",
        "http://ex/gate0,http://ex/north",
        "http://ex/gate1,http://ex/south",
    ]


@pytest.mark.usefixtures("known")
def test_an_answer_can_be_a_boolean_a_graph_and_a_map(page: Page) -> None:
    page.goto("/sparql")
    page.fill("#editor", "ASK {}")
    page.click("#ask")
    expect(page.locator("#shown")).to_have_text("yes")
    page.fill("#editor", "PREFIX : <http://ex/> CONSTRUCT WHERE { ?gate :in ?district }")
    page.click("#ask")
    expect(page.locator("#shown tbody tr")).to_have_count(2)
    page.get_by_role("tab", name="Graph").click()
    expect(page.locator("#shown rect.node")).to_have_count(4)
    page.get_by_role("tab", name="JSON").click()
    expect(page.locator("#shown pre")).to_contain_text('"@id": "http://ex/gate0"')
    page.select_option("#format", "Turtle")
    with page.expect_download() as download:
        page.click("#download")
    assert download.value.suggested_filename == "answer.ttl"
    page.fill("#editor", "PREFIX : <http://ex/> SELECT * { ?gate :lat ?lat ; :long ?long }")
    page.click("#ask")
    page.get_by_role("tab", name="Map").click()
    expect(page.locator("#shown circle.place")).to_have_count(2)


@pytest.mark.usefixtures("known")
def test_what_windows_hold_now_is_asked_beside_static_data(page: Page, site: Site) -> None:
    page.goto("/page/tolls")
    expect(page.locator("#window tbody tr").first).to_contain_text("registers")
    page.goto("/sparql")
    expect(page.locator("td code", has_text=f"{site.base}/tolls")).to_be_visible()
    joined = "SELECT DISTINCT ?gate ?district { GRAPH <tolls> { ?gate :registers ?car } ?gate :in ?district }"
    page.fill("#editor", f"PREFIX : <http://ex/> {joined} ORDER BY ?gate")
    page.click("#ask")
    expect(page.locator("#shown tbody tr").first).to_have_text("gate0north")
    # The examples have one for each stream, and it is answered at once.
    page.select_option("#example", label="talk")
    expect(page.locator("#shown tbody")).to_contain_text("says")


def test_each_kind_of_query_has_its_page(page: Page) -> None:
    page.goto("/new")
    expect(page.locator("#dialect option")).to_have_text(
        ["by its words", "C-SPARQL", "CQELS-QL", "EP-SPARQL", "RSP-QL"], use_inner_text=False
    )
    page.fill("#editor", "SELECT * { ?s ?p ?o } LIMIT 3")
    expect(page.locator("#once")).to_be_visible()
    page.click("#once a")
    page.wait_for_url("**/sparql")
    expect(page.locator("#editor")).to_have_value("SELECT * { ?s ?p ?o } LIMIT 3")
    page.fill("#editor", COUNTS)
    page.click("#ask")
    expect(page.locator("#lasting")).to_be_visible()
    page.click("#lasting a")
    page.wait_for_url("**/new")
    expect(page.locator("#editor")).to_have_value(COUNTS)
    expect(page.locator("#checked")).to_contain_text("no mistake")
    expect(page.locator("#once")).to_be_hidden()


def test_static_data_is_added_pasted_and_from_a_file(page: Page, site: Site, tmp_path: Path) -> None:
    page.goto("/")
    page.click("text=Add data")
    page.wait_for_url("**/new-data")
    page.fill("#text", "@prefix : <http://ex/> . :a :p")
    page.fill("#graph", "http://ex/pasted")
    page.click("#add")
    expect(page.locator("#problem")).to_be_visible()
    page.fill("#text", "@prefix : <http://ex/> . :a :p 1 , 2 .")
    page.click("#add")
    expect(page.locator("#told")).to_have_text("2 triples have changed")
    row = page.locator("#graphs tr", has_text="http://ex/pasted")
    expect(row).to_contain_text("2")
    file = tmp_path / "more.nt"
    file.write_text("<http://ex/a> <http://ex/p> <http://ex/file> .\n")
    page.set_input_files("#file", file)
    expect(page.locator("#text")).to_have_value(file.read_text())
    expect(page.locator("#format")).to_have_value("application/n-triples")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#replace")
    expect(page.locator("#told")).to_contain_text("changed")
    expect(row).to_contain_text("1")
    asked = "SELECT ?o { GRAPH <http://ex/pasted> { ?s ?p ?o } }"
    assert site.host.engine.query(asked).arrow.to_pylist() == [{"o": "<http://ex/file>"}]
    row.get_by_role("button", name="Drop").click()
    expect(row).to_have_count(0)


def test_a_page_of_data_asks_for_the_token_once(browser: Browser, tmp_path: Path) -> None:
    with served(Config(port=0, state=tmp_path, token="a-long-secret")) as host:
        context = browser.new_context(base_url=host.base)
        page = context.new_page()
        asked: list[str] = []

        def answer(dialog: Dialog) -> None:
            asked.append(dialog.message)
            dialog.accept("a-long-secret")

        page.on("dialog", answer)
        page.goto("/new-data")
        page.fill("#text", "<http://ex/a> <http://ex/p> 1 .")
        page.click("#add")
        expect(page.locator("#told")).to_have_text("1 triple has changed")
        page.fill("#text", "<http://ex/a> <http://ex/p> 2 .")
        page.click("#add")
        expect(page.locator("#graphs tbody")).to_contain_text("2")
        page.goto("/sparql")
        page.fill("#editor", "SELECT * { ?s ?p ?o }")
        page.click("#ask")  # which needs none
        expect(page.locator("#shown tbody tr")).to_have_count(2)
        assert len(asked) == 1
        context.close()


def test_records_of_a_file_are_previewed_and_pushed(page: Page, site: Site, tmp_path: Path) -> None:
    file = tmp_path / "rooms.csv"
    file.write_text(f'id,temperature,at\n7,"{SCRIPT}",2026-01-01T00:00:05Z\n8,19,2026-01-01T00:00:06Z\n')
    page.goto("/new-stream")
    page.fill("#name", "measured")
    page.fill(
        "#mapping",
        "PREFIX : <http://ex/> CONSTRUCT { ?room :temperature ?temperature }"
        ' WHERE { BIND(IRI(CONCAT("http://ex/room/", STR(?id))) AS ?room) }',
    )
    page.fill("#time", "field:at")
    page.set_input_files("#file", file)
    expect(page.locator("#format")).to_have_value("csv")
    page.click("#preview")
    expect(page.locator("#count")).to_have_text("2 elements")
    expect(page.locator("#elements")).to_contain_text("http://ex/room/8")
    page.check("#push")
    page.click("#make")
    page.wait_for_url("**/page/measured")
    log = site.host.streams["measured"].log
    assert log is not None
    assert log.position > 0
    site.host.delete_stream("measured")


def test_the_flow_shows_what_goes_where(page: Page) -> None:
    page.goto("/")
    page.get_by_role("link", name="Flow").click()
    page.wait_for_url("**/flow")

    def box(name: str, kind: str) -> Locator:
        return page.locator(f"#flow a:has(rect.{kind})", has_text=re.compile(f"^{name}"))

    expect(box("tolls", "push")).to_have_attribute("href", "/page/tolls")
    expect(box("counts", "query")).to_have_attribute("href", "/page/counts")
    expect(box("told", "derived")).to_have_attribute("href", "/page/told")
    # A line for each stream that a query reads, and one from the query to the stream that it makes.
    expect(page.locator("#flow path.line")).to_have_count(4)
    expect(page.locator("#flow path.flows").first).to_be_attached()
    expect(box("tolls", "push").locator(".says")).to_have_text(re.compile(r"[1-9][\d.]*/s .* behind"))
    expect(box("tolls", "push").locator(".lamp.good, .lamp.warn, .lamp.bad")).to_be_visible()
    # What is made is right of what it is made of.
    left = [
        box(name, kind).bounding_box()
        for name, kind in (("talk", "push"), ("told", "query"), ("told", "derived"))
    ]
    places = [place["x"] for place in left if place]
    assert places == sorted(places)
    assert len(set(places)) == 3
    row = page.locator("#work tbody tr", has=page.get_by_role("rowheader", name="told"))
    expect(row).to_contain_text("talk")
    expect(row).to_contain_text("the stream told")
    expect(page.locator("#work tbody tr").first).to_contain_text(socket.gethostname())
    expect(page.locator("#work tbody tr").first.locator("td").nth(6)).to_have_text("1")


def told(page: Page, path: str, change: Any) -> None:
    """Have the page told something else than the server says."""

    def answer(route: Route) -> None:
        reply = route.fetch()
        found = reply.json()
        change(found)
        route.fulfill(json=found)

    page.route(path, answer)


@pytest.mark.parametrize(
    ("lag", "kind", "lamp"),
    [(0.4, "", "good"), (7, "warned", "warn"), (45, "failed", "bad"), (1e7, "", "far")],
)
def test_lag_is_amber_and_red(page: Page, lag: float, kind: str, lamp: str) -> None:
    told(
        page,
        "**/streams",
        lambda found: [stream.update(lag=lag) for stream in found["streams"] if "lag" in stream],
    )
    for path, place in (
        ("/", "#streams tr[data-name=tolls] [data-field=lag]"),
        ("/page/tolls", "#numbers div:nth-child(3) strong"),
    ):
        page.goto(path)
        expect(page.locator(place)).to_have_text(re.compile(r"\d"))
        classes = page.locator(place).get_attribute("class") or ""
        assert {name for name in ("warned", "failed") if name in classes.split()} == {kind} - {""}
    page.goto("/flow")
    expect(page.locator(f"#flow a:has(rect.push) .lamp.{lamp}").first).to_be_visible()


@pytest.mark.parametrize(
    ("health", "state", "text"),
    [
        ({"status": "ok"}, "ok", "live"),
        ({"status": "ok", "behind": 2.5}, "degraded", "2.5 s behind"),
        ({"status": "ok", "behind": 9}, "failing", "9 s behind"),
        ({"status": "degraded", "queries": {"a": "b"}}, "degraded", "degraded"),
        ({"status": "failing", "detail": "why"}, "failing", "failing"),
    ],
)
def test_live_is_green_only_when_it_is(page: Page, health: dict[str, object], state: str, text: str) -> None:
    page.route("**/health", lambda route: route.fulfill(json=health))
    page.goto("/")
    expect(page.locator("#health")).to_have_text(text)
    expect(page.locator("#health")).to_have_attribute("data-state", state)
    green = page.evaluate(
        "getComputedStyle(document.getElementById('health'), '::before').backgroundColor"
        " === (() => { const one = document.createElement('i'); one.style.color = 'var(--good)';"
        " document.body.append(one); return getComputedStyle(one).color; })()"
    )
    assert green == (text == "live")


def test_a_phone_shows_the_first_of_a_list(browser: Browser, site: Site) -> None:
    context = browser.new_context(base_url=site.base, viewport={"width": 390, "height": 844}, is_mobile=True)
    page = context.new_page()
    page.goto("/page/tolls")
    rows = page.locator("#window tbody tr")
    expect(rows.nth(5)).to_be_attached()
    assert [rows.nth(place).is_visible() for place in (0, 3, 4)] == [True, True, False]
    assert page.evaluate("document.documentElement.scrollHeight") < 3000
    page.click("#window button.all")
    expect(rows.nth(5)).to_be_visible()
    page.wait_for_timeout(3000)  # the window is shown anew, and the list stays open
    expect(rows.nth(5)).to_be_visible()
    context.close()


def test_the_choice_of_a_window_is_above_it(page: Page) -> None:
    page.goto("/page/tolls")
    tops = [page.locator(place).bounding_box() for place in ("nav.choices", "#window")]
    choice, window = (top["y"] for top in tops if top)
    assert choice < window


def test_the_keyboard_gets_past_the_menu(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
