#!/usr/bin/env python3
"""manpages.py STOKER FOLDER - write a man page for each verb of the program from what its --help says.

The help texts are the one source; this only dresses them: usage as SYNOPSIS, the first paragraph as DESCRIPTION,
arguments and options as tagged lists, what follows as EXAMPLES. Verbs are found by walking the lists that --help of a
verb with sub-verbs prints.
"""
import os
import pathlib
import re
import subprocess
import sys

VERB = re.compile(r"^  ([a-z][a-z_-]*) {2,}(\S.*)$")


def help_of(program, words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return done.stdout.rstrip("\n").split("\n")


def roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text[:1] in (".", "'") else text


def sections(lines):
    """[(title, [lines])] of a help text; a title is an unindented line that ends in ':'."""
    found = [("", [])]
    for line in lines:
        if re.match(r"^[A-Za-z][A-Za-z -]*:$", line):
            found.append((line[:-1], []))
        else:
            found[-1][1].append(line)
    return found


def tagged(lines):
    """Rows '  left   right' with wrapped right sides -> [(left, right)]."""
    rows = []
    for line in lines:
        if not line.strip():
            continue
        if re.match(r"^ {2,6}\S", line):
            parts = re.split(r" {2,}", line.strip(), maxsplit=1)
            if len(parts) == 2 and parts[0].endswith(","):
                parts = [line.strip(), ""]
            rows.append([parts[0], parts[1] if len(parts) > 1 else ""])
        elif rows:
            rows[-1][1] = (rows[-1][1] + " " + line.strip()).strip()
    return rows


def page(words, lines, verbs):
    name = "-".join(["stoker", *words])
    (_, head), *rest = sections(lines)
    usage = [line for line in head if line.lower().startswith("usage")]
    about = " ".join(line.strip() for line in head if line.strip() and not line.lower().startswith("usage")
                     and not VERB.match(line))
    out = [f'.TH {name.upper()} 1 "" "stoker" "Stoker"', ".SH NAME", f"{name} \\- {roff(about.split('. ')[0].rstrip('.'))}",
           ".SH SYNOPSIS", *[f".B {roff(re.sub('(?i)^usage: *', '', u))}" for u in usage], ".SH DESCRIPTION",
           roff(about) or roff(name)]
    if verbs:
        out.append(".SH COMMANDS")
        for verb, what in verbs:
            out += [".TP", f".B {roff(verb)}", roff(what)]
    for title, body in rest:
        if title.lower() in ("arguments", "options"):
            out.append(f".SH {title.upper()}")
            for left, right in tagged(body):
                out += [".TP", f".B {roff(left)}", roff(right)]
        elif any(line.strip() for line in body):
            out += [f".SH {title.upper()}", ".nf", *[roff(line) for line in body], ".fi"]
    return name, "\n".join(out) + "\n"


def walk(program, folder, words):
    lines = help_of(program, words)
    has_options = any(re.match(r"^Options:", line) for line in lines)
    verbs = [] if has_options else [m.groups() for m in map(VERB.match, lines) if m]
    name, text = page(words, lines, verbs)
    (folder / f"{name}.1").write_text(text)
    for verb, _ in verbs:
        walk(program, folder, [*words, verb])


if __name__ == "__main__":
    target = pathlib.Path(os.environ.get("MESON_INSTALL_DESTDIR_PREFIX", "."), sys.argv[2])  # under meson install
    target.mkdir(parents=True, exist_ok=True)
    walk(sys.argv[1], target, [])
