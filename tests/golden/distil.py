#!/usr/bin/env python3
"""distil.py FOLDER [NAME...] - make tests/golden/<name>.jsonl of recorded exchanges between real clients and a server.

In: FOLDER/<name>.jsonl, one exchange a line: seq, service (api|files), method, path, query, req_headers, req_body, status,
resp_body (ids, tokens and keys are already stand-ins there). Out, one line an exchange in the recorded order, which is
that of the answers (so what an answer shows was done before it):

    {"method", "path", "query"?, "auth"?: basic|bearer, "headers"?, "body"?, "upload"?, "status", "subcode"?,
     "versions"?: those of the endpoint: asked for, answered; "shape"?: number of the answer's shape, "learn"?: {name: place in the answer's data}}

and a first line {"shapes": [...]}. Lines with "setup" were not recorded: they make what clients outside the recording
had made (queues, tasks that wait for an agent). What stays of an answer is codes, names of fields and their types; of a request what
the server needs to go the same way. Ids that a server makes become {{id7}}: `learn` says in which answer to find them.
Long texts of requests are cut, because nothing depends on them.

A shape: "s" text, "num", "b", "n" null; {"field": shape}; ["list", count, [distinct shapes of items]].
"""
import json
import pathlib
import re
import sys

OUT = pathlib.Path(__file__).resolve().parent
# Played in this order; 01p was recorded on a server of its own, after the same program had run there once.
NAMES = ["01-sdk-task-init", "02-sdk-task-ops", "03-agent-daemon", "03b-agent-sdk-task", "04-agent-admin",
         "05-trains-sdk", "06-dataset", "07b-hpo-base", "07b-hpo", "01p-sdk-post-method"]
ID = re.compile(r"[0-9a-f]{32}")
FIXED = {"d1bd92a3b039400cbafc60a7a5b1e52b"}  # the default company: the same everywhere
HEADERS = ("x-clearml-worker", "x-trains-worker", "x-clearml-client", "x-trains-client", "content-type")
LONG = 100
UPLOAD_NAME = re.compile(rb'name="([^"]*)"')


def shape_of(value):
    if isinstance(value, dict):
        return {k: shape_of(v) for k, v in value.items()}
    if isinstance(value, list):
        kinds = []
        for item in value:
            shape = shape_of(item)
            if shape not in kinds:
                kinds.append(shape)
        return ["list", len(value), kinds]
    if isinstance(value, bool):
        return "b"
    return "n" if value is None else "s" if isinstance(value, str) else "num"


def shorten(value, key=""):
    """Cut what is only content: plots, console lines, differences, package lists."""
    if isinstance(value, dict):
        return {k: shorten(v, k) for k, v in value.items()}
    if isinstance(value, list):
        return [shorten(v, key) for v in value]
    if key == "plot_str":
        return '{"data": [], "layout": {}}'
    if isinstance(value, str) and key in ("msg", "diff", "pip", "conda", "preview", "org_pip", "org_conda", "comment"):
        return value and "some " + key
    if isinstance(value, str) and len(value) > LONG and not ID.search(value):
        return value[:LONG]
    return value


class Names:
    """Ids and scrolls by the name they go by in the distilled file."""

    def __init__(self):
        self.known = {}

    def learn(self, data):
        found = {}

        def walk(value, place):
            if isinstance(value, dict):
                for key, v in value.items():
                    walk(v, place + [key])
            elif isinstance(value, list):
                for i, v in enumerate(value):
                    walk(v, place + [i])
            elif isinstance(value, str) and value not in self.known and value not in FIXED:
                scroll = place[-1:] == ["scroll_id"]
                if scroll or ID.fullmatch(value):
                    name = f"{'scroll' if scroll else 'id'}{len(self.known) + 1}"
                    self.known[value] = name
                    found[name] = place

        walk(data, [])
        return found

    def replace(self, text):
        for value, name in self.known.items():
            if value in text:
                text = text.replace(value, "{{" + name + "}}")
        return text


def body_of(record):
    """(kind, value): a JSON object, lines of them, an upload's name, or nothing."""
    body = record["req_body"]
    if isinstance(body, dict):
        import base64
        raw = base64.b64decode(body["base64"])
    else:
        raw = (body or "").encode()
    if not raw:
        return None, None
    if record["service"] == "files":
        name = UPLOAD_NAME.search(raw)
        return "upload", name[1].decode() if name else "unnamed"
    text = raw.decode()
    try:
        return "body", shorten(json.loads(text))
    except json.JSONDecodeError:
        return "lines", [shorten(json.loads(line)) for line in text.splitlines() if line]


def distil(record, names, shapes):
    headers = {k.lower(): v for k, v in dict(record["req_headers"]).items()}
    out = {"method": record["method"], "path": record["path"]}
    if record.get("query"):
        out["query"] = record["query"]
    if record["service"] == "files":
        out["service"] = "files"
    if headers.get("authorization", "").strip():
        out["auth"] = headers["authorization"].split()[0].lower()
    out["headers"] = {k: headers[k] for k in HEADERS if k in headers and not headers[k].startswith("multipart")}
    kind, value = body_of(record)
    if kind:
        out[kind] = value
    out = json.loads(names.replace(json.dumps(out)))
    out["status"] = record["status"]
    if record["service"] == "files" and record["method"] == "GET":
        return out  # what was uploaded, which is not kept here
    try:
        answer = json.loads(record["resp_body"])
    except (TypeError, ValueError):
        return out
    if isinstance(answer, dict) and "meta" in answer:
        if answer["meta"]["result_subcode"]:
            out["subcode"] = answer["meta"]["result_subcode"]
        out["versions"] = [answer["meta"]["endpoint"][k] for k in ("requested_version", "actual_version")]
        answer = answer["data"]
    learned = names.learn(answer)
    if learned:
        out["learn"] = learned
    shape = json.loads(names.replace(json.dumps(shape_of(answer))))
    if shape not in shapes:
        shapes.append(shape)
    out["shape"] = shapes.index(shape)
    return out


# -- what others had made
TASK_FIELDS = ("name", "type", "comment", "tags", "system_tags", "script", "hyperparams", "configuration", "container")


def data_of(record):
    try:
        answer = json.loads(record["resp_body"])
        return answer["data"] if isinstance(answer, dict) else {}
    except (TypeError, ValueError, KeyError):
        return {}


def setup(call, body, names, made=None, place=("id",)):
    """One call that was not recorded; `made` is the recorded id that its answer stands for."""
    line = {"setup": True, "method": "POST", "path": f"/v2.34/{call}", "auth": "bearer",
            "headers": {"content-type": "application/json"}, "body": json.loads(names.replace(json.dumps(shorten(body)))),
            "status": 200}
    if made:
        names.known[made] = f"id{len(names.known) + 1}"
        line["learn"] = {names.known[made]: list(place)}
    return line


def setup_task(task, queue, records, names):
    """The waiting task that an agent is about to pull, made from how it looked first (if it was ever looked at)."""
    docs = (d["task"] for d in map(data_of, records) if isinstance(d.get("task"), dict))
    doc = next((d for d in docs if d.get("id") == task and "script" in d), {"name": "waiting", "type": "training"})
    out, body = [], {k: doc[k] for k in TASK_FIELDS if doc.get(k)}
    if doc.get("project"):
        body["project"] = doc["project"]
        if doc["project"] not in names.known:
            out.append(setup("projects.create", {"name": "Golden/agent", "description": ""}, names, doc["project"]))
    out.append(setup("tasks.create", body, names, task))
    out.append(setup("tasks.enqueue", {"task": task, "queue": queue}, names))
    return out


def setup_before(record, records, names):
    data, out = data_of(record), []
    entries = []
    if isinstance(data.get("entry"), dict):
        entries = [(data["entry"]["task"], json.loads(record["req_body"])["queue"])]
    for queue in data.get("queues") or []:
        if queue.get("id") and queue["id"] not in names.known:
            out += setup_queue(queue["id"], records, names)
        entries += [(e["task"], queue["id"]) for e in queue.get("entries") or []]
    for task, queue in entries:
        if task not in names.known:
            out += setup_task(task, queue, records, names)
    return out


def setup_queue(queue, records, names):
    """A queue that somebody had made: its name stands in another answer, or in the filter that found it."""
    for record in records:
        for doc in data_of(record).get("queues") or []:
            if doc.get("id") == queue:
                name = doc.get("name") or json.loads(record["req_body"]).get("name", "")
                name = re.sub(r"[\\\\^$]", "", name)
                if name:
                    return [setup("queues.create", {"name": name}, names, queue)]
    return []


def setup_start(name, records, names):
    """What an earlier run of the same program had left."""
    if name == "01p-sdk-post-method":
        task = next(json.loads(r["req_body"])["id"][0] for r in records if r["path"].endswith("tasks.get_all"))
        project = next(json.loads(r["req_body"])["project"] for r in records if r["path"].endswith("projects.get_by_id"))
        body = {"name": "^train 01$", "only_fields": ["id", "project"]}
        return [setup("tasks.get_all", body, names, task, ("tasks", 0, "id")),
                setup("tasks.get_all", body, names, project, ("tasks", 0, "project"))]
    return setup_aborted(records, names) if name == "02-sdk-task-ops" else []


def setup_aborted(records, names):
    """A queue, a project and a failed clone."""
    queue = next(d["queues"][0]["id"] for d in map(data_of, records) if d.get("queues"))
    project, clone = [next(d[kind][0]["id"] for r in records for d in [data_of(r)] if d.get(kind) and words in r["req_body"])
                      for kind, words in (("projects", "proj\\\\ two"), ("tasks", "clone.*"))]
    params = next(d["task"]["hyperparams"] for d in map(data_of, records) if (d.get("task") or {}).get("id") == clone)
    first = next(json.loads(r["req_body"])["task"] for r in records if r["path"].endswith("tasks.get_by_id"))
    return [setup("queues.create", {"name": "q-02"}, names, queue),
            setup("projects.create", {"name": "Golden/proj two", "description": ""}, names, project),
            setup("tasks.clone", {"task": first, "new_task_name": "clone renamed", "new_task_comment": "cloned",
                                  "new_task_project": project, "new_task_hyperparams": params}, names, clone),
            setup("tasks.started", {"task": clone}, names),
            setup("tasks.failed", {"task": clone, "status_reason": "r", "status_message": "m"}, names)]


def main(folder, chosen):
    names = Names()
    for name in NAMES + [n for n in chosen if n not in NAMES]:
        lines = (pathlib.Path(folder) / f"{name}.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        shapes = []
        out = setup_start(name, records, names)
        for record in records:
            out += setup_before(record, records, names)
            out.append(distil(record, names, shapes))
        if chosen and name not in chosen:
            continue
        text = "\n".join(json.dumps(x, separators=(",", ":"), ensure_ascii=True) for x in [{"shapes": shapes}] + out)
        (OUT / f"{name}.jsonl").write_text(text + "\n")
        print(f"{name}: {len(out)} exchanges, {len(shapes)} shapes, {len(text)} bytes")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
