# SPDX-License-Identifier: MIT
"""stokerctl top: on a terminal, which is restored however it ends; as frames for a pipe; and while
the daemon restarts."""

import codecs
import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios

import pytest

from harness import ERRORS, MESSAGES, STOKERCTL, WAIT_S, frame, wait_for

TRANSFORMS = [{"name": "Resize", "size": [8, 8]}]
ENTERED, LEFT = "\033[?1049h", "\033[?1049l"
USAGE, UNAVAILABLE, IOERR = 64, 69, 74


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, command, rows, columns):
        try:
            self.master, self.slave = pty.openpty()
        except OSError:
            pytest.skip("no terminal can be had here")
        self.resize(rows, columns)
        self.before = self.settings()
        self.said = ""
        self.decoder = codecs.getincrementaldecoder("utf-8")()  # a read may end within a character
        self.process = subprocess.Popen(
            command, stdin=self.slave, stdout=self.slave, stderr=self.slave,
            start_new_session=True, env={**os.environ, "TERM": "xterm"}, preexec_fn=self.begin)

    @staticmethod
    def begin():
        """As from a shell, also if the tests run in the background or with nohup."""
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)
        os.close(self.slave)

    def settings(self):
        return termios.tcgetattr(self.slave)

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def press(self, keys):
        os.write(self.master, keys.encode())

    def hear(self):
        """Everything that was printed so far."""
        while select.select([self.master], [], [], 0)[0]:
            self.said += self.decoder.decode(os.read(self.master, 65536))
        return self.said

    def screen(self):
        """The lines of the newest frame, without bold, and the lowest line."""
        _, _, newest = self.hear().rpartition("\033[H")
        text, ended, last = re.sub(r"\033\[\d*[mK]", "", newest).partition("\033[J\033[999;1H")
        return (text.replace("\r", "").splitlines(), last) if ended else ([], "")

    def shows(self, words):
        wait_for(lambda: words in "\n".join([*(seen := self.screen())[0], seen[1]]),
                 lambda: f"it shows {words!r}: {self.said[-2000:]!r}")

    def ends(self):
        """Its exit status; the terminal is restored."""
        status = self.process.wait(WAIT_S)
        assert self.settings() == self.before
        assert self.hear().rstrip().endswith(LEFT) or status == 0
        assert self.said.count(ENTERED) == self.said.count(LEFT)
        return status


def top(daemon, *arguments):
    return [str(STOKERCTL), "-s", str(daemon.control), "top", *arguments]


@contextlib.contextmanager
def on_a_terminal(command, rows=24, columns=80):
    terminal = Terminal(command, rows, columns)
    try:
        yield terminal
    finally:
        terminal.close()


@pytest.fixture(name="readers")
def fixture_readers(daemon, photos):
    """Nine peers that hold all they may, of a job with control characters in its name."""
    with contextlib.ExitStack() as stack:
        peers = [stack.enter_context(daemon.connect()) for _ in range(9)]
        for rank, peer in enumerate(peers):
            answer = peer.attach(photos, transforms=TRANSFORMS, job="\x1b[2Jjob", rank=rank,
                                 world=9, batch_size=1, inflight=1, epochs=0)
            assert answer.name == "attached", answer
        yield peers


def test_a_screen(daemon, readers):
    with on_a_terminal(top(daemon)) as terminal:
        terminal.shows("q quits")
        lines, _ = terminal.screen()
        assert lines[0].startswith(f"stokerd {daemon.status()['version']}, running for ")
        assert "  threads   workers 2; " in lines[1]
        (title,) = [i for i, line in enumerate(lines) if line.startswith("READER ")]
        assert "LIMITED BY" in lines[title]
        assert any(line.startswith("            decoded pictures 0 B of 0 B") for line in lines)
        assert [line.split()[0] for line in lines[title + 1:]] == [
            str(peer.attached["reader"]) for peer in readers]
        assert "\\x1b[2Jjob" in lines[title + 1] and "\033[2J" not in terminal.said
        assert len(lines) < 24 and max(map(len, lines)) == 80
        assert not terminal.settings()[3] & (termios.ECHO | termios.ICANON)
        terminal.shows("delivered 0.0;")  # known from the second look on
        assert re.search(r"workers 2, [1-4]?\d % busy; ", terminal.screen()[0][1])  # all have some
        terminal.press("xq")
        assert terminal.ends() == 0


@pytest.mark.parametrize("end", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_however_it_ends(daemon, end):
    with on_a_terminal(top(daemon)) as terminal:
        terminal.shows("q quits")
        if end == signal.SIGINT:
            terminal.press("\x03")
        else:
            terminal.process.send_signal(end)
        assert terminal.ends() == -end


def test_it_is_stopped_and_goes_on(daemon):
    with on_a_terminal(["sh", "-c", 'set -m; "$@"; echo stopped; read go; fg; exit $?', "sh",
                        *top(daemon, "--interval", "60")]) as terminal:
        terminal.shows("q quits")
        terminal.press("\x1a")
        wait_for(lambda: "stopped" in terminal.hear().partition(LEFT)[2], "it is stopped")
        assert terminal.settings() == terminal.before
        terminal.press("\n")
        wait_for(lambda: terminal.hear().count(ENTERED) == 2, "it goes on")
        terminal.shows("q quits")
        terminal.press("q")
        assert terminal.ends() == 0


def test_another_size(daemon, readers):
    """At once, not at the next update; readers that have no room are counted."""
    with on_a_terminal(top(daemon, "--interval", "60")) as terminal:
        terminal.shows("q quits")
        full, _ = terminal.screen()
        terminal.resize(12, 40)
        terminal.shows(" more")
        lines, last = terminal.screen()
        assert len(lines) == 11 and lines[-1] == f"{len(full) - 10} more"
        assert lines[:10] == [line[:40] for line in full[:10]] and len(last) <= 40
        for rows in (1, 2, 3):
            terminal.resize(rows, 5)
            wait_for(lambda: terminal.screen()[1] == "q qui"
                     and len(terminal.screen()[0]) <= max(rows - 1, 1), "it is smaller")
        terminal.resize(24, 80)
        terminal.shows(full[-1])
        terminal.press("q")
        assert terminal.ends() == 0
    assert len(readers) == 9


def test_other_workers(daemon):
    with on_a_terminal(top(daemon, "--interval", "60")) as terminal:
        terminal.shows("  threads   workers 2;")
        terminal.press("++")
        terminal.shows("workers 3 -> 4")
        terminal.shows("  threads   workers 4;")
        assert daemon.status()["workers"] == 4
        terminal.press("---")
        terminal.shows("workers 2 -> 1")
        terminal.press("-")  # 0 would be as many as there are cores
        terminal.shows("at least one worker")
        assert daemon.status()["workers"] == 1
        terminal.press(" ")
        terminal.shows("q quits")
        terminal.press("q")
        assert terminal.ends() == 0


def test_history_and_order(daemon, photos):
    with on_a_terminal(top(daemon, "--interval", "0.3"), 30, 120) as terminal:
        terminal.shows("q quits")
        with daemon.connect() as one, daemon.connect() as two:
            first = one.attach(photos, transforms=TRANSFORMS, job="z", epochs=0).fields["reader"]
            second = two.attach(photos, transforms=TRANSFORMS, job="a", epochs=0).fields["reader"]
            for _ in range(5):
                one.release(one.expect("batch"))

            def readers():
                lines = terminal.screen()[0]
                title = [i for i, line in enumerate(lines) if line.startswith("READER ")]
                if not title or "" not in lines[title[0]:]:
                    return []
                end = lines.index("", title[0])
                rows = [line.split()[0] for line in lines[title[0] + 1:end]]
                past = [line.split()[:2] for line in lines[end + 1:]]
                return rows if past == [["reader", row] for row in rows] else past

            terminal.shows(" of the last minute")
            wait_for(lambda: readers() == [str(first), str(second)], "both, by number")
            for words, order in (("the slowest first", None),
                                 ("who is least far first", [second, first]),
                                 ("by what limits them", None), ("by job", [second, first]),
                                 ("by number", [first, second])):
                terminal.press("s")
                terminal.shows("readers: " + words)
                if order:
                    wait_for(lambda: readers() == [str(number) for number in order], words)
        terminal.press("q")
        assert terminal.ends() == 0


def test_other_workers_refused(tmp_path):
    path = tmp_path / "control.sock"
    answers = [("welcome", {"version": 1}), ("report", {"values": {"workers": 1024}}),
               ("listing", {"items": [], "next": 0}),
               ("error", {"code": ERRORS["setting"], "name": "setting", "text": "no\x1b[2J"})]
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        command = [str(STOKERCTL), "-s", str(path), "top", "--interval", "60"]
        with on_a_terminal(command) as terminal:
            peer, _ = listener.accept()
            with peer:
                for seq, (name, fields) in enumerate(answers, 1):
                    peer.sendall(frame({"type": MESSAGES[name], "seq": seq, **fields}))
                terminal.shows("  threads   workers 1024;")
                terminal.press("+")
                terminal.shows("no?[2J (setting)")
                terminal.press("q")
                assert terminal.ends() == 0


def test_the_daemon_is_started_again(daemon):
    with on_a_terminal(top(daemon, "--interval", "0.1")) as terminal:
        terminal.shows(f"pid {daemon.process.pid},")
        daemon.terminate()
        terminal.shows("waiting for the daemon")
        terminal.shows(str(daemon.control))
        terminal.press("+")  # there is nobody to be told
        daemon.spawn()
        terminal.shows(f"pid {daemon.process.pid},")
        terminal.shows("q quits")
        assert daemon.status()["workers"] == 2
        terminal.press("q")
        assert terminal.ends() == 0


def frames(command, until, environment=None):
    """What it prints into a pipe, up to what matches `until`."""
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          env=environment) as process:
        said = ""
        while not re.search(until, said, re.DOTALL):
            data = os.read(process.stdout.fileno(), 65536)
            assert data, said
            said += data.decode()
        process.terminate()
        assert process.wait(WAIT_S) == -signal.SIGTERM
    return said


def test_frames(daemon, readers):
    said = frames(top(daemon, "--interval", "0.1"), r"(stokerd .*){3}")
    assert "\033" not in said and "\\x1b[2Jjob" in said
    first, second = said.split("\n\nstokerd ")[:2]
    assert "delivered -; " in first and re.search(r"delivered \d+\.\d; ", second)
    assert len(first.splitlines()) == len(second.splitlines())
    assert len(readers) == 9 and "q quits" not in said


def test_what_it_counts(daemon, photos):
    """The rates of all frames add up to the counters of the daemon."""
    with subprocess.Popen(top(daemon, "--interval", "0.5"), stdout=subprocess.PIPE) as process:
        said = os.read(process.stdout.fileno(), 65536).decode()
        assert "delivered -; made -; decoded -" in said and "busy" not in said
        with daemon.connect() as peer:
            assert peer.attach(photos, epochs=40, batch_size=60, transforms=[
                {"name": "RandomResizedCrop", "size": 64}]).name == "attached"
            assert len(list(peer.samples())) == 2400
        ended = r"delivered [1-9].*delivered 0\.0; made 0\.0; decoded 0\.0"
        while not re.search(ended, said, re.DOTALL):
            said += os.read(process.stdout.fileno(), 65536).decode()
        process.terminate()
    delivered = sum(map(float, re.findall(r"delivered (\d+\.\d)", said)))
    made = sum(map(float, re.findall(r"made (\d+\.\d)", said)))
    decoded = sum(map(float, re.findall(r"decoded (\d+\.\d)", said)))
    busy = sum(map(float, re.findall(r"workers 2, (\d+) % busy", said))) / 100
    values = daemon.status()
    assert delivered * 0.5 == pytest.approx(values["samples_delivered_total"], rel=0.5)
    assert made * 0.5 == pytest.approx(values["samples_made_total"], rel=0.5)
    assert decoded * 0.5 == pytest.approx(values["samples_decoded_total"], rel=0.5)
    assert busy * 0.5 * 2 == pytest.approx(values["work_ns_total"] / 1e9, rel=0.5, abs=0.02)


def test_frames_as_json(spawn):
    daemon = spawn()
    with subprocess.Popen([*top(daemon, "--interval", "0.1"), "--json"],
                          stdout=subprocess.PIPE) as process:
        said = json.loads(process.stdout.readline())
        assert said["status"]["workers"] == 2 and said["readers"] == []
        daemon.terminate()
        while "error" not in said:
            said = json.loads(process.stdout.readline())
        assert said["error"]["name"] == "client"
        process.stdout.close()
        assert process.wait(WAIT_S) == -signal.SIGPIPE


def test_a_terminal_that_can_do_nothing(daemon):
    """Frames, and Ctrl-C."""
    with on_a_terminal(["env", "TERM=dumb", *top(daemon, "--interval", "0.1")]) as terminal:
        wait_for(lambda: terminal.hear().count("stokerd ") >= 2, "two frames")
        assert "\033" not in terminal.said
        terminal.press("\x03")
        assert terminal.process.wait(WAIT_S) == -signal.SIGINT


@pytest.mark.parametrize("interval", ["", "x", "1s", "0", "-1", "nan", "3601"])
def test_a_wrong_interval(daemon, interval):
    done = daemon.ctl("top", f"--interval={interval}", check=False)
    assert done.returncode == USAGE and "--interval" in done.stderr


def test_nobody_is_there(spawn):
    daemon = spawn()
    daemon.terminate()
    done = daemon.ctl("top", check=False)
    assert done.returncode == UNAVAILABLE and "is stokerd running?" in done.stderr


def test_frames_that_cannot_be_written(daemon):
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run(top(daemon, "--interval", "0.1"), stdout=full,
                              stderr=subprocess.PIPE, check=False, timeout=WAIT_S)
    assert done.returncode == IOERR and b"cannot write" in done.stderr
