# SPDX-License-Identifier: MIT
"""Record the pictures of README.md and the manual from a real run: a daemon, three trainers, and a
change of workers while they train.

    STOKER_BUILD=build tests/demo/record.py [DATA]

docs/pictures/top.svg: `stokerctl top` with one worker, and after + was pressed; page.png: the page
of the daemon (needs chromium).
"""
import base64
import os
import pathlib
import subprocess
import sys
import tempfile
import time
from xml.sax.saxutils import escape

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "daemon"), str(SOURCE / "tests" / "demo")]

import photos  # noqa: E402 (these stand in other folders)
from browser import CHROMIUM, Browser  # noqa: E402
from harness import STOKERCTL, Daemon, wait_for  # noqa: E402
from test_ctl_top import Terminal  # noqa: E402

ROWS, COLUMNS = 22, 104
SECONDS = 5  # for the rates to settle
WIDTH, HEIGHT = 8.4, 17  # of a character
OUT = SOURCE / "docs" / "pictures"
TRAINER = """
import sys, stoker
with stoker.connect(sys.argv[1]) as node:
    loader = node.loader(sys.argv[2], batch_size=32, seed=1, job="resnet50", transforms=[
        stoker.RandomResizedCrop(224), stoker.RandomHorizontalFlip(), stoker.ToTensor()])
    while True:
        for images, labels in loader:
            images[:, :, 0, 0].sum()
"""


def text_of(lines):
    """Lines of a terminal as SVG."""
    for number, line in enumerate(lines):
        bold = ' font-weight="bold"' if line.startswith(("stokerd", "READER", "$")) else ""
        yield (f'<text x="12" y="{24 + number * HEIGHT}"{bold} xml:space="preserve">'
               f"{escape(line)}</text>")


def animated(frames):
    """SVG that shows one frame after the other, each for some seconds."""
    rows = max(map(len, frames))
    width, height = int(24 + COLUMNS * WIDTH), 24 + rows * HEIGHT
    share = 100 / len(frames)
    yield "<!-- SPDX-License-Identifier: MIT. Written by tests/demo/record.py. -->"
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
           f'viewBox="0 0 {width} {height}">')
    yield f"""<style>
text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #d8dee9 }}
.frame {{ opacity: 0; animation: turn {5 * len(frames)}s step-end infinite }}
@keyframes turn {{ 0% {{ opacity: 1 }} {share:.4g}% {{ opacity: 0 }} }}
@media (prefers-reduced-motion: reduce) {{ .frame {{ animation: none }}
.frame:last-of-type {{ opacity: 1 }} }}
</style>"""
    yield f'<rect width="{width}" height="{height}" rx="8" fill="#20242c"/>'
    for number, lines in enumerate(frames):
        yield f'<g class="frame" style="animation-delay: {5 * number}s">'
        yield from text_of(lines)
        yield "</g>"
    yield "</svg>"


def frame(terminal, title):
    """What stands on the terminal now, below the command."""
    lines, last = terminal.screen()
    return [title, "", *(line[:COLUMNS].rstrip() for line in lines), last[:COLUMNS]]


def record(daemon, data):
    trainers = [subprocess.Popen([sys.executable, "-c", TRAINER, daemon.socket, data],
                                 env={**os.environ, "PYTHONPATH": str(SOURCE / "client/python")})
                for _ in range(3)]
    terminal = Terminal([STOKERCTL, "--socket", daemon.control, "top"], ROWS, COLUMNS)
    try:
        wait_for(lambda: daemon.status()["readers"] == 3, "three trainers read", 60)
        time.sleep(SECONDS)
        frames = [frame(terminal, "$ stokerctl top")]
        terminal.press("+")
        time.sleep(SECONDS)
        frames.append(frame(terminal, "$ stokerctl top                # + was pressed: "
                                      "one more worker, while the trainers run"))
        OUT.mkdir(exist_ok=True)
        (OUT / "top.svg").write_text("\n".join(animated(frames)) + "\n", encoding="utf-8")
        if CHROMIUM:
            show_page(daemon)
    finally:
        terminal.close()
        for trainer in trainers:
            trainer.kill()
            trainer.wait()


def show_page(daemon):
    url = subprocess.run([STOKERCTL, "--socket", daemon.control, "page"], text=True, check=True,
                         stdout=subprocess.PIPE).stdout.strip()
    with tempfile.TemporaryDirectory() as folder, Browser(folder) as browser:
        browser.size(1280, 800)
        browser.open(url)
        browser.shows(["resnet50"])
        time.sleep(2 * SECONDS)
        (OUT / "page.png").write_bytes(base64.b64decode(browser.picture()))


def main():
    with tempfile.TemporaryDirectory() as folder:
        data = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "train")
        if len(sys.argv) < 2:
            photos.make(data, count=200)
        daemon = Daemon(workers=1, metrics_port=9736)
        daemon.spawn()
        try:
            record(daemon, data)
        finally:
            daemon.kill()
            daemon.remove()


if __name__ == "__main__":
    main()
