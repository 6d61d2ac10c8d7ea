#!/usr/bin/env python3
"""apidoc.py - documents for people out of api/<service>.api.

    apidoc.py openapi OUT.json FILE.api ...     an OpenAPI 3.1 description of every call
    apidoc.py reference OUT.md FILE.api ...     one page: services, types, calls, fields

The descriptions are read by apigen.py, so the documents say what the server does.
"""
import json
import pathlib
import sys

import apigen

OPENAPI_TYPES = {"string": {"type": "string"}, "int": {"type": "integer", "format": "int64"},
                 "float": {"type": "number"}, "bool": {"type": "boolean"}, "json": {}, "dict": {"type": "object"}}
ACCESS = {None: "", "public": "no credentials needed", "maybe": "credentials looked at, not needed",
          "admin": "roles system, root, admin"}


def version_text(number):
    return f"{number // 1000}.{number % 1000}"


def bounds(field):
    words = []
    if field.since:
        words.append(f"since {version_text(field.since)}")
    if field.until:
        words.append(f"until {version_text(field.until)}")
    return words


# -- OpenAPI
def field_schema(service, field):
    if field.type in OPENAPI_TYPES:
        schema = dict(OPENAPI_TYPES[field.type])
    elif field.type in service.enums:
        schema = {"type": "string", "enum": service.enums[field.type]}
    else:
        schema = {"$ref": f"#/components/schemas/{service.name}.{field.type}"}
    if field.list:
        schema = {"type": "array", "items": schema}
    if field.default is not None:
        schema["default"] = json.loads(field.default)
    words = ([field.doc] if field.doc else []) + bounds(field)
    if words:
        schema["description"] = "; ".join(words)
    return schema


def type_schema(service, t):
    schema = {"type": "object", "properties": {f.name: field_schema(service, f) for f in t.fields}}
    required = [f.name for f in t.fields if f.required]
    if required:
        schema["required"] = required
    if t.rest:
        schema["additionalProperties"] = True
    if t.doc:
        schema["description"] = t.doc
    return schema


def envelope(data):
    return {"type": "object", "required": ["meta", "data"],
            "properties": {"meta": {"$ref": "#/components/schemas/meta"}, "data": data}}


def operation(service, call):
    content = "application/json-lines" if "batch" in call.flags else "application/json"
    out = {
        "operationId": f"{service.name}_{call.name}_{call.version.replace('.', '_')}",
        "tags": [service.name],
        "summary": call.doc or f"{service.name}.{call.name}",
        "requestBody": {"content": {content: {"schema": type_schema(service, call.request)}}},
        "responses": {
            "200": {"description": "Done", "content": {"application/json": {
                "schema": envelope(type_schema(service, call.response))}}},
            "default": {"description": "Refused: meta.result_subcode and meta.result_msg say why", "content": {
                "application/json": {"schema": envelope({"type": "object"})}}}}}
    if call.access in ("public", "maybe"):
        out["security"] = []
    return out


META = {"type": "object", "properties": {
    "id": {"type": "string"}, "trx": {"type": "string"},
    "endpoint": {"type": "object", "properties": {"name": {"type": "string"}, "requested_version": {}, "actual_version": {}}},
    "result_code": {"type": "integer"}, "result_subcode": {"type": "integer"}, "result_msg": {"type": "string"},
    "error_stack": {}, "error_data": {"type": "object"}}}


def openapi(services):
    schemas, paths = {"meta": META}, {}
    for service in services:
        for name, t in service.types.items():
            schemas[f"{service.name}.{name}"] = type_schema(service, t)
        for call in service.calls:
            paths[f"/v{call.version}/{service.name}.{call.name}"] = {"post": operation(service, call)}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Stoker", "version": "2.34",
                 "description": "Every call is a POST of a JSON object to /vX.Y/service.call; the highest version of a "
                                "call that is not above the one asked for answers."},
        "tags": [{"name": s.name, "description": s.doc} for s in services],
        "security": [{"basic": []}, {"bearer": []}],
        "paths": paths,
        "components": {"schemas": schemas, "securitySchemes": {
            "basic": {"type": "http", "scheme": "basic", "description": "access key and secret"},
            "bearer": {"type": "http", "scheme": "bearer", "description": "the token of auth.login"}}}}


# -- the page
def fields_table(t):
    if not t.fields:
        return ["any members" if t.rest else "nothing", ""]
    out = ["| field | type | |", "|---|---|---|"]
    for f in t.fields:
        kind = f"[{f.type}]" if f.list else f.type
        words = (["required"] if f.required else []) + bounds(f)
        words += [f"default `{f.default}`"] if f.default is not None else []
        words += [f.doc] if f.doc else []
        out.append(f"| `{f.name}` | {kind} | {'; '.join(words)} |")
    return out + (["", "and any other members"] if t.rest else []) + [""]


def call_section(service, call):
    words = [f"since {call.version}", "changes data" if call.mode == "write" else "reads"]
    words += [ACCESS[call.access]] if call.access else []
    words += ["takes JSON lines"] if "batch" in call.flags else []
    out = [f"### {service.name}.{call.name} ({call.version})", "", call.doc, "", f"*{', '.join(words)}*", ""]
    if call.same_as:
        return out + [f"The same as {service.name}.{call.same_as}.", ""]
    return out + ["Request:", ""] + fields_table(call.request) + ["Answer:", ""] + fields_table(call.response)


def reference(services):
    out = ["# Calls of the server", "", "Made from `api/` by `tools/apidoc.py`.", ""]
    out += [f"- [{s.name}](#{s.name}) {s.doc}" for s in services] + [""]
    for service in services:
        out += [f"## {service.name}", "", service.doc, ""]
        for name, values in service.enums.items():
            out += [f"**{name}**: one of {', '.join(f'`{v}`' for v in values)}", ""]
        for name, t in service.types.items():
            out += [f"**{name}**: {t.doc}", ""] + fields_table(t)
        for call in service.calls:
            out += call_section(service, call)
    return "\n".join(out)


def main(argv):
    if len(argv) < 3 or argv[0] not in ("openapi", "reference"):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        services = [apigen.parse_file(p) for p in sorted(argv[2:], key=lambda p: pathlib.Path(p).stem)]
    except apigen.ApiError as error:
        print(f"apidoc: {error}", file=sys.stderr)
        return 1
    text = json.dumps(openapi(services), indent=1) if argv[0] == "openapi" else reference(services)
    apigen.write(argv[1], text.rstrip() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
