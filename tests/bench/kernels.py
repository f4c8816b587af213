# SPDX-License-Identifier: MIT
"""The section "kernels": resize and normalise, in one thread, by instruction set; and a crop of a
JPEG with and without the index of its scan. CPU time, so whatever else runs disturbs little."""

import re
import subprocess

from table import Row

CROP = "400x300 -> 224"
BARS = {"avx2": (5.0, 100), "avx512": (8.0, 60)}  # times plain C; us a crop


def resample(options):
    """{instruction set: [us a crop]} of the usual crop, one value a round."""
    values = {}
    for _ in range(options.rounds):
        text = subprocess.run([options.build / "tests" / "bench" / "resample_bench", "40"],
                              stdout=subprocess.PIPE, check=True, text=True).stdout
        names = text.splitlines()[1].split()
        line = next(line for line in text.splitlines() if re.match(CROP + r"\s{2,}", line))
        medians = [float(word) for word in line[len(CROP):].split()[::3]]
        for name, median in zip(names, medians):
            values.setdefault(name, []).append(median)
    return values


def decode(options):
    """{way: [crops a CPU second]}, of `without an index`, `with it`, `first decode`."""
    values = {}
    for _ in range(options.rounds):
        text = subprocess.run(
            [options.build / "tests" / "bench" / "decode_bench", "time", options.data, "1"],
            stdout=subprocess.PIPE, check=True, text=True).stdout
        for way, rate in re.findall(r"^(\S.*?)\s+([\d.]+) crops/s", text, re.MULTILINE):
            values.setdefault(way, []).append(float(rate))
    return values


def rows(options):
    times = resample(options)
    plain = times.pop("plain")
    for name, own in times.items():
        faster, us = BARS[name]
        yield Row(f"resize + normalise {CROP}, {name}; plain C", [1e6 / t for t in own],
                  [1e6 / t for t in plain], "crops/s", at_least=faster)
        yield Row(f"the same, {name}", own, None, "us", at_most=us, of_ours=True, digits=1)
    ways = decode(options)
    without = ways.pop("without an index")
    for way, rates in ways.items():
        yield Row(f"random crop of a JPEG, {way}; without an index", rates, without, "crops/s")
