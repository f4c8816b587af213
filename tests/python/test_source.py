# SPDX-License-Identifier: MIT
"""stoker.Source with the real daemon: the user's own code, in processes of its own (FAULTS 91)."""
import contextlib
import importlib
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import own_code
import stoker
from real_daemon import RealDaemon, binary
from stoker.produce import identity, sealed, seeds, shipping, source, tree

HERE = Path(__file__).resolve().parent
PATHS = [str(HERE), str(HERE.parents[1] / "client" / "python")]
SLOW = float(os.environ.get("STOKER_SLOW", "1"))
STEPS = [stoker.RandomCrop(16), stoker.RandomHorizontalFlip()]


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Keep the producers' secret in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def load(real):
    """A function that makes a loader of a source."""
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(stoker.connect(real.path))

        def load(code, **more):
            options = {"batch_size": 4, "seed": 5, "transforms": STEPS, "dtype": "uint8",
                       "timeout": 60 * SLOW, **more}
            if isinstance(code, stoker.Source):
                options.setdefault("num_workers", 2)
            return stack.enter_context(node.loader(code, **options))
        yield load


def unpacked(thing):
    fd = shipping.pack(thing)
    try:
        return shipping.unpack(fd)[0]
    finally:
        os.close(fd)


def epoch(loader):
    return [(images.tobytes(), labels.tolist()) for images, labels in loader]


def children(pid):
    return [int(child) for child in
            Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def producers_of(loader):
    return children(loader._reader.producers._process.pid)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=20):
    deadline = time.monotonic() + seconds * SLOW
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_pixels_and_labels_are_those_of_the_files(load, folder):
    code = load(stoker.Source(own_code.Files(folder)))
    files = load(folder)
    for _ in range(2):
        assert epoch(code) == epoch(files)
    assert code.samples == 21


@pytest.mark.parametrize("pure", [None, True])
def test_pictures_are_transformed_like_files(load, folder, pure):
    code = load(stoker.Source(own_code.Pictures(folder), gives="picture", pure=pure))
    files = load(folder)
    for _ in range(2):
        assert epoch(code) == epoch(files)


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize("last", [
    stoker.RandomChoice([stoker.MixUp(0.8), stoker.CutMix()]), stoker.Mosaic()],
    ids=["mixed", "mosaic"])
def test_samples_are_joined_as_those_of_files(load, folder, last, count):
    options = {"transforms": [*STEPS, last], "dtype": "float32"}
    code = load(stoker.Source(own_code.Files(folder), classes=3), num_workers=count, **options)
    assert epoch(code) == epoch(load(folder, **options))


def test_a_mosaic_of_what_is_drawn(load, folder):
    """Each of the four is what it is alone; with an echo, and where a state is resumed, too."""
    def joined(count, state=None, **more):
        source = stoker.Source(own_code.Pictures(folder, draws=True), gives="picture", version="x")
        with load(source, num_workers=count, transforms=[*STEPS, stoker.Mosaic()],
                  **more) as loader:
            if state is not None:
                loader.load_state_dict(state)
            batches = loader.batches()
            first = [next(batches).images.tobytes() for _ in range(2)]
            return first, loader.state_dict(), [batch.images.tobytes() for batch in batches]
    first, state, rest = joined(1)
    assert joined(3)[::2] == (first, rest)
    resumed = joined(2, state)
    assert resumed[0] + resumed[2] == rest
    assert joined(1, echo=2)[2] == joined(2, echo=2)[2]


def test_pictures_that_are_drawn_are_kept_nowhere(load, folder):
    """Nor are their labels; and each echo of a sample has its own."""
    def made(count):
        source = stoker.Source(own_code.Pictures(folder, draws=True), gives="picture", version="x")
        with load(source, num_workers=count, echo=2, echo_window=4) as loader:
            return [epoch(loader) for _ in range(2)]
    first, second = made(1)
    labels = [label for _, batch in first + second for label in batch]
    assert len(labels) == 84 and len(set(labels)) > 70
    assert made(2) == [first, second] and first != second


def test_drawn_bytes_need_not_be_pure(load, folder):
    loader = load(stoker.Source(own_code.Drawn(folder), pure=False))
    assert epoch(loader) != epoch(loader)


@pytest.mark.parametrize("count", [0, 1, 3])
def test_any_number_of_producers_gives_the_same(load, folder, count):
    assert epoch(load(stoker.Source(own_code.Files(folder)), num_workers=count)) == \
        epoch(load(folder))


def test_a_killed_producer_costs_nothing(load, folder):
    want = epoch(load(folder))
    loader = load(stoker.Source(own_code.Files(folder)))
    got = []
    for images, labels in loader:
        got.append((images.tobytes(), labels.tolist()))
        for pid in producers_of(loader)[:1]:
            os.kill(pid, signal.SIGKILL)
    assert got == want


def test_an_exception_is_a_bad_sample_with_its_words(load, folder):
    loader = load(stoker.Source(own_code.Failing(folder, "raise")), batch_size=1, shuffle=False)
    rows, found = iter(loader), []
    while True:
        try:
            next(rows)
            found.append(None)
        except stoker.SampleError as error:
            found.append(str(error))
        except StopIteration:
            break
    assert len(found) == 21 and [place for place, text in enumerate(found) if text] == [5]
    assert "ValueError: there is no such picture; own_code.py:" in found[5]


@pytest.mark.parametrize("do, words", [("exit", "ended or took too long, twice"),
                                       ("type", "gives the bytes of a file, not str")])
def test_code_that_fails_is_a_bad_sample(load, folder, do, words):
    loader = load(stoker.Source(own_code.Failing(folder, do)), batch_size=1, shuffle=False)
    good = 0
    rows = iter(loader)
    while True:
        try:
            next(rows)
            good += 1
        except stoker.SampleError as error:
            assert words in str(error)
        except StopIteration:
            break
    assert good == 20


def test_a_failure_that_does_not_come_again_costs_nothing(load, folder, tmp_path):
    code = own_code.Failing(folder, "exit", once=str(tmp_path / "once"))
    assert epoch(load(stoker.Source(code))) == epoch(load(folder))


def test_what_producers_print_comes_out_with_their_name(load, folder, capfd):
    epoch(load(stoker.Source(own_code.Talking(folder))))
    wait_until(lambda: True)
    time.sleep(0.2)
    said = capfd.readouterr().err.splitlines()
    assert "[Talking] error 5" in said


def test_what_cannot_be_pickled_runs_in_a_thread_here(load, folder, caplog):
    assert epoch(load(stoker.Source(own_code.Locked(folder)))) == epoch(load(folder))
    assert any("Locked.guard cannot be pickled" in record.message for record in caplog.records)


def test_an_object_that_cannot_be_made_elsewhere_is_an_error(load, folder):
    with pytest.raises(stoker.ProducerError, match="RuntimeError: not in this process"):
        epoch(load(stoker.Source(own_code.Broken(folder))))


def test_producers_that_die_again_and_again_are_an_error(load, folder):
    """But a sample that ends two of them is bad first."""
    loader = load(stoker.Source(own_code.Dying(folder)), batch_size=1)
    with pytest.raises(stoker.ProducerError, match="5 producers in a row died before") as raised:
        while True:
            try:
                next(iter(loader))
            except stoker.SampleError:
                pass
    assert "a producer of Dying ended with status 1" in str(raised.value)
    assert "no more of this" in str(raised.value)


def test_processes_end_after_their_number_of_samples(load, folder, tmp_path):
    """At the end of a group, and nothing is lost by it: others take their place."""
    out = tmp_path / "pids"
    want = epoch(load(stoker.Source(own_code.Files(folder))))
    got = epoch(load(stoker.Source(own_code.Counting(folder, str(out)), recycle=1), num_workers=1))
    assert got == want
    pids = out.read_text(encoding="ascii").split()
    assert len(pids) >= 21 and len(set(pids)) > 1  # the next epoch may have begun
    assert pids == sorted(pids, key=pids.index)  # none comes back


@pytest.mark.parametrize("options", [{"recycle": 0}, {"recycle": 1.5}, {"deadline": 0},
                                     {"deadline": -1}, {"deadline": float("nan")}], ids=str)
def test_a_life_that_cannot_be(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))} must be"):
        stoker.Source(lambda index: b"", samples=4, **options)


def test_a_hung_sample_has_the_deadline_of_its_source(load, folder, tmp_path):
    """The daemon's is a minute, and a loader here waits for less."""
    want = epoch(load(stoker.Source(own_code.Files(folder))))
    code = own_code.Failing(folder, "hang", once=str(tmp_path / "once"))
    assert epoch(load(stoker.Source(code, deadline=2 * SLOW), num_workers=1)) == want
    assert (tmp_path / "once").exists()


def test_code_knows_its_sample_and_random_numbers_follow_from_it(load, folder, tmp_path):
    def lines(name, **more):
        out = tmp_path / name
        with load(stoker.Source(own_code.Which(folder, str(out)), version=name),
                  **more) as loader:
            epoch(loader)
        found = sorted(line for line in out.read_text().splitlines()
                       if line.split()[1] == "0")
        out.unlink()
        return found
    one = lines("a", num_workers=1)
    assert len(one) == 21 and all(line.startswith("True 0 ") for line in one)
    assert len({line.split()[3] for line in one}) == 21
    assert lines("b", num_workers=3) == one
    assert lines("c", seed=6) != one


def test_the_end_of_a_loader_is_that_of_its_producers(load, folder):
    loader = load(stoker.Source(own_code.Files(folder)))
    epoch(loader)
    template = loader._reader.producers._process.pid
    pids = [template, *children(template)]
    assert len(pids) == 3
    loader.close()
    wait_until(lambda: not any(map(is_alive, pids)))


def test_an_epoch_goes_on_over_a_killed_daemon(folder, tmp_path):
    if binary() is None:
        pytest.skip("no stokerd was built")
    daemon = RealDaemon(tmp_path)
    try:
        with stoker.connect(daemon.path) as node:
            options = {"batch_size": 4, "seed": 5, "transforms": STEPS, "dtype": "uint8",
                       "timeout": 60 * SLOW}
            with node.loader(folder, **options) as files:
                want = epoch(files)
            loader = node.loader(stoker.Source(own_code.Files(folder)), num_workers=2, **options)
            got = []
            for number, (images, labels) in enumerate(loader):
                got.append((images.tobytes(), labels.tolist()))
                if number == 1:
                    daemon.stop(signal.SIGKILL)
                    daemon.start()
            assert got == want and loader.reconnects == 1
    finally:
        daemon.stop()


@pytest.mark.parametrize("how", ["close", "kill"])
def test_nothing_is_left_of_what_the_code_began(load, tmp_path, how):
    """Also if it went into a session of its own, and whatever ends the producer."""
    loader = load(arrays_of(own_code.Forking(str(tmp_path / "pids")), like=0), transforms=[])
    list(loader)
    pids = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(pids) >= 21 and any(map(is_alive, pids))
    if how == "close":
        loader.close()
    for pid in producers_of(loader) if how == "kill" else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, pids)))


def test_a_hung_producer_is_killed_and_says_where_it_was(folder, tmp_path, capfd):
    """And costs no sample."""
    if binary() is None:
        pytest.skip("no stokerd was built")
    daemon = RealDaemon(tmp_path, "--producer-deadline", f"{2000 * SLOW:.0f}ms", "--nice", "3")
    try:
        with stoker.connect(daemon.path) as node:
            options = {"batch_size": 4, "shuffle": False, "transforms": STEPS, "dtype": "uint8",
                       "timeout": 60 * SLOW}
            with node.loader(folder, **options) as files:
                want = epoch(files)
            code = own_code.Failing(folder, "hang", once=str(tmp_path / "once"))
            loader = node.loader(stoker.Source(code), num_workers=1, **options)
            assert epoch(loader) == want
            (pid,) = producers_of(loader)
            assert os.getpriority(os.PRIO_PROCESS, pid) >= 3
        said = capfd.readouterr().err
        assert "has taken longer than the deadline for a sample, and is killed" in said
        assert "own_code.py\", line" in said and "in __getitem__" in said
    finally:
        daemon.stop()


TRAINER = """
    import os, sys
    sys.path[:0] = {path!r}
    import own_code, stoker
    with stoker.connect({socket!r}) as node:
        loader = node.loader(stoker.Source(own_code.Files({folder!r})), batch_size=4,
                             transforms=[stoker.RandomCrop(16)], num_workers=2)
        next(iter(loader))
        print(loader._reader.producers._process.pid, flush=True)
        sys.stdin.read()
"""


@pytest.mark.parametrize("forks", [False, True])
def test_nothing_is_left_of_a_killed_trainer(real, folder, forks):
    """Also where it forked a child, which lives on."""
    text = textwrap.dedent(TRAINER if not forks else TRAINER.replace(
        "sys.stdin.read()", "os.fork() or __import__('time').sleep(30); sys.stdin.read()"))
    text = text.format(path=PATHS, socket=real.path, folder=folder)
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as trainer:
        template = int(trainer.stdout.readline())
        pids = [template, *children(template)]
        trainer.kill()
    wait_until(lambda: not any(map(is_alive, pids)))


SERVICE = """
    import os
    import own_code, stoker
    def dataset():
        return own_code.Files({folder!r})
    def source():
        return stoker.Source(dataset(), external=True)
"""


@pytest.mark.parametrize("factory", ["dataset", "source"])
def test_producers_of_a_unit_outlive_trainers(real, load, folder, tmp_path, factory, monkeypatch):
    """They are found by the secret, in a file that the user names; SIGTERM ends all of them."""
    monkeypatch.setenv("STOKER_SECRET", str(tmp_path / "secret"))
    (tmp_path / "stoker_service.py").write_text(textwrap.dedent(SERVICE).format(folder=folder))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([*PATHS, str(tmp_path)])}
    want = epoch(load(folder))
    with subprocess.Popen([sys.executable, "-m", "stoker", "produce", f"stoker_service:{factory}",
                           "-n", "2", "--socket", real.path], env=environment) as service:
        try:
            for _ in range(2):
                with load(stoker.Source(own_code.Files(folder), external=True)) as loader:
                    assert epoch(loader) == want and loader._reader.producers is None
            pids = children(service.pid)
            assert len(pids) == 2 and all(map(is_alive, pids))
        finally:
            service.terminate()
        assert service.wait(20 * SLOW) == 0
    wait_until(lambda: not any(map(is_alive, pids)))
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_external_code_without_identity_is_refused(load):
    with pytest.raises(ValueError, match="say version=, there and here"):
        load(arrays_of(own_code.Changing(also=own_code.Untold()), external=True), transforms=[])


def test_ctrl_c_ends_all_quietly(real, folder):
    """A terminal sends it to the whole group."""
    text = textwrap.dedent(TRAINER).format(path=PATHS, socket=real.path, folder=folder)
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          start_new_session=True) as trainer:
        template = int(trainer.stdout.readline())
        pids = [template, *children(template)]
        assert len(pids) == 3
        os.killpg(trainer.pid, signal.SIGINT)
        said = trainer.stderr.read()
        trainer.wait(20 * SLOW)
    wait_until(lambda: not any(map(is_alive, pids)))
    assert said.count("Traceback") == 1 and "KeyboardInterrupt" in said and "[Files]" not in said


MAIN = """
    import sys
    sys.path[:0] = {path!r}
    import stoker
    from pathlib import Path
    NAMES = {{"png", "jpg", "gif"}}
    def sample(index, files=sorted(Path({folder!r}).rglob("*.png"))):
        assert files[index].suffix[1:] in NAMES
        return files[index].read_bytes()
    source = stoker.Source(sample, samples=21)
    with stoker.connect({socket!r}) as node, \\
            node.loader(source, batch_size=4, transforms=[stoker.RandomCrop(16)],
                        num_workers=2) as loader:
        print(source.identity(), sum(len(labels) for _, labels in loader))
"""


def test_code_of_the_main_script(real, folder, tmp_path):
    """Its identity is that of another run, in another folder, with other hashes of texts."""
    pytest.importorskip("cloudpickle")
    found = set()
    for number in range(3):
        home = tmp_path / f"home{number}"
        home.mkdir()
        script = home / f"train{number}.py"
        text = textwrap.dedent(MAIN).format(path=PATHS, socket=real.path, folder=folder)
        script.write_text("\n" * number + f"# the {number}th\n" + text)
        done = subprocess.run([sys.executable, str(script)], check=True, capture_output=True,
                              text=True, env={**os.environ, "PYTHONHASHSEED": str(number + 1)})
        found.add(done.stdout.strip())
    assert len(found) == 1 and found.pop().endswith(" 21")


def test_a_plan_says_what_runs_where(load, folder):
    """In the order in which a sample passes them."""
    code = own_code.Files(folder)
    code.rng = np.random.default_rng(1)
    assert load(stoker.Source(code), num_workers=2).plan().splitlines() == [
        "Files runs in 2 processes of yours; for each sample random, numpy.random and torch are "
        "seeded, and what it holds (rng)", "the daemon decodes and keeps pictures",
        "the daemon makes RandomCrop", "the daemon makes RandomHorizontalFlip"]
    lines = load(arrays_of(own_code.Floats()), transforms=[], num_workers=0).plan().splitlines()
    assert lines[0].startswith("Floats runs in a thread of this process; ") and len(lines) == 2
    assert load(folder).plan().splitlines()[0] == f"the daemon reads {folder}"


# Objects that change


def values(loader):
    """The state of the object that each sample was made by, by its index."""
    return {int(index): int(state) for states, indices in loader
            for state, index in zip(states, indices)}


@pytest.mark.parametrize("count", [0, 2])
@pytest.mark.parametrize("version", [None, "1"])
def test_an_object_that_has_changed_makes_the_samples_from_the_next_epoch_on(load, count, version):
    """Also those that were made ahead; and the order goes on as that of one epoch after another."""
    code = own_code.Changing()
    loader = load(arrays_of(code, version=version), transforms=[], num_workers=count)
    same = load(arrays_of(own_code.Changing()), transforms=[])
    fingerprint = loader.dataset_fingerprint
    for number, state in enumerate((0, 0, 7, 7, 8)):
        code.epoch = state
        order = []
        for states, indices in loader:
            assert states.tolist() == [state] * len(states)
            order += indices.tolist()
        assert order == [int(index) for _, indices in same for index in indices]
        assert loader.epoch == number + 1
    assert loader.dataset_fingerprint == fingerprint


def test_producers_stay_over_a_change_of_state_but_not_of_code(load, tmp_path, monkeypatch):
    """Of a module that was reloaded the template has the old one."""
    monkeypatch.syspath_prepend(str(tmp_path))
    text = "def value(index):\n    return {}\n"
    module = tmp_path / "stoker_changing.py"
    module.write_text(text.format(1))
    import stoker_changing
    code = own_code.Changing(also=stoker_changing.value)
    loader = load(arrays_of(code), transforms=[])
    assert set(values(loader).values()) == {1}
    template = loader._reader.producers._process.pid
    code.epoch = 3
    assert set(values(loader).values()) == {4}
    assert loader._reader.producers._process.pid == template
    module.write_text(text.format(20))
    os.utime(module, (1, 1))
    importlib.reload(stoker_changing)
    code.also = stoker_changing.value
    assert set(values(loader).values()) == {23}
    assert loader._reader.producers._process.pid != template


def test_a_changed_object_resumes_where_it_is_changed_alike(load):
    """In the middle of an epoch; from its beginning on the object may be any."""
    code = own_code.Changing()
    loader = load(arrays_of(code), transforms=[])
    values(loader)
    code.epoch = 1
    next(iter(loader))
    middle = loader.state_dict()
    rest = list(loader)
    assert rest
    again = own_code.Changing()
    other = load(arrays_of(again), transforms=[])
    other.load_state_dict(middle)
    with pytest.raises(stoker.TokenError, match="is not as it was when the state was taken"):
        iter(other)
    again.epoch = 1
    assert {state for states, _ in other for state in states.tolist()} == {1}
    other.load_state_dict(loader.state_dict())
    again.epoch = 2
    assert set(values(other).values()) == {2}


def test_another_number_of_samples_takes_another_loader(load):
    code = own_code.Changing()
    loader = load(arrays_of(code), transforms=[])
    code.count = 5
    with pytest.raises(ValueError, match="had 21 samples and has 5 now"):
        iter(loader)


def test_an_object_without_identity_that_changes_is_seen_too(load):
    code = own_code.Changing(also=own_code.Untold())
    loader = load(arrays_of(code), transforms=[])
    assert set(values(loader).values()) == {0}
    code.epoch = 4
    assert set(values(loader).values()) == {4}


def test_large_arrays_are_in_memory_once(load):
    """Of a producer's pages those of the array are others' as well, however they are counted."""
    code = own_code.Large(64 << 20)
    loader = load(arrays_of(code), transforms=[], num_workers=4)
    assert len(list(loader)) > 0
    own = sum(int(line.split()[1]) << 10 for pid in producers_of(loader)
              for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
              if line.startswith(("Private_Dirty:", "Private_Clean:")))
    assert own < 4 * (32 << 20)
    assert unpacked(code).data.sum() == code.data.sum()


# The identity, alone


class Held:
    def __init__(self, **state):
        self.__dict__.update(state)

    def method(self):
        return len(self.__dict__)


def test_an_identity_is_the_same_whenever_it_is_asked_for():
    thing = Held(a=[1, 2.5, None], names={"a", "b"}, array=np.arange(6), file=Path("/x"))
    thing.itself = thing
    assert len({identity.identity_of(thing) for _ in range(3)}) == 1
    assert identity.identity_of(unpacked(thing)) == \
        identity.identity_of(thing)


@pytest.mark.parametrize("one, other", [
    (Held(a=1), Held(a=2)), (Held(a=1), Held(b=1)), (Held(a=1), Held(a=1.0)),
    (Held(a="1"), Held(a=b"1")), (Held(a=[1, 2]), Held(a=[2, 1])), (Held(a=(1,)), Held(a=[1])),
    (Held(a={1: 2, 3: 4}), Held(a={3: 4, 1: 2})), (Held(a={1}), Held(a={2})),
    (Held(a=np.arange(3)), Held(a=np.arange(3.0))), (Held(a=np.zeros(2)), Held(a=np.zeros(3))),
    (Held(a=np.zeros((2, 3))), Held(a=np.zeros((3, 2)))), (Held(a=0.0), Held(a=-0.0)),
    (Held(f=lambda x: x + 1), Held(f=lambda x: x + 2)), (Held(f=max), Held(f=min)),
    (Held(f=lambda x, y=1: x), Held(f=lambda x, y=2: x)),
], ids=repr)
def test_what_differs_has_another_identity(one, other):
    assert identity.identity_of(one) != identity.identity_of(other)


@pytest.mark.parametrize("one, other", [
    (Held(a=1, b=2), Held(b=2, a=1)), (Held(a=frozenset("abcd")), Held(a=frozenset("dcba"))),
    (Held(a=np.random.default_rng(1)), Held(a=np.random.default_rng(2))),
], ids=repr)
def test_what_does_the_same_has_the_same_identity(one, other):
    assert identity.identity_of(one) == identity.identity_of(other)


def test_a_global_that_code_names_is_part_of_it():
    space = {}
    exec("def code(index): return helper(index)", space)  # a user's module, in small
    space["helper"] = lambda index: index
    before = identity.identity_of(space["code"])
    space["helper"] = lambda index: index + 1
    assert identity.identity_of(space["code"]) != before
    space["other"] = 3
    space["helper"] = lambda index: index
    assert identity.identity_of(space["code"]) == before


def test_what_has_no_identity_is_named():
    with open("/dev/null", encoding="ascii") as file, \
            pytest.raises(identity.CannotTell, match="deep.file is a TextIOWrapper"):
        identity.identity_of(Held(deep=Held(file=file)))


def test_seeds_reach_the_generators_that_an_object_holds():
    thing = Held(a=Held(rng=np.random.default_rng(0)), b=[__import__("random").Random()])
    found = seeds.Seeds(thing)
    assert sorted(found.names) == ["a.rng", "b[0]"]

    def draw():
        return thing.a.rng.random(), thing.b[0].random(), np.random.rand()
    found.set(1, 2, 3)
    first = draw()
    found.set(1, 2, 4)
    second = draw()
    found.set(1, 2, 3)
    assert draw() == first and all(a != b for a, b in zip(first, second))


DRAWS = """
import random
from stoker.produce import seeds

def draws():
    items = list(range(20))
    random.shuffle(items)
    return [random.random(), random.gauss(0, 1), random.randint(0, 10 ** 12),
            random.getrandbits(70), random.sample(range(99), 5), random.choices(range(9), k=3),
            random.uniform(1, 2), items, random.getstate()]

found = seeds.Seeds(None)
number = seeds.seed_of(1, 2, 3)
random.seed(number)
wanted = draws()
random.seed(5)
other = draws()
seeds.seed_later()
from random import gauss
gauss(0, 1)  # keeps a second number, which is of no later sample
found.set(1, 2, 3)
assert draws() == wanted
found.set(9, 9, 9)
random.seed(5)
assert draws() == other
found.set(1, 2, 3)
state = random.getstate()
random.random()
random.setstate(state)
assert draws() == wanted
"""


def test_a_seed_that_is_worked_out_later_draws_the_same():
    """In a process of its own: it changes the functions of `random`."""
    subprocess.run([sys.executable, "-c", DRAWS], check=True,
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)})


def test_a_generator_of_numpy_draws_as_its_seed_says():
    """For each kind: other numbers at other places, well spread, and none that was kept."""
    for kind in (np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox,
                 np.random.SFC64):
        rng = np.random.Generator(kind(1))
        found, rows = seeds.Seeds(Held(rng=rng)), []
        for position in (0, 1, 0, 2):
            rng.integers(0, 9, 3, dtype=np.uint32)  # leaves half of a draw
            found.set(5, 0, position)
            rows.append(np.concatenate([rng.random(2000), rng.integers(0, 9, 3, dtype=np.uint32)]))
        assert (rows[0] == rows[2]).all()
        for one, other in ((0, 1), (0, 3), (1, 3)):
            assert abs(np.corrcoef(rows[one][:2000], rows[other][:2000])[0, 1]) < 0.1
        assert abs(rows[0][:2000].mean() - 0.5) < 0.05


def test_the_secret_is_this_users_alone(tmp_path):
    shown = source.secret()
    assert len(shown) == 16 and source.secret() == shown
    path = tmp_path / "stoker-producers.secret"
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    with pytest.raises(PermissionError, match="only you can read"):
        source.secret()
    tmp_path.chmod(0o777)
    with pytest.raises(PermissionError, match="nobody else can write to"):
        source.secret()
    tmp_path.chmod(0o700)


def test_what_a_source_cannot_be():
    with pytest.raises(TypeError, match="say how many samples"):
        stoker.Source(lambda index: b"")
    with pytest.raises(TypeError, match="is a function of an index"):
        stoker.Source(3, samples=4)
    with pytest.raises(ValueError, match="must be 'bytes', 'picture' or 'arrays'"):
        stoker.Source(lambda index: b"", samples=4, gives="pictures")
    with pytest.raises(TypeError, match="the sample is a set: a sample of gives='arrays' is made"):
        stoker.Source(lambda index: {index}, samples=4, gives="arrays")
    with pytest.raises(TypeError, match="1.x is of <U1, which is not possible"):
        stoker.Source(lambda index: (1, {"x": np.array("a")}), samples=4, gives="arrays")
    with pytest.raises(ValueError, match="a sample has 128 arrays, and at most 127"):
        stoker.Source(lambda index: [index] * 128, samples=4, gives="arrays")
    with pytest.raises(ValueError, match="a sample has no 'box': it has 0, boxes"):
        stoker.Source(lambda index: {"0": index, "boxes": np.zeros(3)}, samples=4, gives="arrays",
                      ragged=["box"])
    with pytest.raises(ValueError, match="is a list of names of arrays, or True"):
        stoker.Source(lambda index: b"", samples=4, ragged=True)


# check=


def test_code_that_is_not_exact_is_named_once_and_not_shared(load, folder, caplog):
    code = stoker.Source(own_code.Forgetful(folder), gives="arrays", check=1, version="one")
    options = {"transforms": [], "batch_size": 1}
    loader = load(code, **options)
    for _ in range(2):
        assert sorted(int(batch[0, 0]) for batch in loader) == list(range(len(code.code)))
    said = [record.getMessage() for record in caplog.records if "otherwise" in record.getMessage()]
    assert len(said) == 1 and "your code made sample" in said[0]
    saved = loader.state_dict()
    assert saved["exact"] is False
    other = load(stoker.Source(own_code.Forgetful(folder), gives="arrays", version="one"),
                 **options)
    other.load_state_dict(saved)
    assert "not exactly what would have come then" in caplog.text
    assert other.state_dict()["exact"] is False
    assert other._reader._number != loader._reader._number  # of the stream


@pytest.mark.parametrize("gives", ["bytes", "picture"])
def test_code_that_is_exact_is_as_it_was(load, folder, caplog, gives):
    code = own_code.Files if gives == "bytes" else own_code.Pictures
    loader = load(stoker.Source(code(folder), gives=gives, check=1))
    assert epoch(loader) == epoch(load(folder))
    assert "exact" not in loader.state_dict() and "otherwise" not in caplog.text


def test_draws_that_are_seeded_are_exact(load, folder, caplog):
    loader = load(stoker.Source(own_code.Pictures(folder, draws=True), gives="picture", check=1))
    epoch(loader)
    assert "exact" not in loader.state_dict() and "otherwise" not in caplog.text


def test_crops_of_a_sample_that_is_made_twice(load, folder, caplog):
    """Each list gets what was made first."""
    crops = {"large": (1, STEPS), "small": (2, [stoker.RandomCrop(8)])}

    def pictures(code):
        loader = load(code, transforms=(), crops=crops)
        found = [{name: images[name].tolist() for name in crops} for images, _ in loader]
        return found, loader.state_dict()
    found, state = pictures(stoker.Source(own_code.Pictures(folder), gives="picture", check=1))
    assert found == pictures(folder)[0]
    assert "exact" not in state and "otherwise" not in caplog.text


@pytest.mark.parametrize("part", [-0.1, 1.5, "all"])
def test_a_part_that_cannot_be(part):
    with pytest.raises(ValueError, match="check must be a part of the samples from 0 to 1"):
        stoker.Source(lambda index: b"", samples=4, check=part)


# Arrays


def arrays_of(code, **more):
    return stoker.Source(code, gives="arrays", **more)


def flat(loader):
    return {int(image[1, 2, 3]): (float(image[0, 0, 0]), int(label))
            for images, labels in loader for image, label in zip(images, labels)}


def test_arrays_are_what_the_code_gave(load):
    loader = load(arrays_of(own_code.Floats()), transforms=[])
    for _ in range(2):
        got = flat(loader)
        assert sorted(got) == list(range(21))
        assert all(label == index % 3 for index, (_, label) in got.items())
    images, labels = next(iter(loader))
    assert images.shape == (4, 2, 3, 4) and images.dtype == np.float32
    assert labels.dtype == np.int64 and labels.shape == (4,)


def test_random_numbers_of_arrays_follow_from_the_position(load):
    """Not from the number of producers; each epoch has others, and each seed."""
    runs = []
    for count, seed in ((1, 5), (3, 5), (2, 6)):
        with load(arrays_of(own_code.Floats()), transforms=[], num_workers=count, seed=seed) as run:
            runs.append([flat(run) for _ in range(2)])
    assert runs[0] == runs[1] and runs[0][0] != runs[0][1] and runs[0] != runs[2]


@pytest.mark.parametrize("sample, like", [
    (np.arange(6, dtype=np.float32).reshape(2, 3).T, np.zeros((3, 2), np.float32)),
    (np.arange(3, dtype=">f4"), np.zeros(3, np.float32)),
    (np.float64(2.5), 1.0), (np.int64(7), 3), (True, False), (3, 2), (-1.5, 0.0),
    (np.bool_(True), False), (np.float16(0.5), np.float16(0)),
    ({"b": 1, "a": np.ones(2)}, {"a": np.zeros(2), "b": 4}),
    ((1, [2.0, (np.uint8(3),)]), (0, [0.0, (np.uint8(0),)]))], ids=repr)
def test_parts_are_the_memory_of_the_arrays(sample, like):
    """Also where they are made without one."""
    made = tree.Tree(like)
    parts = made.parts(sample)
    assert [len(bytes(part)) for part in parts] == made.sizes
    assert [bytes(part) for part in parts] == [array.tobytes() for array in made.split(sample)]


class OfScript(NamedTuple):
    """Its module is that of a script, which another process does not import."""

    x: Any


OfScript.__module__ = "__main__"


def test_a_class_of_the_script_is_the_programs_own(monkeypatch):
    made = sealed.seal([OfScript(np.arange(3)), OfScript("text")], 4096)
    monkeypatch.setattr(sys.modules["__main__"], "OfScript", OfScript, raising=False)
    first, second = sealed.unseal(made)
    assert type(first) is OfScript and first.x.tolist() == [0, 1, 2] and second.x == "text"


@pytest.mark.parametrize("sample", [2 ** 63, 1.5, True, [1], {"a": 1}, None])
def test_parts_of_what_another_sample_was(sample):
    with pytest.raises((OverflowError, TypeError, ValueError)):
        tree.Tree(1).parts(sample)


def test_a_batch_is_the_tree_that_a_sample_is(load):
    loader = load(arrays_of(own_code.Nested()), transforms=[], shuffle=False)
    batch = next(iter(loader))
    assert list(batch) == ["a", "b", "c", "d", "e"]
    assert batch["a"].dtype == np.int16 and batch["a"].tolist() == [[[i], [i]] for i in range(4)]
    assert isinstance(batch["b"], tuple) and isinstance(batch["b"][1], list)
    assert batch["b"][0].tolist() == [0, 0.25, 0.5, 0.75] and batch["b"][0].dtype == np.float64
    assert batch["b"][1][0].tolist() == [True, False, True, False]
    assert batch["c"].tolist() == [2.5] * 4 and batch["d"].tolist() == [0, 1, 2, 3]
    assert batch["e"].dtype == np.uint8 and batch["e"].tolist() == [7] * 4


@pytest.mark.parametrize("other, words", [
    ((np.zeros(4, np.float32), 1), "0 has the shape (4,), and had (3,) in the first sample"),
    ((np.zeros(3), 1), "0 is of float64, and was of float32 in the first sample"),
    ([np.zeros(3, np.float32), 1], "the sample is a list of 2, and was a tuple of 2"),
    ((np.zeros(3, np.float32),), "the sample is a tuple of 1, and was a tuple of 2"),
    ((np.zeros(3, np.float32), "1"), "1 is a str"),
], ids=str)
def test_a_sample_of_another_form_is_bad_and_named(load, other, words):
    loader = load(arrays_of(own_code.Shaped(other)), transforms=[], batch_size=1, shuffle=False)
    good, said = 0, []
    rows = iter(loader)
    while True:
        try:
            next(rows)
            good += 1
        except stoker.SampleError as error:
            said.append(str(error))
        except StopIteration:
            break
    assert good == 20 and len(said) == 1 and words in said[0]


def test_what_the_code_opens_at_its_first_call_does_not_keep_it_here(load, folder, caplog):
    code = own_code.Opening(folder)
    loader = load(arrays_of(code), transforms=[])
    assert sorted(int(index) for batch in loader for index in batch) == list(range(21))
    assert code.file is None and loader._reader.producers._process is not None
    assert not any("cannot be pickled" in record.message for record in caplog.records)


def test_arrays_take_no_transforms(load):
    with pytest.raises(stoker.ArgumentError, match="transforms are for pictures"):
        load(arrays_of(own_code.Floats()))


def test_a_tray_grows_with_a_sample(load):
    """It has 4 MiB for each group at first."""
    loader = load(arrays_of(lambda index: np.full(5 << 20, index, np.uint8), samples=3),
                  transforms=[], batch_size=1, num_workers=0, shuffle=False)
    for index, (batch,) in enumerate(loader):
        assert batch.shape == (5 << 20,) and (batch == index).all()
    assert index == 2


def test_torch_gives_tensors(real):
    torch = pytest.importorskip("torch")
    import stoker.torch as adapter
    with stoker.connect(real.path) as node, adapter.Loader(
            arrays_of(own_code.Nested()), 4, node=node, shuffle=False, num_workers=2) as loader:
        batch = next(iter(loader))
    assert batch["a"].dtype == torch.int16 and batch["b"][0].dtype == torch.float64
    assert torch.equal(batch["d"], torch.arange(4))


def test_a_source_leaves_the_programs_generators_as_they_are():
    torch = sys.modules.get("torch")

    def drawn(index):
        return np.array([random.random(), np.random.rand()])

    def states():
        return random.getstate(), np.random.get_state()[1].tolist(), \
            torch and torch.get_rng_state().tolist()
    random.seed(8)
    before = states()
    stoker.Source(drawn, 10, gives="arrays")
    assert states() == before
