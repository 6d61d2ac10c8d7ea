#!/usr/bin/env python3
"""apigen.py - turn api/<service>.api, the description of the wire, into C tables and TypeScript types.

    apigen.py service FILE.api OUTDIR           OUTDIR/<service>.api.h and .api.c: structs, tables, prototypes
    apigen.py calls OUT.c FILES                 the table of all calls (src/wire/wire.h: wire_calls)
    apigen.py typescript OUT.ts FILES           the same types for the web page

The C is data, not code: src/wire/decode.c and encode.c walk the tables. What a description may say:

    service tasks
    enum status { created queued in_progress }
    # One line above a type or call is its documentation.
    type param { name string!  value string = ""  # behind a field: what it means
                 labels [string] since 2.13 until 2.20   ... }
    call edit 1.0 write control { in { task string!  force bool = false } out { updated int always } }
    call edit_many 1.0 write = edit             same types, same handler, a row of its own

A field is: name type[!] [since V] [until V] [always] [= default]. Types: string int float bool json dict (a JSON
object), an enum or a type of the same file, or a list of one of them in []. `!` is required, `always` writes the field
even when it was never set, `...` at the end of a type keeps members that are not listed. Words of a call: read or
write, then any of public (no credentials needed), maybe (tried, not needed), admin, raw (no required-check), batch
(takes json-lines), control (goes before event batches), prepare (has a step that runs before the database is reached).
What cannot be proven (an unknown type, the same name twice, a required field with an end) is refused with file and line.
"""
import argparse
import dataclasses
import pathlib
import re
import sys

SCALARS = {  # type of the description: (C type, kind in wire.h, TypeScript)
    "string": ("const char *", "WIRE_STRING", "string"),
    "int": ("int64_t ", "WIRE_INT", "number"),
    "float": ("double ", "WIRE_FLOAT", "number"),
    "bool": ("bool ", "WIRE_BOOL", "boolean"),
    "json": ("struct text ", "WIRE_JSON", "Json"),
    "dict": ("struct text ", "WIRE_JSON", "{ [key: string]: Json }"),
}
ACCESS = {"public": "WIRE_PUBLIC", "maybe": "WIRE_MAYBE", "admin": "WIRE_ADMIN"}
FLAGS = ("raw", "batch", "control", "prepare")
TOKEN = re.compile(r'\s+|(?P<comment>#[^\n]*)|(?P<token>"(?:[^"\\]|\\.)*"|\.\.\.|\[\]|\{\}|[\[\]{}!=]|[\w.\-]+)')
C_RESERVED = set(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while asm typeof "
    "bool true false linux unix".split())
STRUCT_RESERVED = {"has", "null", "rest"}


class ApiError(Exception):
    """A description that is wrong; its text starts with file and line."""


@dataclasses.dataclass
class Field:
    name: str
    type: str
    list: bool = False
    required: bool = False
    always: bool = False
    since: int = 0
    until: int = 0
    default: str = None  # JSON text
    doc: str = ""

    @property
    def c_name(self):
        return self.name + "_" if self.name in C_RESERVED | STRUCT_RESERVED else self.name


@dataclasses.dataclass
class Type:
    name: str  # in C, after the service's prefix
    fields: list
    rest: bool
    doc: str = ""


@dataclasses.dataclass
class Call:
    name: str
    version: str
    mode: str
    access: str
    flags: set
    doc: str
    line: int
    same_as: str = None  # name of the call whose types and handler this row uses
    request: Type = None
    response: Type = None
    handler: str = None  # C name after the service's prefix


@dataclasses.dataclass
class Service:
    name: str
    path: str
    doc: str
    enums: dict
    types: dict
    calls: list


def version_number(text):
    major, minor = text.split(".")
    return int(major) * 1000 + int(minor)


class Parser:
    def __init__(self, text, path):
        self.path, self.pos = path, 0
        self.tokens, self.above, self.behind = [], {}, {}
        at = 0
        while at < len(text):
            match = TOKEN.match(text, at)
            line = text.count("\n", 0, at) + 1
            if not match:
                raise ApiError(f"{path}:{line}: cannot read {text[at:at + 20]!r}")
            if match["token"]:
                self.tokens.append((match["token"], line))
            elif match["comment"]:
                words = match["comment"].lstrip("# ").rstrip()
                alone = not text[text.rfind("\n", 0, at) + 1:at].strip()
                (self.above if alone else self.behind)[line] = words
            at = match.end()

    def fail(self, words, line=None):
        line = line or (self.tokens[min(self.pos, len(self.tokens) - 1)][1] if self.tokens else 1)
        raise ApiError(f"{self.path}:{line}: {words}")

    def peek(self):
        return self.tokens[self.pos][0] if self.pos < len(self.tokens) else None

    def line(self):
        return self.tokens[min(self.pos, len(self.tokens) - 1)][1]

    def take(self, want=None):
        found = self.peek()
        if found is None or (want and found != want):
            self.fail(f"wanted {want or 'more'}, found {found or 'the end of the file'}")
        self.pos += 1
        return found

    def take_if(self, want):
        if self.peek() != want:
            return False
        self.pos += 1
        return True

    def take_name(self, what):
        name = self.take()
        if not re.fullmatch(r"[A-Za-z_]\w*", name):
            self.pos -= 1
            self.fail(f"{what}: {name} is no name")
        return name

    def take_version(self):
        text = self.take()
        if not re.fullmatch(r"\d+\.\d+", text):
            self.pos -= 1
            self.fail(f"{text} is no version (2.13)")
        return text

    def version_follows(self):
        return self.pos + 1 < len(self.tokens) and self.tokens[self.pos + 1][0][0].isdigit()

    def doc(self, line):
        words = []
        while line - 1 in self.above:
            line -= 1
            words.insert(0, self.above[line])
        return " ".join(words)

    # -- the grammar
    def service(self):
        line = self.line() if self.tokens else 1
        self.take("service")
        service = Service(self.take_name("service"), self.path, self.doc(line), {}, {}, [])
        while self.peek():
            line, word = self.line(), self.take()
            if word == "enum":
                self.enum(service)
            elif word == "type":
                self.type(service, line)
            elif word == "call":
                self.call(service, line)
            else:
                self.pos -= 1
                self.fail(f"wanted enum, type or call, found {word}")
        link(service)
        return service

    def new_name(self, service, what):
        name = self.take_name(what)
        if name in service.enums or name in service.types or name in SCALARS:
            self.pos -= 1
            self.fail(f"{name} is defined twice")
        return name

    def enum(self, service):
        name, values = self.new_name(service, "enum"), []
        self.take("{")
        while not self.take_if("}"):
            value = self.take()
            if value in values or not re.fullmatch(r"[\w\-]+", value):
                self.pos -= 1
                self.fail(f"enum {name}: {value} twice or no name")
            values.append(value)
        service.enums[name] = values

    def type(self, service, line):
        name = self.new_name(service, "type")
        service.types[name] = self.members(name, service, self.doc(line))

    def members(self, name, service, doc=""):
        out = Type(name, [], False, doc)
        out.line = self.line()
        self.take("{}" if self.peek() == "{}" else "{")
        if self.tokens[self.pos - 1][0] == "{}":
            return out
        while not self.take_if("}"):
            if self.take_if("..."):
                out.rest = True
                self.take("}")
                break
            field = self.field(name)
            if any(field.name == f.name for f in out.fields):
                self.fail(f"{name}: field {field.name} is there twice")
            out.fields.append(field)
        return out

    def field(self, owner):
        field = Field(self.take_name(f"{owner}: field"), "")
        field.line = self.line()
        field.list = self.take_if("[")
        field.type = self.take_name(f"field {field.name}: type")
        if field.list:
            self.take("]")
        field.required = self.take_if("!")
        while True:
            if self.peek() in ("since", "until") and self.version_follows():  # else it is the next field's name
                setattr(field, self.take(), version_number(self.take_version()))
            elif self.take_if("always"):
                field.always = True
            elif self.take_if("="):
                field.default = self.take()
            else:
                break
        if field.required and (field.until or field.default is not None):
            self.fail(f"field {field.name}: required, but with an end or a default")
        if field.since and field.until and field.since > field.until:
            self.fail(f"field {field.name}: ends before it begins")
        field.doc = self.behind.get(self.tokens[self.pos - 1][1], "") if self.last_on_line() else ""
        return field

    def last_on_line(self):
        """Is nothing but closing braces behind what was just read?"""
        line, pos = self.tokens[self.pos - 1][1], self.pos
        while pos < len(self.tokens) and self.tokens[pos] == ("}", line):
            pos += 1
        return pos >= len(self.tokens) or self.tokens[pos][1] != line

    def call(self, service, line):
        name, version = self.take_name("call"), self.take_version()
        mode = self.take()
        if mode not in ("read", "write"):
            self.pos -= 1
            self.fail(f"call {name}: wanted read or write, found {mode}")
        call = Call(name, version, mode, None, set(), self.doc(line), line)
        while self.peek() in FLAGS or self.peek() in ACCESS:
            word = self.take()
            if word in ACCESS:
                call.access = word
            else:
                call.flags.add(word)
        if self.take_if("="):
            call.same_as = self.take_name("handler")
        else:
            self.take("{")
            self.take("in")
            if self.take_if("raw"):
                call.flags.add("raw")
            call.request = self.members("", service)
            self.take("out")
            call.response = self.members("", service)
            self.take("}")
        if any(call.name == c.name and version_number(call.version) == version_number(c.version) for c in service.calls):
            self.fail(f"call {name} {version} is there twice", line)
        service.calls.append(call)


def link(service):
    """Give every call its C names and types, and check what needs the whole file."""
    for call in service.calls:
        many = sum(c.name == call.name and not c.same_as for c in service.calls) > 1
        call.handler = f"{call.name}_{call.version.replace('.', '_')}" if many else call.name
    own = {c.handler: c for c in service.calls if not c.same_as}
    for call in service.calls:
        if call.same_as:
            other = own.get(call.same_as)
            if not other:
                raise ApiError(f"{service.path}:{call.line}: call {call.name}: no call {call.same_as} with a body")
            call.handler, call.request, call.response = other.handler, other.request, other.response
            continue
        call.request.name, call.response.name = call.handler + "_in", call.handler + "_out"
        for t in (call.request, call.response):
            if t.name in service.types or t.name in service.enums:
                raise ApiError(f"{service.path}:{call.line}: {t.name} is also a type")
    for t in all_types(service):
        for field in t.fields:
            check_field(service, t, field)


def check_field(service, t, field):
    where = f"{service.path}:{field.line}: {t.name}: field {field.name}"
    if field.type not in SCALARS and field.type not in service.types and field.type not in service.enums:
        raise ApiError(f"{where}: unknown type {field.type}")
    if field.type in service.types and field.default is not None:
        raise ApiError(f"{where}: an object has no default")
    if field.default is None:
        return
    default, ok = field.default, True
    if field.list:
        ok = default == "[]"
    elif field.type == "string":
        ok = default.startswith('"')
    elif field.type in service.enums:
        ok = default in service.enums[field.type]
        field.default = f'"{default}"'
    elif field.type == "bool":
        ok = default in ("true", "false")
    elif field.type == "int":
        ok = re.fullmatch(r"-?\d+", default)
    elif field.type == "float":
        ok = re.fullmatch(r"-?\d+(\.\d+)?", default)
    if not ok:
        raise ApiError(f"{where}: default {default} does not fit {field.type}")


def all_types(service):
    return list(service.types.values()) + [t for c in service.calls if not c.same_as for t in (c.request, c.response)]


def c_text(text):
    return "NULL" if text is None else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


# -- C
def c_member(service, field):
    if field.type in SCALARS:
        c = SCALARS[field.type][0]
    elif field.type in service.enums:
        c = "const char *"
    else:
        c = f"struct {service.name}_{field.type} *"
    if not field.list:
        return f"    {c}{field.c_name};"
    element = c if field.type not in service.types else c[:-1]
    return f"    struct {{\n        {element}*v;\n        size_t n;\n    }} {field.c_name};"


def c_struct(service, t):
    names = ", ".join(f.c_name for f in t.fields) or "none_"
    lines = [f"struct {service.name}_{t.name} {{", f"    struct {{\n        bool {names};\n    }} has, null;"]
    lines += [c_member(service, f) for f in t.fields]
    if t.rest:
        lines.append("    struct text rest;")  # never at offset 0, which means "none" in the table
    lines += ["};", ""]
    return "\n".join(([f"/* {t.doc} */"] if t.doc else []) + lines)


def c_handler(service, call):
    return (f"int {service.name}_{call.handler} (struct call *c, const struct {service.name}_{call.request.name} *in,\n"
            f"    struct {service.name}_{call.response.name} *out, struct error *err);")


def c_prepare(service, call):
    return (f"int {service.name}_{call.handler}_prepare (struct call *c, "
            f"const struct {service.name}_{call.request.name} *in,\n    struct error *err);")


def c_header(service):
    out = [f"/* Made by tools/apigen.py from {service.name}.api; do not edit. */", "#pragma once",
           '#include "wire/wire.h"', ""]
    out += [f"extern const char *const {service.name}_{name}_names[];" for name in service.enums]
    out += [f"struct {service.name}_{t.name};" for t in all_types(service)] + [""]
    out += [c_struct(service, t) for t in all_types(service)]
    out += [f"extern const struct wire_type {service.name}_{t.name}_type;" for t in all_types(service)] + [""]
    for call in service.calls:
        if not call.same_as:
            out += ([f"/* {call.doc} */"] if call.doc else []) + [c_handler(service, call)]
            out += [c_prepare(service, call)] * ("prepare" in call.flags)
    return "\n".join(out) + "\n"


def c_row(service, t, field):
    kind, sub, names = "WIRE_OBJECT", "NULL", "NULL"
    if field.type in SCALARS:
        kind = SCALARS[field.type][1]
    elif field.type in service.enums:
        kind, names = "WIRE_ENUM", f"{service.name}_{field.type}_names"
    else:
        sub = f"&{service.name}_{field.type}_type"
    flags = ["WIRE_LIST"] * field.list + ["WIRE_REQUIRED"] * field.required + ["WIRE_ALWAYS"] * field.always
    flags += ["WIRE_DICT"] * (field.type == "dict")
    struct = f"struct {service.name}_{t.name}"
    places = ", ".join(f"offsetof ({struct}, {where}{field.c_name})" for where in ("", "has.", "null."))
    return (f'    {{ "{field.name}", {places}, {kind}, {" | ".join(flags) or "0"}, {sub}, {names}, '
            f"{c_text(field.default)}, {field.since}, {field.until} }},")


def c_table(service, t):
    rest = f"offsetof (struct {service.name}_{t.name}, rest)" if t.rest else "0"
    name = f"{service.name}_{t.name}"
    return "\n".join(
        [f"static const struct wire_field {name}_fields[] = {{"] + [c_row(service, t, f) for f in t.fields]
        + ["    { .name = NULL },", "};",
           f'const struct wire_type {name}_type = {{ "{name}", sizeof (struct {name}), {rest}, {name}_fields }};', ""])


def c_source(service):
    out = [f"/* Made by tools/apigen.py from {service.name}.api; do not edit. */",
           f'#include "api/{service.name}.api.h"', ""]
    for name, values in service.enums.items():
        out.append(f"const char *const {service.name}_{name}_names[] = {{ "
                   + ", ".join(f'"{v}"' for v in values) + ", NULL };")
    out += [c_table(service, t) for t in all_types(service)]
    return "\n".join(out) + "\n"


def c_wrappers(service):
    out = []
    for call in service.calls:
        if call.same_as:
            continue
        name = f"{service.name}_{call.handler}"
        out.append(f"static int run_{name} (struct call *c, const void *in, void *out, struct error *err)\n"
                   f"{{\n    return {name} (c, in, out, err);\n}}\n")
        if "prepare" in call.flags:
            out.append(f"static int prepare_{name} (struct call *c, const void *in, struct error *err)\n"
                       f"{{\n    return {name}_prepare (c, in, err);\n}}\n")
    return out


def c_call_row(service, call):
    name = f"{service.name}_{call.handler}"
    parts = [f'.name = "{service.name}.{call.name}"', f".version = {version_number(call.version)}",
             f".mode = WIRE_{call.mode.upper()}", f".access = {ACCESS.get(call.access, 'WIRE_USER')}"]
    parts += [f".{flag} = true" for flag in ("raw", "batch", "control") if flag in call.flags]
    parts += [f".in = &{service.name}_{call.request.name}_type", f".out = &{service.name}_{call.response.name}_type",
              f".run = run_{name}"]
    if "prepare" in call.flags:
        parts.append(f".prepare = prepare_{name}")
    return "    { " + ", ".join(parts) + " },"


def c_calls(services):
    out = ["/* Made by tools/apigen.py from all of api/; do not edit. */", '#include "wire/wire.h"', ""]
    out += [f'#include "api/{s.name}.api.h"' for s in services] + [""]
    for service in services:
        out += c_wrappers(service)
    rows = sorted(((f"{s.name}.{c.name}".encode(), version_number(c.version), c_call_row(s, c))
                   for s in services for c in s.calls))
    out += ["static const struct wire_call rows[] = {"] + [row for _, _, row in rows] + ["};"]
    out += ["const struct wire_call *const wire_calls = rows;",
            "const size_t wire_calls_n = sizeof (rows) / sizeof (*rows);"]
    return "\n".join(out) + "\n"


# -- TypeScript
def camel(service, name):
    return "".join(p[:1].upper() + p[1:] for p in f"{service.name}_{name}".split("_"))


def ts_type(service, t, is_input):
    out = [f"/** {t.doc} */"] if t.doc else []
    out.append(f"export interface {camel(service, t.name)} {{")
    for f in t.fields:
        if f.type in SCALARS:
            ts = SCALARS[f.type][2]
        elif f.type in service.enums:
            ts = " | ".join(f"'{v}'" for v in service.enums[f.type])
            ts = f"({ts})" if f.list else ts
        else:
            ts = camel(service, f.type)
        out += [f"  /** {f.doc} */"] if f.doc else []
        out.append(f"  {f.name}{'' if f.required or (f.always and not is_input) else '?'}: {ts}{'[]' if f.list else ''};")
    out += ["  [key: string]: unknown;"] if t.rest else []
    return "\n".join(out + ["}", ""])


def typescript(services):
    out = ["// Made by tools/apigen.py from api/; do not edit.", "",
           "export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };", ""]
    for service in services:
        inputs = {c.request.name for c in service.calls}
        out += [ts_type(service, t, t.name in inputs) for t in all_types(service)]
    out.append("/** Every call: its request and its answer. The newest version where there are several. */")
    out.append("export interface Calls {")
    for service in services:
        newest = {}
        for call in sorted(service.calls, key=lambda c: version_number(c.version)):
            newest[call.name] = call
        for call in newest.values():
            out += [f"  /** {call.doc} */"] if call.doc else []
            out.append(f"  '{service.name}.{call.name}': {{ in: {camel(service, call.request.name)}; "
                       f"out: {camel(service, call.response.name)} }};")
    return "\n".join(out + ["}", ""])


# -- the program
def parse_file(path):
    service = Parser(pathlib.Path(path).read_text(encoding="utf-8"), str(path)).service()
    if service.name != pathlib.Path(path).stem:
        raise ApiError(f"{path}:1: service {service.name} does not stand in {service.name}.api")
    return service


def write(path, text):
    """Leave a file alone that says the same already, so that what depends on it is not built again."""
    path = pathlib.Path(path)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def main(argv):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["service", "calls", "typescript"])
    parser.add_argument("first", help="FILE.api for service, else the file to write")
    parser.add_argument("rest", nargs="*", help="OUTDIR for service, else FILE.api ...")
    args = parser.parse_args(argv)
    try:
        if args.what == "service":
            service, out = parse_file(args.first), pathlib.Path(args.rest[0])
            write(out / f"{service.name}.api.h", c_header(service))
            write(out / f"{service.name}.api.c", c_source(service))
            return 0
        services = [parse_file(p) for p in sorted(args.rest, key=lambda p: pathlib.Path(p).stem)]
        if args.what == "calls":
            write(args.first, c_calls(services))
        else:
            write(args.first, typescript(services))
    except ApiError as error:
        print(f"apigen: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
