"""Libraries that stand between the server and the C library (LD_PRELOAD), to make calls of the system answer otherwise."""
import shutil
import subprocess

import pytest


def library(folder, source):
    """Compile `source`; the path of the library."""
    if not shutil.which("cc"):
        pytest.skip("no C compiler")
    (folder / "preload.c").write_text(source)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", folder / "preload.so", folder / "preload.c"], check=True)
    return folder / "preload.so"
