# SPDX-License-Identifier: MIT
"""The clients as programs of a user whom no rule allows anything: they show by descriptors what
they may read, and say it where they may not. Needs root."""

import os
import shutil
import subprocess
import sys
import tarfile

import numpy
import pytest

from harness import BUILD, SOURCE, STOKERCTL, installed, wait_for
from users import (ALICE, BOB, PICTURES, SERVER, fixture_data, fixture_home,  # noqa: F401
                   fixture_serve, needs_root, give_to, refused)

sys.path.insert(0, str(SOURCE / "tests" / "unit" / "dataset"))
import published  # noqa: E402 (it stands in that folder)

pytestmark = needs_root


def test_clients_say_it(serve, data):
    """Python and stokerctl, as programs of that user: the error has a name, and says what to do."""
    daemon = serve(control_socket_mode="0666")
    give_to(data, SERVER)  # else they could show it
    code = ("import sys, stoker\n"
            "try:\n"
            "    stoker.connect(sys.argv[1]).loader(sys.argv[2], batch_size=2)\n"
            "except stoker.NotPermitted as error:\n"
            "    print(error)\n")
    ids = ["setpriv", f"--reuid={BOB}", f"--regid={BOB}", "--clear-groups"]
    environment = {"PATH": os.environ["PATH"], "HOME": "/",
                   "PYTHONPATH": str(installed(SOURCE / "client/python"))}
    done = subprocess.run([*ids, sys.executable, "-c", code, str(daemon.socket), str(data)],
                          text=True, capture_output=True, env=environment, check=True)
    assert f"user {BOB} may not have {data} read" in done.stdout, done
    index = [*ids, str(installed(STOKERCTL)), "--socket", str(daemon.control), "index", str(data)]
    done = subprocess.run(index, text=True, capture_output=True, env=environment, check=False)
    assert done.returncode and "dataset-root = FOLDER" in done.stderr, done
    give_to(data, BOB, 0o755)  # now stokerctl can show it
    assert subprocess.run(index, text=True, capture_output=True, env=environment,
                          check=True).stdout.startswith(f"{data}: ")
    index[index.index("index")] = "fit"
    assert "mean" in subprocess.run([*index, "--transforms", "Resize(size=(8, 8))"], text=True,
                                    capture_output=True, env=environment, check=True).stdout


def program(uid, *command, groups=(), **environment):
    """What it writes, as that user's program."""
    ids = [f"--reuid={uid}", f"--regid={uid}",
           f"--groups={','.join(map(str, groups))}" if groups else "--clear-groups"]
    done = subprocess.run(["setpriv", *ids, *map(str, command)], text=False, capture_output=True,
                          env={"PATH": os.environ["PATH"], "HOME": "/", **environment}, check=False,
                          timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


# Prints how many, and how often it attached again.
PYTHON = """
import ast, pathlib, sys, time
import numpy, stoker, stoker.samplers
def epoch(loader):
    images = [numpy.array(images) for images, _ in loader]
    return sum(map(len, images)), sum(int((part * 255).round().sum()) for part in images)
node = stoker.connect(sys.argv[1])
kept = []
for text in sys.argv[3:]:
    text, _, sampler = text.partition("|")
    parts = [ast.literal_eval(part) for part in text.split(" + ")]
    loader = node.loader(parts[0] if len(parts) == 1 else stoker.Mix(parts), batch_size=2, epochs=2,
                         transforms=[stoker.Resize((8, 8))], reconnect=30,
                         sampler=eval(sampler or "None"))
    kept.append((loader, epoch(loader)))
node.fit(ast.literal_eval(sys.argv[3]), transforms=[stoker.Resize((8, 8))])
pathlib.Path(sys.argv[2]).write_text("first")
while pathlib.Path(sys.argv[2]).read_text() != "second":
    time.sleep(0.01)
for loader, before in kept:
    after = epoch(loader)
    assert after == before, (after, before)
    print(before[0], loader.reconnects)
"""


def test_python_shows_what_it_may_read(serve, home, data):
    """No rule: the client sends descriptors of folders, manifests, lists, arrays, parts, shards and
    samplers; the same ones again to a daemon that came after."""
    mine = home / "mine"
    shutil.copytree(data, mine / "photos")
    numpy.save(mine / "x.npy", published.pictures(20, (32, 32, 3), 2))
    numpy.save(mine / "y.npy", numpy.arange(20))
    numpy.save(mine / "some.npy", numpy.arange(0, 20, 2))
    names = sorted(str(path.relative_to(mine)) for path in mine.glob("photos/*/*.*"))
    (mine / "list.txt").write_text("\n".join(f"{name} 1" for name in names))
    with tarfile.open(mine / "shard-0.tar", "w") as shard:
        for i, name in enumerate(name for name in names if name.endswith(".jpg")):
            shard.add(mine / name, f"{i}.jpg")
    give_to(mine, ALICE, 0o755)
    for name in "x.npy", "y.npy", "some.npy", "list.txt":
        (mine / name).chmod(0o600)
    daemon, flag = serve(), home / "flag"
    flag.touch()
    flag.chmod(0o666)
    array = {"path": f"{mine}/x.npy", "labels": f"{mine}/y.npy"}
    wishes = [repr(str(mine / "photos")), repr(f"{mine}/list.txt"), repr(array),
              repr([str(mine / name) for name in names]), repr(f"{mine}/shard-{{0..0}}.tar"),
              f"{str(mine / 'photos')!r} + {str(mine / 'photos')!r}",
              f"{array!r}|stoker.samplers.Subset({f'{mine}/some.npy'!r})"]
    running = subprocess.Popen(
        ["setpriv", f"--reuid={ALICE}", f"--regid={ALICE}", "--clear-groups", sys.executable, "-c",
         PYTHON, str(daemon.socket), str(flag), *wishes],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={"PATH": os.environ["PATH"], "HOME": "/",
             "PYTHONPATH": str(installed(SOURCE / "client/python"))})
    try:
        wait_for(lambda: flag.read_text() == "first" or running.poll() is not None, "one epoch", 60)
        assert running.poll() is None, running.communicate()
        daemon.kill()
        daemon.spawn()
        flag.write_text("second")
        told, wrong = running.communicate(timeout=60)
        assert running.returncode == 0, wrong
    finally:
        running.kill()
        running.wait()
    jpegs = sum(name.endswith(".jpg") for name in names)
    counts = PICTURES, PICTURES, 20, PICTURES, jpegs, 2 * PICTURES, 10
    assert told.split("\n") == [f"{count} 1" for count in counts] + [""]
    refused(daemon, ALICE, mine / "photos")


def test_libstoker_shows_what_it_may_read(serve, home, data):
    """As the Python client; what another user may not read it cannot show."""
    mine = home / "mine"
    shutil.copytree(data, mine)
    (mine / "list.txt").write_text("\n".join(
        f"{path.relative_to(mine)} 1" for path in sorted(mine.glob("*/*.*"))))
    give_to(mine, ALICE, 0o755)
    (mine / "list.txt").chmod(0o600)
    daemon = serve()

    def dump(uid, path):
        return program(uid, installed(BUILD / "tests/dump"), daemon.socket, path,
                       "Resize((8, 8))", 4, 1)

    assert dump(ALICE, mine) == dump(BOB, mine) == dump(SERVER, mine)
    assert len(dump(ALICE, mine / "list.txt")) == len(dump(ALICE, mine))
    give_to(mine, ALICE, 0o750, SERVER)  # the daemon's user has to be able to, too
    for path in mine, mine / "list.txt":
        with pytest.raises(AssertionError, match="may not have"):
            dump(BOB, path)
    assert dump(ALICE, mine) == dump(SERVER, mine)
    daemon.settle()
