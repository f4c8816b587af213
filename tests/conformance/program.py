# SPDX-License-Identifier: MIT
"""Runs the conformance program of a client, and says what it ought to print: what a raw peer of the
harness is given for the same ATTACH. Knows no client."""

import collections
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from harness import SLOW, installed, wait_for  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
END_S = 60 * SLOW
# What a batch is, and where the next one begins.
BATCH = ("epoch", "position", "count", "padded", "wrapped", "substituted", "next_epoch",
         "next_position", "digest")

Event = collections.namedtuple("Event", "name values")


def parse(line):
    name, _, rest = line.partition(" ")
    if name == "token":
        return Event(name, json.loads(rest))
    return Event(name, dict(word.partition("=")[::2] for word in rest.split()))


class Program:
    """One run of it; `request` is what docs/LANGUAGES.md lists."""

    def __init__(self, command, socket, attach, **request):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("STOKER_")}
        environment["PYTHONPATH"] = str(installed(ROOT / "client" / "python"))
        self.errors = tempfile.TemporaryFile()
        self.measures = request.get("measure", "produce" in request)  # until its input ends
        self.process = subprocess.Popen(
            [*command, str(socket), json.dumps({"attach": attach, **request})],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, env=environment)
        self.events = []
        self.thread = threading.Thread(target=self._read, daemon=True)
        self.thread.start()

    def _read(self):
        for line in self.process.stdout:
            self.events.append(parse(line.decode().strip()))

    def said(self, name):
        return [event.values for event in list(self.events) if event.name == name]

    def wait_for(self, name, count=1):
        """Until it has said it; the values of the last one."""
        wait_for(lambda: len(self.said(name)) >= count or self.process.poll() is not None,
                 lambda: f"the program says {name}: {self.words()}", END_S)
        # It may have ended with these words.
        if self.process.poll() is not None:
            self.thread.join(END_S)
        assert len(self.said(name)) >= count, self.words()
        return self.said(name)[count - 1]

    def go_on(self):
        """After a pause."""
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()

    def tell(self, *lines):
        """What to measure."""
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def finish(self, code=0):
        """Wait for its end; itself."""
        try:
            if self.measures:
                self.process.stdin.close()
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise AssertionError(f"it does not end: {self.words()}") from None
        finally:
            self.process.stdin.close()
        self.thread.join(END_S)
        self.process.stdout.close()
        assert self.process.returncode == code, self.words()
        assert not self.said("changed"), "a batch that was held has changed"
        return self

    def fails(self, *names):
        """It ends with an error that has one of these names; its text."""
        error, = self.finish(1).said("error")
        assert error["name"] in names, (error["name"], bytes.fromhex(error["text"]))
        return bytes.fromhex(error["text"]).decode("utf-8", "replace")

    def stop(self):
        """Whatever it does."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def warnings(self):
        """What it wrote for people."""
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def words(self):
        return (f"exit status {self.process.poll()}, said {self.events[-3:]}\n"
                + self.warnings()[-3000:])

    @property
    def batches(self):
        return [{key: batch[key] for key in BATCH} for batch in self.said("batch")]

    @property
    def token(self):
        return self.said("token")[-1]


def wire(value):
    """{"hex": "ff00"} is a text by its bytes, {"uint": "..."} a number, as in the golden frames."""
    if isinstance(value, dict) and set(value) == {"hex"}:
        return bytes.fromhex(value["hex"]).decode("utf-8", "surrogateescape").encode(
            "utf-8", "surrogateescape")
    if isinstance(value, dict) and set(value) == {"uint"}:
        return int(value["uint"])
    if isinstance(value, dict):
        return {key: wire(item) for key, item in value.items()}
    return value


def digest_of(ring, fields):
    """Of the samples of a batch, in order; of each the fields in the ring's order."""
    arrays = ring.read(**fields)
    digest = hashlib.sha256()
    for i in range(fields["count"]):
        for name in ring.fields:
            digest.update(arrays[name][i].tobytes())
    return digest.hexdigest()


def as_clients_ask(attach):
    """They want the resizes of Pillow 13 where nobody says whose."""
    return {"resize": "pillow-13", **attach}


def truth(daemon, attach):
    """(fields of ATTACHED, its ring, the batches) that a raw peer gets, as the programs print
    them; a bad sample is None."""
    with daemon.connect() as peer:
        attach = {key: wire(value) for key, value in as_clients_ask(attach).items()}
        answer = peer.request("attach", accept_fd=True, accept_sizes=True, page=2, **attach)
        assert answer.name == "attached", answer
        peer.follow(answer)
        batches = []
        while True:
            message = peer.receive()
            assert message, "hung up before END"
            if message.name == "end":
                return answer.fields, peer.ring, batches
            if message.name == "bad_sample":
                batches.append(None)
            if message.name != "batch":
                continue
            fields = {"padded": 0, "wrapped": 0, "substituted": 0, **message.fields}
            fields["digest"] = digest_of(peer.ring, fields)
            batches.append({key: str(fields[key]) for key in BATCH})
            peer.release(message)
