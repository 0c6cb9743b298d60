"""What is drawn on the pages, with data of our own: lines that break, colours that stay, maps and graphs."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE, SCRIPT, Site

if TYPE_CHECKING:
    from playwright.sync_api import Page

expect.set_options(timeout=PATIENCE)

COLUMNS = """async lines => {
    const { columns } = await import("/static/gaps.js");
    const { data, alone } = columns(lines.map(line => new Map(line)));
    const said = value => value === undefined ? "on" : value;
    return { times: data[0], lines: data.slice(1).map(line => line.map(said)), alone };
}"""


def literal(value: object, datatype: str = "string") -> dict[str, str]:
    datatype = f"http://www.w3.org/2001/XMLSchema#{datatype}"
    return {"type": "literal", "value": str(value), "datatype": datatype}


def iri(name: str) -> dict[str, str]:
    return {"type": "uri", "value": f"http://ex/{name}"}


def columns(page: Page, *lines: list[list[float]]) -> dict[str, Any]:
    page.goto("/new")
    found: dict[str, Any] = page.evaluate(COLUMNS, list(lines))
    return found


def test_a_line_breaks_where_its_values_are_far_apart(page: Page) -> None:
    found = columns(page, [[0, 5], [1, 6], [2, 7], [20, 8], [40, 9], [41, 9]])
    assert found["times"] == [0, 1, 2, 11, 20, 30, 40, 41]
    assert found["lines"] == [[5, 6, 7, None, 8, None, 9, 9]]
    assert found["alone"] == [[4]]  # a dot, to which no line goes


def test_a_line_goes_on_where_only_others_have_values(page: Page) -> None:
    found = columns(page, [[0, 1], [2, 1], [4, 1]], [[1, 2], [3, 2], [5, 2]])
    assert found["lines"] == [[1, "on", 1, "on", 1, "on"], ["on", 2, "on", 2, "on", 2]]
    assert found["alone"] == [[], []]


def test_a_line_is_broken_at_all_that_others_have_in_its_gap(page: Page) -> None:
    found = columns(page, [[0, 1], [1, 1], [9, 1], [10, 1]], [[3, 2], [4, 2], [6, 2]])
    assert found["times"] == [0, 1, 3, 4, 5, 6, 9, 10]
    assert found["lines"][0] == [1, 1, None, None, None, None, 1, 1]
    assert found["lines"][1] == ["on", "on", 2, 2, "on", 2, "on", "on"]


@pytest.mark.parametrize("line", [[[7, 1]], [[7, 1], [900, 2]]])
def test_isolated_values_are_dots(page: Page, line: list[list[float]]) -> None:
    found = columns(page, line)
    assert [found["lines"][0][place] for place in found["alone"][0]] == [value for _, value in line]


def test_a_single_moment_has_an_axis_with_different_times(page: Page) -> None:
    page.goto("/page/counts")
    shown = page.evaluate(
        """async () => {
            const { range, timeOf, axes } = await import("/static/axes.js");
            const [low, high] = range(null, 1000, 1000);
            const steps = [0, 0.25, 0.5, 0.75, 1].map(part => low + part * (high - low));
            return { low, high, times: axes()[0].values(null, steps, 0, 90, steps[1] - steps[0]),
                     fine: [timeOf(1000.25, 0.25), timeOf(1000.5, 0.25)] };
        }"""
    )
    assert shown["low"] < 1000 < shown["high"]
    assert shown["high"] - shown["low"] >= 10
    assert len(set(shown["times"])) == 5
    assert shown["fine"] == ["00:16:40.250", "00:16:40.500"]


TIMELINE = """async answers => {
    const { Timeline } = await import("/static/timeline.js");
    const { Colours } = await import("/static/colours.js");
    const place = document.getElementById("timeline");
    const colours = new Colours();
    ["first", "second"].forEach(name => colours.number(name)); // what the chart has drawn before
    window.colours = colours;
    const timeline = new Timeline(document.getElementById("intervals"), place, colours, () => "who");
    timeline.add(answers);
}"""


def interval(number: int, begin: str, end: str, who: str) -> dict[str, object]:
    at = "2026-01-01T00:00:{}Z".format
    return {"id": number, "at": at(end), "start": at(begin), "end": at(end), "row": {"who": literal(who)}}


def test_intervals_that_are_nearly_the_same_are_one_bar(page: Page) -> None:
    page.goto("/page/said")
    tower = [interval(turn, "10.00", f"20.0{turn}", "first") for turn in range(8)]
    page.wait_for_selector("#intervals .legend", state="attached")  # that of the page itself
    page.evaluate(
        "document.querySelectorAll('#intervals .legend, #intervals .bundle').forEach(one => one.remove())"
    )
    page.evaluate(
        TIMELINE, [*tower, interval(8, "10.00", "20.01", SCRIPT), interval(9, "40.00", "59", "second")]
    )
    bars = page.locator("#timeline rect.bar")
    expect(bars).to_have_count(3)
    expect(page.locator("#timeline .name").first).to_have_text(re.compile("^8 . first$"))
    expect(page.locator("#intervals .bundle")).to_be_hidden()
    bars.first.click()
    expect(page.locator("#intervals .bundle li")).to_have_count(8)
    bars.first.click()
    expect(page.locator("#intervals .bundle")).to_be_hidden()
    # The legend has each name once, in the colour of its bars and of its line in the chart.
    legend = page.locator("#intervals .legend > span")
    expect(legend).to_have_count(3)
    background = "entry => getComputedStyle(entry.querySelector('.sample')).backgroundColor"
    colours = {entry.inner_text().strip(): entry.evaluate(background) for entry in legend.all()}
    fills = bars.evaluate_all("all => all.map(bar => getComputedStyle(bar).fill)")
    assert set(fills) == set(colours.values())
    assert len(set(fills)) == 3
    assert fills[0] == colours["first"]
    line = (
        "name => { const probe = document.createElement('i'); probe.style.color = window.colours.of(name); \
        document.body.append(probe); return getComputedStyle(probe).color; }"
    )
    assert page.evaluate(line, "second") == colours["second"] == fills[-1]
    assert page.evaluate("window.harmed") is None


def test_chart_and_timeline_share_the_colours_of_the_page(page: Page) -> None:
    """The query page makes both with one set of colours, by the chart's own key."""
    page.goto("/page/counts")
    expect(page.locator("#plot .u-legend")).to_contain_text("gate2")
    before = page.locator("#plot .u-marker").evaluate_all("all => all.map(one => one.style.border)")
    page.reload()
    expect(page.locator("#plot .u-legend")).to_contain_text("gate2")
    after = page.locator("#plot .u-marker").evaluate_all("all => all.map(one => one.style.border)")
    assert after == before
    assert len(set(after[1:])) == 3
    source = page.evaluate("fetch('/static/query.js').then(reply => reply.text())")
    assert source.count("new Colours()") == 1


def given(page: Page, name: str, variables: list[str], found: list[dict[str, object]]) -> None:
    """Show the page of a query as if it had answered this, and nothing else ever after."""
    answers = [{"id": turn + 1, **answer} for turn, answer in enumerate(found)]
    page.route(
        f"**/{name}/answers*",
        lambda route: route.fulfill(json={"last": len(answers), "answers": answers}),
    )
    page.route(
        f"**/{name}/events*", lambda route: route.fulfill(content_type="text/event-stream", body=": \n\n")
    )

    def listed(route: Any) -> None:
        reply = route.fetch()
        told = json.loads(reply.text())
        for query in told["queries"]:
            if query["name"] == name:
                query["variables"] = variables
        route.fulfill(response=reply, json=told)

    page.route("**/queries", listed)
    page.goto(f"/page/{name}")


def test_answers_with_places_are_on_a_map(page: Page) -> None:
    at = "2026-01-01T00:00:10Z"

    def row(gate: str, lat: float, long: float, cars: int) -> dict[str, object]:
        place = {"lat": literal(lat, "decimal"), "long": literal(long, "decimal")}
        return {"at": at, "row": {"gate": iri(gate), **place, "cars": literal(cars, "integer")}}

    found = [row("north", 45.49, 9.18, 4), row("south", 45.45, 9.18, 40), row("east", 45.47, 9.24, 4)]
    given(page, "counts", ["gate", "lat", "long", "cars"], found)
    expect(page.locator("#map circle.place")).to_have_count(3)
    middle = (
        "all => Object.fromEntries(all.map(one => [one.querySelector('title').textContent.split('\\n')[0], \
        [one.cx.baseVal.value, one.cy.baseVal.value, one.r.baseVal.value]]))"
    )
    dots = page.locator("#map circle.place").evaluate_all(middle)
    north, south, east = (dots[f"?gate {name}"] for name in ("north", "south", "east"))
    assert north[1] < east[1] < south[1]
    assert north[0] == pytest.approx(south[0])
    assert east[0] > north[0]
    assert south[2] > north[2] == east[2]  # more cars, a larger dot
    ticks = page.locator("#map .tick").all_text_contents()
    assert any(tick.endswith("° N") for tick in ticks)
    assert any(tick.endswith("° E") for tick in ticks)
    assert any(tick.endswith("m") for tick in ticks)  # the scale
    assert "north" in (page.locator("#map svg").get_attribute("aria-label") or "")
    # What is measured is in the chart; where it is, is not.
    expect(page.locator("#value")).to_have_value("cars")


def test_a_map_is_only_where_places_are(page: Page) -> None:
    page.goto("/page/counts")
    expect(page.locator("#answers tbody tr").first).to_be_visible()
    expect(page.locator("#places")).to_be_hidden()
    expect(page.locator("#nodes")).to_be_hidden()


def test_constructed_triples_are_a_graph(page: Page, site: Site) -> None:
    page.goto("/page/told")
    expect(page.locator("#graph rect.node").first).to_be_visible()
    graph = page.locator("#graph svg")
    assert "nodes and" in (graph.get_attribute("aria-label") or "")
    expect(page.locator("#graph")).to_contain_text("said")
    # None of the boxes lies on another.
    boxes = page.locator("#graph rect.node").evaluate_all(
        "all => all.map(one => one.getBBox()).map(({x, y, width, height}) => [x, y, width, height])"
    )
    for index, (x, y, width, height) in enumerate(boxes):
        for left, top, wide, tall in boxes[index + 1 :]:
            assert x + width <= left or left + wide <= x or y + height <= top or top + tall <= y
    assert page.evaluate("window.harmed") is None


def test_a_moment_is_a_graph(page: Page) -> None:
    page.goto("/page/tolls")
    page.locator("#window tbody a[href*='/tolls/20']").first.click()
    expect(page.locator("#graph rect.node").first).to_be_visible()
    rows = page.locator("#triples tbody tr").count()
    objects = {row.inner_text() for row in page.locator("#triples tbody td:nth-child(3)").all()}
    expect(page.locator("#graph .edge")).to_have_count(rows)
    assert objects <= set(page.locator("#graph text.label").all_text_contents())


def test_a_large_graph_is_cut_and_says_so(page: Page) -> None:
    page.goto("/page/counts")
    page.evaluate(
        """async () => {
            const { Graph } = await import("/static/graph.js");
            const { Colours } = await import("/static/colours.js");
            const place = document.getElementById("plot");
            const named = value => ({ type: "uri", value: `http://ex/${value}` });
            const triples = Array.from({ length: 200 }, (_, turn) =>
                ({ subject: named("hub"), predicate: named("to"), object: named(`node${turn}`) }));
            new Graph(place, new Colours()).show(triples);
        }"""
    )
    assert 8 <= page.locator("#plot rect.node").count() <= 40
    expect(page.locator("#plot p")).to_contain_text("All edges are to.")
    expect(page.locator("#plot p")).to_contain_text("more triples")


SHARDED = """async queries => {
    const { sharded } = await import("/static/common.js");
    return queries.map(sharded);
}"""


def test_the_pages_say_how_work_was_shared_out(page: Page) -> None:
    page.goto("/new")
    told = [(0, None), (1, "one"), (2, "time"), (3, "variable")]
    queries = [{"shards": shards, "sharding": way} for shards, way in told]
    assert page.evaluate(SHARDED, queries) == ["\u2013", "1", "2 by time", "3 by a variable"]
