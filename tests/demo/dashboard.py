# SPDX-License-Identifier: MIT
"""Draw the first panels of the Grafana dashboard from a real run: a daemon, three ranks of one job,
of which the last is slow from the middle on, and a Prometheus that asks the daemon. Each panel is
what Prometheus answers to the panel's own expressions; Grafana itself is not needed.

    STOKER_BUILD=build tests/demo/dashboard.py [SECONDS]

Writes docs/pictures/dashboard.svg. As root the node is called node1 in it, else as it is called.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import matplotlib

matplotlib.use("svg")
from matplotlib import pyplot  # noqa: E402 (it is asked for the format first)
from matplotlib.ticker import FuncFormatter  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "daemon"), str(SOURCE / "tests" / "demo")]

import photos  # noqa: E402 (these stand in other folders)
from harness import Daemon, wait_for  # noqa: E402
from prometheus import Prometheus, expression, panels  # noqa: E402

OUT = SOURCE / "docs" / "pictures" / "dashboard.svg"
RANKS, PORT = 3, 9736
EVERY = 2  # seconds between two questions of Prometheus; Grafana takes rates over four of them
ROWS = 16  # of the dashboard's grid
NODE1 = ["unshare", "--uts", "sh", "-c", 'hostname node1; exec "$@"', "sh"]
TRAINER = """
import sys, time, stoker
socket, data, rank, due, slow_from = *sys.argv[1:3], *map(float, sys.argv[3:])
with stoker.connect(socket) as node:
    loader = node.loader(data, batch_size=8, seed=1, rank=int(rank), world_size=%d, job="resnet50",
                         last_batch="drop", transforms=[stoker.RandomResizedCrop(112),
                                                        stoker.ToTensor()])
    while True:
        for images, labels in loader:
            due += 0.25 if rank == 2 and time.time() > slow_from else 0.1
            time.sleep(max(0, due - time.time()))
""" % RANKS
UNITS = {"percentunit": lambda value, _: f"{100 * value:.0f} %", "ops": lambda value, _:
         f"{value:.0f}/s", "short": lambda value, _: f"{value:g}"}


def legend(template, labels):
    return re.sub(r"\{\{(\w+)\}\}", lambda name: labels.get(name[1], ""), template)


def lines_of(panel, prometheus, begin, end):
    """[(words, times from the beginning, values)]"""
    found = []
    for target in panel["targets"]:
        query = expression(target["expr"], f"{4 * EVERY}s")
        for item in prometheus.query_range(query, begin, end, EVERY):
            times, values = zip(*item["values"])
            found.append((legend(target["legendFormat"], item["metric"]),
                          [at - begin for at in times], [float(value) for value in values]))
    return sorted(found)


def draw(axes, panel, lines):
    facts = panel["fieldConfig"]["defaults"]
    axes.set_title(panel["title"], fontsize=10, loc="left", fontweight="bold")
    if facts["custom"]["stacking"]["mode"] == "normal":
        longest = max((times for _, times, _ in lines), key=len)
        whole = [[0.0] * (len(longest) - len(values)) + values for _, _, values in lines]
        axes.stackplot(longest, whole, labels=[words for words, _, _ in lines], alpha=0.7)
    else:
        for words, times, values in lines:
            axes.plot(times, values, label=words, linewidth=1.4)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter(FuncFormatter(UNITS[facts["unit"]]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.0f} s"))
    axes.tick_params(labelsize=8)
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7.5, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.1),
                ncols=1 if panel["gridPos"]["w"] < 12 else 4)


def picture(prometheus, begin, end):
    shown = [panel for panel in panels() if panel["gridPos"]["y"] < ROWS]
    figure = pyplot.figure(figsize=(15, 8.5), layout="constrained")
    grid = figure.add_gridspec(ROWS, 24)
    for panel in shown:
        place = panel["gridPos"]
        axes = figure.add_subplot(grid[place["y"]:place["y"] + place["h"],
                                       place["x"]:place["x"] + place["w"]])
        draw(axes, panel, lines_of(panel, prometheus, begin, end))
    matplotlib.rcParams["svg.fonttype"] = "none"  # texts stay texts
    matplotlib.rcParams["svg.hashsalt"] = "stoker"
    figure.savefig(OUT, metadata={"Date": None})
    text = OUT.read_text(encoding="utf-8")
    head, rest = text.split("<svg ", 1)
    OUT.write_text(f"{head}<!-- SPDX-License-Identifier: MIT. Written by tests/demo/dashboard.py. "
                   f"-->\n<svg {rest}", encoding="utf-8")


def record(daemon, data, token, seconds):
    begin = time.time()
    trainers = [subprocess.Popen([sys.executable, "-c", TRAINER, daemon.socket, data, str(rank),
                                  str(begin), str(begin + seconds / 2)],
                                 env={**os.environ, "PYTHONPATH": str(SOURCE / "client/python")})
                for rank in range(RANKS)]
    try:
        with Prometheus(PORT, token, f"{EVERY}s") as prometheus:
            wait_for(lambda: daemon.status()["readers"] == RANKS, "three ranks read", 60)
            time.sleep(max(0, begin + seconds - time.time()))
            picture(prometheus, begin + 6 * EVERY, begin + seconds)
    finally:
        for trainer in trainers:
            trainer.kill()
            trainer.wait()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 180
    with tempfile.TemporaryDirectory() as folder:
        data, token = os.path.join(folder, "train"), pathlib.Path(folder, "token")
        photos.make(data, count=200, size=(160, 120))
        token.touch(0o600)
        token.write_text(os.urandom(16).hex() + "\n", encoding="ascii")
        daemon = Daemon(launcher=NODE1 if os.geteuid() == 0 else (), metrics_port=PORT,
                        metrics_token=token, cache_memory="64M")
        daemon.spawn()
        try:
            record(daemon, data, token, seconds)
            daemon.terminate()
        finally:
            if daemon.process:
                daemon.kill()
            daemon.remove()


main()
