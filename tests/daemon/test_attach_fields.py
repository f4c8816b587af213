# SPDX-License-Identifier: MIT
"""Whether a field of ATTACH is part of the stream's identity is as its row in the table says."""

import sys
import tarfile

import pytest

from harness import SOURCE

sys.path.insert(0, str(SOURCE / "tests" / "golden"))
import tables  # noqa: E402 (it stands in the folder of the golden frames)

FIELDS = {field.key: field.part_of for message in tables.load().messages
          if message.name == "attach" for field in message.fields}
COMMON = {"batch_size": 4, "dtype": "uint8", "world": 2, "echo": 2, "epochs": 3,
          "accept_path": True, "transforms": [{"name": "RandomResizedCrop", "size": 32}]}
# Another value of each field than COMMON's or the default. A function makes it of what the first
# reader's ATTACHED says.
OTHER = {
    "seq": 4711,
    "dataset": None,  # the fixture's
    "transforms": [{"name": "RandomResizedCrop", "size": 33}],
    "dtype": "float32",
    "layout": "NHWC",
    "shuffle": False,
    "order_seed": 1,
    "augment_seed": 1,
    "subset_start": 1,
    "subset_stop": 20,
    "bad_samples": "substitute",
    "exif_orientation": True,
    "job": "a job",
    "rank": 1,
    "world": 3,
    "batch_size": 5,
    "last_batch": "drop",
    "epoch": 1,
    "position": 8,
    "epochs": 2,
    "inflight": 5,
    "prefetch": 6,
    "accept_fd": False,
    "accept_path": False,
    "expect_dataset": lambda attached: attached["dataset_fingerprint"],
    "expect_names": "",  # so few have no such fingerprint: test_names.py
    "accept_names": True,
    "expect_pipeline": lambda attached: attached["pipeline_hash"],
    "expect_sampling": lambda attached: attached["sampling_hash"],
    "start": "live",
    "pace": "together",
    "priority": 20,
    "accept_moves": True,
    "page": 2,
    "accept_sizes": True,
    "draft": True,
    "fields": [],
    "one_hot": True,
    "sampler": {"name": "balanced"},
    "echo": 3,
    "echo_window": 16,
    "views": 2,
    "order": "global",
    "window": 100,
    "resize": "pillow-13",
    "like": lambda attached: attached["stream"],
    "expect_description": lambda attached: attached["digest"],
    "secret": "sixteen bytes...",
}


@pytest.fixture(name="manifest")
def fixture_manifest(photos, tmp_path):
    """The photographs as a dataset with a further field."""
    paths = sorted(path.relative_to(photos) for path in photos.rglob("*.*"))
    file = tmp_path / "manifest.csv"
    file.write_text("\n".join(["path,label,weight", *(f"{path},1,0.5" for path in paths)]))
    return {"path": str(file), "root": str(photos)}


@pytest.fixture(name="shard")
def fixture_shard(photos, tmp_path):
    """The photographs in a tar shard, in the order of shards."""
    with tarfile.open(tmp_path / "shard.tar", "w") as tar:
        for path in sorted(photos.rglob("*.*")):
            tar.add(path, path.relative_to(photos))
    return {"dataset": {"path": str(tmp_path / "shard.tar")}, "order": "shards"}


@pytest.mark.parametrize("key", FIELDS)
def test_a_field_is_part_of_what_its_row_says(daemon, photos, manifest, shard, key):
    other = manifest if key == "dataset" else OTHER[key]
    common = {**COMMON, "dataset": manifest} if key == "fields" else COMMON
    if key in ("order", "window"):
        common = {**COMMON, **shard}
    with daemon.connect() as one, daemon.connect() as two, daemon.connect() as three:
        first = one.attach(photos, **common).fields
        assert two.attach(photos, **common).fields["stream"] == first["stream"]
        value = other(first) if callable(other) else other
        if key == "seq":
            three.seq = value
        else:
            common = {**common, key: value}
        second = three.attach(photos, **common)
        assert second.name == "attached", second
        same = second.fields["stream"] == first["stream"]
        assert same == (FIELDS[key] == "READER"), f"{key}: {value}"
        if not same:  # a token of one is good for the other, unless the bytes differ
            assert (second.fields["digest"] == first["digest"]) == (FIELDS[key] != "BYTES")
