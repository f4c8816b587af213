# SPDX-License-Identifier: MIT
"""Damaged pictures: is bad what Pillow refuses to load, at every visit, and are all others equal?

    PYTHON tests/bench/mutants.py --data FOLDER [--build BUILD] [--count 2000] [--seed 0]
                                  [--formats JPEG,PNG,WEBP,BMP,PPM,TIFF,GIF,AVIF] [--show 20]

Pillow is that of PYTHON, and resizes are its own, too (tests/reference/pillow.py): /usr/bin/python3
has Debian's, `python3 -m venv` and `pip install pillow==13.0.0 numpy msgpack` another.

Each mutant is a JPEG of the folder, or a picture that Pillow makes of one (VARIANTS),
with one of MUTATIONS: COUNT of each format. Pillow's verdict is that of
Image.open(...).convert("RGB"). Each of visits() asks daemons for all mutants, with other crops,
workers, epochs and memory for what is kept; some are replayed. Printed is, for each format and
mutation, how often the verdict of the first visit is Pillow's. The exit code is 1 if a verdict
depends on the visit, if bytes differ where both decode, or if fewer verdicts agree than KIND_BAR of
a kind or ALL_BAR of all.

Of AVIF the verdict is the decoder's, so both should have the same: the first lines say which ones
they have. dav1d 1.0 shows pictures of damaged streams that 1.5 refuses; a stokerd that is linked
with the libavif of Pillow's wheel (`pillow.libs`, and headers of libavif 1) has Pillow's verdicts.
"""

import argparse
import collections
import io
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import warnings
import zlib

import numpy
import PIL
from PIL import Image, features

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(SOURCE / "tests" / "daemon"), str(SOURCE / "tests" / "reference")]
import harness  # noqa: E402 (it stands in the tests' folder)
import pillow  # noqa: E402

MUTATIONS = ("flip", "zero", "noise", "cut")
KIND_BAR, ALL_BAR = 0.98, 0.995
ENDINGS = {"GIF": "png", "AVIF": "png"}  # an image folder leaves theirs out
BLOCK = 4096  # bytes of the largest damage
EDGE = 192    # pixels of the whole picture as it is compared
WHOLE = [{"name": "Resize", "size": [EDGE, EDGE]}]
CROP = [{"name": "RandomResizedCrop", "size": 16, "scale": [0.02, 0.2]}]
CORNER = [{"name": "RandomCrop", "size": 8, "pad_if_needed": True}]


def mutant(data, mutation, draw):
    """`data` with a bit flipped, or with a block of zeros, of noise, or left out."""
    if mutation == "flip":
        at = draw.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << draw.randrange(8)]) + data[at + 1:]
    size = min(int(2 ** draw.uniform(0, BLOCK.bit_length() - 1)), len(data) // 2)
    at = draw.randrange(len(data) - size + 1)
    if mutation == "cut" and draw.random() < 0.25:  # the end of the file
        at = len(data) - size
    block = {"zero": bytes(size), "noise": draw.randbytes(size), "cut": b""}[mutation]
    return data[:at] + block + data[at + size:]


def saved(image, form, **options):
    to = io.BytesIO()
    image.save(to, form, **options)
    return to.getvalue()


def segment(data, marker):
    """Where that segment of a JPEG's header begins and ends."""
    at = 2
    while data[at + 1] != marker:
        at += 2 + int.from_bytes(data[at + 2:at + 4], "big")
    return at, at + 2 + int.from_bytes(data[at + 2:at + 4], "big")


def with_restarts(image):
    """A JPEG with a restart marker after each row of MCUs; by Pillow each is a JPEG of its own."""
    width, height = image.width, max(image.height // 16, 1) * 16
    rows = [saved(image.crop((0, y, width, y + 16)), "JPEG") for y in range(0, height, 16)]
    size, _ = segment(rows[0], 0xc0)
    scan, start = segment(rows[0], 0xda)
    head = bytearray(rows[0][:start])
    head[size + 5:size + 7] = height.to_bytes(2, "big")
    head[scan:scan] = b"\xff\xdd\0\4" + ((width + 15) // 16).to_bytes(2, "big")
    scans = [row[start:-2] for row in rows]
    return bytes(head) + scans[0] + b"".join(
        bytes([0xff, 0xd0 + i % 8]) + scan for i, scan in enumerate(scans[1:])) + b"\xff\xd9"


def with_scans(image):
    """A sequential JPEG with a scan for each component."""
    planes = [saved(plane, "JPEG") for plane in image.convert("YCbCr").split()]
    size, end = segment(planes[0], 0xc0)
    scan, start = segment(planes[0], 0xda)
    frame = planes[0][size + 4:size + 9] + b"\3" + b"".join(bytes([i, 0x11, 0]) for i in (1, 2, 3))
    return planes[0][:size] + b"\xff\xc0\0\x11" + frame + planes[0][end:scan] + b"".join(
        b"\xff\xda\0\x08\1" + bytes([i]) + b"\0\0\x3f\0" + plane[start:-2]
        for i, plane in enumerate(planes, 1)) + b"\xff\xd9"


VARIANTS = {
    "JPEG": [{}, {"progressive": True}, {"subsampling": 0}, {"quality": 95}, with_restarts,
             with_scans],
    "PNG": [{}, {"compress_level": 1}],
    "WEBP": [{}, {"lossless": True, "method": 0}, {"quality": 40}],
    "BMP": [{}, lambda image: saved(image.convert("P"), "BMP")],
    "PPM": [{}, lambda image: saved(image.convert("L"), "PPM")],
    "TIFF": [{}, {"compression": "tiff_lzw"}, {"compression": "tiff_adobe_deflate"},
             {"compression": "packbits"}, {"compression": "jpeg"}],
    "GIF": [{}, lambda image: saved(image.convert("L"), "GIF")],
    # Not of Debian's Pillow. What is damaged depends on dav1d's version, which both should have.
    "AVIF": [{"speed": 10}, {"speed": 10, "quality": 95, "subsampling": "4:4:4"}],
}


def encoded(image, form, draw):
    """`image` as a file of that format, in one of its variants."""
    variant = draw.choice(VARIANTS[form])
    return variant(image) if callable(variant) else saved(image, form, **variant)


def whole(data):
    """Pillow's picture, or None if it does not load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(data)) as image:
                return image.convert("RGB")
        except Exception:  # pylint: disable=broad-except; whatever it is, the trainer would see it
            return None


def is_of_another_size(data):
    """Is it a TIFF with a deflated strip of more or fewer bytes than its rows take? libtiff lets
    that pass, and its end may be missing; Pillow shows there what its memory held, stoker zeros.
    """
    with Image.open(io.BytesIO(data)) as image:
        if image.format != "TIFF" or image.tag_v2.get(259) != 8:
            return False
        tags, width, height = image.tag_v2, image.width, image.height
    rows, row_bytes = tags[278], width * len(tags[258])
    for strip, (at, size) in enumerate(zip(tags[273], tags[279])):
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)  # behind its head, without its checksum
        wanted = min(rows, height - strip * rows) * row_bytes
        if len(inflate.decompress(data[at + 2:at + size], wanted + 1)) != wanted:
            return True
    return False


def pixels_of(data):
    """The bytes of Pillow's picture at EDGE x EDGE; None if it does not load, empty if some of them
    are not the file's.
    """
    image = whole(data)
    if image is None or is_of_another_size(data):
        return None if image is None else b""
    return numpy.asarray(image.resize((EDGE, EDGE), Image.Resampling.BILINEAR)).tobytes()


def visit(daemon, folder, names, **fields):
    """({name of a bad file}, {name: bytes of the others}) of one epoch."""
    bad, good = set(), {}
    with daemon.connect() as peer:
        peer.attach(folder, **{"batch_size": 1, "epochs": 1, "dtype": "uint8", "layout": "NHWC",
                               "order_seed": 1, "augment_seed": 2, "resize": pillow.OWN, **fields})
        while (message := peer.receive(600)).name != "end":
            if message.name == "batch":
                arrays = peer.ring.read(message.fields["runs"])
                good[names[int(arrays["index"][0])]] = arrays["image"][0].tobytes()
                peer.release(message)
            else:
                bad.add(pathlib.Path(message.fields["path"]).name)
    return bad, good


def visits(folder, names):
    """Yield (what, bad, good) for visits that differ in all that must not matter."""
    plain = {"shuffle": False, "transforms": WHOLE}
    with Served(workers=2) as daemon:
        yield "first visit, crops", *visit(daemon, folder, names, transforms=CROP)
        with daemon.connect() as keeper:  # the dataset stays, and what is known of its files
            number = keeper.attach(folder, **plain, batch_size=1, dtype="uint8", layout="NHWC",
                                   resize=pillow.OWN).fields["stream"]
            yield "whole", *visit(daemon, folder, names, **plain)
            yield "corners", *visit(daemon, folder, names, transforms=CORNER, augment_seed=3)
            yield "crops, epoch 5", *visit(daemon, folder, names, transforms=CROP, epoch=5)
            yield "draft", *visit(daemon, folder, names, draft=True, transforms=[
                {"name": "Resize", "size": [16, 16]}])
            yield "replayed", *replayed(daemon, number, names)
    with Served(workers=1, index_memory="0") as daemon:
        yield "whole, nothing kept", *visit(daemon, folder, names, **plain)
        yield "corners, nothing kept", *visit(daemon, folder, names, transforms=CORNER)
    with Served(workers=3, index_memory="20K") as daemon:
        yield "crops, no room", *visit(daemon, folder, names, transforms=CROP)
    with Served(workers=3) as daemon:
        daemon.ctl("index", folder)
        yield "crops after stokerctl index", *visit(daemon, folder, names, transforms=CROP)


def replayed(daemon, stream, names):
    """({name of a bad file}, {name: digest of the others}) of every 50th position."""
    bad, good = set(), {}
    for position in range(0, len(names), 50):
        done = daemon.ctl("--json", "replay", stream, "--epoch", 0, "--position", position,
                          check=False)
        if done.returncode:
            bad.add(names[position])
        else:
            good[names[position]] = json.loads(done.stdout)["digest"]
    return bad, good


class Served:
    """A daemon, gone at the end."""

    def __init__(self, **options):
        self.daemon = harness.Daemon(**options)

    def __enter__(self):
        self.daemon.spawn()
        return self.daemon

    def __exit__(self, *_):
        self.daemon.terminate()
        self.daemon.remove()


def make(folder, form, sources, count, seed):
    """Write the mutants; {name: what pixels_of() says of it}."""
    draw, expected = random.Random(f"{form} {seed}"), {}
    (folder / "class").mkdir(parents=True)
    for number in range(count):
        data = draw.choice(sources).read_bytes()
        if form != "JPEG" or data[:2] != b"\xff\xd8" or draw.random() < 0.3:
            with Image.open(io.BytesIO(data)) as image:
                small = image.convert("RGB")
            small.thumbnail((256, 256))
            data = encoded(small, form, draw)
        mutation = MUTATIONS[number % len(MUTATIONS)]
        name = f"{number:06}-{mutation}.{ENDINGS.get(form, form.lower())}"
        data = mutant(data, mutation, draw)
        (folder / "class" / name).write_bytes(data)
        expected[name] = pixels_of(data)
    return expected


def judge(form, expected, seen, show):
    """Compare the visits with Pillow and with each other. (wrong by mutation, faults)"""
    refused = {name for name, pixels in expected.items() if pixels is None}
    what, first, crops = seen[0]
    wrong, faults = collections.Counter(), []
    for name in sorted(first ^ refused):
        wrong[name.split("-")[1].split(".")[0]] += 1
        if show > 0:
            print(f"  {name}: Pillow {'refuses' if name in refused else 'loads'} it", flush=True)
        show -= 1
    for other, bad, good in seen[1:]:
        faults += [f"{form}: {name}: {what} and {other} disagree" for name in first ^ bad
                   if name in good or name in bad]
        if other in ("crops, no room", "crops after stokerctl index"):
            faults += [f"{form}: {name}: other bytes than at the {what} ({other})" for name in good
                       if good[name] != crops.get(name)]
        if other.startswith("whole"):
            faults += [f"{form}: {name}: other bytes than Pillow's ({other})" for name in good
                       if expected[name] and good[name] != expected[name]]
    return wrong, faults


def check(form, options, folder):
    sources = sorted(path for path in options.data.rglob("*") if path.is_file())
    expected = make(folder, form, sources, options.count, options.seed)
    names = sorted(expected)
    seen = list(visits(folder, names))
    wrong, faults = judge(form, expected, seen, options.show)
    for what, bad, _ in seen:
        print(f"{form:5} {what}: {len(bad)} bad", flush=True)
    refused = sum(pixels is None for pixels in expected.values())
    print(f"{form:5} Pillow: {refused} of {len(names)} bad", flush=True)
    agreed = {}
    for mutation in MUTATIONS:
        total = sum(f"-{mutation}." in name for name in names)
        agreed[mutation] = (total - wrong[mutation], total)
        print(f"{form:5} {mutation:5}: {agreed[mutation][0]} of {total} verdicts are Pillow's",
              flush=True)
    for fault in faults[:options.show]:
        print(fault, flush=True)
    return agreed, faults


def avif_codecs():
    from PIL import _avif  # pylint: disable=import-outside-toplevel; not every Pillow has it
    return _avif.codec_versions()


def avif_of(program):
    """The libraries that it loads, by their files, whose names have the versions."""
    said = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = [pathlib.Path(line.split("=>")[1].split("(")[0].strip()).resolve().name
             for line in said.splitlines() if "=>" in line and re.search("avif|dav1d", line)]
    return f"stokerd with {', '.join(paths)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    Image.init()
    parser.add_argument("--formats", default=",".join(form for form in VARIANTS
                                                      if form in Image.SAVE))
    parser.add_argument("--show", type=int, default=20)
    options = parser.parse_args()
    harness.WAIT_S = 600  # of stokerctl: many files, or a busy machine
    harness.STOKERD = options.build / "daemon" / "stokerd"
    harness.STOKERCTL = options.build / "client" / "ctl" / "stokerctl"
    print(f"Pillow {PIL.__version__} (resizes: {pillow.OWN}), "
          f"libjpeg-turbo {features.version('libjpeg_turbo')}, "
          f"zlib {features.version('zlib')}, libwebp {features.version('webp')}", flush=True)
    if "AVIF" in options.formats.split(","):
        print(f"AVIF: Pillow with libavif {features.version('avif')}, {avif_codecs()}; "
              f"{avif_of(harness.STOKERD)}", flush=True)
    good = total = 0
    failed = False
    for form in options.formats.split(","):
        with tempfile.TemporaryDirectory() as folder:
            agreed, faults = check(form, options, pathlib.Path(folder) / form)
        failed |= bool(faults) or any(a < KIND_BAR * n for a, n in agreed.values())
        good += sum(a for a, _ in agreed.values())
        total += sum(n for _, n in agreed.values())
    print(f"all: {good} of {total} verdicts are Pillow's ({100 * good / total:.2f} %)")
    return int(failed or good < ALL_BAR * total)


if __name__ == "__main__":
    sys.exit(main())
