# SPDX-License-Identifier: MIT
"""The training program of each language: two epochs, bad samples, further fields, a batch that is
kept, another thread; killed and started again; the daemon killed; two at once; an early exit."""

import os
import signal
import subprocess

import clients
import pytest
import photos as made
from harness import SLOW, wait_for

END_S = 60 * SLOW
STEP_MS = 10 * 60 * 1000  # of the second batch, whose end no test waits for
COUNT, BATCH = 60, 8
EPOCHS = 2
BAD = 13  # in the order of the manifest


@pytest.fixture(scope="module", name="manifest")
def fixture_manifest(tmp_path_factory):
    """60 photographs with weights, one of which is none."""
    folder = tmp_path_factory.mktemp("weighted")
    made.make(folder / "photos", count=COUNT, size=(60, 45))
    files = sorted(path for path in (folder / "photos").rglob("*") if path.is_file())
    files[BAD].write_bytes(files[BAD].read_bytes()[:20])
    rows = [f"{path.relative_to(folder)},{number % 6},{number / 4}"
            for number, path in enumerate(files)]
    (folder / "list.csv").write_text("\n".join(["path,label,weight", *rows]) + "\n")
    return folder / "list.csv"


@pytest.fixture(scope="module", name="truth")
def fixture_truth(daemon, manifest):
    """The lines of all batches, by epoch and position, of a raw peer."""
    attach = {"dataset": {"path": str(manifest)}, "dtype": "uint8", "batch_size": BATCH,
              "transforms": [{"name": "RandomResizedCrop", "size": 32},
                             {"name": "RandomHorizontalFlip"}],
              "epochs": EPOCHS, "resize": "pillow-13"}
    out = {}
    with daemon.connect() as peer:
        answer = peer.request("attach", accept_fd=True, **attach)
        assert answer.name == "attached", answer
        peer.follow(answer)
        while (message := peer.receive()).name != "end":
            if message.name != "batch":
                continue
            arrays = peer.ring.read(**message.fields)
            place = message.fields["epoch"], message.fields["position"]
            out[place] = (f"{place[0]} {place[1]} {message.fields['count']} "
                          f"{arrays['image'].sum(dtype='uint64')} {arrays['label'].sum()} "
                          f"{arrays['weight'].sum():g}")
            peer.release(message)
    assert len(out) == EPOCHS * (-(-COUNT // BATCH) - 1)  # of each epoch one is left out
    return out


class Training:
    """One run of a program."""

    def __init__(self, command, socket, *arguments):
        environment = {**os.environ, "STOKER_SOCKET": str(socket)}
        self.process = subprocess.Popen(
            [*command, *map(str, arguments)], env=environment, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = []

    def until(self, count):
        """Until it has said so many batches."""
        while len(self.batches()) < count:
            line = self.process.stdout.readline()
            assert line, self.process.communicate()
            self.lines.append(line.rstrip("\n"))

    def finish(self, code=0):
        out, said = self.process.communicate(timeout=END_S)
        self.lines += out.splitlines()
        assert self.process.returncode == code, (said, self.lines[-3:])
        return self

    def starting(self, word):
        return [line[len(word) + 1:] for line in self.lines if line.startswith(f"{word} ")]

    def batches(self):
        """By epoch and position."""
        lines = self.starting("first") + self.starting("batch")
        return {tuple(map(int, line.split()[:2])): line for line in lines}

    def stop(self):
        self.process.kill()
        self.process.communicate()


@pytest.fixture(params=[name for name in clients.TRAINING if name in clients.chosen()],
                name="start")
def fixture_start(request, manifest, tmp_path):
    """A function that starts the program: start(daemon, batches, step_ms)."""
    try:
        command = clients.TRAINING[request.param]()
    except clients.Missing as error:
        pytest.skip(f"{request.param}: {error}")
    started = []

    def start(daemon, *numbers, state="state"):
        started.append(Training(command, daemon.socket, manifest, tmp_path / state, *numbers))
        return started[-1]
    yield start
    for program in started:
        program.stop()


def test_two_epochs(daemon, start, truth):
    run = start(daemon).finish()
    assert run.batches() == truth
    assert run.starting("kept") == run.starting("first") == [truth[0, 0]]
    assert len(run.starting("left out:")) == EPOCHS
    assert {"image uint8", "label int64", "index int64", "weight float32"} == \
        set(run.starting("field"))
    assert not start(daemon).finish().batches(), "it was at its end"


def test_killed_it_goes_on(daemon, start, truth):
    """At most the batch that it was at comes again."""
    seen = {}
    for killed_at in (3, 4, 5):
        run = start(daemon, 0, 50)
        run.until(killed_at)
        run.process.send_signal(signal.SIGKILL)
        run.finish(-signal.SIGKILL)
        assert len(set(seen) & set(run.batches())) <= 1
        seen.update(run.batches())
    last = start(daemon).finish().batches()
    assert len(set(seen) & set(last)) <= 1
    assert {**seen, **last} == truth


def test_killed_between_use_and_save(daemon, start, truth):
    """What was used and not saved comes again, the same, and nothing else does."""
    order, unsaved = sorted(truth), None
    for first in range(3):
        run = start(daemon, 0, STEP_MS)
        run.until(2)
        run.process.send_signal(signal.SIGKILL)
        run.finish(-signal.SIGKILL)
        assert run.batches() == {place: truth[place] for place in order[first:first + 2]}
        assert unsaved in (None, run.starting("first")[0])
        unsaved, = run.starting("batch")
    rest = start(daemon).finish()
    assert rest.starting("first") == [unsaved]
    assert rest.batches() == {place: truth[place] for place in order[3:]}


def test_the_daemon_killed(spawn, start, truth):
    daemon = spawn()
    run = start(daemon, 0, 100)
    run.until(4)
    daemon.terminate(signal.SIGKILL)
    daemon.spawn()
    run.finish()
    assert run.batches() == truth
    assert run.starting("reconnects") == ["1"]


def test_two_at_once(daemon, start, truth):
    both = [start(daemon, 0, 5, state=state) for state in ("one", "other")]
    assert [run.finish().batches() for run in both] == [truth, truth]


def test_an_early_exit(daemon, start, truth):
    first = start(daemon, 5).finish().batches()
    assert len(first) == 5
    wait_for(lambda: daemon.status()["readers"] == 0, "its reader is gone")
    rest = start(daemon).finish().batches()
    assert not set(first) & set(rest) and {**first, **rest} == truth
