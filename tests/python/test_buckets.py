# SPDX-License-Identifier: MIT
"""Buckets: batches of several sizes, each of one. Pixels are compared with Pillow's, the order with
the reference, the choice of a bucket with the rule of diffusers."""
import hashlib
import json
import math
import os
import signal
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import stoker
from real_daemon import RealDaemon
from stoker import samplers

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import sampling  # noqa: E402 (it stands in the reference's folder)

SIZES = [(64, 64), (48, 80), (80, 48), (40, 96), (96, 40)]
COUNT = 61
WISH = {"batch_size": 4, "dtype": "uint8", "layout": "NHWC", "seed": 3, "resize": "pillow-12",
        "timeout": 60}


def sizes_of(count):
    """Of pictures, (width, height): landscapes more often than others."""
    rng = np.random.default_rng(5)
    return [(int(rng.integers(50, 190)), int(rng.integers(40, 150))) for _ in range(count)]


@pytest.fixture(name="many", scope="module")
def fixture_many(tmp_path_factory):
    from PIL import Image
    folder = tmp_path_factory.mktemp("many")
    rng = np.random.default_rng(6)
    (folder / "a").mkdir()
    for number, (width, height) in enumerate(sizes_of(COUNT)):
        small = rng.integers(0, 256, (height // 8, width // 8, 3), np.uint8)
        Image.fromarray(small).resize((width, height)).save(folder / "a" / f"{number:03}.png")
    return folder


def load(node, folder, sizes=SIZES, **options):
    options = {**WISH, **options}
    return node.loader(str(folder), transforms=[stoker.Buckets(sizes, **options.pop("how", {})),
                                                *options.pop("more", [])], **options)


def expected(path, sizes=SIZES):
    """Pillow's picture: the bucket of diffusers, covered as in kohya's scripts, CenterCrop."""
    from PIL import Image
    image = Image.open(path).convert("RGB")
    width, height = image.size
    bucket = sizes[sampling.nearest_bucket(sizes, height, width)]
    wide = width / height > bucket[1] / bucket[0]
    scale = bucket[0] / height if wide else bucket[1] / width
    image = image.resize((int(width * scale + 0.5), int(height * scale + 0.5)), Image.BILINEAR)
    top, left = round((image.height - bucket[0]) / 2), round((image.width - bucket[1]) / 2)
    return np.asarray(image)[top:top + bucket[0], left:left + bucket[1]]


def digest(loader, epochs=2):
    """Of all batches, with their shapes and places."""
    out = hashlib.blake2b()
    for _ in range(epochs):
        for batch in loader.batches():
            out.update(repr((batch.epoch, batch.position, batch.images.shape)).encode())
            for array in (batch.images, batch.labels, batch.index):
                out.update(np.ascontiguousarray(array).tobytes())
    return out.hexdigest()


@pytest.mark.parametrize("last", ["short", "pad", "drop"])
@pytest.mark.parametrize("world", [1, 2, 3])
def test_each_sample_once_and_one_shape_a_step(near, many, last, world):
    files = sorted((many / "a").iterdir())
    want = [expected(path) for path in files]
    seen, steps = Counter(), []
    for rank in range(world):
        loader = load(near, many, last_batch=last, rank=rank, world_size=world)
        steps.append([])
        for batch in loader.batches():
            steps[rank].append((batch.images.shape, batch.position // (4 * world)))
            assert batch.images.flags.c_contiguous
            for number, index in enumerate(batch.index):
                assert np.array_equal(batch.images[number], want[index])
                seen[int(index)] += number < batch.count - batch.padded
        assert len(steps[rank]) == len(loader)
        loader.close()
    assert all(step == steps[0] for step in steps)
    assert len({shape for shape, _ in steps[0]}) >= 3
    dropped = 0
    if last == "drop":
        buckets = Counter(image.shape for image in want)
        dropped = sum(count % (4 * world) for count in buckets.values())
    assert set(seen.values()) == {1} and len(seen) == COUNT - dropped


def test_the_order_is_the_references(near, many):
    buckets = [sampling.nearest_bucket(SIZES, height, width) for width, height in sizes_of(COUNT)]
    loader = load(near, many, how={"run": 8})
    for epoch in range(2):
        order = [sample for run, count in sampling.bucket_order(buckets, 8, 3, epoch)
                 for sample in run[:count]]
        assert [int(index) for batch in loader.batches() for index in batch.index] == order
    plain = load(near, many, shuffle=False)
    assert [int(index) for batch in plain.batches() for index in batch.index] == sorted(
        range(COUNT), key=lambda sample: (buckets[sample], sample))


def test_one_digest_over_workers_kills_and_resume(many, tmp_path):
    found = set()
    how = {"how": {"crop": "random"}, "more": [stoker.RandomHorizontalFlip()], "reconnect": 60}
    for workers in (1, 2, 8):
        real = RealDaemon(tmp_path, "--workers", str(workers))
        with stoker.Node(real.path) as node:
            found.add(digest(load(node, many, **how)))
        assert real.stop() == 0
    real = RealDaemon(tmp_path)
    with stoker.Node(real.path) as node:
        loader, again, arrays = load(node, many, **how), None, []
        for number, batch in enumerate(loader.batches()):
            arrays.append((batch.position, batch.images.copy()))
            if number == 4:
                real.stop(signal.SIGKILL)
                real.start()
            if number == 7:
                again = loader.state_dict()
        assert loader.reconnects == 1
        whole = [(batch.position, batch.images.copy()) for batch in load(node, many,
                                                                         **how).batches()]
        resumed = load(node, many, **how)
        resumed.load_state_dict(again)
        rest = [(batch.position, batch.images.copy()) for batch in resumed.batches()]
        for got, want in ((arrays, whole), (rest, whole[8:])):
            assert [place for place, _ in got] == [place for place, _ in want]
            assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(got, want))
        found.add(digest(load(node, many, **how)))
        other = load(node, many, how={"crop": "random"}, sizes=SIZES[:4])
        with pytest.raises(stoker.TokenError):
            other.load_state_dict(again)
            next(iter(other))
    assert real.stop() == 0
    assert len(found) == 1


def test_another_number_of_ranks_goes_on(near, many):
    """With the same length of runs, and a batch of all ranks that divides it."""
    def rest(world, state=None):
        seen = []
        for rank in range(world):
            loader = load(near, many, how={"run": 24}, rank=rank, world_size=world)
            if state is not None:
                loader.load_state_dict(state)
            seen += [(batch.position, int(index)) for batch in loader.batches()
                     for index in batch.index[:batch.count - batch.padded]]
            loader.close()
        return seen
    loader, had = load(near, many, how={"run": 24}, world_size=2, rank=0), 0
    for batch in loader.batches():
        had += 1
        if batch.position % 24 >= 8 and had > 3:
            break
    state = loader.state_dict()
    loader.close()
    for world in (1, 3):
        try:
            goes = rest(world, state)
        except stoker.RequestError as error:
            assert "lies within a run" in str(error) and world == 3
            continue
        before = {int(index) for _, index in rest(2)} - {index for _, index in rest(2, state)}
        assert {index for _, index in goes} == set(range(COUNT)) - before
    with pytest.raises(stoker.RequestError, match="run of one size has 24 positions.*batch of all "
                                                  "ranks .16."):
        load(near, many, how={"run": 24}, world_size=4, rank=0)


def test_a_resume_takes_the_length_of_runs_from_the_state(near, many):
    """Nobody says `run`, and each number of ranks would have another one by itself."""
    def samples(batch):
        return [int(index) for index in batch.index[:batch.count - batch.padded]]
    ranks = [load(near, many, rank=rank, world_size=2) for rank in range(2)]
    passes, before = [loader.batches() for loader in ranks], []
    for _ in range(4):
        before += [index for batches in passes for index in samples(next(batches))]
    saved = json.loads(json.dumps(ranks[0].state_dict()))
    rest = [index for step in zip(*passes) for batch in step for index in samples(batch)]
    assert sorted(before + rest) == list(range(COUNT))
    for world, batch_size in ((1, 4), (1, 8), (2, 2), (4, 2), (8, 1)):
        got, places = [], []
        for rank in range(world):
            loader = load(near, many, rank=rank, world_size=world, batch_size=batch_size)
            next(loader.batches())  # also one that was used
            loader.load_state_dict(saved)
            assert loader.samples == ranks[0].samples
            for batch in loader.batches():
                got += samples(batch)
                places.append(batch.position)
            assert loader.state_dict()["digest"] == saved["digest"]
            loader.close()
        assert min(places) == saved["position"] and sorted(got) == sorted(rest)
    with pytest.raises(stoker.RequestError, match="run of one size has 8 .*all ranks .12."):
        load(near, many, world_size=3, rank=0).load_state_dict(saved)
    with pytest.raises(stoker.TokenError, match="transforms"):
        load(near, many, how={"run": 16}).load_state_dict(saved)
    other = load(near, many, subset=(1, COUNT))
    was = [samples(batch) for batch in other.batches()]
    with pytest.raises(stoker.TokenError, match="subset"):
        other.load_state_dict(saved)
    other.set_epoch(0)
    assert [samples(batch) for batch in other.batches()] == was


def test_three_trainers_share_one_ring(near, many):
    loaders = [load(near, many, how={"run": 24}, batch_size=size, prefetch=24 // size * 3)
               for size in (4, 4, 12)]
    assert len({os.fstat(loader._reader.ring._fd).st_ino for loader in loaders}) == 1
    passes = [loader.batches() for loader in loaders]
    got = [[], [], []]
    while any(passes):
        for number, batches in enumerate(passes):
            batch = next(batches, None) if batches else None
            if batch is None:
                passes[number] = None
                continue
            got[number] += [(int(i), image.tobytes()) for i, image in
                            zip(batch.index, batch.images)]
    assert got[0] == got[1] == got[2] and len(got[0]) == COUNT


def test_large_batches_are_not_copied(near, many):
    """They lie in the ring as one piece, and stay as they came while they are held."""
    sizes = [(256, 256), (128, 320), (320, 128)]
    held = []
    loader = load(near, many, sizes=sizes, inflight=4)
    for batch in loader.batches():
        assert batch.shared("image").shape == batch.images.shape
        assert np.array_equal(batch.shared("image"), batch.images)
        assert not batch.shared("image").flags.owndata
        held = [*held[-1:], (batch, batch.images.copy())]
        for kept, was in held:
            assert np.array_equal(kept.images, was)
    assert loader.fields["image"].shape == (0, 0, 3)


@pytest.mark.parametrize("crop", ["center", "random"])
def test_the_crop_and_the_original_size_are_fields(near, many, crop):
    """Pillow makes the image of them."""
    from PIL import Image
    files, boxes = sorted((many / "a").iterdir()), set()
    for batch in load(near, many, how={"crop": crop}).batches():
        for image, index, box, original in zip(batch.images, batch.index, batch["crop_box"],
                                               batch["original_size"]):
            want = Image.open(files[index])
            assert tuple(original) == (want.height, want.width)
            high, wide = image.shape[:2]
            scale = max(high / want.height, wide / want.width)
            want = want.resize((int(want.width * scale + 0.5), int(want.height * scale + 0.5)),
                               Image.BILINEAR).crop(tuple(map(int, box)))
            assert np.array_equal(image, np.asarray(want))
            boxes.add(tuple(map(int, box)))
    assert len(boxes) > 20


def test_fields_of_the_crop_are_chosen_like_others(near, many):
    loader = load(near, many, fields=["original_size"])
    assert set(loader.fields) == {"image", "label", "index", "original_size"}
    with pytest.raises(stoker.RequestError, match="no 'crop_box'"):
        near.loader(str(many), transforms=[stoker.Resize((8, 8))],
                    **{**WISH, "fields": ["crop_box"]})


def test_shapes(near, many):
    loader = load(near, many)
    assert loader.shapes == [(*size, 3) for size in SIZES]
    assert {batch.images.shape[1:] for batch in loader.batches()} == set(loader.shapes)
    assert load(near, many, layout="NCHW").shapes == [(3, *size) for size in SIZES]
    behind = load(near, many, more=[stoker.Pad(4)])
    assert behind.shapes == [(height + 8, width + 8, 3) for height, width in SIZES]
    assert {batch.images.shape[1:] for batch in behind.batches()} == set(behind.shapes)
    plain = near.loader(str(many), transforms=[stoker.Resize((8, 9))], **WISH)
    assert plain.shapes == [(8, 9, 3)]


def test_masks_boxes_and_labels_agree(near, tmp_path):
    """A picture whose pixels are its columns and rows says where each came from."""
    from PIL import Image
    records = []
    for number, (width, height) in enumerate(sizes_of(12)):
        pixels = np.zeros((height, width, 3), np.uint8)
        pixels[height // 4:height // 2, width // 4:width // 2] = 200
        Image.fromarray(pixels).save(tmp_path / f"{number}.png")
        Image.fromarray((pixels[:, :, 0] > 0).astype(np.uint8)).save(tmp_path / f"m{number}.png")
        box = [width // 4, height // 4, width // 2, height // 2]
        records.append({"path": f"{number}.png", "label": number, "mask": f"m{number}.png",
                        "boxes": [box]})
    (tmp_path / "list.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    loader = load(near, tmp_path / "list.jsonl")
    for batch in loader.batches():
        assert batch["mask"].shape == batch.images.shape[:3]
        for image, mask, boxes, label, index in zip(batch.images, batch["mask"], batch["boxes"],
                                                    batch.labels, batch.index):
            assert label == index
            rows, columns = np.nonzero(image[:, :, 0] > 100)
            x0, y0, x1, y1 = boxes[0]
            assert abs(x0 - columns.min()) <= 1.5 and abs(x1 - columns.max() - 1) <= 1.5
            assert abs(y0 - rows.min()) <= 1.5 and abs(y1 - rows.max() - 1) <= 1.5
            assert np.mean((mask > 0) == (image[:, :, 0] > 100)) > 0.95


def test_sizes_of_an_area_are_kohyas(near, many):
    def kohya(area, step, ratio):
        side = int(math.sqrt(area) // step) * step
        found = {(side, side)}
        for width in range(step, side + 1, step):
            height = area // width // step * step
            found |= {(width, height), (height, width)}
        return {size for size in found if max(size) <= ratio * min(size)}
    for area, step, ratio in ((64 * 64, 8, 2), (96 * 96, 16, 3), (128 * 128, 32, 1.5)):
        loader = near.loader(str(many), transforms=[
            stoker.Buckets(area=area, step=step, ratio=ratio)], **WISH)
        sizes = [tuple(size) for size in
                 loader._reader.identity.description["transforms"][0]["sizes"]]
        assert {(width, height) for height, width in sizes} == kohya(area, step, ratio)
        for batch in loader.batches():
            assert batch.images.shape[1:3] in sizes
        loader.close()


def test_sizes_come_from_columns(near, many, tmp_path):
    """They are believed: here they say that all are upright."""
    lines = ["path,label,targets.width,targets.height"] + [
        f"{number:03}.png,{number},40,96" for number in range(COUNT)]
    (tmp_path / "list.csv").write_text("\n".join(lines) + "\n")
    with_root = {"path": str(tmp_path / "list.csv"), "root": str(many / "a")}
    loader = near.loader(with_root, transforms=[stoker.Buckets(SIZES)], **WISH)
    assert {batch.images.shape[1:3] for batch in loader.batches()} == {(96, 40)}


def test_turned_pictures_have_the_bucket_of_what_is_decoded(near, tmp_path):
    from PIL import Image
    (tmp_path / "a").mkdir()
    for number in range(8):
        image = Image.new("RGB", (96, 40), (number, 0, 0))
        exif = image.getexif()
        exif[0x0112] = 6  # a quarter turn
        image.save(tmp_path / "a" / f"{number}.jpg", exif=exif)
    for turned, shape in ((False, (40, 96)), (True, (96, 40))):
        loader = load(near, tmp_path, exif_orientation=turned)
        assert {batch.images.shape[1:3] for batch in loader.batches()} == {shape}
        loader.close()


def test_what_has_no_header_is_a_bad_sample_of_the_first_bucket(near, many, tmp_path):
    (tmp_path / "a").mkdir()
    for path in sorted((many / "a").iterdir())[:20]:
        (tmp_path / "a" / path.name).write_bytes(path.read_bytes())
    (tmp_path / "a" / "000.png").write_bytes(b"nothing that anybody reads")
    bad, shapes = 0, []
    batches = load(near, tmp_path, batch_size=1).batches()
    while True:
        try:
            batch = next(batches, None)
        except stoker.SampleError as error:
            bad += "000.png" in str(error)
            continue
        if batch is None:
            break
        shapes.append(batch.images.shape[1:3])
    assert bad == 1 and len(shapes) == 19
    for batch in load(near, tmp_path, batch_size=1, bad_samples="substitute").batches():
        if batch.substituted:
            assert batch.images.shape[1:3] == SIZES[0]
            used = expected(tmp_path / "a" / f"{int(batch.index[0]):03}.png")
            assert np.array_equal(batch.images[0], used)


def test_pairs_that_are_mixed_have_one_shape(near, many):
    """The run is made even."""
    folder = many.parent / "classes"
    for label in ("x", "y"):
        (folder / label).mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(sorted((many / "a").iterdir())[:20]):
        (folder / "xy"[number % 2] / path.name).write_bytes(path.read_bytes())
    loader = near.loader(str(folder), transforms=[stoker.Buckets(SIZES), stoker.MixUp()],
                         **{**WISH, "batch_size": 3, "dtype": "float32"})
    samples = 0
    for batch in loader.batches():
        samples += batch.count - batch.padded
        assert batch.labels.shape == (batch.count, 2)
        assert np.allclose(batch.labels.sum(1), 1)
    assert samples == 20


def test_samplers_that_take_samples_once(near, many):
    for sampler, count in ((samplers.Subset(range(5, 40)), 35),
                           (samplers.Split(0.25, "validation"), int(COUNT * 0.25))):
        seen = [int(index) for batch in load(near, many, sampler=sampler).batches()
                for index in batch.index]
        assert len(set(seen)) == len(seen) == count
    seen = [int(index) for batch in load(near, many, subset=(10, 30)).batches()
            for index in batch.index]
    assert sorted(seen) == list(range(10, 30))


@pytest.mark.parametrize("options, words", [
    ({"sampler": samplers.Balanced()}, "weighted and balanced"),
    ({"sampler": samplers.Weighted([1.0] * COUNT)}, "weighted and balanced"),
    ({"echo": 2}, "leave it at 1"),
    ({"views": 2}, "views"),
    ({"last_batch": "wrap"}, "another size"),
    ({"order": "shards"}, "leave order at 'global'"),
    ({"how": {"run": 6}}, "6 positions"),
    ({"more": [stoker.FiveCrop(32)]}, "FiveCrop"),
    ({"more": [stoker.TenCrop(32)]}, "TenCrop"),
    ({"more": [stoker.Buckets(SIZES)]}, "stands behind another"),
    ({"sizes": [(64, 64), (64, 64)]}, "twice"),
    ({"sizes": [(64, 64, 3)]}, "list of .height, width."),
    ({"sizes": [(64 + 8 * i, 64) for i in range(65)]}, "may have 64"),
    ({"sizes": None}, "either 'sizes'"),
    ({"how": {"step": 8}}, "go with 'area'"),
    ({"sizes": None, "how": {"area": 1 << 20, "step": 8}}, "raise 'step'"),
])
def test_what_is_not_built_is_refused_in_words(near, many, options, words):
    with pytest.raises((stoker.RequestError, stoker.PipelineError), match=words):
        load(near, many, **options)


def test_any_batch_by_number_is_refused(near, many):
    with pytest.raises(stoker.Error, match="Buckets"):
        load(near, many).batch(0, 1)
