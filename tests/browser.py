"""Headless Chromium that can reach only this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

__all__ = ["opened_browser"]

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_SWITCHES = (
    "--headless=new",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The page refers to remote images and fonts, which are not loaded.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
    "--window-size=1100,1500",
    "--force-color-profile=srgb",
)


@contextmanager
def opened_browser(folder: Path) -> Iterator[Any]:
    """Give a browser with its profile in ``folder``.

    Without a browser the test is skipped with a reason, or fails if ``REQUIRE_BROWSER=1``.
    """
    browser = next(filter(None, map(shutil.which, _BROWSERS)), None)
    driver = shutil.which("chromedriver")
    if browser is None or driver is None:
        reason = "no Chromium with its driver here (Debian: apt install chromium chromium-driver)"
        if os.environ.get("REQUIRE_BROWSER") == "1":
            pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
        pytest.skip(reason)
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = browser
    for switch in (*_SWITCHES, f"--user-data-dir={folder / 'profile'}"):
        options.add_argument(switch)
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        options.add_argument("--no-sandbox")  # Chromium's sandbox does not start as root
    service = webdriver.ChromeService(driver, log_output=str(folder / "driver.log"))
    opened = webdriver.Chrome(options=options, service=service)
    try:
        opened.set_page_load_timeout(180)
        yield opened
    finally:
        opened.quit()
