# SPDX-License-Identifier: MIT
"""Tables of the manual's reference, written from the program's own: docs/reference/. pages.py
writes them and test_pages.py compares them."""
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", SOURCE / "build"))
sys.path[:0] = [str(SOURCE / "tests" / name) for name in ("golden", "style")]

import protocol  # noqa: E402 (these stand in other folders)

NOTE = "<!-- Written by tests/house/pages.py. -->"


def page(title, about, head, rows):
    lines = [NOTE, f"# {title}", "", about.strip(), "", *protocol.table(head, rows)]
    return "\n".join(lines) + "\n"


def errors_page():
    exceptions = dict(re.findall(
        r"^    (\d+): (\w+),$", (SOURCE / "client/python/stoker/errors.py").read_text(), re.M))

    def exception(error):
        if error.number >= 40:
            return "SampleError"
        return "Stopping" if error.name == "stopping" else exceptions.get(
            str(error.number), "RequestError")

    return page("Errors", """
The text of an error says what happened, to what, and what to do. Its name is one of these, in all
clients and in the protocol. In Python all are `stoker.Error`.
""", ("name", "in Python", "what happened", "what to do"), (
        (f"`{error.name}`", f"`{exception(error)}`", error.help, error.remedy)
        for error in protocol.TABLES.errors))


def counters_page():
    kinds = {"TOTAL": "total", "GAUGE": "now"}
    return page("Counters", """
`stokerctl status` shows these, `stokerctl status --json` as JSON, and `stokerctl metrics` for
Prometheus with `stoker_` before each name. A total only grows; the others say how it is now.
""", ("counter", "kind", "meaning"), (
        (f"`{counter.name}`", kinds[counter.kind], counter.help)
        for counter in protocol.TABLES.counters))


def initial():
    """The defaults that are the same on every machine, by the options' names."""
    table = (SOURCE / "daemon/config/option.c").read_text()
    return dict(re.findall(r'\.name = "([\w-]+)"[^{}]*?(?:\{[^{}]*\}[^{}]*?)?\.initial = "([^"]+)"',
                           table))


def options_page(options):
    """`options`: (name, value, words, live) of each."""
    defaults = initial()
    return page("Options of the daemon", """
Each is a flag (`--workers 12`), a variable (`STOKER_WORKERS=12`) and a line of the configuration
(`workers = 12`). A flag counts before a variable, and a variable before the file. "Live" means that
`stokerctl set NAME VALUE` or `stokerctl reload` changes it while trainers run. Where no default
stands here, it depends on the machine: `stokerd --help` has it.
""", ("option", "value", "default", "live", "meaning"), (
        (f"`{name}`", value, f"`{defaults[name]}`" if name in defaults else "",
         "yes" if live else "", words) for name, value, words, live in options))


def transforms_page():
    """A line a transform, with its parameters and their defaults."""
    found = {}
    for line in subprocess.check_output([protocol.REGISTRY], text=True).splitlines():
        name, *parameter = line.split("\t")
        found.setdefault(name, [])
        if parameter:
            key, values, span, default = parameter
            ends = ", ".join(part for part in (values, span) if part)
            found[name].append(f"`{key}`: {ends} ({default})")
    return page("Transforms", """
These are the transforms that the daemon has, with the parameters of each, their values, ranges and
defaults. In Python they are classes of `stoker`. Those of torchvision are taken as they are.
""", ("transform", "parameters"), (
        (f"`{name}`", "<br>".join(parameters))
        for name, parameters in found.items()))
