# SPDX-License-Identifier: MIT
"""How far one job walks through the source: the files and rooms that it enters, the steps back up
to a file that it came from, and the functions that it meets.

    walk.py SOURCE [SOURCE ...]

Builds the daemon of each source tree with its calls traced and nothing inlined, lets it serve a few
pictures of its own making for some epochs under uftrace (Debian: uftrace), and counts the calls of
one job of each kind, fetched and made: `decoded`, whose file is decoded, and `kept`, of which the
decoded picture is in memory. A file is entered if a function of it is called; its room is its
folder. A step back up is a call from one file to another one that is on the stack already; each
pair of files counts once. The same script counts any commit, so two trees can be compared.
"""

import argparse
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from PIL import Image

FLAGS = ("-pg -fno-pie -fno-inline -fno-partial-inlining -fno-optimize-sibling-calls "
         "-Wno-error=format-truncation")
EPOCHS, PICTURES = 4, 4
CALL = re.compile(r"\[ *(\d+)\] +([0-9a-f]+) \| *(\S+?)\(\)( *\{|;)$")
END = re.compile(r"\[ *(\d+)\] +([0-9a-f]+) \| *\} /\*")
TRAINER = """
import sys, stoker
with stoker.connect(sys.argv[1]) as node:
    loader = node.loader(sys.argv[2], batch_size=int(sys.argv[3]), seed=1, transforms=[
        stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip()])
    for epoch in range(int(sys.argv[4])):
        for batch in loader:
            pass
"""

Frame = collections.namedtuple("Frame", "name file")
Walk = collections.namedtuple("Walk", "files rooms up functions")


def build(source, folder):
    """The daemon of a source tree, traced."""
    command = ["meson", "setup", folder, source, "--libdir=lib", "-Doptimization=0",
               "-Db_pie=false", f"-Dc_args={FLAGS}", "-Dc_link_args=-pg -no-pie"]
    # Beside the folder, where the programs that meson runs leave their profiles.
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder.parent)
    subprocess.run(["ninja", "-C", folder, "daemon/stokerd"], check=True,
                   stdout=subprocess.DEVNULL)
    return folder / "daemon" / "stokerd"


def pictures(folder):
    """JPEG pictures of a formula."""
    (folder / "a").mkdir(parents=True)
    for number in range(PICTURES):
        image = Image.new("RGB", (128, 96))
        image.putdata([(3 * x + 5 * y & 255, x * y >> 3 & 255, 7 * x + number & 255)
                       for y in range(96) for x in range(128)])
        image.save(folder / "a" / f"{number}.jpg", quality=90)
    return folder


@contextlib.contextmanager
def traced(daemon, scratch):
    """A daemon whose jobs are recorded below `scratch`; the path of its socket."""
    path = scratch / "s.sock"
    command = ["uftrace", "record", "-d", scratch / "trace", "--no-libcall", "--no-event",
               "-F", "sample_fetch", "-F", "sample_make", daemon, "--socket", path,
               "--control-socket", scratch / "c.sock", "--cache-memory", "64M", "--workers", "1"]
    with open(scratch / "log", "w", encoding="utf-8") as log:
        recorder = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True,
                                    cwd=scratch)  # where it leaves its profile
    while not path.exists() and recorder.poll() is None:
        time.sleep(0.05)
    try:
        yield path
    finally:
        children = pathlib.Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text()
        for child in children.split():
            os.kill(int(child), 15)
        recorder.wait(30)


def record(source, daemon, scratch):
    """The lines of the trace of all jobs."""
    folder = pictures(scratch / "photos")
    with traced(daemon, scratch) as path:
        subprocess.run([sys.executable, "-c", TRAINER, path, folder, str(PICTURES), str(EPOCHS)],
                       env={**os.environ, "PYTHONPATH": str(source / "client" / "python")},
                       check=True, timeout=120)
    replay = ["uftrace", "replay", "-d", scratch / "trace", "--no-merge", "--no-event",
              "-f", "tid,addr", "-D", "1000"]
    return subprocess.run(replay, check=True, capture_output=True, text=True).stdout.splitlines()


def files_of(daemon, source, addresses):
    """{address: path of its source file, from the root of the tree}."""
    done = subprocess.run(["addr2line", "-e", daemon], input="\n".join(addresses), check=True,
                          capture_output=True, text=True)
    found = {}
    for address, line in zip(addresses, done.stdout.splitlines()):
        path = os.path.normpath(os.path.join(daemon.parent, line.rpartition(":")[0]))
        found[address] = os.path.relpath(path, source.resolve())
    return found


def by_thread(lines):
    """The lines of each thread, in order."""
    threads = collections.defaultdict(list)
    for line in lines:
        match = CALL.search(line) or END.search(line)
        if match:
            threads[match.group(1)].append(match)
    return list(threads.values())


def jobs_of(matches, files):
    """The calls of each sample_fetch() or sample_make() of a thread: pairs (files on the stack of
    the caller, frame of the function that is called)."""
    stack, jobs = [], []
    for match in matches:
        if match.re is END:
            stack.pop()
            continue
        frame = Frame(match.group(3), files[match.group(2)])
        if not stack:
            jobs.append([])
        jobs[-1].append(([below.file for below in stack], frame))
        if "{" in match.group(4):
            stack.append(frame)
    return jobs


def walk_of(calls):
    """What the calls of one job enter, outside of the compiler's own headers."""
    calls = [(stack, frame) for stack, frame in calls if not frame.file.startswith("..")]
    files = {frame.file for _, frame in calls}
    up = {(stack[-1], frame.file) for stack, frame in calls
          if stack and stack[-1] != frame.file and frame.file in stack}
    return Walk(files=len(files), rooms=len({os.path.dirname(file) for file in files}),
                up=len(up), functions=len({frame for _, frame in calls}))


def kind_of(calls):
    names = {frame.name for _, frame in calls}
    if "sample_fetch" in names:
        return "fetch"
    if "jpeg_read" in names:
        return "decoded"
    return "kept" if "pipeline_apply" in names else "other"


def walks(source, scratch):
    """{kind: the walk of the last job of that kind}."""
    daemon = build(source, scratch / "build")
    threads = by_thread(record(source, daemon, scratch))
    addresses = sorted({match.group(2) for thread in threads for match in thread})
    files = files_of(daemon, source, addresses)
    last = {kind_of(job): job for thread in threads for job in jobs_of(thread, files)}
    return {kind: walk_of(last["fetch"] + last[kind]) for kind in ("decoded", "kept")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    print(f"{'':40} {'job':8}", *(f"{name:>9}" for name in Walk._fields))
    for source in options.source:
        with tempfile.TemporaryDirectory() as scratch:
            found = walks(source.resolve(), pathlib.Path(scratch))
        for kind, walk in found.items():
            print(f"{str(source):40} {kind:8}", *(f"{number:9}" for number in walk))


if __name__ == "__main__":
    main()
