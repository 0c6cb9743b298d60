"""Pictures of the pages for the README and docs/: `python -m tests.browser.screenshots` runs the demo, looks
at it with Chromium, and writes them to docs/images."""

from __future__ import annotations

import base64
import shutil
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from rheos.demo.catalogue import queries
from rheos.demo.run import config_of, living
from rheos.server.serve import served
from tests.browser.conftest import NAMES, PATIENCE

if TYPE_CHECKING:
    from playwright.sync_api import Page

FOLDER = Path(__file__).parents[2] / "docs" / "images"
LIFE = 75  # seconds after which there is enough to see
QUALITY = 82
WIDE = {"width": 1200, "height": 760}
PHONE = {"width": 390, "height": 760}

ASKED = """PREFIX : <http://example.org/city#>
CONSTRUCT { ?person :detectedAt ?room . ?room :nextTo ?other }
WHERE {
  GRAPH <badges> { ?person :detectedAt ?room }
  ?room :nextTo ?other
}
LIMIT 18"""
DATA = """@prefix : <http://example.org/city#> .
:gate1 :closed true ; :because "road works" .
:gate7 :closed false ."""


def main() -> None:
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    known = queries()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(config_of(Path(folder), known, 0)) as host,
        living(host),
        sync_playwright() as playwright,
    ):
        time.sleep(LIFE)
        chromium = next(filter(None, map(shutil.which, NAMES)))
        browser = playwright.chromium.launch(executable_path=chromium)
        for suffix, size, scheme in (
            ("", WIDE, "light"),
            ("-dark", WIDE, "dark"),
            ("-phone", PHONE, "light"),
        ):
            context = browser.new_context(base_url=host.base, viewport=size, color_scheme=scheme)  # type: ignore[arg-type]
            page = context.new_page()
            page.set_default_timeout(PATIENCE)
            page.on("pageerror", lambda error: print(error))
            look(page, {query.name for query in known}, suffix)
            context.close()
        browser.close()


def look(page: Page, known: set[str], suffix: str) -> None:
    # WebP is a third of what PNG is; Chromium can write it, and Playwright does not ask it to.
    session = page.context.new_cdp_session(page)

    def take(name: str, wait: float = 3) -> None:
        page.wait_for_timeout(wait * 1000)
        taken = session.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        (FOLDER / f"{name}{suffix}.webp").write_bytes(base64.b64decode(taken["data"]))

    page.goto("/")
    take("overview", 5)
    page.goto("/page/district-traffic")
    take("query", 5)
    page.goto("/flow")
    take("flow")
    if suffix == "-phone":
        return
    if "wave" in known:
        page.goto("/page/wave")
        page.wait_for_selector("#timeline rect")
        take("events")
    if suffix:
        return
    page.goto("/page/busy-gates")
    page.wait_for_selector("#map circle")
    page.locator("#places").scroll_into_view_if_needed()
    page.evaluate("scrollTo(0, document.getElementById('places').offsetTop - 80)")
    take("map")
    page.goto("/sparql")
    page.fill("#editor", ASKED)
    page.click("#ask")
    page.wait_for_selector("#shown table")
    page.get_by_role("tab", name="Graph").click()
    take("ask", 1)
    page.goto("/new-data")
    page.fill("#text", DATA)
    page.fill("#graph", "http://example.org/news")
    take("new-data", 1)
    page.goto("/page/tollgates")
    take("stream")
    page.locator("#window tbody a").first.click()
    take("moment", 1)
    page.goto("/new?from=district-traffic")
    page.wait_for_timeout(2000)
    text = (
        page.input_value("#editor").replace("district-traffic", "quiet-gates").replace("?district", "?gate")
    )
    text = (
        text.replace("the tollgates of each district", "each tollgate")
        .replace(" . ?gate :in ?gate", "")
        .replace("GROUP BY", "GROUP")
    )
    page.fill("#editor", text)
    page.wait_for_selector(".mistake")
    take("mistake", 1)
    page.fill("#editor", text.replace("GROUP", "GROUP BY"))
    page.click("#try")
    page.wait_for_selector("#trial tbody tr")
    take("new-query", 1)


if __name__ == "__main__":
    main()
