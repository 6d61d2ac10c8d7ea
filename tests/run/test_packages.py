"""Which packages a task gets and from where: its own list, its repository's files, URLs, indexes with a password, VCS
references and paths; and that the list which goes back to the server installs the same on another machine.
"""
import base64
import hashlib
import http.server
import os
import pathlib
import re
import shutil
import subprocess
import threading
import zipfile

import pytest

from test_execute import PYTHON, Machine, in_repository, machine, new_machine, origin, sh  # noqa: F401

UV_VERSION = re.search(r'UV_VERSION "(.*)"', (pathlib.Path(__file__).parents[2] / "src/run/uv_pin.h").read_text())[1]
UV = "CLEARML_AGENT__AGENT__PACKAGE_MANAGER__TYPE"
BACK = '''
import os, zipfile
def build_wheel(folder, *_):
    name = "%(name)s-%(version)s-py3-none-any.whl"
    info = "%(name)s-%(version)s.dist-info/"
    with zipfile.ZipFile(os.path.join(folder, name), "w") as z:
        z.writestr("%(name)s.py", "version = '%(version)s'\\n")
        z.writestr(info + "METADATA", "Metadata-Version: 2.1\\nName: %(name)s\\nVersion: %(version)s\\n")
        z.writestr(info + "WHEEL", "Wheel-Version: 1.0\\nGenerator: t\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        z.writestr(info + "RECORD", "")
    return name
build_editable = build_wheel
'''


def wheel(folder, name, version="1.0"):
    """A wheel with one module `name` that holds its version."""
    space = {}
    exec(BACK % {"name": name, "version": version}, space)
    folder.mkdir(exist_ok=True)
    return space["build_wheel"](str(folder))


def source(folder, name, version="1.0"):
    """A package that builds itself: no index is asked for tools."""
    folder.mkdir(parents=True)
    (folder / "back.py").write_text(BACK % {"name": name, "version": version})
    (folder / "pyproject.toml").write_text('[build-system]\nrequires = []\nbuild-backend = "back"\nbackend-path = ["."]\n')


def path_without_uv(folder):
    path = folder / "path"
    path.mkdir()
    for name in ("git", "env", "sh", "bash"):
        (path / name).symlink_to(shutil.which(name))
    (path / PYTHON).symlink_to(os.path.realpath(shutil.which(PYTHON) or sh("/", f"{PYTHON} -c 'import sys; print(sys.executable)'")))
    return {"PATH": str(path)}


def without_uv(machine, folder):
    """A PATH on which there is no uv, and no place where the agent could put one."""
    tools = machine.cache / "python" / "tools"
    tools.mkdir(parents=True, exist_ok=True)
    (tools / f"uv-{UV_VERSION}").write_text("in the way: nothing can be put here")
    return path_without_uv(folder)


@pytest.fixture(params=["uv", "pip"])
def installer(request, machine, tmp_path):
    """(its name, variables for `machine.run` that make it the one that is used)"""
    return request.param, without_uv(machine, tmp_path) if request.param == "pip" else {}


class Index(http.server.BaseHTTPRequestHandler):
    """/files/NAME.whl for everybody, /private/simple/NAME/ for user:tok-secret-2."""
    folder = None

    def do_GET(self):
        want = "Basic " + base64.b64encode(b"user:tok-secret-2").decode()
        parts = self.path.strip("/").split("/")
        body, status = b"", 404
        if parts[0] == "private" and self.headers.get("Authorization") != want:
            status = 401
        elif parts[0] == "files" and (self.folder / parts[-1]).is_file():
            body, status = (self.folder / parts[-1]).read_bytes(), 200
        elif parts[:2] == ["private", "simple"]:
            found = sorted(self.folder.glob(parts[2].replace("-", "_") + "-*.whl"))
            body, status = "".join(f'<a href="/files/{f.name}">{f.name}</a>' for f in found).encode(), 200 if found else 404
        self.send_response(status)
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="index"')
        self.send_header("Content-Type", "text/html" if not self.path.endswith(".whl") else "application/octet-stream")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, *_):
        pass


@pytest.fixture
def index(tmp_path):
    """(host:port, folder of its wheels)"""
    folder = tmp_path / "wheels"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Index,), {"folder": folder}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"127.0.0.1:{server.server_port}", folder
    server.shutdown()


def ssh_to(folder):
    """An ssh that serves every host from `folder` and writes its words to folder/asked; refuses who is not git@."""
    program = folder / "ssh"
    program.write_text(f"""#!/bin/sh
echo "$@" >>{folder}/asked
case " $* " in *" git@"*) ;; *) echo "me@somewhere: Permission denied (publickey)." >&2; exit 255;; esac
for last; do :; done
eval "set -- $last"
exec git upload-pack "{folder}/${{2#/}}"
""")
    program.chmod(0o755)
    return {"GIT_SSH_COMMAND": str(program), "GIT_SSH_VARIANT": "ssh"}


def commit(folder, message="one"):
    sh(folder, f"git init -q . && git add . && git commit -qm {message} && git tag v1")
    return sh(folder, "git rev-parse HEAD")


def listed(machine, task):
    pip = machine.get(task)["script"]["requirements"]["pip"]
    return pip if isinstance(pip, list) else pip.splitlines()


def test_what_has_a_place_is_installed_from_there_again(machine, tmp_path, index, installer):
    host, wheels = index
    for name in ("zz_first", "zz_never", "zz_bare", "zz_ours"):
        wheel(wheels, name)
    source(tmp_path / "team/MyPackage.git", "zz_mine")
    commit(tmp_path / "team/MyPackage.git")
    source(tmp_path / "api", "zz_api")
    api = commit(tmp_path / "api")
    placed = [f'zz_first @ http://{host}/files/zz_first-1.0-py3-none-any.whl ; python_version >= "3.6"',
              f'zz_never @ http://{host}/files/zz_never-1.0-py3-none-any.whl ; python_version < "3.0"',
              f"http://{host}/files/zz_bare-1.0-py3-none-any.whl",
              "git+ssh://git@git.example/team/MyPackage.git@v1",
              f"-e git+file://{tmp_path}/api@{api}#egg=zz_api"]
    option = f"--extra-index-url http://user:tok-secret-2@{host}/private/simple"
    code = ("import zz_first, zz_bare, zz_ours, zz_mine, zz_api, importlib.util as u\n"
            "print(*(m.version for m in (zz_first, zz_bare, zz_ours, zz_mine, zz_api)), u.find_spec('zz_never'))")
    pip = ["zz-ours==1.0", *placed[:2], option, *placed[2:]]
    for _ in range(2 if installer[0] == "uv" else 1):
        t = machine.task(code, pip="\n".join(pip) + "\n")
        assert machine.run(t, **ssh_to(tmp_path), **installer[1]) == 0, machine.err
        assert machine.log(t)[-1] == "1.0 1.0 1.0 1.0 1.0 None"
        assert "tok-secret-2" not in "\n".join(machine.log(t, None)) + machine.out + machine.err
        pip = listed(machine, t)  # what a clone of the task asks for
        assert set(pip) - {"zz-ours==1.0", "zz_ours==1.0"} == {option, *placed} and len(pip) == 7
    assert "git@git.example git-upload-pack '/team/MyPackage.git'" in (tmp_path / "asked").read_text()


def test_requirements_of_the_repository_and_packages_in_it(machine, shared_server, origin, tmp_path):
    source(origin / "own", "zz_own", "0.3")
    (origin / "own/setup.cfg").write_text("[metadata]\nname = zz-own\n")
    sh(origin, "mkdir sub && printf 'six==1.16.0\\n./own\\n' >requirements.txt && printf 'idna==3.7\\n' >sub/requirements.txt &&"
               "echo 'import six, zz_own, idna; print(six.__version__, zz_own.version, idna.__version__, \"/env/\" in zz_own.__file__)' >sub/go.py &&"
               "git add . && git commit -qm r")
    requirements = {}
    (tmp_path / "other").mkdir()
    # the second machine has the clone elsewhere, and its task the list that came back from the first
    for m in (machine, Machine(shared_server, tmp_path / "other")):
        t = in_repository(m, origin, entry_point="sub/go.py", requirements=requirements)
        assert m.run(t, CLEARML_AGENT_VENV_CACHE_PATH=str(machine.cache / "python")) == 0, m.err
        assert m.log(t)[-1] == "1.16.0 0.3 3.7 True"
        assert listed(m, t) == ["idna==3.7", "six==1.16.0", "./own"]
        requirements = {"pip": "\n".join(listed(m, t))}
    # as it is recorded where the package is installed: with a version that no index has, or a path that is not here
    for line in ("zz_own==0.0.0", "zz-own @ file:///home/ann/app/own"):
        t = in_repository(machine, origin, entry_point="sub/go.py", requirements={"pip": f"six==1.16.0\n{line}\nidna==3.7\n"})
        assert machine.run(t) == 0, machine.err
        assert machine.log(t)[-1] == "1.16.0 0.3 3.7 True"
        assert listed(machine, t) == ["idna==3.7", "six==1.16.0", "./own"]


def told(machine, task):
    return [m for m in machine.log(task, None) if m.startswith(("requirements:", "packages are installed"))]


LOOK = "import importlib.util as u; print(*(n for n in ('six', 'idna', 'zz_app') if u.find_spec(n)))\n"


@pytest.fixture
def app(origin):
    """A repository whose pyproject.toml asks for six; it can be built and holds zz_app."""
    source(origin / "tmp", "zz_app")
    sh(origin, "mv tmp/back.py . && { printf '[project]\\nname = \"zz-app\"\\nversion = \"1.0\"\\nrequires-python = \">=3.8\"\\n"
               "dependencies = [\"six==1.16.0\"]\\n'; cat tmp/pyproject.toml; } >pyproject.toml && rm -r tmp")
    (origin / "main.py").write_text(LOOK)
    sh(origin, "git add . && git commit -qm project")
    return origin


def test_project_of_the_repository(machine, app, installer):
    t = in_repository(machine, app, requirements={"pip": "idna==3.7\n"})
    assert machine.run(t, **{UV: "uv"}, **installer[1]) == 0, machine.err
    assert machine.log(t)[-1] == "six zz_app"
    assert told(machine, t)[0] == "requirements: from pyproject.toml of the repository: agent.package_manager.type is 'uv'"
    assert listed(machine, t) == ["six==1.16.0", "-e ."]


def test_project_where_there_is_no_list(machine, app):
    t = in_repository(machine, app, requirements={})
    assert machine.run(t) == 0, machine.err
    assert machine.log(t)[-1] == "six zz_app"
    assert told(machine, t)[0] == ("requirements: from pyproject.toml of the repository: "
                                   "there is no list of the task and no requirements.txt")


def test_lock_of_the_repository(machine, app):
    """The versions of uv.lock are used, also when newer ones would fit; one that fits no more is said."""
    sh(app, "sed -i 's/six==1.16.0/six>=1.15/' pyproject.toml")
    subprocess.run(["uv", "lock", "--quiet", "--upgrade-package", "six==1.15.0"], cwd=app, check=True, env=machine.env())
    sh(app, "echo 'import six; print(six.__version__)' >main.py && git add . && git commit -qm lock")
    for version in ("1.15.0", "1.16.0"):
        t = in_repository(machine, app, requirements={"pip": "idna==3.7\n"})
        assert machine.run(t, **{UV: "uv"}) == 0, machine.err
        assert machine.log(t)[-1] == version
        assert any(m.startswith("uv.lock cannot be used as it is") for m in machine.log(t, "WARNING")) == (version == "1.16.0")
        sh(app, "sed -i 's/six>=1.15/six==1.16.0/' pyproject.toml && git commit -qam newer || true")


def test_poetry_lock_is_told(machine, origin):
    (origin / "main.py").write_text(LOOK)
    sh(origin, "printf '[tool.poetry]\\nname = \"x\"\\n' >pyproject.toml && echo >poetry.lock && git add . && git commit -qm p")
    t = in_repository(machine, origin, requirements={"pip": "six==1.16.0\n"})
    assert machine.run(t) == 0, machine.err
    assert machine.log(t)[-1] == "six"
    assert told(machine, t)[0] == ("requirements: pyproject.toml and poetry.lock of the repository are not used: "
                                   "agent.package_manager.type is 'pip', and there is a list")
    assert any(re.fullmatch("packages are installed by (uv|pip): .+", line) for line in told(machine, t))


def test_settings_of_tools_are_no_project(machine, origin):
    (origin / "main.py").write_text(LOOK)
    sh(origin, "printf '[tool.black]\\nline-length = 100\\n' >pyproject.toml && git add . && git commit -qm p")
    t = in_repository(machine, origin, requirements={"pip": "six==1.16.0\n"})
    assert machine.run(t, **{UV: "uv"}) == 0, machine.err
    assert machine.log(t)[-1] == "six"
    assert told(machine, t)[0] == "requirements: pyproject.toml of the repository describes no project: not used"


def test_pip_where_there_is_no_uv(new_machine, tmp_path):
    """uv cannot be had: it is not on PATH, and the index that could give it does not answer."""
    machine = new_machine
    t = machine.task("import six, sys; print(six.__version__, sys.prefix.endswith('/env'))", pip="six==1.16.0\n")
    assert machine.run(t, **without_uv(machine, tmp_path)) == 0, machine.err
    assert machine.log(t)[-1] == "1.16.0 True"
    assert any("installing packages with pip" in m for m in machine.log(t, "INFO"))


def test_pip_of_the_environment_fits_its_python(machine):
    """A pin of pip that files of old carry is not followed: such a pip does not start on Python 3.12 and newer."""
    newer = [f"python3.{n}" for n in (14, 13, 12)]
    binary = next((p for p in newer if shutil.which(p) and subprocess.run([p, "-c", ""], capture_output=True).returncode == 0), PYTHON)
    t = machine.task("import subprocess, sys\nprint(subprocess.check_output([sys.executable, '-m', 'pip', '--version']).decode())", binary=binary)
    assert machine.run(t, CLEARML_AGENT__AGENT__PACKAGE_MANAGER__PIP_VERSION='["<20.2", "<22.3"]') == 0, machine.err
    said = re.search(r"pip (\d+)\..*\(python (\S+)\)", "\n".join(machine.log(t)))
    assert int(said[1]) >= 23 and "python" + said[2] == binary


def test_no_environment_when_it_is_not_wanted(new_machine, tmp_path):
    """CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL: the Python that PATH has, with what it has; nothing is installed."""
    machine, here = new_machine, tmp_path / "bin"
    here.mkdir()
    sh(tmp_path, f"{PYTHON} -m venv --without-pip image && echo 'x = 5' >image/lib/{PYTHON}/site-packages/zz_image.py")
    t = machine.task("import zz_image, sys, importlib.util as u; print(zz_image.x, sys.prefix, u.find_spec('six'))", pip="six==1.16.0\n")
    path = f"{tmp_path}/image/bin:{machine.base['PATH']}"
    assert machine.run(t, CLEARML_AGENT_SKIP_PYTHON_ENV_INSTALL="1", PATH=path) == 0, machine.err
    assert machine.log(t)[-1] == f"5 {tmp_path}/image None"
    assert machine.get(t)["script"]["requirements"] == {"pip": "six==1.16.0\n"}


@pytest.mark.parametrize("pip", ["its own pip", "no pip"])
def test_uv_is_fetched_where_there_is_none(new_machine, tmp_path, pip):
    """Once, by the pip of the Python that is there, or of an environment made for it."""
    machine, variables = new_machine, path_without_uv(tmp_path)
    sh(tmp_path, f"{PYTHON} -m venv {'--without-pip' if pip == 'no pip' else ''} base")
    variables["PATH"] = f"{tmp_path}/base/bin:{variables['PATH']}"
    t = machine.task("import six; print(six.__version__)", pip="six==1.16.0\n")
    assert machine.run(t, **variables) == 0, machine.err
    assert machine.log(t)[-1] == "1.16.0"
    assert any("packages are installed by uv: fetched for this agent" in m for m in machine.log(t, "INFO"))
    assert machine.log(t, "WARNING") == []
    uv = f"uv-{UV_VERSION}"
    assert {p.name for p in (machine.cache / "python" / "tools").iterdir()} == {uv, f"{uv}.lock", f"{uv}.pin"}


def test_a_uv_that_is_not_the_published_one_is_not_used(new_machine, tmp_path, index):
    """An index of another's has a file of that name and version: it is never run, and the log says why."""
    machine, (host, wheels) = new_machine, index
    name = wheel(wheels, "uv", UV_VERSION)
    wheel(wheels, "zz_plain")
    got = hashlib.sha256((wheels / name).read_bytes()).hexdigest()
    t = machine.task("import zz_plain; print('version', zz_plain.version)", pip="zz_plain")
    assert machine.run(t, PIP_INDEX_URL=f"http://user:tok-secret-2@{host}/private/simple", **path_without_uv(tmp_path)) == 0, machine.err
    assert [m for m in machine.log(t, "WARNING") if "uv" in m] == [
        f"the package index has another uv {UV_VERSION} than the one that was published (SHA-256 {got}): it is not used; "
        "pip is used instead"]
    assert any("packages are installed by pip: there is no uv" in m for m in machine.log(t, "INFO"))
    assert not (machine.cache / "python" / "tools" / f"uv-{UV_VERSION}").exists()
