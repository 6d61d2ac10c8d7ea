"""Recorded exchanges of real clients, played to our server in their order: status, subcode, and the same fields of the
same types come back. The recordings (see distil.py) follow each other on one server, as they were made; only 01p was made on
another, where the same program (01) had run before."""
import fnmatch
import http.client
import json
import pathlib
import re
import secrets
import urllib.parse

import pytest

from differences import DIFFERENCES

HERE = pathlib.Path(__file__).resolve().parent
NAMES = ["01-sdk-task-init", "02-sdk-task-ops", "03-agent-daemon", "03b-agent-sdk-task", "04-agent-admin",
         "05-trains-sdk", "06-dataset", "07b-hpo-base", "07b-hpo"]
NAME = re.compile(r"\{\{(\w+)\}\}")
EXTRA = "not in the recording"


class Player:
    """Plays exchanges to one server and remembers the ids it hands out."""

    def __init__(self, server):
        self.server, self.ids, self.connections = server, {}, {}

    def fill(self, text):
        return NAME.sub(lambda m: self.ids.get(m[1], "0" * 32), text)

    def send(self, exchange):
        port = self.server.files_port if exchange.get("service") == "files" else self.server.api_port
        headers = dict(exchange["headers"])
        if exchange.get("auth"):
            headers["authorization"] = self.server.basic() if exchange["auth"] == "basic" else self.server.auth()["Authorization"]
        body = self.body(exchange, headers)
        path = urllib.parse.quote(exchange["path"], safe="/%")
        if exchange.get("query"):
            path += "?" + exchange["query"]
        connection = self.connections.get(port) or http.client.HTTPConnection("127.0.0.1", port, timeout=120)
        self.connections[port] = connection
        try:
            connection.request(exchange["method"], path, body, headers)
            answer = connection.getresponse()
            return answer.status, answer.read()
        except (http.client.HTTPException, OSError) as error:
            del self.connections[port]
            return 0, f'{{"meta": {{"result_subcode": 0, "result_msg": "{error!r}"}}, "data": {{}}}}'.encode()

    @staticmethod
    def body(exchange, headers):
        if "upload" in exchange:
            edge = secrets.token_hex(12)
            headers["content-type"] = f"multipart/form-data; boundary={edge}"
            return (f'--{edge}\r\nContent-Disposition: form-data; name="{exchange["upload"]}"; filename="f"\r\n\r\nhello\r\n'
                    f"--{edge}--\r\n").encode()
        if "lines" in exchange:
            return "\n".join(json.dumps(x) for x in exchange["lines"]).encode()
        return json.dumps(exchange["body"]).encode() if "body" in exchange else None

    def learn(self, exchange, data):
        for name, place in exchange.get("learn", {}).items():
            value = data
            for step in place:
                try:
                    value = value[step]
                except (KeyError, IndexError, TypeError):
                    value = None
            if isinstance(value, str):
                self.ids[name] = value

    def play(self, line):
        """One exchange: list of (call, place, words) where the answer is not as recorded, and the answer."""
        exchange = json.loads(self.fill(line))
        call = "files" if exchange.get("service") == "files" else exchange["path"].rstrip("/").split("/")[-1]
        status, text = self.send(exchange)
        wrong = []
        try:
            answer = json.loads(text) if "shape" in exchange or "setup" in exchange else {}
        except ValueError:
            return [(call, "body", f"no JSON: {text[:200]}")], exchange, text
        subcode, message = 0, ""
        if isinstance(answer, dict) and "meta" in answer:
            subcode, message = answer["meta"]["result_subcode"], answer["meta"]["result_msg"]
            answer = answer["data"]
        if status != exchange["status"]:
            wrong.append((call, "status", f"{status}/{subcode}, recorded {exchange['status']}: {message}"))
        elif subcode != exchange.get("subcode", 0):
            wrong.append((call, "subcode", f"{subcode}, recorded {exchange.get('subcode', 0)}: {message}"))
        elif status == 200:
            self.learn(exchange, answer)
        return wrong, exchange, answer


def kind(value):
    if isinstance(value, bool):
        return "b"
    return "n" if value is None else "s" if isinstance(value, str) else "num" if isinstance(value, (int, float)) else type(value)


def compare(want, have, place):
    """Yield (place, words) for each way in which `have` is not of the shape `want`."""
    if isinstance(want, dict):
        if not isinstance(have, dict):
            yield place, f"{kind(have)}, recorded an object"
            return
        for key in want.keys() - have.keys():
            yield f"{place}.{key}", "missing"
        for key in have.keys() - want.keys():
            if not key.startswith("x_"):
                yield f"{place}.{key}", f"{EXTRA}: {json.dumps(have[key])[:60]}"
        for key in want.keys() & have.keys():
            yield from compare(want[key], have[key], f"{place}.{key}")
    elif isinstance(want, list):
        _, count, shapes = want
        if not isinstance(have, list):
            yield place, f"{kind(have)}, recorded a list"
            return
        if len(have) != count:
            yield f"{place}[]", f"{len(have)} items, recorded {count}"
        for item in have:
            ways = [list(compare(shape, item, f"{place}[]")) for shape in shapes]
            if shapes and all(ways):
                yield from min(ways, key=len)
                return
    elif kind(have) != want:
        yield place, f"{kind(have)}, recorded {want}"


def meant(call, place, words):
    if words.startswith(EXTRA):
        place = "+" + place
    return any(fnmatch.fnmatchcase(call, c) and fnmatch.fnmatchcase(place, p) for c, p, _ in DIFFERENCES)


@pytest.fixture(scope="module")
def player(shared_server):
    return Player(shared_server)


def replay(player, name):
    """(line, call, place, words) of every difference that is not meant."""
    lines = (HERE / f"{name}.jsonl").read_text().splitlines()
    wrong = []
    for number, line in enumerate(lines[1:], 2):
        found, exchange, answer = player.play(line)
        if not found and exchange["status"] == 200 and "shape" in exchange:
            shapes = json.loads(player.fill(lines[0]))["shapes"]
            call = "files" if exchange.get("service") == "files" else exchange["path"].rstrip("/").split("/")[-1]
            found = [(call, p, w) for p, w in compare(shapes[exchange["shape"]], answer, "data")]
        wrong += [(number, *f) for f in found if not meant(*f)]
    return wrong


def show(wrong):
    return f"{len(wrong)} differences:\n" + "\n".join(f"line {n}: {c} {p}: {w}" for n, c, p, w in wrong[:200])


@pytest.mark.parametrize("name", NAMES)
def test_replay(player, name):
    wrong = replay(player, name)
    assert not wrong, show(wrong)


def test_replay_by_post(server):
    player = Player(server)
    replay(player, "01-sdk-task-init")
    wrong = replay(player, "01p-sdk-post-method")
    assert not wrong, show(wrong)


def test_every_difference_has_a_reason():
    for call, place, why in DIFFERENCES:
        assert call and place and len(why) > 20
