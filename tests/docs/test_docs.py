"""The examples of docs/ that are marked `<!-- run: ... -->` are run as they stand, and every local link leads somewhere."""
import os
import pathlib
import re
import subprocess

import pytest

from conftest import GUARD, STOKER

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PAGES = sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md", ROOT / "ARCHITECTURE.md", ROOT / "CODING.md"])
EXAMPLE = re.compile(r"<!-- run: ([^>]*?) -->\n```sh\n(.*?)```", re.S)
EXAMPLES = [(page.name, need, text) for page in PAGES for need, text in EXAMPLE.findall(page.read_text())]


@pytest.mark.parametrize("page,need,text", EXAMPLES, ids=[f"{p}-{i}" for i, (p, _, _) in enumerate(EXAMPLES)])
def test_example(server, tmp_path, page, need, text):
    agent = None
    env = server.env(CLEARML_API_HOST=server.api, PATH=f"{pathlib.Path(STOKER).parent}:{os.environ['PATH']}",
                     STOKER_STATE=str(tmp_path / "state"))
    if "git repository" in need:
        (tmp_path / "train.py").write_text("print('trained')\n")
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@localhost"]
        remote = tmp_path.parent / f"{tmp_path.name}.git"
        subprocess.check_call([*git, "init", "-q", "--bare", "-b", "main", remote])
        for words in (["init", "-q", "-b", "main"], ["add", "train.py"], ["commit", "-qm", "one"],
                      ["remote", "add", "origin", str(remote)], ["push", "-q", "-u", "origin", "main"]):
            subprocess.check_call([*git, *words], cwd=tmp_path)
    try:
        if "agent" in need:
            agent = subprocess.Popen([STOKER, "agent", "daemon", "--foreground", "--queue", "default", "--cpu-only"], env=env,
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        done = subprocess.run(["sh", "-eux", "-c", text], cwd=tmp_path, env=env, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=GUARD * 4)
    finally:
        if agent:
            agent.terminate()
            agent.wait(GUARD)
    assert done.returncode == 0, f"{page}:\n{text}\n{done.stdout}\n{done.stderr}"


def test_there_are_examples():
    assert {page for page, _, _ in EXAMPLES} >= {"cli.md", "server.md", "agent.md"}


@pytest.mark.parametrize("page", PAGES, ids=[p.name for p in PAGES])
def test_links(page):
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", page.read_text()):
        if not re.match(r"[a-z]+://", target):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_every_verb_is_on_the_page():
    """docs/cli.md names every verb and sub-verb that the program has."""
    text = (ROOT / "docs" / "cli.md").read_text()
    listed = subprocess.run([STOKER, "--help"], capture_output=True, text=True, check=True).stdout
    for verb in re.findall(r"^  ([a-z]+) {2,}", listed, re.M):
        assert f"stoker {verb}" in text, f"docs/cli.md does not name stoker {verb}"
