# SPDX-License-Identifier: MIT
"""stoker.Map with the real daemon: the user's own function amid the transforms."""
import contextlib
import os

import numpy as np
import pytest

import own_code
import own_maps
import stoker
from stoker.produce import picture as picture_of

SLOW = float(os.environ.get("STOKER_SLOW", "1"))
STEPS = [stoker.RandomCrop(16), stoker.RandomHorizontalFlip()]


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Keep the producers' secret in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def load(real):
    """A function that makes a loader with these transforms behind a crop and a flip."""
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(stoker.connect(real.path))

        def load(dataset, *behind, **more):
            options = {"batch_size": 4, "seed": 5, "dtype": "uint8", "layout": "NHWC",
                       "timeout": 60 * SLOW, "transforms": [*STEPS, *behind], **more}
            return stack.enter_context(node.loader(dataset, **options))
        yield load


def epoch(loader):
    return [(images.copy(), labels.tolist()) for images, labels in loader]


def same(a, b):
    return len(a) == len(b) > 0 and all(
        (x == y).all() and labels == others for (x, labels), (y, others) in zip(a, b))


@pytest.mark.parametrize("count", [0, 2])
def test_a_function_gets_the_picture_that_is_made_before_it(load, folder, count):
    want = [(255 - images, labels) for images, labels in epoch(load(folder))]
    assert same(epoch(load(folder, stoker.Map(own_maps.invert), num_workers=count)), want)


def test_random_numbers_do_not_depend_on_who_draws_them(load, folder, tmp_path):
    """One digest with 1, 2 and 8 processes, and over a death; another seed gives another."""
    def noise(thing, **more):
        with load(folder, stoker.Map(thing, version="noise"), **more) as loader:
            return epoch(loader)
    want = noise(own_maps.Noise(), num_workers=1)
    assert same(noise(own_maps.Noise(), num_workers=2), want)
    assert same(noise(own_maps.Noise(), num_workers=8), want)
    assert same(noise(own_maps.Once(str(tmp_path / "once")), num_workers=2), want)
    assert (tmp_path / "once").exists()
    assert not same(noise(own_maps.Noise(), num_workers=2, seed=6), want)


@pytest.mark.parametrize("behind", [[], [stoker.CutMix()]], ids=["alone", "pairs"])
def test_what_is_made_twice_is_as_it_was(load, folder, behind, caplog):
    """Also of the sample that each is mixed with."""
    more = {"num_workers": 2, "dtype": "float32"}
    if behind:
        more["one_hot"] = True
    with load(folder, stoker.Map(own_maps.Noise(), version="noise"), *behind, **more) as once:
        want = epoch(once)
    checked = stoker.Map(own_maps.Noise(), version="noise", check=1)
    loader = load(folder, checked, *behind, **more)
    assert same(epoch(loader), want)
    assert "exact" not in loader.state_dict() and "otherwise" not in caplog.text


def test_a_function_that_is_not_exact_is_named(load, folder, caplog):
    loader = load(folder, stoker.Map(own_maps.Clock(), version="clock", check=1), num_workers=2)
    epoch(loader)
    assert loader.state_dict()["exact"] is False
    assert sum("made sample" in record.getMessage() for record in caplog.records) == 1


def test_arrays_are_a_tree_beside_labels(load, folder):
    want = epoch(load(folder))
    loader = load(folder, stoker.Map(own_maps.two, gives="arrays"), num_workers=2)
    for (tree, labels), (images, others) in zip(loader, want):
        assert tree["x"].dtype == np.float32 and (tree["x"] == images).all()
        assert np.allclose(tree["mean"], images.mean(axis=(1, 2, 3)))
        assert labels.tolist() == others


def test_each_result_has_a_shape_of_its_own(load, folder):
    """Lists of arrays and of texts, beside an array and the labels."""
    want = epoch(load(folder))
    loader = load(folder, stoker.Map(own_maps.bright, gives="arrays", ragged=["at"]), num_workers=2)
    shapes = set()
    for (tree, labels), (images, others) in zip(loader, want):
        assert labels.tolist() == others and tree["mean"].shape == (len(images),)
        for at, words, image in zip(tree["at"], tree["words"], images):
            assert at.dtype == np.int16 and (at == np.argwhere(image[0] > 99)).all()
            assert words == "\u00e9" * len(at)
            shapes.add(at.shape)
    assert len(shapes) > 1


def test_a_larger_result_makes_room_once(load, folder, caplog):
    """No sample is lost, the token is the same, and a resume needs not the room that there was."""
    mapped = stoker.Map(own_maps.sometimes_large, gives="arrays", ragged=True, version="large",
                        like=np.zeros(10, np.int16))
    loader = load(folder, mapped, num_workers=1)
    before = loader.state_dict()
    sizes = [len(array) for arrays, _ in loader for array in arrays]
    state = loader.state_dict()
    assert sizes == [100_000 if place == 13 else 10 for place in range(len(sizes))]
    assert sum("with room for" in record.getMessage() for record in caplog.records) == 1
    assert all(before[key] == state[key] for key in ("digest", "fingerprints", "description"))
    again = load(folder, stoker.Map(own_maps.sometimes_large, gives="arrays", ragged=True,
                                    version="large", like=np.zeros(10, np.int16)), num_workers=1)
    again.load_state_dict(state)
    assert [len(array) for arrays, _ in again for array in arrays] == sizes


def test_readers_that_ask_for_other_rooms_have_streams_of_their_own(load, folder):
    maps = [stoker.Map(own_maps.sometimes_large, gives="arrays", ragged=True, version="large",
                       like=np.zeros(count, np.int16)) for count in (10, 200_000)]
    for_one, for_many = (load(folder, one, num_workers=1) for one in maps)
    assert for_one.state_dict()["digest"] == for_many.state_dict()["digest"]
    same = zip(for_one, for_many)
    for (few, labels), (many, others) in same:
        assert labels.tolist() == others.tolist()
        assert all((a == b).all() for a, b in zip(few, many))


def test_one_array_is_the_image(load, folder):
    want = epoch(load(folder))
    loader = load(folder, stoker.Map(own_maps.wrong, gives="arrays"), num_workers=1)
    found = [(images.copy(), labels.tolist()) for images, labels in loader]
    assert found[0][0].dtype == np.float32 and same(found, want)


def test_one_function_of_pictures_of_two_sizes(load, folder):
    """Producers of the one do not make the other's."""
    for size in (12, 14):
        crop = stoker.CenterCrop(size)
        want = epoch(load(folder, transforms=[crop]))
        mapped = stoker.Map(own_maps.wrong, gives="arrays")
        loader = load(folder, transforms=[crop, mapped], num_workers=1)
        found = [(images.copy(), labels.tolist()) for images, labels in loader]
        assert found[0][0].shape[1:] == (size, size, 3) and same(found, want)


def test_pillow_comes_and_goes(load, folder):
    loader = load(folder, stoker.Map(own_maps.gray_pil, takes="pil"), num_workers=1)
    want = epoch(load(folder, stoker.Grayscale(3)))
    assert same(epoch(loader), want)


def test_source_and_map_go_together(load, folder):
    want = [(255 - images, labels) for images, labels in epoch(load(folder))]
    assert same(epoch(load(stoker.Source(own_code.Files(folder)), stoker.Map(own_maps.invert),
                           num_workers=2)), want)


@pytest.mark.parametrize("function, words", [
    (own_maps.failing, "ValueError: not this one; own_maps.py:"),
    (own_maps.wrong, "a picture is an array of uint8 or a PIL image, not float32")])
def test_what_it_raises_is_a_bad_sample(load, folder, function, words):
    loader = load(folder, stoker.Map(function), num_workers=1, batch_size=1)
    bad = []
    rows = iter(loader)
    while True:
        try:
            next(rows)
        except stoker.SampleError as error:
            bad.append(str(error))
        except StopIteration:
            break
    assert len(bad) == (1 if function is own_maps.failing else 21)
    assert all(words in text for text in bad)


def test_a_state_is_of_one_function(load, folder):
    loader = load(folder, stoker.Map(own_maps.invert), num_workers=1)
    next(iter(loader))
    state = loader.state_dict()
    with pytest.raises(stoker.Error, match="transforms"):
        load(folder, stoker.Map(own_maps.failing), num_workers=1).load_state_dict(state)
    again = load(folder, stoker.Map(own_maps.invert), num_workers=1)
    again.load_state_dict(state)
    assert same(epoch(again), epoch(load(folder, stoker.Map(own_maps.invert), num_workers=1))[1:])


class Library:
    """As of a library that calls what it has with image=."""

    def __call__(self, *, image):
        return {"image": image}


@pytest.mark.parametrize("package, takes", [("albumentations.core", "image="),
                                            ("torchvision.transforms", "pil"), ("mine", "array")])
def test_libraries_are_called_as_they_want(monkeypatch, package, takes):
    monkeypatch.setattr(Library, "__module__", package)
    assert stoker.Map(Library()).code.code.takes == takes
    if takes == "image=":
        assert stoker.Map(Library()).code.code(np.zeros((2, 3, 3), np.uint8)).shape == (2, 3, 3)


@pytest.mark.parametrize("shape, head", [
    ((3, 2, 3), b"P6\n2 3\n255\n"), ((3, 2), b"P5\n2 3\n255\n"), ((3, 2, 1), b"P5\n2 3\n255\n")])
def test_pictures_are_pnm_files(shape, head):
    picture = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    parts = picture_of.pnm(picture[:, ::-1])
    assert b"".join(parts) == head + picture[:, ::-1].tobytes()


@pytest.mark.parametrize("made", [np.zeros((3, 2, 4), np.uint8), np.zeros((0, 2, 3), np.uint8),
                                  np.zeros((3,), np.uint8)])
def test_other_shapes_are_no_pictures(made):
    with pytest.raises(ValueError, match="a picture has the shape"):
        picture_of.pnm(made)


@pytest.mark.parametrize("before, size", [
    ([], (224, 224)), ([{"name": "RandomResizedCrop", "size": 32}], (32, 32)),
    ([{"name": "Resize", "size": 256}, {"name": "RandomHorizontalFlip"}], (224, 224)),
    ([{"name": "CenterCrop", "size": [8, 9]}, {"name": "RandomHorizontalFlip"}], (8, 9))])
def test_a_function_is_tried_with_the_size_that_it_will_get(before, size):
    seen = []
    mapped = stoker.Map(lambda picture: seen.append(picture.shape) or 1.0, gives="arrays")
    mapped.code.look(before)
    assert seen == [(*size, 3)]


@pytest.mark.parametrize("bad", [{"gives": "bytes"}, {"takes": "tensor"}])
def test_wrong_words_are_refused(bad):
    with pytest.raises(ValueError, match="must be"):
        stoker.Map(own_maps.invert, **bad)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="Map takes a function"):
        stoker.Map(3)
