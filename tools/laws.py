#!/usr/bin/env python3
"""laws.py - check the law of includes: reads the table in ARCHITECTURE.md and every #include in src/ and fuzz/.

Prints each breach as file:line, exits 1 when there is one. A room is the first folder below src/; `services` also
checks that a service reaches another only by its door (<noun>/<noun>.h) or the shared headers of the room.
"""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def law():
    """{room: set of rooms it may include} from the table between the 'law:' markers."""
    text = (ROOT / "ARCHITECTURE.md").read_text()
    table = text.split("<!-- law -->")[1].split("<!-- /law -->")[0]
    rooms = {}
    for line in table.splitlines():
        cells = [c.strip() for c in line.strip().strip("|").split("|")]
        if len(cells) < 2 or cells[0] in ("room", "") or set(cells[0]) <= {"-"}:
            continue
        for room in cells[0].split(","):
            rooms[room.strip()] = {r.strip() for r in cells[1].split(",") if r.strip()}
    return rooms


def breaches(rooms):
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        rel = path.relative_to(ROOT / "src")
        room = rel.parts[0]
        test = path.stem.endswith("_test")
        if room not in rooms:
            yield f"{path.relative_to(ROOT)}:1: room {room} is not in the law table of ARCHITECTURE.md"
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            m = INCLUDE.match(line)
            if not m:
                continue
            target = m[1].split("/")
            where = f"{path.relative_to(ROOT)}:{number}"
            if len(target) == 1:
                yield f"{where}: include by room: \"{room}/{m[1]}\", not \"{m[1]}\""
                continue
            if target[0] != room and target[0] not in rooms[room] and not test:
                yield f"{where}: {room} may not include {target[0]} ({m[1]})"
            if room == target[0] == "services" and len(target) == 3 and len(rel.parts) == 3:
                if target[1] != rel.parts[1] and target[2] != f"{target[1]}.h":
                    yield f"{where}: {rel.parts[1]} reaches into {target[1]}: only {target[1]}/{target[1]}.h is its door"


if __name__ == "__main__":
    found = list(breaches(law()))
    print("\n".join(found))
    sys.exit(f"laws: {len(found)} breaches" if found else 0)
