# SPDX-License-Identifier: MIT
"""The code blocks of README.md and of the manual's tutorials and how-to pages, as a reader meets
them: from top to bottom, in one shell, in one folder.

    ```python title="train.py"    is saved under that name
    ```python                     runs
    ```sh                         runs, in the shell of the blocks before it
    ```text                       behind one of these: its output, where ... stands for anything
    any other                     is for reading (a configuration); it is not counted

Blocks that a test cannot run stand in not_run.py, with the reason.
"""
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import textwrap
from dataclasses import dataclass

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from place import BUILD, SOURCE  # noqa: E402 (it stands in the folder above)

import not_run  # noqa: E402

FENCE = re.compile(r"^( *)```(\w+)(?: title=\"(.+?)\")?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?<=\n\n)(?: {4}.*\n)+")
SLOW = float(os.environ.get("STOKER_SLOW", "1"))


@dataclass
class Block:
    page: str
    language: str
    title: str
    text: str
    output: str = ""

    def why_not(self):
        """Why it is not run; None: it is."""
        return not_run.BLOCKS.get((self.page, self.text.splitlines()[0].strip()))


def blocks(page):
    """Those of a page, from its top; a text is the output of the one before it."""
    text = (SOURCE / page).read_text(encoding="utf-8")
    found = [(match.start(), Block(page, match[2], match[3], textwrap.dedent(match[4])))
             for match in FENCE.finditer(text)]
    if page == "README.md":
        found += [(match.start(), Block(page, "sh", None, textwrap.dedent(match[0])))
                  for match in INDENTED.finditer(FENCE.sub(lambda m: "\n" * m[0].count("\n"),
                                                           text))]
    out = []
    for _, block in sorted(found, key=lambda pair: pair[0]):
        if block.language == "text":
            out[-1].output = block.text
        elif block.language in ("python", "sh"):
            out.append(block)
    return out


def pages():
    return ["README.md", *(f"docs/{path.relative_to(SOURCE / 'docs')}" for part in
                           ("tutorials", "how-to")
                           for path in sorted((SOURCE / "docs" / part).glob("*.md")))]


def syntax(block):
    """What is wrong with it, or nothing."""
    if block.language == "python":
        try:
            compile(block.text, block.page, "exec")
        except SyntaxError as error:
            return str(error)
        return ""
    return subprocess.run(["bash", "-n"], input=block.text, text=True, check=False,
                          capture_output=True).stderr


def matches(output, expected):
    """... stands for anything, blanks at ends for nothing."""
    def lines(text):
        return "\n".join(line.rstrip() for line in text.strip().splitlines())

    parts = lines(expected).split("...")
    return re.fullmatch(".*?".join(map(re.escape, parts)), lines(output), re.DOTALL) is not None


def surroundings(folder, sockets):
    """The environment of a reader who has installed stoker, with nothing set."""
    tools = folder / "bin"
    tools.mkdir()
    for name in ("python3", "python"):
        (tools / name).write_text(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} \"$@\"\n")
        (tools / name).chmod(0o755)
    for program in (BUILD / "daemon" / "stokerd", BUILD / "client" / "ctl" / "stokerctl"):
        (tools / program.name).symlink_to(program.resolve())
    kept = {name: value for name, value in os.environ.items() if not name.startswith("STOKER_")}
    return {**kept, "PATH": f"{tools}:{os.environ['PATH']}", "HOME": str(folder),
            "XDG_RUNTIME_DIR": sockets, "STOKER_EXIT_IDLE_TIME": "60s",
            "STOKER_RING_MEMORY": "256M", "STOKER_CACHE_MEMORY": "64M",
            "XDG_CONFIG_HOME": str(folder / "config"),
            "KERAS_BACKEND": os.environ.get("KERAS_BACKEND", "tensorflow"),
            "PYTHONPATH": str(SOURCE / "client" / "python"), "PYTHONDONTWRITEBYTECODE": "1"}


def script(page, folder):
    """(lines of bash that run the page's blocks, those whose output is compared)."""
    lines, compared = ["set -eu"], []
    for number, block in enumerate(blocks(page)):
        if block.why_not():
            continue
        file = folder / f"{number}.{block.language}"
        file.write_text(block.text)
        place = shlex.quote(str(file))
        out = shlex.quote(str(folder / f"{number}.out"))
        if block.title:
            lines.append(f"cp {place} {shlex.quote(block.title)}")
            continue
        run = f". {place}" if block.language == "sh" else f"python3 {place}"
        lines.append(f"echo {shlex.quote('block: ' + block.text.splitlines()[0])} >&2")
        lines.append(f"{run} > {out}")
        if block.output:
            compared.append((folder / f"{number}.out", block))
    return "\n".join(lines) + "\n", compared


def run(page, folder, data=()):
    """Run the blocks of a page in an empty folder, which gets copies of `data`; what is wrong."""
    for name in ("blocks", "here"):
        (folder / name).mkdir()
    for path in data:
        subprocess.run(["cp", "-r", path, folder / "here"], check=True)
    text, compared = script(page, folder / "blocks")
    # Not below `folder`: the address of a socket is short.
    with tempfile.TemporaryDirectory() as sockets, open(folder / "words", "w+b") as words:
        environment = surroundings(folder, sockets)
        shell = subprocess.Popen(["bash", "-c", text], cwd=folder / "here", env=environment,
                                 stdin=subprocess.DEVNULL, stdout=words, stderr=words,
                                 start_new_session=True)
        try:
            code = shell.wait(timeout=240 * SLOW)
        finally:
            end(shell, environment)
    if code:
        return [f"it ended with {code}:\n{(folder / 'words').read_text()}"]
    return [f"{block.text}\ngave\n{out.read_text()}\nand not\n{block.output}"
            for out, block in compared if not matches(out.read_text(), block.output)]


def end(shell, environment):
    """What runs in the background ends, and the daemon that was started."""
    try:
        os.killpg(shell.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    shell.wait()
    subprocess.run(["stokerctl", "stop"], env=environment, check=False, capture_output=True)
