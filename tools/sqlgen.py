#!/usr/bin/env python3
"""sqlgen.py - make sql.h and sql.c out of the folder sql/.

    sqlgen.py SQL_FOLDER OUT_FOLDER [DEPFILE]

sql/<service>.sql holds statements, each under a line `-- name: task_get`; other comment lines are dropped. Each becomes
`extern const struct sql sql_task_get;`. sql/migrations/NNNN_name.sql become the table `sql_migrations`, in order.
Refuses, naming file and line: text before the first name, an empty statement, a name twice, a bare `?`, parameters
that are not ?1 ?2 ... without a gap, two migrations of one number, a migration file without number.
The depfile names all inputs and their folders, so that a new file is noticed by the build.
"""
import pathlib
import re
import sys

NAME = re.compile(r"^--\s*name:\s*([a-z][a-z0-9_]*)\s*$")
STRING = re.compile(r"'(?:[^']|'')*'")


class Refused(Exception):
    pass


def c_string(text):
    lines = [line for line in text.splitlines() if line.strip()]
    quoted = [line.rstrip().replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    return "\n    ".join(f'"{line}\\n"' for line in quoted) or '""'


def check_parameters(where, text):
    bare = STRING.sub("''", text)
    if re.search(r"\?(?!\d)", bare) or re.search(r"[:@$][a-z]", bare):
        raise Refused(f"{where}: write parameters as ?1 ?2 ...")
    used = sorted({int(n) for n in re.findall(r"\?(\d+)", bare)})
    if used != list(range(1, len(used) + 1)):
        raise Refused(f"{where}: parameters {used} are not 1..n without a gap")


def read_statements(path):
    """[(name, where, text)] of one file."""
    found, name, where, lines = [], None, None, []

    def close():
        if name is None:
            return
        text = "\n".join(lines).strip().rstrip(";").strip()
        if not text:
            raise Refused(f"{where}: {name} is empty")
        if ";" in STRING.sub("", text):
            raise Refused(f"{where}: {name} holds more than one statement")
        check_parameters(where, text)
        found.append((name, where, text))

    for number, line in enumerate(path.read_text().splitlines(), 1):
        m = NAME.match(line)
        if m:
            close()
            name, where, lines = m[1], f"{path.name}:{number}", []
        elif line.lstrip().startswith("--") or not line.strip():
            continue
        elif name is None:
            raise Refused(f"{path.name}:{number}: text before the first '-- name:'")
        else:
            lines.append(line.split(" -- ")[0])
    close()
    return found


def read_migrations(folder):
    rows = {}
    for path in sorted(folder.glob("*.sql")):
        m = re.fullmatch(r"(\d{4})_([a-z0-9_]+)", path.stem)
        if not m:
            raise Refused(f"migrations/{path.name}: the name is not NNNN_name.sql")
        number = int(m[1])
        if number in rows:
            raise Refused(f"migrations/{path.name}: number {number} is taken by {rows[number][0]}")
        text = "\n".join(l for l in path.read_text().splitlines() if not l.lstrip().startswith("--"))
        if not text.strip():
            raise Refused(f"migrations/{path.name}: empty")
        rows[number] = (m[2], text)
    return [(n, *rows[n]) for n in sorted(rows)]


def main(source, out, depfile=None):
    source, out = pathlib.Path(source), pathlib.Path(out)
    files = sorted(source.glob("*.sql"))
    statements, seen = [], {}
    for path in files:
        for name, where, text in read_statements(path):
            if name in seen:
                raise Refused(f"{where}: {name} is already in {seen[name]}")
            seen[name] = where
            statements.append((name, text))
    migrations = read_migrations(source / "migrations")

    head = "/* made by tools/sqlgen.py from sql/; do not edit */\n"
    h = [head, "#pragma once", '#include "store/store.h"', ""]
    h += [f"extern const struct sql sql_{name};" for name, _ in statements]
    h += ["", "extern const struct sql *const sql_all[]; /* by index */", "extern const size_t sql_all_n;", "",
          "struct migration {", "    int number;", "    const char *name, *text;", "};",
          "extern const struct migration sql_migrations[]; /* by number */",
          "extern const size_t sql_migrations_n;", ""]
    c = [head, '#include "sql/sql.h"', ""]
    for index, (name, text) in enumerate(statements):
        c.append(f'const struct sql sql_{name} = {{ "{name}",\n    {c_string(text)}, {index} }};')
    c += ["const struct sql *const sql_all[] = {"] + [f"    &sql_{name}," for name, _ in statements] + ["    NULL };"]
    c += [f"const size_t sql_all_n = {len(statements)};", "const struct migration sql_migrations[] = {"]
    c += [f'    {{ {number}, "{name}",\n    {c_string(text)} }},' for number, name, text in migrations]
    c += ['    { 0, 0, 0 } };', f"const size_t sql_migrations_n = {len(migrations)};", ""]
    out.mkdir(parents=True, exist_ok=True)
    (out / "sql.h").write_text("\n".join(h))
    (out / "sql.c").write_text("\n".join(c))
    if depfile:
        inputs = [source, source / "migrations", *files, *sorted((source / "migrations").glob("*.sql"))]
        pathlib.Path(depfile).write_text(f"{out}/sql.h {out}/sql.c: " + " ".join(map(str, inputs)) + "\n")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Refused as e:
        sys.exit(f"sqlgen: {e}")
