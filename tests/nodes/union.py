# SPDX-License-Identifier: MIT
"""Of what the ranks of a run were given, which steps count, and whether these are the epochs
exactly once, with the bytes that one reader on one node gets.

A **generation** is the processes that started together at one place. What counts of it are the
positions up to where the next one starts: that is what was committed. Knows no engine.
"""
import json
import os
import tempfile
from pathlib import Path


class Wrong(AssertionError):
    """What the union is not."""


def _generations(folder):
    """{(start, group): [rows of its processes]}, of each start the generation that came last."""
    found = {}
    for path in Path(folder).iterdir():
        lines = path.read_text(encoding="ascii").split("\n")
        head, *rows = map(json.loads, lines[:-1])  # the last row of a killed process may be half
        key = tuple(head["start"]), (*head["group"], head["world"])
        begun, members = found.setdefault(key, (head["time"], []))
        found[key] = max(begun, head["time"]), [*members, (head, rows)]
    last = {}
    for (start, _), (begun, members) in found.items():
        if start not in last or begun > last[start][0]:
            last[start] = begun, members
    return {start: members for start, (_, members) in sorted(last.items())}


def reference(node, dataset, epochs=1, **options):
    """{(epoch, position): [digest, label]} as one reader of the whole gets them."""
    from recorder.sitecustomize import _digests
    out = {}
    with node.loader(dataset, batch_size=7, rank=0, world_size=1, epochs=epochs,
                     **options) as loader:
        for epoch in range(epochs):
            rows = [row for arrays in loader for row in _digests(*arrays)]
            out.update({(epoch, position): list(row) for position, row in enumerate(rows)})
    return out


def _places(row, samples):
    """Its (epoch, position) with what was given there; a wrapped batch runs into the next epoch."""
    for offset, sample in enumerate(row["samples"]):
        over, position = divmod(row["position"] + offset, samples)
        yield (row["epoch"] + over, position), sample


def check(folder, wanted, epochs=1):
    """That what counts is the first `epochs` of `wanted`, which may have more. Raises Wrong;
    returns [(start, world, positions that count, positions that were rolled back)] of the
    generations."""
    generations = _generations(folder)
    starts = [*generations, (epochs, 0)]
    samples = sum(epoch == 0 for epoch, _ in wanted)
    counted, said = {}, []
    for start, end in zip(starts, starts[1:]):
        kept = back = 0
        for head, rows in generations[start]:
            for row in rows:
                for place, sample in _places(row, samples):
                    if wanted.get(place) != sample:
                        raise Wrong(f"{place}: rank {head['rank']} of {head['world']} was given "
                                    f"{sample}, one node gives {wanted.get(place)}")
                    if place >= end:
                        back += 1
                        continue
                    if place in counted:
                        raise Wrong(f"{place} was trained on by rank {head['rank']} of "
                                    f"{head['world']} and before by {counted[place]}")
                    counted[place] = f"rank {head['rank']} of {head['world']}"
                    kept += 1
        said.append((start, generations[start][0][0]["world"], kept, back))
    missing = sorted(place for place in wanted if place[0] < epochs and place not in counted)
    if missing:
        raise Wrong(f"{len(missing)} positions of {epochs * samples} were never trained on, the "
                    f"first is {missing[0]}; generations: {said}")
    return said


def self_test():
    """It notices what it is there for."""
    wanted = {(0, position): [f"digest {position}", 0] for position in range(4)}

    def rank(folder, name, start, begun, *rows):
        head = {"start": start, "time": begun, "group": [begun], "world": 2, "rank": name}
        lines = [head, *({"epoch": 0, "position": first, "samples": samples}
                         for first, samples in rows)]
        (Path(folder) / f"{name}-{begun}").write_text("\n".join(map(json.dumps, lines)) + "\n{",
                                                      encoding="ascii")

    def says(second, third=(1, [wanted[0, 1]])):
        with tempfile.TemporaryDirectory() as folder:
            rank(folder, 0, [0, 0], 1, (0, [wanted[0, 0]]), (2, [wanted[0, 2]]))
            rank(folder, 1, [0, 0], 1, third)
            rank(folder, 0, [0, 2], 2, (2, second))
            try:
                return [kept for _, _, kept, _ in check(folder, wanted)]
            except Wrong as error:
                return str(error)

    assert says([wanted[0, 2], wanted[0, 3]]) == [2, 2]
    assert "never trained on" in says([wanted[0, 2]])
    assert "was given" in says([wanted[0, 2], ["other bytes", 0]])
    assert "and before by" in says([wanted[0, 2], wanted[0, 3]], (0, [wanted[0, 0]]))


def environment(records, root):
    """Variables for a process whose loaders are to be recorded."""
    path = [str(Path(root) / "tests" / "nodes" / "recorder"), str(Path(root) / "client" / "python")]
    return {"RECORD_BATCHES_IN": str(records), "PYTHONPATH": os.pathsep.join(path)}
