"""What tools/apigen.py makes of a description, and what it refuses. The generated C is compiled and run."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
spec = importlib.util.spec_from_file_location("apigen", ROOT / "tools" / "apigen.py")
apigen = importlib.util.module_from_spec(spec)
sys.modules["apigen"] = apigen
spec.loader.exec_module(apigen)

GOOD = """# Things.
service things

enum colour { red dark-red }

# A part of a thing.
type part { name string!  colour colour = red  sizes [int]  default float = 1.5 }  # behind

# Find things.
# In two lines.
call find 1.0 read raw public { in { ... } out { things json  next string always } }
call get 1.7 write control { in { id string!  since int since 2.3 until 2.9  parts [part]  # the parts
    deep part } out {} }
call get 2.4 write prepare { in { id string! } out { ... } }
call fetch 2.0 read = get_1_7
"""


def parse(text, path="things.api"):
    return apigen.Parser(text, path).service()


def test_model():
    service = parse(GOOD)
    assert service.name == "things" and service.doc == "Things."
    assert service.enums == {"colour": ["red", "dark-red"]}
    part = service.types["part"]
    assert part.doc == "A part of a thing."
    assert [(f.name, f.type, f.list, f.required, f.default) for f in part.fields] == [
        ("name", "string", False, True, None), ("colour", "colour", False, False, '"red"'),
        ("sizes", "int", True, False, None), ("default", "float", False, False, "1.5")]
    assert part.fields[3].c_name == "default_" and part.fields[3].doc == "behind"
    find, get, get24, fetch = service.calls
    assert find.doc == "Find things. In two lines." and find.flags == {"raw"} and find.access == "public"
    assert find.request.rest and find.response.fields[1].always
    assert (get.handler, get24.handler) == ("get_1_7", "get_2_4")
    assert fetch.handler == "get_1_7" and fetch.request is get.request and fetch.mode == "read"
    since = get.request.fields[1]
    assert (since.name, since.since, since.until) == ("since", 2003, 2009)
    assert get.request.fields[2].doc == "the parts"


@pytest.mark.parametrize("text, words", [
    ("service x type a { b nope }", "x.api:1: a: field b: unknown type nope"),
    ("service x type a { b int b int }", "field b is there twice"),
    ("service x type a { } type a { }", "a is defined twice"),
    ("service x enum a { b b }", "twice"),
    ("service x call a 1.0 read { in {} out {} } call a 1.0 read { in {} out {} }", "a 1.0 is there twice"),
    ("service x type a { b int! until 2.0 }", "required, but with an end"),
    ("service x type a { b int! = 3 }", "required, but with an end or a default"),
    ("service x type a { b int since 2.9 until 2.3 }", "ends before it begins"),
    ("service x type a { b int = \"3\" }", "does not fit int"),
    ("service x enum e { p q } type a { b e = r }", "does not fit e"),
    ("service x call a 1.0 sing { in {} out {} }", "wanted read or write, found sing"),
    ("service x call a 1 read { in {} out {} }", "1 is no version"),
    ("service x call a 1.0 read = b", "no call b with a body"),
    ("service x call a 1.0 read { in {} out {}", "wanted }, found the end"),
    ("service x type a_in { b int } call a 1.0 read { in {} out {} }", "a_in is also a type"),
    ("service x\n\n$", "x.api:3: cannot read"),
    ("service x type a { ...  b int }", "wanted }, found b"),
])
def test_refuses(text, words):
    with pytest.raises(apigen.ApiError) as error:
        parse(text, "x.api")
    assert words in str(error.value)


def test_file_name_must_be_the_service(tmp_path):
    (tmp_path / "other.api").write_text(GOOD)
    assert apigen.main(["service", str(tmp_path / "other.api"), str(tmp_path)]) == 1


def test_typescript():
    ts = apigen.typescript([parse(GOOD)])
    assert "export interface ThingsPart {\n  name: string;\n  colour?: 'red' | 'dark-red';\n  sizes?: number[];" in ts
    assert "'things.get': { in: ThingsGet24In; out: ThingsGet24Out };" in ts  # the newest of two
    assert "  next: string;" in ts
    assert "export interface ThingsFindIn {\n  [key: string]: unknown;\n}" in ts


MAIN = r"""
#include "api/things.api.h"
#include <stdio.h>
int things_find (struct call *c, const struct things_find_in *in, struct things_find_out *out, struct error *err)
{ (void)c; (void)in; (void)err; out->next = "n"; return 7; }
int things_get_1_7 (struct call *c, const struct things_get_1_7_in *in, struct things_get_1_7_out *out, struct error *err)
{ (void)c; (void)out; (void)err; return (int)in->parts.v[0].default_; }
int things_get_2_4 (struct call *c, const struct things_get_2_4_in *in, struct things_get_2_4_out *out, struct error *err)
{ (void)c; (void)in; (void)out; (void)err; return 0; }
int things_get_2_4_prepare (struct call *c, const struct things_get_2_4_in *in, struct error *err)
{ (void)c; (void)in; (void)err; return 5; }
int main (void)
{
    struct things_part part = { .default_ = 9 };
    struct things_get_1_7_in in = { .parts = { &part, 1 } };
    struct things_find_out out = { 0 };
    for (size_t i = 0; i < wire_calls_n; i++) {
        const struct wire_call *r = &wire_calls[i];
        printf ("%s %d %d %d %d%d%d %zu %zu\n", r->name, r->version, r->mode, r->access, r->raw, r->control,
            r->prepare ? r->prepare (0, 0, 0) : 0, r->in->rest ? 1 : (size_t)0, r->out->size);
    }
    printf ("%d %d\n", wire_calls[0].run (0, &in, 0, 0), wire_calls[1].run (0, 0, &out, 0));
    puts (out.next);
    for (const struct wire_field *f = things_part_type.fields; f->name; f++)
        printf ("%s %d %u %s\n", f->name, f->kind, f->flags, f->otherwise ? f->otherwise : "-");
    return 0;
}
"""


@pytest.mark.skipif(not shutil.which("cc"), reason="needs a C compiler")
def test_generated_c_runs(tmp_path):
    api = tmp_path / "api"
    api.mkdir()
    (api / "things.api").write_text(GOOD)
    assert apigen.main(["service", str(api / "things.api"), str(api)]) == 0
    assert apigen.main(["calls", str(api / "calls.c"), str(api / "things.api")]) == 0
    stamp = os.stat(api / "things.api.h").st_mtime_ns
    assert apigen.main(["service", str(api / "things.api"), str(api)]) == 0
    assert os.stat(api / "things.api.h").st_mtime_ns == stamp  # the same text is not written again
    (tmp_path / "main.c").write_text(MAIN)
    jsonc = subprocess.run(["pkg-config", "--cflags", "json-c"], text=True, capture_output=True).stdout.split()
    subprocess.run(["cc", "-std=gnu17", "-Wall", "-Wextra", "-Werror", *jsonc, f"-I{tmp_path}", f"-I{ROOT / 'src'}",
                    "main.c", "api/things.api.c", "api/calls.c", "-o", "main"], cwd=tmp_path, check=True)
    lines = subprocess.run([tmp_path / "main"], text=True, capture_output=True, check=True).stdout.splitlines()
    assert lines[0].startswith("things.fetch 2000 1 0 000 0 ")
    assert lines[1].startswith("things.find 1000 1 1 100 1 ")
    assert lines[2].startswith("things.get 1007 2 0 010 0 ")
    assert lines[3].startswith("things.get 2004 2 0 005 0 ")
    assert lines[4:6] == ["9 7", "n"]
    assert lines[6:] == ["name 1 2 -", 'colour 2 0 "red"', "sizes 3 1 -", "default 4 0 1.5"]


def load_apidoc():
    doc_spec = importlib.util.spec_from_file_location("apidoc", ROOT / "tools" / "apidoc.py")
    module = importlib.util.module_from_spec(doc_spec)
    doc_spec.loader.exec_module(module)
    return module


def test_openapi():
    doc = load_apidoc().openapi([parse(GOOD)])
    get = doc["paths"]["/v1.7/things.get"]["post"]
    body = get["requestBody"]["content"]["application/json"]["schema"]
    assert body["required"] == ["id"]
    assert body["properties"]["parts"] == {"type": "array", "items": {"$ref": "#/components/schemas/things.part"},
                                           "description": "the parts"}
    assert body["properties"]["since"]["description"] == "since 2.3; until 2.9"
    part = doc["components"]["schemas"]["things.part"]
    assert part["properties"]["colour"] == {"type": "string", "enum": ["red", "dark-red"], "default": "red"}
    assert doc["paths"]["/v1.0/things.find"]["post"]["security"] == []
    assert len(doc["paths"]) == 4


def test_reference():
    page = load_apidoc().reference([parse(GOOD)])
    assert "### things.get (2.4)" in page and "| `id` | string | required |" in page
    assert "The same as things.get_1_7." in page
