"""Man pages: one for each verb, with every option that --help shows, and valid for man."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from conftest import ROOT, STOKER


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    folder = tmp_path_factory.mktemp("man")
    subprocess.run([sys.executable, ROOT / "tools" / "manpages.py", STOKER, folder], check=True)
    return {p.stem: p.read_text() for p in pathlib.Path(folder).glob("*.1")}


def test_a_page_for_every_verb(pages):
    listed = subprocess.run([STOKER, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  ([a-z]+) {2,}", listed, re.M)
    assert len(verbs) > 8
    for verb in verbs:
        assert f"stoker-{verb}" in pages
    assert {"stoker", "stoker-task-ls", "stoker-agent-daemon"} <= set(pages)


def test_options_of_the_help_are_there(pages):
    shown = subprocess.run([STOKER, "task", "clone", "--help"], capture_output=True, text=True, check=True).stdout
    options = re.findall(r"--[a-z-]+", shown.split("Options:")[1].split("example")[0])
    assert "--set" in options
    for option in options:
        assert option.replace("-", "\\-") in pages["stoker-task-clone"], option


@pytest.mark.skipif(not shutil.which("groff"), reason="groff, which checks the pages, is not installed")
def test_groff_has_no_complaint(pages, tmp_path):
    for name, text in pages.items():
        done = subprocess.run(["groff", "-man", "-ww", "-z", "-Tutf8"], input=text, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr, f"{name}: {done.stderr}"
