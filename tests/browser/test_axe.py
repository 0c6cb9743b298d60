"""Every page is open to everybody: axe-core, which comes from npm, finds nothing serious, light and dark."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("playwright")

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE, Site

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

AXE = Path(__file__).parents[2] / "build" / "npm" / "node_modules" / "axe-core" / "axe.min.js"
PAGES = (
    "/", "/flow", "/sparql", "/new?from=counts", "/new-stream", "/new-data", "/page/counts", "/page/said",
    "/page/told", "/page/tolls", "/page/nothing", "moment",
)  # fmt: skip
FOUND = """async () => (await axe.run({ resultTypes: ["violations"] })).violations
    .filter(found => ["serious", "critical"].includes(found.impact))
    .map(found => `${found.impact}: ${found.id}: ${found.nodes.map(node => node.target.join(" "))}`)"""


@pytest.fixture(scope="module")
def axe() -> str:
    if not AXE.is_file():
        pytest.skip("axe-core is not there: `make axe` fetches it with npm")
    return AXE.read_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_serious_is_found(browser: Browser, site: Site, axe: str, scheme: str) -> None:
    # The policy of the pages forbids a script that is not theirs.
    context = browser.new_context(base_url=site.base, color_scheme=scheme, bypass_csp=True)  # type: ignore[arg-type]
    context.add_init_script(axe)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    wrong: dict[str, list[str]] = {}
    for path in PAGES:
        page.goto("/page/tolls" if path == "moment" else path)
        if path == "moment":
            page.locator("#window tbody a[href*='/tolls/20']").first.click()
        filled(page, path)
        found = page.evaluate(FOUND)
        if found:
            wrong[path] = found
    context.close()
    assert not wrong


def filled(page: Page, path: str) -> None:
    """Wait until a page shows what it is for."""
    shown = {
        "/": "#streams tr[data-name=tolls] canvas",
        "/flow": "#flow svg",
        "/page/counts": "#plot canvas",
        "/page/told": "#graph svg",
        "/page/tolls": "#rates canvas",
        "moment": "#graph svg",
    }
    if path in shown:
        expect(page.locator(shown[path]).first).to_be_visible(timeout=PATIENCE)
    if path == "/sparql":
        page.fill("#editor", "SELECT * { ?s ?p ?o } LIMIT 3")
        page.click("#ask")
        expect(page.locator("#answer")).to_be_visible(timeout=PATIENCE)
    page.wait_for_timeout(300)
