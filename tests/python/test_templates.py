# SPDX-License-Identifier: MIT
"""Templates that another one forked: of a loader that is made while one is there, or after one."""
import importlib
import os
import re
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import own_code
import stoker
from stoker.produce import processes
from test_source import (PATHS, arrays_of, children, is_alive, load, producers_of,  # noqa: F401
                         runtime, values, wait_until)


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    """However slow the machine is; and without what a test before left."""
    monkeypatch.setattr(processes, "_FORK_S", 100)
    yield
    while processes._spares:
        processes._spares.pop().end()


def template_of(loader):
    return loader._reader.producers._process


def is_forked(loader):
    return not isinstance(template_of(loader), subprocess.Popen)


def with_epoch(number):
    code = own_code.Changing()
    code.epoch = number
    return arrays_of(code)


@pytest.mark.parametrize("closed", [False, True])
def test_the_next_loader_has_a_template_that_the_one_before_forked(load, closed):  # noqa: F811
    """And its own object in it."""
    first = load(with_epoch(1), transforms=[])
    assert set(values(first).values()) == {1} and not is_forked(first)
    if closed:
        first.close()
    second = load(with_epoch(2), transforms=[])
    assert is_forked(second)
    assert set(values(second).values()) == {2}
    first.close()
    assert set(values(second).values()) == {2}
    pids = [template_of(second).pid, *producers_of(second)]
    assert len(pids) == 3 and all(map(is_alive, pids))
    second.close()
    wait_until(lambda: not any(map(is_alive, pids)))


def test_a_template_with_another_environment_is_none_to_go_on_from(load, monkeypatch):  # noqa: F811
    first = load(with_epoch(1), transforms=[])
    monkeypatch.setenv("STOKER_TEST", "1")
    second = load(with_epoch(2), transforms=[])
    assert not is_forked(second) and set(values(second).values()) == {2}
    assert set(values(first).values()) == {1}


def test_nor_is_one_that_has_not_imported_the_code(load):  # noqa: F811
    """It may have imported what that calls, of another time."""
    first = load(with_epoch(1), transforms=[])
    second = load(arrays_of(own_code.Large(1 << 16), like=0), transforms=[])
    assert not is_forked(second) and len(list(second)) == len(list(first)) == 6


def test_nor_is_one_that_has_imported_another_constant(load, tmp_path, monkeypatch):  # noqa: F811
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "stoker_constant.py"
    text = "SIZE = {}\ndef value(index):\n    return SIZE\n"
    module.write_text(text.format(3))
    import stoker_constant
    first = load(arrays_of(own_code.Changing(also=stoker_constant.value)), transforms=[])
    assert set(values(first).values()) == {3}
    module.write_text(text.format(40))
    importlib.reload(stoker_constant)
    second = load(arrays_of(own_code.Changing(also=stoker_constant.value)), transforms=[])
    assert not is_forked(second) and set(values(second).values()) == {40}


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_one_that_is_gone_or_stands_is_done_without(load, how, monkeypatch):  # noqa: F811
    first = load(with_epoch(1), transforms=[])
    os.kill(template_of(first).pid, how)
    monkeypatch.setattr(processes, "_FORK_S", 1)
    try:
        second = load(with_epoch(2), transforms=[])
        assert not is_forked(second) and set(values(second).values()) == {2}
    finally:
        os.kill(template_of(first).pid, signal.SIGCONT)
    if how == signal.SIGSTOP:
        assert set(values(first).values()) == {1}


def test_a_spare_template_that_is_gone_is_done_without(load):  # noqa: F811
    load(with_epoch(1), transforms=[]).close()
    spare = processes._spares[0].process
    spare.kill()
    wait_until(lambda: not is_alive(spare.pid))
    second = load(with_epoch(2), transforms=[])
    assert set(values(second).values()) == {2} and not processes._spares


def test_a_spare_template_holds_no_object(load):  # noqa: F811
    loader = load(arrays_of(own_code.Large(1 << 20), like=0), transforms=[])
    next(iter(loader))
    maps = "/proc/{}/maps"
    assert "stoker-object" in Path(maps.format(template_of(loader).pid)).read_text()
    loader.close()
    maps = Path(maps.format(processes._spares[0].process.pid))
    wait_until(lambda: "stoker-object" not in maps.read_text())
    assert not children(maps.parent.name)


def test_a_forked_template_leaves_nothing_of_what_the_code_began(load, tmp_path):  # noqa: F811
    load(arrays_of(own_code.Forking(str(tmp_path / "none")), like=0), transforms=[]).close()
    loader = load(arrays_of(own_code.Forking(str(tmp_path / "pids")), like=0), transforms=[])
    assert is_forked(loader)
    list(loader)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= 21 and any(map(is_alive, pids))
    loader.close()
    wait_until(lambda: not any(map(is_alive, pids)))


def test_what_code_says_has_the_name_of_its_own_loader(load, capfd):  # noqa: F811
    load(with_epoch(1), transforms=[]).close()
    source = arrays_of(own_code.Changing(also=print), like=(0, 0))
    source.name = "Second"
    loader = load(source, transforms=[])
    assert is_forked(loader)
    with pytest.raises(stoker.SampleError):
        list(loader)
    said = []
    wait_until(lambda: said.append(capfd.readouterr().err) or
               re.search(r"\[Second\] \d+\n", "".join(said)))


def test_code_that_talks_goes_on_where_stderr_is_closed(load, monkeypatch):  # noqa: F811
    """More than a pipe holds."""
    closed = open(os.devnull, "w", encoding="ascii")
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    loader = load(arrays_of(own_code.Wordy(), like=0), transforms=[])
    assert len(list(loader)) == 6


TRAINER = """
    import os, sys
    sys.path[:0] = {path!r}
    import own_code, stoker
    from stoker.produce import processes
    processes._FORK_S = 100
    with stoker.connect({socket!r}) as node:
        def load(epoch):
            code = own_code.Changing()
            code.epoch = epoch
            return node.loader(stoker.Source(code, gives="arrays"), batch_size=4, num_workers=1)
        first = load(1)
        if {spare}:
            first.close()
            found = processes._spares[0]
        else:
            second = load(2)
            found = second._reader.producers._teams[0]
        print(found.process.pid, flush=True)
        if {forks}:
            os.fork() or __import__('time').sleep(60)
        sys.stdin.read()
"""


@pytest.mark.parametrize("forks", [False, True])
@pytest.mark.parametrize("spare", [False, True])
def test_a_forked_template_ends_with_its_trainer(real, spare, forks):
    """Also where the trainer forked a child, which lives on."""
    text = textwrap.dedent(TRAINER).format(path=PATHS, socket=real.path, spare=spare, forks=forks)
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as trainer:
        pid = int(trainer.stdout.readline())
        assert is_alive(pid)
        pids = [pid, *children(pid)]
        trainer.kill()
    wait_until(lambda: not any(map(is_alive, pids)))
