# SPDX-License-Identifier: MIT
"""flow_from_directory() and flow_from_dataframe() against Keras' own, attribute by attribute and
value by value. Skipped without keras."""
import os

import numpy as np
import pytest

import stoker

keras = pytest.importorskip("keras")
import stoker.keras  # noqa: E402 (it needs keras)
from keras.src.legacy.preprocessing.image import ImageDataGenerator as Original  # noqa: E402

SAME = {"target_size": (9, 11), "batch_size": 8, "shuffle": False}


@pytest.fixture(name="tree", scope="module")
def fixture_tree(tmp_path_factory):
    """Pictures of several sizes and modes, in classes whose order is not that of their names."""
    Image = pytest.importorskip("PIL.Image")
    root = tmp_path_factory.mktemp("tree") / "train"
    random = np.random.default_rng(1)
    for name, count in (("zebra", 7), ("ant", 9), ("cat", 5)):
        (root / name).mkdir(parents=True)
        for i in range(count):
            size = tuple(random.integers(8, 30, 2))
            mode = ("RGB", "L", "RGBA")[i % 3]
            shape = size + ((len(mode),) if mode != "L" else ())
            Image.fromarray(random.integers(0, 256, shape, np.uint8), mode).save(
                root / name / f"{i}.png")
    return str(root)


@pytest.fixture(name="both")
def fixture_both(real):
    def both(method, *arguments, generator=(), **options):
        generator = dict(generator)
        return (getattr(stoker.keras.ImageDataGenerator(socket=real.path, **generator), method)(
            *arguments, **{**SAME, **options}),
            getattr(Original(**generator), method)(*arguments, **{**SAME, **options}))
    return both


ATTRIBUTES = ["n", "samples", "batch_size", "batch_index", "total_batches_seen", "target_size",
              "image_shape", "color_mode", "class_mode", "data_format", "filenames", "filepaths",
              "directory", "save_to_dir", "save_prefix", "save_format", "shuffle", "seed", "dtype"]


def alike(mine, theirs, most=0):
    if isinstance(theirs, (list, tuple)) and theirs and isinstance(theirs[0], np.ndarray):
        return len(mine) == len(theirs) and all(map(alike, mine, theirs))
    if isinstance(theirs, np.ndarray):
        return mine.dtype == theirs.dtype and mine.shape == theirs.shape and \
            np.allclose(mine, theirs, rtol=0, atol=most)
    return mine == theirs


def compare(ours, theirs, more=("classes", "labels", "class_indices"), most=0):
    """``most``: how far pixels may be apart."""
    for name in [*ATTRIBUTES, *more]:
        assert alike(getattr(ours, name), getattr(theirs, name)), name
    for index in [0, *range(len(theirs))]:
        mine, wanted = ours[index], theirs[index]
        assert type(mine) is type(wanted) and len(mine) == len(wanted)
        if isinstance(wanted, np.ndarray):
            mine, wanted = (mine,), (wanted,)
        assert all(alike(*pair, most) for pair in zip(mine, wanted)), index
    ours.on_epoch_end(), theirs.on_epoch_end()
    for _ in range(len(theirs) * 3 // 2):
        mine, wanted = next(ours), next(theirs)
        assert alike(mine[0], wanted[0], most)
        assert ours.batch_index == theirs.batch_index


@pytest.mark.parametrize("mode", ["categorical", "sparse", "input", None])
@pytest.mark.parametrize("color", ["rgb", "rgba", "grayscale"])
def test_a_folder(both, tree, mode, color):
    ours, theirs = both("flow_from_directory", tree, class_mode=mode, color_mode=color)
    compare(ours, theirs, ["classes", "labels", "class_indices", "num_classes"])


@pytest.mark.parametrize("options", [
    {"classes": ["zebra", "cat"]}, {"classes": ["zebra", "ant", "cat"]}, {"follow_links": True},
    {"interpolation": "bilinear"}, {"keep_aspect_ratio": True},
    {"keep_aspect_ratio": True, "target_size": (20, 7), "interpolation": "bilinear"},
    {"keep_aspect_ratio": True, "interpolation": "bicubic"},
    {"subset": "validation"}, {"subset": "training"},
    {"subset": "training", "classes": ["cat", "ant"]},
    {"color_mode": "rgba", "keep_aspect_ratio": True}])
def test_a_part_of_a_folder(both, tree, options):
    ours, theirs = both("flow_from_directory", tree, generator={"validation_split": 0.4}, **options)
    # Pillow rounds the two passes of a filter in other ways since its version 11, and where they
    # overshoot, in noise as here, by more than 1.
    older = int(pytest.importorskip("PIL").__version__.split(".")[0]) < 11
    most = 0 if older else {"bilinear": 1, "bicubic": 8}.get(options.get("interpolation"), 0)
    compare(ours, theirs, ["classes", "labels", "class_indices", "num_classes",
                           "keep_aspect_ratio"], most)


def test_a_folder_of_a_link(both, tree, tmp_path):
    os.symlink(os.path.join(tree, "cat"), os.path.join(tmp_path, "linked"))
    os.mkdir(tmp_path / "own")
    os.link(os.path.join(tree, "ant", "0.png"), tmp_path / "own" / "0.png")
    ours, theirs = both("flow_from_directory", str(tmp_path), classes=["own"])
    compare(ours, theirs)


def frame(tree):
    names = ["ant/0.png", "cat/1.png", "missing.png", "zebra/3.png", "cat/0.png", "ant/4.png"] * 3
    return {"filename": names, "class": ["a", "c", "a", "z", "c", "a"] * 3,
            "tags": [["a", "b"], ["c"], ["a"], ["b", "c"], ["c", "a"], ["b"]] * 3,
            "x": np.arange(18) * 0.5, "y": np.arange(18)[::-1] * 1.0,
            "weight": np.arange(18) / 3}


@pytest.mark.parametrize("options", [
    {}, {"class_mode": "sparse"}, {"class_mode": "sparse", "classes": ["z", "a"]},
    {"class_mode": "binary", "classes": ["c", "a"]}, {"y_col": "tags"},
    {"y_col": "tags", "classes": ["c", "b"]}, {"class_mode": "raw", "y_col": "x"},
    {"class_mode": "raw", "y_col": ["x", "y"]}, {"class_mode": "multi_output", "y_col": ["x", "y"]},
    {"class_mode": None}, {"class_mode": "input"}, {"weight_col": "weight"},
    {"subset": "validation"}, {"subset": "training", "class_mode": "raw", "y_col": "y"},
    {"color_mode": "grayscale"}, {"color_mode": "rgba"}])
def test_a_dataframe(both, tree, options):
    pandas = pytest.importorskip("pandas")
    with pytest.warns(UserWarning, match="3 invalid image filename"):
        ours, theirs = both("flow_from_dataframe", pandas.DataFrame(frame(tree)), tree,
                            generator={"validation_split": 0.3}, **options)
    named = options.get("class_mode", "categorical") in ("categorical", "sparse", "binary")
    compare(ours, theirs, ["classes", "class_indices", "labels"] if named else [])


def test_a_dict_of_columns_and_whole_paths(real, tree):
    """pandas is not needed, nor a directory."""
    columns = frame(tree)
    columns["filename"] = [os.path.join(tree, name) for name in columns["filename"]]
    with pytest.warns(UserWarning, match="invalid"):
        flow = stoker.keras.ImageDataGenerator(socket=real.path).flow_from_dataframe(
            columns, class_mode="sparse", **SAME)
    assert flow.n == 15 and flow.class_indices == {"a": 0, "c": 1, "z": 2}
    assert [label for k in range(len(flow)) for label in flow[k][1]] == [0, 1, 2, 1, 0] * 3


def test_what_a_dataframe_may_not_have(real, tree):
    flow = stoker.keras.ImageDataGenerator(socket=real.path).flow_from_dataframe
    columns = frame(tree)
    for error, options in (
            (TypeError, {"x_col": "x"}), (TypeError, {"y_col": "x"}),
            (TypeError, {"class_mode": "multi_output", "y_col": "x"}),
            (TypeError, {"weight_col": "class"}), (ValueError, {"class_mode": "binary"}),
            (ValueError, {"class_mode": "binary", "classes": ["a"]}),
            (ValueError, {"class_mode": "many"}), (ValueError, {"classes": ["nothing"]}),
            (ValueError, {"color_mode": "cmyk"})):
        with pytest.raises(error):
            flow(columns, tree, validate_filenames=False, **{**SAME, **options})


def test_shuffled_files_keep_their_labels(real, tree):
    """The sets of an epoch, by the pictures themselves."""
    images = stoker.keras.ImageDataGenerator(socket=real.path, validation_split=0.4)
    for options in ({}, {"classes": ["zebra", "ant"]}, {"subset": "training"}):
        still = images.flow_from_directory(tree, class_mode="sparse", **{**SAME, **options})
        mixed = images.flow_from_directory(
            tree, class_mode="sparse", **{**SAME, **options, "shuffle": True, "seed": 3})
        wanted = {picture.tobytes(): label for index in range(len(still))
                  for picture, label in zip(*still[index])}
        given = [(picture.tobytes(), label) for index in range(len(mixed))
                 for picture, label in zip(*mixed[index])]
        assert dict(given) == wanted and len(given) == len(wanted) == mixed.n
        assert [picture for picture, _ in given] != list(wanted)
        pictures_ = list(wanted)
        assert [pictures_[place] for place in mixed.index_array] == [each for each, _ in given]


def test_pictures_are_saved(both, tree, tmp_path):
    Image = pytest.importorskip("PIL.Image")
    flows = both("flow_from_directory", tree)
    for flow, name in zip(flows, ("ours", "theirs")):
        (tmp_path / name).mkdir()
        flow.save_to_dir, flow.save_prefix = str(tmp_path / name), "p"
        next(flow), flow[2]
    saved = [{entry.name.rpartition("_")[0]: np.asarray(Image.open(entry.path))
              for entry in os.scandir(tmp_path / name)} for name in ("ours", "theirs")]
    assert saved[0].keys() == saved[1].keys() and "p_0" in saved[0] and len(saved[0]) == 13
    for name in saved[0]:
        assert np.array_equal(saved[0][name], saved[1][name])


@pytest.fixture(name="odd")
def fixture_odd(tree, tmp_path):
    """A class without pictures, endings that not all count, and links of folders and to nothing."""
    root = tmp_path / "odd"
    for name in ("ant", "bee", "cat"):
        (root / name / "deep").mkdir(parents=True)
    for at, name in enumerate(("ant/0.png", "ant/1.webp", "ant/2.JPG", "ant/xpng", "cat/3.png",
                               "cat/4.pgm", "cat/5.bmp", "cat/deep/6.tiff")):
        os.link(os.path.join(tree, "ant", f"{at}.png"), root / name)
    return root


def test_classes_and_endings_are_those_of_keras(both, odd):
    more = ["classes", "labels", "class_indices", "num_classes"]
    compare(*both("flow_from_directory", str(odd)), more)
    os.link(odd / "ant/0.png", odd / "bee/7.png")
    compare(*both("flow_from_directory", str(odd)), more)  # endings alone
    for name in ("ant/1.webp", "ant/xpng", "cat/4.pgm"):
        os.unlink(odd / name)
    os.symlink("../../ant", odd / "cat/deep/linked")
    compare(*both("flow_from_directory", str(odd)), more)  # a linked folder alone
    compare(*both("flow_from_directory", str(odd), follow_links=True), more)
    os.unlink(odd / "cat/deep/linked")
    compare(*both("flow_from_directory", str(odd)), more)  # nothing odd is left
    compare(*both("flow_from_directory", str(odd), subset="training",
                  generator={"validation_split": 0.5}), more)


def test_the_endings_of_keras():
    from keras.src.legacy.preprocessing.image import Iterator
    from stoker.keras import data
    assert sorted(data._ENDINGS) == sorted(Iterator.white_list_formats)
