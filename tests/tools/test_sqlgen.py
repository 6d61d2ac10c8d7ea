"""tools/sqlgen.py: what it makes of sql/ and what it refuses."""
import pathlib
import subprocess
import sys

import pytest

SQLGEN = pathlib.Path(__file__).resolve().parents[2] / "tools" / "sqlgen.py"
GOOD = {"a.sql": "-- words\n-- name: one_get\nSELECT 'x;?' FROM t -- why\nWHERE a = ?1 AND b = ?2;\n\n"
                 "-- name: two_put\nINSERT INTO t VALUES (?1, ?1);\n",
        "migrations/0001_first.sql": "CREATE TABLE t (a, b); -- columns\nCREATE INDEX i ON t (a);\n",
        "migrations/0010_later.sql": "-- nothing yet\nSELECT 1;\n"}


def generate(tmp_path, files):
    for name, text in files.items():
        path = tmp_path / "sql" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (tmp_path / "sql" / "migrations").mkdir(parents=True, exist_ok=True)
    return subprocess.run([sys.executable, SQLGEN, tmp_path / "sql", tmp_path / "out", tmp_path / "dep"],
                          capture_output=True, text=True)


def test_good(tmp_path):
    done = generate(tmp_path, GOOD)
    assert done.returncode == 0, done.stderr
    header, source = (tmp_path / "out/sql.h").read_text(), (tmp_path / "out/sql.c").read_text()
    assert "extern const struct sql sql_one_get;" in header and "sql_two_put" in header
    assert "SELECT 'x;?' FROM t\\n" in source and "why" not in source
    assert source.index("first") < source.index("later") and "sql_migrations_n = 2" in source
    dep = (tmp_path / "dep").read_text()
    assert "0001_first.sql" in dep and str(tmp_path / "sql/migrations") + " " in dep


@pytest.mark.parametrize("name, text, words", [
    ("b.sql", "SELECT 1;", "before the first"),
    ("b.sql", "-- name: one_get\nSELECT 1;", "already in a.sql"),
    ("b.sql", "-- name: x\n;", "empty"),
    ("b.sql", "-- name: x\nSELECT ?;", "?1 ?2"),
    ("b.sql", "-- name: x\nSELECT :name;", "?1 ?2"),
    ("b.sql", "-- name: x\nSELECT ?1, ?3;", "without a gap"),
    ("b.sql", "-- name: x\nSELECT 1; SELECT 2;", "more than one"),
    ("migrations/0001_other.sql", "SELECT 1;", "taken by first"),
    ("migrations/later.sql", "SELECT 1;", "NNNN_name"),
    ("migrations/0011_empty.sql", "-- only words\n", "empty"),
])
def test_refused(tmp_path, name, text, words):
    done = generate(tmp_path, {**GOOD, name: text})
    assert done.returncode != 0 and words in done.stderr and pathlib.Path(name).name in done.stderr, done.stderr
