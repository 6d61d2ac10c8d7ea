"""tools/suites.py: what suites say is added up, and nothing that goes wrong with a suite looks like success."""
import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

TOOL = pathlib.Path(__file__).resolve().parent.parent.parent / "tools" / "suites.py"
RUN = """
import importlib.util, pathlib, sys
spec = importlib.util.spec_from_file_location("suites", {tool!r})
suites = importlib.util.module_from_spec(spec)
spec.loader.exec_module(suites)
suites.LOGS = pathlib.Path({logs!r})
suites.SUITES = [suites.suite(name, command) for name, command in {rows!r}]
sys.argv[1:] = {words!r}
suites.main()
"""


def run(folder, *rows, words=()):
    """(exit code, lines) of these suites: (name, shell script) or (name, [command])."""
    rows = [(name, ["sh", "-c", what] if isinstance(what, str) else what) for name, what in rows]
    code = RUN.format(tool=str(TOOL), logs=str(folder / "logs"), rows=rows, words=list(words))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout.splitlines()


GOOD = ("good", "echo '3 passed, 0 failed'")


def test_all_is_well(tmp_path):
    code, lines = run(tmp_path, GOOD, ("pytest", "echo; echo '== 4 passed, 1 skipped, 2 warnings in 1.50s =='"),
                      ("meson", "echo 'Ok:                 5'; echo 'Fail:               0'; echo 'Skipped:  2'"),
                      ("vitest", "printf '\\033[2m      Tests \\033[22m \\033[32m6 passed\\033[39m (6)\\n'"))
    assert (code, lines[-1]) == (0, "18 passed, 0 failed, 3 skipped")
    shown = {line.split()[0]: line for line in lines[:-1]}
    assert "3 passed, 0 failed" in shown["good"] and "4 passed, 1 skipped" in shown["pytest"]
    assert "5 passed, 0 failed, 2 skipped" in shown["meson"] and "6 passed" in shown["vitest"]


@pytest.mark.parametrize("what, words, total", [
    ("echo '1 failed, 2 passed in 3.00s'; exit 1", "1 failed, 2 passed", "5 passed, 1 failed, 0 skipped"),
    ("echo '1 failed, 2 passed in 3.00s'", "1 failed, 2 passed", "5 passed, 1 failed, 0 skipped"),
    ("echo '2 passed, 1 error in 3.00s'; exit 1", "1 error", "5 passed, 1 failed, 0 skipped"),
    ("echo 'Ok:  5'; echo 'Fail: 0'; echo 'Timeout: 1'; exit 1", "5 passed, 1 failed", "8 passed, 1 failed, 0 skipped"),
    ("echo '2 passed in 3.00s'; exit 3", "2 passed in 3.00s, but exit code 3", "5 passed, 1 failed, 0 skipped"),
    ("echo '2 passed in 3.00s'; kill -9 $$", "but exit code -9", "5 passed, 1 failed, 0 skipped"),
    ("echo collecting; kill -SEGV $$", "no closing line, exit code -11", "3 passed, 1 failed, 0 skipped"),
    ("echo nothing to do", "no closing line, exit code 0", "3 passed, 1 failed, 0 skipped"),
    ("echo '0 passed, 0 failed'", "no test ran", "3 passed, 1 failed, 0 skipped"),
    (["/nonexistent/runner"], "no closing line, exit code 127", "3 passed, 1 failed, 0 skipped")])
def test_failures_are_counted(tmp_path, what, words, total):
    code, lines = run(tmp_path, ("bad", what), GOOD)
    assert (code, lines[-1]) == (1, total)
    assert words in next(line for line in lines if line.startswith("bad "))
    assert any(line.startswith("good ") and "3 passed" in line for line in lines), "the others run on"


def test_a_suite_whose_run_breaks_down_is_a_failure(tmp_path):
    """Even where not its command but our own handling of it fails (its log cannot be made)."""
    (tmp_path / "logs" / "bad.log").mkdir(parents=True)
    code, lines = run(tmp_path, GOOD, ("bad", "echo '1 passed, 0 failed'"), ("more", "echo '1 passed, 0 failed'"))
    assert (code, lines[-1]) == (1, "4 passed, 1 failed, 0 skipped")


def test_skipped_tests_are_named(tmp_path):
    code, lines = run(tmp_path, ("some", "echo 'SKIPPED [1] tests/x.py:3: no such machine'; echo '1 passed, 1 skipped in 1s'"))
    assert code == 0 and any("SKIPPED [1] tests/x.py:3: no such machine" in line for line in lines)


def test_what_failed_is_told_whole(tmp_path):
    """From the first failure on, however long its evidence is; not more than anybody can read."""
    script = "echo before; echo '==== FAILURES ===='; seq -f 'evidence %.0f' {n}; echo '1 failed in 1s'; exit 1"
    _, lines = run(tmp_path, ("some", script.format(n=1000)))
    assert "    | evidence 1" in lines and "    | evidence 1000" in lines and "    | before" not in lines
    _, lines = run(tmp_path, ("some", script.format(n=5000)))
    assert "    | evidence 1" in lines and "    | evidence 5000" in lines and len(lines) < 1300


def test_names(tmp_path):
    assert run(tmp_path, GOOD, ("bad", "false"), words=["good"])[1][-1] == "3 passed, 0 failed, 0 skipped"
    assert run(tmp_path, GOOD, words=["goood"]) == (1, [])


def test_every_folder_of_tests_is_in_a_suite():
    spec = importlib.util.spec_from_file_location("suites", TOOL)
    suites = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suites)
    named = {word for s in suites.SUITES for word in s["command"] if re.match(r"tests/\w+$", word)}
    root = TOOL.parent.parent
    assert named == {f"tests/{p.parent.name}" for p in (root / "tests").glob("*/test_*.py")}
