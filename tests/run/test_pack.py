"""`stoker run`: what is packed from a folder is, byte by byte, what the agent runs."""
import json
import subprocess

import pytest

from conftest import GUARD, STOKER
from test_execute import PYTHON, machine, origin, sh  # noqa: F401

SUMS = '''import hashlib, os, sys
skip = (".git", "__pycache__")
for folder, folders, files in os.walk("."):
    folders[:] = sorted(f for f in folders if f not in skip)
    for f in sorted(files):
        path = os.path.join(folder, f)
        if f != ".git":
            print(ascii(path), hashlib.md5(open(path, "rb").read()).hexdigest(), os.access(path, os.X_OK))
print(sys.argv[1:])
'''


@pytest.fixture
def work(tmp_path):
    """A clone whose remote has one commit; its folder."""
    (tmp_path / "work").mkdir()
    sh(tmp_path / "work", "git init -q . && git init -q --bare ../remote.git && git remote add origin ../remote.git && seq 60 >both.txt &&"
       "printf 'a\\r\\nb\\r\\n' >dos.txt && printf 'gr\\374n\\nrot\\n' >latin.txt && printf 'gr\\374n\\n' >'na*m[e] \"1\".txt' &&"
       "seq 9000 >nul.txt && echo old >name.txt && echo gone >gone.txt && git add . && git commit -qm one && git push -q origin main")
    return tmp_path / "work"


def pack(work, machine, *words, check=True, **env):
    done = subprocess.run([STOKER, "run", *words], cwd=work, env=machine.env(**env), capture_output=True, text=True, timeout=3 * GUARD)
    assert not check or done.returncode == 0, done.stdout + done.stderr
    return done


def test_changes_arrive_byte_by_byte(machine, work):
    (work / "part1/part2").mkdir(parents=True)
    (work / "part1/part2/part3.py").write_text(SUMS)
    (work / "blob.bin").write_bytes(bytes(i * i % 251 for i in range(65536)))
    sh(work, "git add . && git commit -qm 'not pushed' && git mv name.txt 'new name.txt' && echo new >>'new name.txt' && rm gone.txt &&"
             "sed -i 's/^5$/five/' both.txt && echo '#!/bin/sh' >second.sh && chmod +x second.sh && printf 'a\\r\\nB\\r\\n' >dos.txt &&"
             "git add -A && sed -i 's/^55$/later/' both.txt && printf 'gr\\374n\\nblau\\n' >latin.txt &&"
             "printf 'br\\344un\\n' >'na*m[e] \"1\".txt' && printf 'x\\000y\\n' >>nul.txt && printf 'm\\303\\274ll \\r' >'m\303\274ll.txt' && git add -N .")
    want = sh(work, f"PYTHONDONTWRITEBYTECODE=1 {PYTHON} -m part1.part2.part3 argA 'a b'")
    done = pack(work, machine, "--local", "--", PYTHON, "-m", "part1.part2.part3", "argA", "a b", PYTHONDONTWRITEBYTECODE="1")
    assert [line for line in done.stdout.splitlines() if line.startswith(("'", "["))] == want.splitlines()


def test_settings_of_the_user_change_nothing(machine, work):
    """Settings that make git write diffs in other ways."""
    (work / "go.py").write_text(SUMS)
    sh(work, "git config diff.noprefix true && git config diff.external false && git config color.diff always && git config diff.renames copies &&"
             "git config diff.context 0 && git config diff.interHunkContext 5 && git config diff.wordRegex . && git config diff.submodule log &&"
             "git config diff.relative true && git config diff.ignoreSubmodules all && git config core.quotePath true &&"
             "git init -q ../lib && echo one >../lib/l.txt && git -C ../lib add . && git -C ../lib commit -qm l &&"
             "git -c protocol.file.allow=always submodule --quiet add $PWD/../lib lib && git commit -qam lib && git push -q origin main &&"
             "cp both.txt copy.txt && sed -i 's/^5$/five/' copy.txt && sed -i 's/^5$/cinq/' both.txt && echo two >lib/l.txt && git add -A go.py copy.txt")
    want = sh(work, f"{PYTHON} go.py")
    done = pack(work, machine, "--local", "--", PYTHON, "go.py")
    assert [line for line in done.stdout.splitlines() if line.startswith(("'", "["))] == want.splitlines()


def test_password_of_the_remote_stays_here(machine, work):
    sh(work, "git remote set-url origin https://robot:tok-secret-3@git.example.com:8443/team/app.git")
    done = pack(work, machine, "--dry-run", "--", PYTHON, "-m", "json")
    assert json.loads(done.stdout)["script"]["repository"] == "https://git.example.com:8443/team/app.git"
    sh(work, "git remote set-url origin ssh://git@git.example.com:2222/team/app.git")
    assert json.loads(pack(work, machine, "--dry-run", "--", PYTHON, "-m", "json").stdout)["script"]["repository"] == \
        "ssh://git@git.example.com:2222/team/app.git"
