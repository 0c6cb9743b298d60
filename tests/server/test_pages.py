"""The text of pages: everything is escaped, and everything that a page needs is in the package."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pyarrow as pa
import pytest
from jinja2 import UndefinedError

import rheos
from rheos.server import pages
from rheos.server.pages import streams
from rheos.server.pages.overview import flow, overview
from rheos.server.pages.queries import new, query, sparql
from rheos.server.pages.rendering import clock, failure, render
from rheos.server.pages.streams import moment, seen, stream
from rheos.server.pages.terms import shown
from rheos.server.views import Content

STATIC = Path(pages.__file__).parent / "static"
TEMPLATES = Path(pages.__file__).parent / "templates"
SCRIPT = "<script>alert(1)</script>"
BREAK = '"><b'


def test_texts_and_attributes_are_escaped() -> None:
    triple = (f"<http://ex/{SCRIPT}>", f"<{BREAK}>", f'"{SCRIPT}"@en{BREAK}')
    held = Content(0, pa.table({"s": [SCRIPT]}))
    held.__dict__["moments"] = {0: [triple]}
    pages = {
        "overview": overview([(SCRIPT, BREAK)], [(BREAK, "sparql")]),
        "query": query(SCRIPT, SCRIPT, "sparql", seen(BREAK, f"physical/{BREAK}", held)),
        "new": new([(SCRIPT, SCRIPT), (BREAK, BREAK)], [BREAK, SCRIPT]),
        "sparql": sparql([(SCRIPT, SCRIPT), (BREAK, BREAK)]),
        "new-stream": streams.new([SCRIPT, BREAK]),
        "new-data": streams.new_data({SCRIPT: BREAK, BREAK: SCRIPT}),
        "flow": flow(),
        "stream": stream(SCRIPT, BREAK, f"physical/{BREAK}", held),
        "moment": moment(SCRIPT, 0, [triple], SCRIPT, {SCRIPT: BREAK}),
        "problem": failure(SCRIPT, SCRIPT),
    }
    for name, page in pages.items():
        assert "<script>alert" not in page, name
        assert '"><b' not in page, name
        assert "&lt;script&gt;" in page or name == "flow", name  # which has no values
    assert {file.stem for file in TEMPLATES.glob("*.html")} == {*pages, "base", "parts", "window"}


def test_templates_have_no_way_around_escaping() -> None:
    for file in TEMPLATES.glob("*.html"):
        assert not re.search(r"\|\s*safe|autoescape|xmlattr|Markup", file.read_text()), file
        # A value in an attribute without quotation marks could begin another attribute.
        assert not re.search(r"\s[\w-]+=\{\{", file.read_text()), file


def test_a_value_that_a_template_does_not_get_is_an_error() -> None:
    with pytest.raises(UndefinedError, match="'detail' is undefined"):
        render("problem", title="x")


@pytest.mark.parametrize(
    ("term", "text", "linked"),
    [
        ("<http://ex.org/a#b>", "b", True),
        ("<https://ex.org/path/>", "path/", True),
        ("<javascript:alert(1)>", "alert(1)", False),
        ("<data:text/html,hi>", "html,hi", False),
        ("<JavaScript:alert(1)//http://ex.org/a>", "a", False),
        ("_:b0", "_:b0", False),
        ('"5"^^<http://www.w3.org/2001/XMLSchema#integer>', "5", False),
        ('"chat"@fr', "chat@fr", False),
        ('"a"b"', 'a"b', False),
    ],
)
def test_terms_are_short_and_only_the_web_is_linked(term: str, text: str, linked: bool) -> None:
    made = shown(term)
    assert made.text + made.language == text
    assert bool(made.href) == linked
    page = moment("s", 0, [(term, "<urn:p>", "_:o")], "http://h/", {})
    cell = page.partition("<tbody>")[2].partition("<td>")[2].partition("</td>")[0]
    assert re.sub(r"<[^>]*>", "", cell).replace("&#34;", '"') == text
    assert ("<a " in cell) == linked
    assert ("http://ex.org/a#b" in cell) == (term == "<http://ex.org/a#b>")


def test_pages_load_nothing_from_elsewhere(plain: httpx.Client) -> None:
    for path in ("/", "/flow", "/sparql", "/new", "/new-stream", "/new-data", "/page/nothing"):
        response = plain.get(path, headers={"Accept": "text/html"})
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "<script>" not in response.text
        assert not re.search(r"\son\w+=|style=", response.text)
        for file in re.findall(r'(?:src|href)="(/static/[^"]*)"', response.text):
            assert plain.get(file).status_code == 200, file
    for file in STATIC.glob("*.js"):
        text = file.read_text()
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text), file
        for imported in re.findall(r'from "\./([^"]*)"', text):
            assert (STATIC / imported).is_file()
    assert not re.search(r"url\(|@import", (STATIC / "rheos.css").read_text())


def test_uplot_comes_with_its_licence(plain: httpx.Client) -> None:
    assert "MIT License" in plain.get("/static/uplot/LICENSE").text
    assert "uPlot" in plain.get("/static/uplot/uPlot.iife.min.js").text[:200]


def test_scripts_of_an_older_version_are_not_used(plain: httpx.Client) -> None:
    first = plain.get("/static/common.js")
    assert first.headers["cache-control"] == "no-cache"
    again = plain.get("/static/common.js", headers={"If-None-Match": first.headers["etag"]})
    assert again.status_code == 304


def test_problems_are_pages_for_those_who_want_pages(plain: httpx.Client) -> None:
    browser = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    shown = plain.get("/page/nothing", headers=browser)
    assert (shown.status_code, shown.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "There is no stream nothing" in shown.text
    assert plain.get("/page/nothing").headers["content-type"] == "application/problem+json"


BROWSER = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}


def test_every_page_has_a_title_of_its_own_and_a_way_past_the_menu(plain: httpx.Client) -> None:
    titles = set()
    paths = ("/", "/flow", "/sparql", "/new", "/new-stream", "/new-data", "/page/nothing")
    for path in paths:
        text = plain.get(path, headers=BROWSER).text
        titles.add(re.findall(r"<title>(.*)</title>", text)[0])
        assert '<a class="skip" href="#main">' in text
        assert '<main id="main"' in text
        assert not re.search(r"<th(?![^>]*scope=)", text.replace("<thead>", ""))
    assert len(titles) == len(paths)
    assert all(title.endswith(" · rheos") for title in titles)


def test_sparql_without_a_query_is_a_page_for_browsers_only(plain: httpx.Client) -> None:
    page = plain.get("/sparql", headers=BROWSER)
    assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "Accept" in page.headers["vary"]
    assert 'id="editor"' in page.text
    for accept in ("*/*", "application/sparql-results+json", "application/json, text/html;q=0.1"):
        refused = plain.get("/sparql", headers={"Accept": accept})
        assert (refused.status_code, refused.json()["title"]) == (400, "This is no operation of SPARQL")
    asked = plain.get("/sparql", params={"query": "ASK {}"}, headers={**BROWSER, "Accept": "*/*"})
    assert asked.json()["boolean"] is True


def test_the_editor_offers_only_what_can_run_on(plain: httpx.Client) -> None:
    text = plain.get("/new", headers=BROWSER).text
    offered = re.findall(r'<option value="(\w*)">', text)
    assert {"auto", "csparql", "cqels", "epsparql", "rspql"} <= {*offered}
    assert "sparql" not in offered
    assert 'href="/sparql"' in text
    assert {example["dialect"] for example in EXAMPLES} <= {*offered}


def test_times_are_short_and_whole_on_hover() -> None:
    held = Content(0, pa.table({"s": ["<a>"]}))
    held.__dict__["moments"] = {1_500_000: [("<http://ex/a>", "<http://ex/p>", '"1"')]}
    page = stream("tolls", "pushed", "physical/100", held)
    assert (
        '<time datetime="1970-01-01T00:00:01.5Z" title="1970-01-01T00:00:01.5Z">1970-01-01 00:00:01<' in page
    )
    today = datetime.now(UTC).date().isoformat()
    assert clock(f"{today}T12:03:41.123456Z") == "12:03:41"


EXAMPLES = json.loads((STATIC / "examples.json").read_text())


@pytest.mark.parametrize("example", EXAMPLES, ids=[example["title"] for example in EXAMPLES])
def test_examples_of_the_editor_are_right(example: dict[str, str | list[str]]) -> None:
    tree = rheos.parse("\n".join(example["text"]).replace("{stream}", "tolls"), base="http://ex/")
    assert tree.is_continuous
