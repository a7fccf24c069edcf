"""A real browser, and somebody who looks at pages with it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ConsoleMessage, Page, Response, expect, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SCREENSHOTS = Path(os.environ.get("TRANCHE_SCREENSHOTS", "build/pages"))

expect.set_options(timeout=20_000)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    # As long as it is open, the thread has a loop that runs, which other tests would stumble over.
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium; scripts/chromium installs one")
    with sync_playwright() as playwright:
        # A sandbox of its own is refused to root, who runs this in containers.
        opened = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@dataclass
class Visitor:
    """Somebody at a page: what the browser complains about is kept, and fails the test."""

    page: Page
    url: str
    complaints: list[str] = field(default_factory=list)
    forgiven: tuple[str, ...] = ()
    """Parts of complaints that a test provokes."""

    def __post_init__(self) -> None:
        self.page.on("console", self._console)
        self.page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        self.page.on("response", self._response)

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            where = message.location.get("url", "")
            self.complaints.append(f"{message.type}: {message.text} ({where})")

    def _response(self, answer: Response) -> None:
        if answer.status >= 400:
            self.complaints.append(f"{answer.status}: {answer.url}")

    def open(self, path: str) -> Page:
        self.page.goto(self.url + path)
        return self.page

    def asset(self, name: str, tab: str = "partitions") -> Page:
        return self.open(f"/assets/lake%3A%2F%2Fmain%2F{name}?tab={tab}")

    def check(self) -> None:
        """Nothing was complained about but what a test provokes."""
        left = [each for each in self.complaints if not any(p in each for p in self.forgiven)]
        assert left == []

    def picture(self, name: str) -> None:
        """What the page looks like, in light and in dark."""
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        for scheme in ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            # Canvases are drawn anew in the next frame.
            self.page.evaluate(
                "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
            )
            self.page.screenshot(path=SCREENSHOTS / f"{name}-{scheme}.png")
        self.page.emulate_media(color_scheme="light")

    def accessible(self, *schemes: str) -> None:
        """axe finds nothing serious, in light and in dark unless one of them is given."""
        for scheme in schemes or ("light", "dark"):
            self.page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
            found = Axe().run(self.page).response["violations"]
            serious = [
                (each["id"], each["help"], [node["html"][:200] for node in each["nodes"]][:5])
                for each in found
                if each["impact"] in ("serious", "critical")
            ]
            assert serious == [], (self.page.url, scheme)
        self.page.emulate_media(color_scheme="light")


@pytest.fixture
def visits(browser: Browser) -> Iterator[Callable[..., Visitor]]:
    """Makes visitors, each with a browser window of their own."""
    visitors: list[Visitor] = []

    def visit(
        url: str, *, width: int = 1280, height: int = 860, forgiven: tuple[str, ...] = ()
    ) -> Visitor:
        window = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="light",
            locale="en-GB",
            timezone_id="UTC",
        )
        visitor = Visitor(window.new_page(), url, forgiven=forgiven)
        visitors.append(visitor)
        return visitor

    yield visit
    for visitor in visitors:
        visitor.page.context.close()
    for visitor in visitors:
        visitor.check()
