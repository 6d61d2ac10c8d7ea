"""Who comes in and who does not, over HTTP: keys, tokens, cookies, codes, roles; the envelope around it all."""
import base64
import json
import pathlib

import pytest

from conftest import wait_for


def raw(server, path, headers=None, body=b"{}", method="POST"):
    status, answer_headers, text = server.raw(path, body, headers, method)
    answer = json.loads(text)
    assert answer["meta"]["result_code"] == status
    return status, answer["meta"]["result_subcode"], answer, answer_headers


def basic(access, secret):
    return {"Authorization": "Basic " + base64.b64encode(f"{access}:{secret}".encode()).decode()}


@pytest.mark.parametrize("header, subcode", [
    (None, 20), ("Digest x", 10), ("basic abc", 10), ("Basic !", 21), ("Basic " + base64.b64encode(b"a:b").decode(), 22),
    ("Bearer x", 30), ("Bearer a.b.c", 30)])
def test_refused(shared_server, header, subcode):
    status, found, answer, _ = raw(shared_server, "/users.get_current_user", header and {"Authorization": header})
    assert (status, found) == (401, subcode)
    assert answer["data"] == {}


def test_login_and_claims(shared_server):
    token = raw(shared_server, "/auth.login", basic(shared_server.access, shared_server.secret))[2]["data"]["token"]
    head, claims, _ = (json.loads(base64.urlsafe_b64decode(p + "==")) if i < 2 else p
                       for i, p in enumerate(token.split(".")))
    assert head["alg"] == "HS256"
    assert claims["exp"] - claims["iat"] == 30 * 24 * 3600
    assert claims["auth_type"] == "Bearer" and claims["feature_set"] == "basic"
    assert claims["api_version"] == "2.34" and claims["identity"]["role"] == "root"
    bearer = {"Authorization": "Bearer " + token}
    me = raw(shared_server, "/users.get_current_user", bearer)[2]["data"]["user"]
    assert me["id"] == claims["identity"]["user"] and me["company"]["name"] == "clearml"
    # a token gives another token; and the header wins over a bad cookie
    assert raw(shared_server, "/auth.login", {**bearer, "Cookie": "clearml_token_basic=x"})[0] == 200


def test_token_lifetime(shared_server):
    headers = basic(shared_server.access, shared_server.secret)
    token = raw(shared_server, "/auth.login", headers, b'{"expiration_sec": 77}')[2]["data"]["token"]
    claims = json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))
    assert claims["exp"] - claims["iat"] == 77
    assert raw(shared_server, "/auth.login", headers, b'{"expiration_sec": 31536001}')[:2] == (400, 12)
    assert raw(shared_server, "/auth.login", headers, b'{"expiration_sec": "x"}')[:2] == (400, 12)


def test_logout_ends_only_its_session(shared_server):
    def bearer():
        answer = raw(shared_server, "/auth.login", basic(shared_server.access, shared_server.secret))[2]
        return {"Authorization": "Bearer " + answer["data"]["token"]}

    one, other = bearer(), bearer()
    _, _, _, headers = raw(shared_server, "/auth.logout", one)
    assert "Max-Age=0" in headers["Set-Cookie"]
    assert raw(shared_server, "/users.get_current_user", one)[:2] == (401, 30)
    assert raw(shared_server, "/users.get_current_user", other)[0] == 200


def test_keys(server):
    made = server.call("auth.create_credentials", label="laptop")["credentials"]
    assert len(made["access_key"]) == 30 and len(made["secret_key"]) == 43 and made["label"] == "laptop"
    key = basic(made["access_key"], made["secret_key"])
    token = raw(server, "/auth.login", {**key, "X-ClearML-Worker": "box:gpu0"})[2]["data"]["token"]
    listed = {k["access_key"]: k for k in server.call("auth.get_credentials")["credentials"]}
    assert listed[made["access_key"]]["last_used_from"] == "box:gpu0"
    assert "secret_key" not in json.dumps(listed) and made["secret_key"] not in json.dumps(listed)
    # a restart forgets nothing
    assert server.stop() == 0
    server.start()
    bearer = {"Authorization": "Bearer " + token}
    assert raw(server, "/users.get_current_user", bearer)[0] == 200
    listed = {k["access_key"]: k for k in server.call("auth.get_credentials")["credentials"]}
    assert listed[made["access_key"]]["last_used_from"] == "box:gpu0"
    server.call("auth.edit_credentials", access_key=made["access_key"], label="desk")
    # revoked: the key and its tokens are closed, now and after a restart
    assert server.call("auth.revoke_credentials", access_key=made["access_key"]) == {"revoked": 1}
    assert raw(server, "/users.get_current_user", bearer)[:2] == (401, 30)
    assert raw(server, "/auth.login", key)[:2] == (401, 22)
    assert server.fails("auth.revoke_credentials", access_key=made["access_key"]) == (400, 300)
    assert server.fails("auth.edit_credentials", access_key="x", label="y") == (400, 75)
    assert server.stop() == 0
    server.start()
    assert raw(server, "/users.get_current_user", bearer)[:2] == (401, 30)


def test_secrets_are_written_nowhere(server_factory):
    """Not in the log, however much it says, not in the data folder, not where other processes could look."""
    s = server_factory(["--log", "debug"])
    made = s.call("auth.create_credentials", label="laptop")["credentials"]
    headers = basic(made["access_key"], made["secret_key"])
    token = raw(s, "/auth.login", headers)[2]["data"]["token"]
    assert raw(s, "/users.get_current_user", {"Authorization": "Bearer " + token})[0] == 200
    assert raw(s, "/users.get_current_user", {"Authorization": "Bearer " + token + "x"})[0] == 401
    assert raw(s, "/auth.login", basic(made["access_key"], "S3CRET-wrong"))[0] == 401
    code = s.call("x_login.create")["code"]
    status, _, _ = s.raw(f"/login?code={code}", None, method="GET", base=s.web)
    assert status == 200
    words = [s.secret, made["secret_key"], token, headers["Authorization"].split()[1], "S3CRET-wrong", code]
    proc = pathlib.Path("/proc") / str(s.process.pid)
    for name in ("environ", "cmdline"):
        assert not [w for w in words if w.encode() in (proc / name).read_bytes()], name
    assert s.stop() == 0
    log = s.log.read_text(errors="replace")
    assert "path=/auth.login" in log
    assert not [w for w in words if w in log], log
    for path in s.data.rglob("*"):
        assert not path.is_file() or not [w for w in words if w.encode() in path.read_bytes()], path


def test_code_opens_a_page_once(shared_server):
    code = shared_server.call("x_login.create")["code"]
    page = {"X-Stoker-Request": "1", "Origin": shared_server.web, "Sec-Fetch-Site": "same-origin"}
    status, _, body = shared_server.raw("/api/x_login.redeem", json.dumps({"code": code}).encode(), page,
                                        base=shared_server.web)
    assert status == 200 and json.loads(body)["data"]["role"] == "root"
    _, headers, _ = shared_server.raw("/api/x_login.redeem", json.dumps({"code": shared_server.call("x_login.create")["code"]})
                                      .encode(), page, base=shared_server.web)
    cookie = headers["Set-Cookie"]
    assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
    with_cookie = {**page, "Cookie": cookie.split(";")[0]}
    status, _, body = shared_server.raw("/api/users.get_current_user", b"{}", with_cookie, base=shared_server.web)
    assert status == 200
    # the cookie alone, from anywhere else, is nobody
    for headers in ({"Cookie": with_cookie["Cookie"]}, {**with_cookie, "Origin": "http://evil.example"},
                    {**with_cookie, "Sec-Fetch-Site": "cross-site"}):
        assert shared_server.raw("/api/users.get_current_user", b"{}", headers, base=shared_server.web)[0] == 401
    status, _, body = shared_server.raw("/api/x_login.redeem", json.dumps({"code": code}).encode(), page,
                                        base=shared_server.web)
    assert status == 401


def test_users(shared_server):
    me = shared_server.call("users.get_current_user")["user"]
    assert shared_server.call("users.get_by_id", user=me["id"])["user"]["company"] == me["company"]["id"]
    assert shared_server.fails("users.get_by_id", user="nope") == (400, 301)
    assert me["id"] in [u["id"] for u in shared_server.call("users.get_all_ex", only_fields=["name"])["users"]]
    assert shared_server.call("users.get_all", only_fields=["name"], id=[me["id"]])["users"] == [{"name": me["name"]}]
    assert shared_server.call("users.get_all", name="^no such")["users"] == []
    answer = shared_server.call("users.update", user=me["id"], given_name="Ada")
    assert answer == {"updated": 1, "fields": {"given_name": "Ada"}}
    assert shared_server.call("users.get_current_user")["user"]["given_name"] == "Ada"


def test_preferences_merge(shared_server):
    s = shared_server
    put = lambda p, **f: s.call("users.set_preferences", preferences=p, **f)
    kept = lambda: s.call("users.get_preferences")["preferences"]
    assert kept() == {}
    first = {"ui": {"theme": "dark", "rows": 50}, "a": [1]}
    assert put(first) == {"updated": 1, "fields": {"preferences": first}}
    assert put(first) == {"updated": 0, "fields": {}}
    # a name is set whole, a path reaches inside, null is a value
    want = {"ui": {"rows": 100}, "a": None}
    assert put(want)["fields"]["preferences"] == kept() == want
    assert put({"ui.theme": "light", "new.deep.er": {"x": None}}, return_updated=False) == {"updated": 1, "fields": {}}
    want = {"ui": {"rows": 100, "theme": "light"}, "a": None, "new": {"deep": {"er": {"x": None}}}}
    assert kept() == want
    for bad, code in (({"ui.rows.x": 1}, 305), ({"a.b": 1}, 305), ({".a": 1}, 305), ({"a.": 1}, 305), ({"": 1}, 305),
                      ({"$a": 1}, 16), ({"ok": {"$a": 1}}, 16), ({"ok": {"a.b": 1}}, 16), ({"ok": [{"a.b": 1}]}, 16),
                      ([1], 12), (None, 12)):
        assert s.fails("users.set_preferences", preferences=bad) == (400, code), bad
    assert kept() == want


def create_user(s, name, **fields):
    company = s.call("users.get_current_user")["user"]["company"]["id"]
    return s.call("auth.create_user", **{"name": name, "company": company, "email": f"{name}@example.org", **fields})["id"]


def as_user(id):
    return {"X-ClearML-Impersonate-As": id}


def user_key(s, id, **more):
    made = s.call("auth.create_credentials", _headers={**as_user(id), **more})["credentials"]
    return basic(made["access_key"], made["secret_key"])


def claims_of(token):
    return json.loads(base64.urlsafe_b64decode(token.split(".")[1] + "=="))


def test_create_user(shared_server):
    s = shared_server
    id = create_user(s, "grace", given_name="Grace", family_name="Hopper", avatar="a.png")
    me = s.call("users.get_current_user", _headers=as_user(id))["user"]
    assert (me["id"], me["name"], me["given_name"], me["family_name"], me["avatar"], me["role"]) == (
        id, "grace", "Grace", "Hopper", "a.png", "user")
    assert s.call("users.get_preferences", _headers=as_user(id)) == {"preferences": {}}
    assert s.call("auth.get_credentials", _headers=as_user(id))["credentials"] == []
    status, _, answer, _ = raw(s, "/auth.login", user_key(s, id))
    assert status == 200 and claims_of(answer["data"]["token"])["identity"]["role"] == "user"
    owners = s.call("organization.get_user_companies")["companies"][0]["owners"]
    assert {"id": id, "name": "grace", "avatar": "a.png"} in owners
    assert [o["name"] for o in owners] == sorted(o["name"] for o in owners)
    for fields, want in (({"email": "grace@example.org"}, (400, 801)), ({"email": "grace"}, (400, 12)),
                         ({"email": "a b@c"}, (400, 12)), ({"name": ""}, (400, 12)), ({"role": "king"}, (400, 12)),
                         ({"company": "0" * 32}, (400, 10)), ({"email": None}, (400, 12))):
        assert s.fails("auth.create_user", **{"name": "other", "company": me["company"]["id"],
                                              "email": "other@example.org", **fields}) == want, fields


def test_who_may_make_users(shared_server):
    s = shared_server
    company = s.call("users.get_current_user")["user"]["company"]["id"]
    fields = {"name": "x", "company": company, "email": "x@example.org"}
    user, admin = create_user(s, "plain"), create_user(s, "boss", role="admin")
    for call, more in (("auth.create_user", fields), ("users.delete", {"user": admin})):
        assert s.fails(call, **more, _headers=as_user(user)) == (403, 20)
    for role in ("root", "system"):
        assert s.fails("auth.create_user", **fields, role=role, _headers=as_user(admin)) == (403, 20)
    made = s.call("auth.create_user", **fields, role="annotator", _headers=as_user(admin))["id"]
    assert s.call("users.get_current_user", _headers=as_user(made))["user"]["role"] == "annotator"
    assert create_user(s, "another-root", role="root")


@pytest.mark.parametrize("role", ["root", "system"])
def test_an_administrator_is_not_above_root(shared_server, role):
    """Neither in the name of one, to make keys or users with that role, nor by deleting them."""
    s = shared_server
    admin, above = create_user(s, f"below-{role}", role="admin"), create_user(s, f"a-{role}", role=role)
    plain = create_user(s, f"plain-{role}")
    key = user_key(s, admin)
    for header in ("X-ClearML-Impersonate-As", "X-ClearML-Act-As"):
        for call in ("users.get_current_user", "auth.create_credentials", "auth.login"):
            assert raw(s, f"/{call}", {**key, header: above})[:2] == (400, 6)
        assert raw(s, "/users.get_current_user", {**key, header: plain})[0] == 200
    assert raw(s, "/users.delete", key, json.dumps({"user": above}).encode())[:2] == (403, 20)
    assert s.call("users.get_by_id", user=above)["user"]["id"] == above
    assert raw(s, "/users.delete", key, json.dumps({"user": plain}).encode())[0] == 200
    assert s.call("users.delete", user=above) == {}


def test_a_key_has_the_role_of_its_user(shared_server):
    """Also one that an administrator made while acting as the user with a role of his own."""
    s = shared_server
    id = create_user(s, "acted-for")
    made = s.call("auth.create_credentials", _headers={"X-ClearML-Act-As": id})["credentials"]
    key = basic(made["access_key"], made["secret_key"])
    assert claims_of(raw(s, "/auth.login", key)[2]["data"]["token"])["identity"]["role"] == "user"
    assert raw(s, "/users.delete", key, json.dumps({"user": id}).encode())[:2] == (403, 20)


def test_delete_user(server):
    s = server
    id, other = create_user(s, "leaver"), create_user(s, "stayer")
    key, other_key = user_key(s, id), user_key(s, other)
    own = {"Authorization": "Bearer " + raw(s, "/auth.login", key)[2]["data"]["token"]}
    lent = s.call("auth.login", _headers=as_user(id))["token"]  # by the administrator's key, in the user's name
    lent = {"Authorization": "Bearer " + lent}
    task = s.call("tasks.create", name="of a leaver", type="training", _headers=as_user(id))["id"]
    assert raw(s, "/debug.ping", own)[0] == raw(s, "/users.get_current_user", lent)[0] == 200
    assert s.call("users.delete", user=id) == {}
    assert s.fails("users.delete", user=id) == (400, 301)
    for _ in range(2):  # now, and after a restart
        assert raw(s, "/auth.login", key)[:2] == (401, 22)
        assert raw(s, "/users.get_current_user", own)[:2] == (401, 30)
        assert raw(s, "/users.get_current_user", lent)[:2] == (401, 30)
        assert raw(s, "/users.get_current_user", other_key)[0] == 200
        assert s.fails("users.get_current_user", _headers=as_user(id)) == (400, 6)
        assert s.fails("users.get_by_id", user=id) == (400, 301)
        assert s.call("tasks.get_by_id", task=task)["task"]["user"] == id
        assert s.stop() == 0
        s.start()
    me = s.call("users.get_current_user")["user"]["id"]
    assert s.fails("users.delete", user=me) == (400, 301)


def test_a_deleted_bootstrap_user_is_made_anew(server):
    s = server
    before = s.call("users.get_current_user")["user"]["id"]
    s.call("users.delete", user=before, _headers=as_user(create_user(s, "next", role="root")))
    s.token = None
    assert raw(s, "/auth.login", basic(s.access, s.secret))[:2] == (401, 22)
    assert s.stop() == 0
    s.start()
    me = s.call("users.get_current_user")["user"]
    assert me["id"] != before and me["role"] == "root"


def test_active_users(shared_server):
    s = shared_server
    top = s.call("projects.create", name="who is active")["id"]
    sub = s.call("projects.create", name="who is active/below")["id"]
    owner, maker, runner, idle = (create_user(s, n) for n in ("owner", "maker", "runner", "idle"))
    mine = s.call("projects.create", name="an own project", _headers=as_user(owner))["id"]
    s.call("models.create", name="a model", uri="u", project=top, _headers=as_user(maker))
    s.call("tasks.create", name="a task", type="training", project=sub, _headers=as_user(runner))

    def active(version="2.8", **fields):
        users = s.call("users.get_all_ex", _version=version, id=[owner, maker, runner, idle], **fields)["users"]
        return {u["id"] for u in users}

    assert active() == active(active_in_projects=None) == {owner, maker, runner, idle}
    assert active(active_in_projects=[]) == {owner, maker, runner}
    assert active(active_in_projects=[top]) == {maker, runner} and active(active_in_projects=[sub]) == {runner}
    assert active(active_in_projects=[mine, sub]) == {owner, runner}
    assert active(active_in_projects=["0" * 32]) == set()
    assert active("2.7", active_in_projects=[]) == {owner, maker, runner, idle}
    assert s.fails("users.get_all_ex", active_in_projects="x") == (400, 12)


@pytest.mark.parametrize("path, status, name, requested, actual", [
    ("/v2.23/debug.ping", 200, "debug.ping", "2.23", "1.0"), ("/debug.ping", 200, "debug.ping", "2.34", "1.0"),
    ("/v999.0/debug.ping/", 200, "debug.ping", "999.0", "1.0"), ("/v1.5/debug.ping", 200, "debug.ping", 1.5, 1.0),
    ("/v2.5/no.such_call", 404, "no.such_call", "2.5", None), ("/v2/debug.ping", 400, "", 1.0, None),
    ("/vx/debug.ping", 400, "", 1.0, None)])
def test_envelope(shared_server, path, status, name, requested, actual):
    found, subcode, answer, _ = raw(shared_server, path, {"X-ClearML-Trx": "0123456789abcdef0123456789abcdef"})
    assert (found, subcode) == (status, 0)
    meta = answer["meta"]
    assert meta["trx"] == "0123456789abcdef0123456789abcdef" and meta["id"] != meta["trx"]
    assert meta["endpoint"] == {"name": name, "requested_version": requested, "actual_version": actual}
    assert meta["error_data"] == {} and meta["error_stack"] is None


@pytest.mark.parametrize("body, headers, status", [
    (b"", {}, 200), (b"null", {}, 200), (b"{}", {"Content-Type": "text/plain"}, 200), (b"{bad", {}, 400), (b"[1]", {}, 400)])
def test_bodies(shared_server, body, headers, status):
    found = raw(shared_server, "/users.get_preferences", {"Content-Type": "application/json", **shared_server.auth(), **headers}, body)
    assert (found[0], found[1]) == (status, 0)


@pytest.mark.parametrize("words, want", [
    (["--files-url", "https://files.lab.example"], "https://files.lab.example"),
    (["--files-url", "https://lab.example/files//"], "https://lab.example/files"), ([], None)])
def test_server_info_tells_where_files_are(server_factory, words, want):
    server = server_factory(words)
    assert server.call("server.info")["x_files_url"] == (want or server.files)
    if want:  # files under the told address are its own: they go with their model
        status, _, _ = server.raw("/a/w.pt", b"w", server.auth(), "PUT", base=server.files)
        model = server.call("models.create", name="weights", uri=want + "/a/w.pt")["id"]
        assert status == 200 and server.call("x_models.versions", model=model)["versions"][0]["size"] == 1
        server.call("models.delete", model=model)
        wait_for("the file to go", lambda: server.raw("/a/w.pt", None, server.auth(), "GET", base=server.files)[0] == 404)


def test_server_info(shared_server):
    info = shared_server.call("server.info")
    assert info["version"] == "2.3.0" and info["api_version"] == "2.34"
    assert all(isinstance(v, int) for v in info["x_features"].values()) and set(info["x_features"]) >= {
        "claim", "scalars", "log", "timeline", "watch", "stage", "redeem"}
    assert info["x_files_url"] == shared_server.files
    modes = raw(shared_server, "/login.supported_modes", {})[2]["data"]
    assert modes["authenticated"] is False and modes["basic"]["enabled"] is False
    assert raw(shared_server, "/login.supported_modes", shared_server.auth())[2]["data"]["authenticated"] is True
