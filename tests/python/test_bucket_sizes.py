# SPDX-License-Identifier: MIT
"""Buckets: where the sizes of the pictures come from. They are read once, kept with index-dir, and
seen to change; of a server and of packed shards they are read, too, or refused in words."""
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

import stoker
from stoker import convert
from real_daemon import RealDaemon, binary

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "daemon"))
from harness import hash_of  # noqa: E402 (they stand in the daemon's tests)
from object_server import Objects  # noqa: E402

SIZES = [(32, 32), (24, 40), (40, 24)]
SHAPES = [(60, 60), (50, 80), (80, 50)]  # (height, width) of pictures, by number modulo 3
WISH = {"batch_size": 4, "dtype": "uint8", "layout": "NHWC", "seed": 3, "timeout": 60}


def picture(height, width, level, form="PNG", **how):
    from PIL import Image
    stream = io.BytesIO()
    Image.new("RGB", (width, height), (level, 9, 9)).save(stream, form, **how)
    return stream.getvalue()


def noise(height, width, form, **how):
    """One that is larger than a head."""
    from PIL import Image
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, form, **how)
    assert len(stream.getvalue()) > 1 << 16
    return stream.getvalue()


def fill(folder, count=12):
    (folder / "a").mkdir(parents=True)
    for number in range(count):
        (folder / "a" / f"{number:03}.png").write_bytes(picture(*SHAPES[number % 3], number))
    return folder


def shapes(node, dataset, sizes=SIZES, **options):
    """Of each sample's batch, by its number; None of a bad one."""
    found = {}
    loader = node.loader(dataset, transforms=[stoker.Buckets(sizes)],
                         **{**WISH, "bad_samples": "substitute", **options})
    for batch in loader.batches():
        for index in batch.index[:batch.count - batch.padded]:
            found[int(index)] = batch.images.shape[1:3]
    loader.close()
    return found


def expected(count=12):
    return {number: SIZES[number % 3] for number in range(count)}


def run(where, dataset, *flags, **options):
    """The shapes that a new daemon gives, which has this index-dir."""
    real = RealDaemon(where, "--index-dir", str(where / "indexes"), *flags)
    try:
        with stoker.Node(real.path) as node:
            return shapes(node, dataset, **options)
    finally:
        assert real.stop() == 0


def the_file(where):
    path, = (where / "indexes").glob("*.sizes")
    return path


def forge(path, sample, height, width):
    """Another size, with the file's checksum."""
    data = bytearray(path.read_bytes()[:-16])
    at = len(data) - 12 * 16 + sample * 16 + 8
    assert struct.unpack_from("=ii", data, at) == SHAPES[sample % 3][::-1]
    struct.pack_into("=ii", data, at, width, height)
    path.write_bytes(data + hash_of(bytes(data)))


def test_sizes_are_kept(tmp_path):
    """What the file says is believed, so no header was read; of a file that changed it was."""
    folder = fill(tmp_path / "data")
    assert run(tmp_path, str(folder)) == expected()
    assert the_file(tmp_path).stat().st_mode & 0o777 == 0o600
    forge(the_file(tmp_path), 4, 60, 60)
    assert run(tmp_path, str(folder)) == {**expected(), 4: SIZES[0]}
    os.utime(folder / "a" / "004.png")
    assert run(tmp_path, str(folder)) == expected()
    (folder / "a" / "004.png").write_bytes(picture(80, 50, 4))
    assert run(tmp_path, str(folder)) == {**expected(), 4: SIZES[2]}
    size = (folder / "a" / "005.png").stat().st_size
    (folder / "a" / "005.png").write_bytes(picture(60, 60, 5).ljust(size, b"\0"))
    assert run(tmp_path, str(folder)) == {**expected(), 4: SIZES[2], 5: SIZES[0]}


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "version", "foreign"])
def test_a_damaged_file_of_sizes_is_ignored(tmp_path, damage):
    folder = fill(tmp_path / "data")
    run(tmp_path, str(folder))
    path = the_file(tmp_path)
    forge(path, 4, 60, 60)
    data = bytearray(path.read_bytes())
    if damage == "cut":
        data = data[:-40]
    elif damage == "empty":
        data = b""
    elif damage == "flipped":
        data[60] ^= 1
    elif damage == "version":
        data[8] += 1
        data = data[:-16] + hash_of(bytes(data[:-16]))
    path.write_bytes(data)
    if damage == "foreign":  # of somebody else's
        path.rename(path.with_name(path.name.replace(".sizes", "@12345.sizes")))
    assert run(tmp_path, str(folder)) == expected()


def test_a_folder_that_grew_is_another_one(tmp_path):
    folder = fill(tmp_path / "data")
    run(tmp_path, str(folder))
    (folder / "a" / "000b.png").write_bytes(picture(50, 80, 99))
    found = run(tmp_path, str(folder))
    assert found == {0: SIZES[0], 1: SIZES[1],
                     **{number + 1: shape for number, shape in expected().items() if number}}


def test_an_index_ahead_reads_the_headers(tmp_path):
    """`stokerctl index` leaves them; it reads those of no list that says the sizes."""
    folder = fill(tmp_path / "data")
    real = RealDaemon(tmp_path, "--index-dir", str(tmp_path / "indexes"))
    ctl = binary().parent.parent / "client" / "ctl" / "stokerctl"
    (tmp_path / "list.csv").write_text("path,label,targets.width,targets.height\n"
                                       "data/a/000.png,0,60,60\n")
    for dataset, files in ((tmp_path / "list.csv", 0), (folder, 1)):
        subprocess.run([ctl, "--socket", real.control, "index", dataset], check=True,
                       stdout=subprocess.DEVNULL)
        assert len(list((tmp_path / "indexes").glob("*.sizes"))) == files
    assert real.stop() == 0
    forge(the_file(tmp_path), 4, 60, 60)
    assert run(tmp_path, str(folder)) == {**expected(), 4: SIZES[0]}


def with_exif(orientation):
    from PIL import Image
    exif = Image.Exif()
    exif[0x0112] = orientation
    return exif


def test_sizes_of_coco(near, tmp_path):
    """They are believed: here each picture's is that of the next one's."""
    folder = fill(tmp_path / "data")
    images = [{"id": number, "file_name": f"a/{number:03}.png",
               **dict(zip(("height", "width"), SHAPES[(number + 1) % 3]))} for number in range(12)]
    (tmp_path / "coco.json").write_text(json.dumps(
        {"images": images, "annotations": [], "categories": [{"id": 1, "name": "cat"}]}))
    convert.coco(str(tmp_path / "coco.json"), str(tmp_path / "l.jsonl"), sizes=True)
    assert shapes(near, {"path": str(tmp_path / "l.jsonl"), "root": str(folder)}) == {
        number: SIZES[(number + 1) % 3] for number in range(12)}


def test_headers_that_stand_far_behind(near, tmp_path):
    """A header of 200 KB, one at the file's end, and turns that stand behind the pixels."""
    jpeg = picture(50, 80, 1, "JPEG")
    comment = b"\xff\xfe" + struct.pack(">H", 65535) + b"x" * 65533
    files = {"0.jpg": jpeg[:2] + 3 * comment + jpeg[2:],
             "1.tif": noise(100, 300, "TIFF"),
             "2.png": noise(100, 300, "PNG", exif=with_exif(6)),
             "3.webp": noise(200, 400, "WEBP", lossless=True, exif=with_exif(8)),
             "4.jpg": noise(200, 400, "JPEG", quality=95, exif=with_exif(6)),
             "5.bmp": noise(200, 400, "BMP")}
    png = files["2.png"]
    at = png.index(b"eXIf") - 4
    chunk = png[at:at + 12 + struct.unpack(">I", png[at:at + 4])[0]]
    files["2.png"] = png.replace(chunk, b"")[:-12] + chunk + png[-12:]
    (tmp_path / "a").mkdir()
    for name, data in files.items():
        (tmp_path / "a" / name).write_bytes(data)
    lying = dict.fromkeys(range(6), SIZES[1])
    assert shapes(near, str(tmp_path)) == lying
    assert shapes(near, str(tmp_path), exif_orientation=True) == {
        **lying, 2: SIZES[2], 3: SIZES[2], 4: SIZES[2]}


def packed(path, count=12):
    with tarfile.open(path, "w:gz" if path.suffix == ".gz" else "w") as tar:
        for number in range(count):
            data = picture(*SHAPES[number % 3], number)
            entry = tarfile.TarInfo(f"{number:03}.png")
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
    return path


@pytest.mark.parametrize("name", ["s.tar", "s.tar.gz"])
def test_shards(tmp_path, name):
    """Kept, too; a packed one is unpacked once."""
    path = packed(tmp_path / name)
    dataset = {"path": str(path), "kind": "tar"}
    flags = ("--cache-dir", str(tmp_path / "cache"), "--cache-size", "64M")
    for _ in range(2):
        assert run(tmp_path, dataset, *flags) == expected()
    forge(the_file(tmp_path), 4, 60, 60)
    assert run(tmp_path, dataset, *flags) == {**expected(), 4: SIZES[0]}
    os.utime(path)
    assert run(tmp_path, dataset, *flags) == expected()


def listed(tmp_path, server, rows):
    path = tmp_path / "list.txt"
    path.write_text("".join(f"{row % 12:03}.png {row}\n" for row in range(rows)))
    return {"path": str(path), "root": f"{server.url}/a"}


def test_a_server_is_asked_for_one_range_of_each(tmp_path):
    folder = fill(tmp_path / "data")
    (folder / "a" / "001.png").write_bytes(noise(200, 320, "PNG"))
    with Objects(folder) as server:
        dataset = listed(tmp_path, server, 12)
        assert run(tmp_path, dataset) == expected()
        for number in range(12):
            asked = [head.get("range") for path, head in server.requests
                     if path.endswith(f"{number:03}.png")]
            assert asked.count("bytes=0-65535") == 1
        before = len(server.requests)
        assert run(tmp_path, dataset) == expected()
        again = [head.get("range") for _, head in server.requests[before:]]
        assert "bytes=0-65535" not in again
        server.ranges = False  # then they are read as a whole
        assert run(tmp_path, dataset, "--max-pixels", "1000000") == expected()


def test_what_would_take_hours_is_refused_in_words(tmp_path):
    """A million objects, each a fifth of a second away."""
    folder = fill(tmp_path / "data")
    with Objects(folder, latency=0.5) as server:
        with pytest.raises(stoker.RequestError, match="headers of 1000000 pictures would take "
                                                      ".*hours.*stokerctl index.*index-dir"):
            run(tmp_path, listed(tmp_path, server, 1000000))
        assert len(server.requests) < 5000


@pytest.mark.parametrize("run_length", [4, 24])
def test_a_live_start_is_at_a_runs_begin(near, tmp_path, run_length):
    """Or where the others are, if its batches end with the run from there on."""
    folder = fill(tmp_path / "data", 120)
    buckets = stoker.Buckets(SIZES, run=run_length)

    def load(**options):
        return near.loader(str(folder), transforms=[buckets], **{**WISH, **options})
    whole = [(batch.position, batch.images.shape, batch.images.copy(), list(batch.index))
             for batch in load().batches()]
    first = load()
    passes = first.batches()
    seen = [next(passes) for _ in range(8)][-1]
    for size in (4, 2, run_length):
        late = load(start="live", batch_size=size)
        batches = list(late.batches())
        assert batches[0].position % (run_length if size > 4 else size) == 0
        assert seen.position - run_length <= batches[0].position <= seen.position + 8 * run_length
        place = next(number for number, row in enumerate(whole) if row[0] >= batches[0].position)
        assert [int(i) for batch in batches for i in batch.index[:batch.count - batch.padded]] == [
            int(i) for row in whole[place:] for i in row[3]]
        late.close()


def test_a_ring_of_several_sizes_is_never_lean(near, tmp_path):
    """It has all its slots, where one of the same images of one size has fewer."""
    folder, rings = fill(tmp_path / "data", 240), []
    for transform in (stoker.Resize((512, 512)), stoker.Buckets([(512, 512), (256, 1024)])):
        loader = near.loader(str(folder), transforms=[transform], **{**WISH, "batch_size": 24})
        found = os.fstat(loader._reader.ring._fd)
        rings.append((found.st_size, found.st_blocks * 512))
        loader.close()
    assert rings[1][0] > 1.3 * rings[0][0] and rings[1][1] >= rings[1][0], rings
