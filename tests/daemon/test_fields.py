# SPDX-License-Identifier: MIT
"""More than an image and a label: weights, targets, one-hot labels, and what goes through the same
geometry as the picture. A mask that is the picture itself must come out as it does.
"""

import itertools
import json
import subprocess

import numpy
import PIL.Image
import pytest

from harness import BUILD, SLOW, digest_of

N = 24
STREAM = {"dtype": "uint8", "layout": "NHWC", "order_seed": 3, "augment_seed": 5}
# Moves pixels only, so that a picture comes out as a mask of it would; and gives all of them one
# size. Each is a geometry of its own.
MOVES = {
    "crop": [{"name": "RandomCrop", "size": [20, 28]}],
    "pad": [{"name": "Pad", "padding": 3},
            {"name": "RandomCrop", "size": [60, 70], "padding": 4, "pad_if_needed": True}],
    "edges": [{"name": "Pad", "padding": [9, 2, 4, 7], "padding_mode": "reflect"},
              {"name": "RandomCrop", "size": 40}, {"name": "RandomVerticalFlip"}],
    "flips": [{"name": "CenterCrop", "size": [44, 60]}, {"name": "RandomHorizontalFlip"},
              {"name": "RandomVerticalFlip"}],
    "resize": [{"name": "RandomResizedCrop", "size": 32, "interpolation": "nearest",
                "scale": [0.5, 1.0]}, {"name": "RandomHorizontalFlip"}],
    "aspect": [{"name": "AspectResize", "size": [40, 40], "interpolation": "nearest"},
               {"name": "RandomHorizontalFlip"}],
    "tall": [{"name": "AspectResize", "size": [60, 30], "interpolation": "nearest"}],
    "warp": [{"name": "Resize", "size": [48, 64], "interpolation": "nearest"},
             {"name": "RandomAffine", "degrees": 20, "translate": [0.1, 0.1], "scale": [0.8, 1.1]},
             {"name": "CenterCrop", "size": [44, 60]}],
    "bend": [{"name": "Resize", "size": [48, 64], "interpolation": "nearest"},
             {"name": "RandomPerspective", "p": 1.0, "distortion_scale": 0.3,
              "interpolation": "nearest"}],
}
WARPS = ("warp", "bend")  # a box is around its corners: it is no smaller than what is seen
# The same with what a mask must not see: a filter, colours, a fill.
SEEN = {
    "resize": [{"name": "RandomResizedCrop", "size": 32, "interpolation": "bicubic",
                "scale": [0.5, 1.0]}, {"name": "RandomHorizontalFlip"},
               {"name": "RandomInvert", "p": 1.0}],
    "warp": [*MOVES["warp"][:1], {**MOVES["warp"][1], "interpolation": "bilinear", "fill": 99},
             *MOVES["warp"][2:]],
    "pad": [{"name": "Pad", "padding": 3, "fill": 200},
            {"name": "RandomCrop", "size": [60, 70], "padding": 4, "pad_if_needed": True,
             "fill": [1, 2, 3]}, {"name": "Grayscale", "num_output_channels": 3}],
}


def write(folder, name, pixels):
    PIL.Image.fromarray(pixels).save(folder / name)


def boxed(height, width, box):
    """A picture that is bright inside of a box and dark, not black, beside."""
    pixels = numpy.full((height, width, 3), 10, numpy.uint8)
    pixels[box[1]:box[3], box[0]:box[2]] = 250
    return pixels


@pytest.fixture(scope="module", name="folder")
def fixture_folder(tmp_path_factory):
    """Pictures in several sizes; a mask of each in grey, in a palette, and of its box."""
    folder = tmp_path_factory.mktemp("fields")
    random = numpy.random.default_rng(1)
    rows = []
    for i in range(N):
        height, width = 48 + i % 5 * 3, 64 - i % 3 * 4
        noise = random.integers(0, 255, (height, width), dtype=numpy.uint8)
        write(folder, f"{i}.png", numpy.repeat(noise[:, :, None], 3, 2))
        write(folder, f"grey{i}.png", noise)
        palette = PIL.Image.fromarray(noise, "P")
        palette.putpalette(bytes(random.integers(0, 255, 768, dtype=numpy.uint8)))
        palette.save(folder / f"palette{i}.png")
        x, y = (int(n) for n in random.integers(0, 30, 2))
        box = [x, y, x + 12 + i % 7, y + 14]
        write(folder, f"box{i}.png", boxed(height, width, box))
        rows.append({"label": i, "box": box, "weight": i / 2, "size": (height, width)})
    return folder, rows


def manifest(folder, name, rows):
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def masks(folder, rows, kind):
    return manifest(folder, kind, [
        {"path": f"{i}.png", "label": row["label"], "mask": f"{kind}{i}.png"}
        for i, row in enumerate(rows)])


def attach(peer, path, **fields):
    answer = peer.attach(path, **{**STREAM, **fields})
    assert answer.name == "attached", answer
    return peer.ring.fields


def samples(daemon, path, keep, **fields):
    with daemon.connect() as peer:
        attach(peer, path, **fields)
        return [arrays for _, _, arrays in peer.samples(keep)]


def test_numbers(daemon, folder):
    folder, rows = folder
    path = manifest(folder, "numbers", [
        {"path": f"{i}.png", "label": i, "weight": row["weight"],
         "targets": {"pair": [i, -i], "age": i + 0.5}, "points": [[i, 1]] * (i % 3)}
        for i, row in enumerate(rows)])
    with daemon.connect() as peer:
        ring = attach(peer, path, transforms=MOVES["crop"])
        assert list(ring) == ["image", "label", "index", "weight", "points", "pair", "age"]
        assert {name: (array.dtype.name, array.shape[1:]) for name, array in ring.items()} == {
            "image": ("uint8", (20, 28, 3)), "label": ("int64", ()), "index": ("int64", ()),
            "weight": ("float32", ()), "points": ("float32", (2, 2)), "pair": ("int64", (2,)),
            "age": ("float32", ())}
        for _, _, arrays in peer.samples(list(ring)):
            i = int(arrays["index"])
            assert arrays["label"] == i and arrays["weight"] == i / 2
            assert list(arrays["pair"]) == [i, -i] and arrays["age"] == i + 0.5
            assert numpy.isnan(arrays["points"]).any(1).sum() == 2 - i % 3


def test_chosen_fields(daemon, folder):
    folder, rows = folder
    path = manifest(folder, "chosen", [
        {"path": f"{i}.png", "label": i, "weight": 1, "targets": {"a": 1, "b": 2}}
        for i in range(len(rows))])
    with daemon.connect() as peer, daemon.connect() as other, daemon.connect() as third:
        wish = {"transforms": MOVES["crop"]}
        assert list(attach(peer, path, fields=["b", "image", "weight"], **wish)) == [
            "image", "label", "index", "weight", "b"], "in the dataset's order"
        attach(other, path, fields=["weight", "b", "b"], **wish)
        assert other.attached["stream"] == peer.attached["stream"]
        attach(third, path, fields=["weight"], **wish)
        assert third.attached["stream"] != peer.attached["stream"]
    with daemon.connect() as peer:
        assert list(attach(peer, path, fields=[], **wish)) == ["image", "label", "index"]
    for fields, words in [(["c"], "has no 'c' beside"), ("a", "a list of names, not a text"),
                          ([1], "one entry is a whole number"),
                          (["x" * 16], "is not 1 to 15 bytes"),
                          (["a"] * 17, "17 names are more than")]:
        with daemon.connect() as peer:
            answer = peer.attach(path, fields=fields, **STREAM, **wish)
            assert answer.name == "error" and answer.fields["name"] == "argument", answer
            assert words in answer.fields["text"]


def test_one_hot(daemon, photos, folder):
    wish = {"transforms": MOVES["crop"], "one_hot": True}
    plain = samples(daemon, photos, ["label"], transforms=MOVES["crop"])
    hot = samples(daemon, photos, ["label"], **wish)
    classes = 1 + max(int(arrays["label"]) for arrays in plain)
    for a, b in zip(plain, hot):
        assert b["label"].dtype == "float32"
        assert (b["label"] == numpy.eye(classes, dtype="float32")[a["label"]]).all()
    folder, rows = folder
    with daemon.connect() as peer:
        answer = peer.attach(masks(folder, rows, "grey"), **STREAM, **wish)
        assert answer.name == "error" and "one_hot needs classes" in answer.fields["text"]


@pytest.mark.parametrize("kind", ["grey", "palette"])
@pytest.mark.parametrize("name", sorted(MOVES))
def test_a_mask_goes_where_its_picture_goes(daemon, folder, kind, name):
    folder, rows = folder
    path = masks(folder, rows, kind)
    made = samples(daemon, path, ["image", "mask"], transforms=MOVES[name], epochs=2)
    for arrays in made:
        assert arrays["mask"].shape == arrays["image"].shape[:2]
        assert (arrays["mask"] == arrays["image"][:, :, 0]).all()
    if name in SEEN:
        other = samples(daemon, path, ["image", "mask"], transforms=SEEN[name], epochs=2,
                        layout="NCHW", dtype="float32")
        assert all((a["mask"] == b["mask"]).all() for a, b in zip(made, other))
        assert any((a["image"].transpose(2, 0, 1) / 255 != b["image"]).any()
                   for a, b in zip(made, other))


def around(mask):
    """The box around what is bright; None if nothing is."""
    rows, columns = numpy.nonzero(mask > 128)
    if not len(rows):
        return None
    return [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]


@pytest.mark.parametrize("name", sorted(set(MOVES) - {"edges"}))
def test_a_box_goes_where_its_picture_goes(daemon, folder, name):
    """Exact where pixels are only moved, less than a pixel off where they are resized. "edges"
    reflects the bright pixels, of which no box knows."""
    folder, rows = folder
    path = manifest(folder, "boxes", [
        {"path": f"box{i}.png", "label": 0, "boxes": [row["box"], row["box"]],
         "points": [row["box"][:2], row["box"][2:]]} for i, row in enumerate(rows)])
    made = samples(daemon, path, ["image", "boxes", "points"], transforms=MOVES[name], epochs=2)
    off = 1.0 if name in ("resize", "aspect", "tall") else 0.0
    gone = 0
    for arrays in made:
        box, seen = arrays["boxes"][0], around(arrays["image"][:, :, 0])
        assert (arrays["boxes"][1] == box).all()
        if name in WARPS:
            if seen is not None:
                assert (box[:2] <= numpy.add(seen[:2], 1)).all(), (box, seen)
                assert (box[2:] >= numpy.subtract(seen[2:], 1)).all(), (box, seen)
                assert numpy.abs(box - seen).max() <= 12, (box, seen)
            continue
        points = arrays["points"].reshape(4)
        points = [*numpy.minimum(points[:2], points[2:]), *numpy.maximum(points[:2], points[2:])]
        height, width = arrays["image"].shape[:2]
        assert numpy.allclose(numpy.clip(points, 0, [width, height] * 2), box, atol=1e-4)
        if seen is None:
            gone += 1
            assert box[2] - box[0] <= off or box[3] - box[1] <= off
        else:
            assert numpy.abs(box - seen).max() <= off, (box, seen)
    assert gone < len(made) / 2


def test_what_cannot_follow(daemon, folder):
    """ImageDataGenerator moves pixels by itself: what would have to follow is refused, or left."""
    folder, rows = folder
    wish = {**STREAM, "dtype": "float32", "transforms": [
        {"name": "Resize", "size": [32, 32]}, {"name": "ImageDataGenerator", "rotation_range": 9}]}
    path = masks(folder, rows, "grey")
    with daemon.connect() as peer:
        answer = peer.attach(path, **wish)
        assert answer.name == "error", answer
        assert "ImageDataGenerator cannot transform 'mask'" in answer.fields["text"]
    assert len(samples(daemon, path, ["image"], **wish, fields=[])) == N


def test_bad_masks(daemon, folder):
    """A mask that is missing, broken or of another size: the sample is bad, and can be stood in
    for; a stream without that field does not notice."""
    folder, rows = folder
    (folder / "broken.png").write_bytes((folder / "grey2.png").read_bytes()[:40])
    bad = {0: "missing.png", 1: "broken.png", 4: "grey0.png"}
    path = manifest(folder, "bad", [
        {"path": f"{i}.png", "label": i, "mask": bad.get(i, f"grey{i}.png")} for i in range(N)])
    wish = {"transforms": MOVES["crop"], "shuffle": False, "batch_size": 1}
    with daemon.connect() as peer:
        attach(peer, path, **wish)
        found = {}
        while (message := peer.receive()).name != "end":
            if message.name == "bad_sample":
                found[message.fields["position"]] = message.fields["text"]
            else:
                peer.release(message)
        assert sorted(found) == sorted(bad), found
        assert "missing.png" in found[0] and "the mask is 64 x 48" in found[4], found
    with daemon.connect() as peer:
        attach(peer, path, bad_samples="substitute", **wish)
        for _, position, arrays in peer.samples(["image", "mask", "index"]):
            assert (arrays["mask"] == arrays["image"][:, :, 0]).all()
            expected = {0: 2, 1: 2, 4: 5}.get(position, position)
            assert arrays["index"] == expected
    assert len(samples(daemon, path, ["image"], fields=[], **wish)) == N


def test_a_place_nowhere(daemon, folder):
    """What goes beyond all numbers becomes the one NaN that is everywhere the same."""
    folder, _ = folder
    path = manifest(folder, "far", [{"path": f"{i}.png", "label": i, "points": [[3e38, -3e38]]}
                                    for i in range(N)])
    far = {"name": "RandomAffine", "degrees": [45, 45], "scale": [1e4, 1e4], "shear": [89, 89]}
    made = samples(daemon, path, ["points"], transforms=[*MOVES["warp"][:1], *[far] * 59])
    bits = {int(number) for arrays in made for number in arrays["points"].view("uint32").flat}
    assert bits == {0x7fc00000}, bits


def test_one_zero(daemon, folder):
    """Whichever zero a side of a box is, and however it is turned: the bytes are those of one."""
    folder, _ = folder
    path = manifest(folder, "zeros", [{"path": f"{i}.png", "label": i, "boxes": [[-0.0, 0, 9, 0]]}
                                      for i in range(N)])
    turns = {"name": "RandomAffine", "degrees": [180, 180], "center": [0, 0]}
    for more in [], [turns, turns], [{"name": "RandomHorizontalFlip", "p": 1.0}]:
        for arrays in samples(daemon, path, ["boxes"], transforms=[*MOVES["crop"], *more]):
            assert not numpy.signbit(arrays["boxes"][arrays["boxes"] == 0]).any(), arrays


def test_kin_with_other_fields(daemon, folder):
    """One decode, for a stream that has the mask and for one that has not: the bytes of each
    alone, though one of the masks is missing."""
    folder, rows = folder
    path = manifest(folder, "kin", [
        {"path": f"{i}.png", "label": i, "mask": f"grey{i}.png" if i != 3 else "missing.png"}
        for i in range(N)])
    members = [{"transforms": MOVES["resize"], "bad_samples": "substitute", **fields}
               for fields in ({}, {"fields": []}, {"augment_seed": 8})]
    keeps = [["image", "mask", "index"], ["image", "index"], ["image", "mask", "index"]]
    alone = [[digest_of(arrays) for arrays in samples(daemon, path, keep, **member)]
             for keep, member in zip(keeps, members)]
    workers = daemon.status()["workers"]
    assert daemon.set("workers", 0).name == "ok"
    before = daemon.status()["decodes_shared_total"]
    peers = [daemon.connect() for _ in members]
    for peer, member in zip(peers, members):
        attach(peer, path, prefetch=8, **member)
    assert daemon.set("workers", workers).name == "ok"
    streams = [peer.samples(keep) for peer, keep in zip(peers, keeps)]
    for expected in itertools.zip_longest(*alone):
        assert [digest_of(next(stream)[2]) for stream in streams] == list(expected)
    assert daemon.status()["decodes_shared_total"] > before
    for peer in peers:
        peer.close()


def test_the_law(spawn, folder):
    """Masks and boxes depend on no worker, batch or world."""
    folder, rows = folder
    path = manifest(folder, "law", [
        {"path": f"{i}.png", "label": i, "mask": f"grey{i}.png", "boxes": [row["box"]]}
        for i, row in enumerate(rows)])
    keep = ["image", "mask", "boxes", "index"]
    wish = {"transforms": SEEN["resize"], "epochs": 2}
    reference = None
    for workers, batch, world in [(1, 4, 1), (3, 5, 1), (2, 3, 2)]:
        daemon, out = spawn(workers=workers), {}
        with daemon.connect() as peer, daemon.connect() as other:
            peers = [peer, other][:world]
            for rank, one in enumerate(peers):
                attach(one, path, batch_size=batch, rank=rank, world=world, prefetch=16, **wish)
            for one in peers:
                out.update({(epoch, position): digest_of(arrays)
                            for epoch, position, arrays in one.samples(keep)})
        reference = reference or out
        assert out == reference and len(out) == 2 * N


def through_c(daemon, path, *settings):
    """All fields of all samples, as libstoker has them; three batches of nine, of an epoch."""
    return subprocess.run([str(BUILD / "tests" / "dump"), str(daemon.socket), str(path),
                           "RandomCrop(size=[20, 28]) | RandomHorizontalFlip() | uint8 | NHWC",
                           "9", "1", *settings],
                          capture_output=True, check=True, timeout=60 * SLOW).stdout


def raw(daemon, path, **fields):
    """The same by the protocol."""
    with daemon.connect() as peer:
        ring = attach(peer, path, **{
            "order_seed": 7, "augment_seed": 9, "epochs": 1,
            "transforms": [*MOVES["crop"], {"name": "RandomHorizontalFlip"}], **fields})
        return list(ring), b"".join(arrays[name].tobytes()
                                    for _, _, arrays in peer.samples(list(ring)) for name in ring)


def test_through_c(daemon, photos, folder):
    """libstoker gives the bytes that the protocol gives, of every field and of those chosen."""
    folder, rows = folder
    path = manifest(folder, "c", [
        {"path": f"{i}.png", "label": i, "weight": i / 4, "mask": f"grey{i}.png",
         "boxes": [row["box"]] * (i % 3), "points": [[i, 1.5]] * (i % 2),
         "targets": {"pair": [i, -i], "age": i + 0.5}} for i, row in enumerate(rows)])
    names, wanted = raw(daemon, path)
    assert names[3:] == ["weight", "mask", "boxes", "points", "pair", "age"]
    assert through_c(daemon, path) == wanted
    names, wanted = raw(daemon, path, fields=["age", "mask"])
    assert names[3:] == ["mask", "age"] and through_c(daemon, path, "fields=age,mask") == wanted
    names, wanted = raw(daemon, path, fields=[])
    assert len(names) == 3 and through_c(daemon, path, "fields=") == wanted
    _, plain = raw(daemon, photos)
    _, wanted = raw(daemon, photos, one_hot=True)
    assert wanted != plain and through_c(daemon, photos, "one_hot=1") == wanted
    with pytest.raises(subprocess.CalledProcessError) as caught:
        through_c(daemon, path, "fields=age,none")
    assert b"has no 'none' beside" in caught.value.stderr
