#!/usr/bin/env python3
"""webgen.py - put a folder of built web pages into the binary.

    webgen.py DIST OUT.c OUT.S OUT.d      DIST may be "" (nothing is embedded)

OUT.S holds each file, and its gzip form where that is smaller by a tenth, by .incbin; OUT.c the table of them
(src/server/assets.h), sorted by path; OUT.d the files read, for ninja.
"""
import gzip
import hashlib
import pathlib
import re
import sys

TYPES = {
    ".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8", ".json": "application/json", ".map": "application/json", ".svg": "image/svg+xml",
    ".png": "image/png", ".ico": "image/x-icon", ".woff2": "font/woff2", ".woff": "font/woff", ".txt":
    "text/plain; charset=utf-8", ".webmanifest": "application/manifest+json", ".wasm": "application/wasm",
}
HASHED = re.compile(r"[-.][A-Za-z0-9_-]{8,}\.[a-z0-9]+$")


def main(dist, out_c, out_s, out_d):
    files = sorted((p for p in pathlib.Path(dist).rglob("*") if p.is_file()),
                   key=lambda p: ("/" + p.relative_to(dist).as_posix()).encode()) if dist else []
    files = [p for p in files if p.suffix != ".map"]
    work = pathlib.Path(out_s).parent
    rows, blobs, names = [], [], []
    for i, path in enumerate(files):
        data, name = path.read_bytes(), "/" + path.relative_to(dist).as_posix()
        packed = gzip.compress(data, 9, mtime=0)
        blobs.append((f"asset_{i}", path.resolve()))
        gz = None
        if len(packed) < len(data) * 0.9:
            gz = f"asset_{i}_gz"
            kept = work / f"{gz}.gz"
            kept.write_bytes(packed)
            blobs.append((gz, kept.resolve()))
        etag = hashlib.sha256(data).hexdigest()[:20]
        immutable = "/assets/" in name and HASHED.search(name) is not None
        kind = TYPES.get(path.suffix, "application/octet-stream")
        rows.append(f'    {{ "{name}", "{kind}", "\\"{etag}\\"", {str(immutable).lower()}, asset_{i}, {gz or "NULL"}, '
                    f'asset_{i}_end, {gz + "_end" if gz else "NULL"} }},')
        names.append(path.resolve())
    externs = "".join(f"extern const unsigned char {b}[], {b}_end[];\n" for b, _ in blobs)
    # one row more than there are files, so that the table is never empty
    pathlib.Path(out_c).write_text(
        '/* made by tools/webgen.py */\n#include "server/assets.h"\n\n' + externs + "\nconst struct asset assets[] = {\n"
        + "\n".join(rows) + f"\n    {{ 0 }},\n}};\nconst size_t assets_n = {len(rows)};\n")
    pathlib.Path(out_s).write_text(
        "    .section .rodata\n" + "".join(
            f'    .global {b}, {b}_end\n    .balign 16\n{b}:\n    .incbin "{p}"\n{b}_end:\n    .byte 0\n'
            for b, p in blobs) + '    .section .note.GNU-stack,"",%progbits\n')
    pathlib.Path(out_d).write_text(f"{out_c}: " + " ".join(str(n).replace(" ", "\\ ") for n in names) + "\n")


if __name__ == "__main__":
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    main(*sys.argv[1:])
