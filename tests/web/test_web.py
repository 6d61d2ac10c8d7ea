"""The page in a real browser on a real server: each file of journeys/ is one test."""
import pathlib

import pytest

from conftest import Server, wait_for
from .conftest import HERE, journey

EMPTY = {"login", "first"}
NAMES = sorted(p.stem for p in pathlib.Path(HERE / "journeys").glob("*.mjs"))


@pytest.mark.parametrize("name", [n for n in NAMES if n not in EMPTY])
def test_journey(name, seeded, tmp_path):
    journey(name, seeded, tmp_path)


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_journey_on_an_empty_server(name, tmp_path, browser):
    server = Server(tmp_path / "empty", ["--print-login-link"]).start()
    link = wait_for("the login link", lambda: next((w for w in server.log_text().split() if "/login?code=" in w), ""))
    try:
        journey(name, server, tmp_path, link=link)
    finally:
        assert server.stop() == 0, server.log_text()
