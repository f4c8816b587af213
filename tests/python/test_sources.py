# SPDX-License-Identifier: MIT
"""stoker.sources with the real daemon: files that other libraries read, compared with what these
read of them and with the folder of the same pictures. A format whose library is not there is
skipped."""
import contextlib
import json
import os
import pathlib
import shutil
import signal
import sys

import numpy as np
import pytest

import stoker
import stored_files as made
from stoker import sources
from stoker.produce import shipping

STEPS = [stoker.RandomCrop(16), stoker.RandomHorizontalFlip()]
SLOW = float(os.environ.get("STOKER_SLOW", "1"))


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Keep the producers' secret in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def load(real):
    """A function that makes a loader, whose rows a thread of this process reads."""
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(stoker.connect(real.path))

        def load(dataset, **more):
            options = {"batch_size": 4, "seed": 5, "transforms": STEPS, "dtype": "uint8",
                       "timeout": 60 * SLOW, **more}
            if not isinstance(dataset, str) or not os.path.isdir(dataset):
                options.setdefault("num_workers", 0)
            return stack.enter_context(node.loader(dataset, **options))
        yield load


def epoch(batches):
    return [(images.tobytes(), labels.tolist()) for images, labels in batches]


def by_index(loader):
    """Samples of an epoch, by their index."""
    out = {}
    for batch in loader.batches():
        for index, image, label in zip(batch.index, batch.images, batch.labels):
            out[int(index)] = image.copy(), label.copy()
    return [out[index] for index in sorted(out)]


def elsewhere(source):
    """As another process gets its rows."""
    fd = shipping.pack(source.code, source.record())
    try:
        return shipping.unpack(fd)[0]
    finally:
        os.close(fd)


@pytest.mark.parametrize("write", made.FORMATS, ids=lambda write: write.__name__)
def test_pictures_are_those_of_the_folder(load, folder, tmp_path, write):
    """Bytes, labels and order; given as a path, or as an object."""
    dataset = write(folder, tmp_path)
    given = dataset
    if write is made.parquet_folder:
        given = {"path": dataset, "label": "label"}
    loader, want = load(given, order="global"), load(folder)
    for _ in range(2):
        assert epoch(loader) == epoch(want)
    source = sources.found(given)
    rows = elsewhere(source)
    images, labels = made.pictures_of(folder)
    if write is made.mds:  # its writer encodes anew
        from PIL import Image
        import io
        same = [np.asarray(Image.open(io.BytesIO(rows[i][0]))) for i in range(21)]
        assert all(np.array_equal(array, np.asarray(Image.open(io.BytesIO(data))))
                   for array, data in zip(same, images))
        images = [rows[i][0] for i in range(21)]
    assert [rows[index] for index in range(21)] == list(zip(images, labels))
    assert source.class_names in ([], ["class0", "class1", "class2"])


def test_a_folder_with_classes_is_the_daemons(folder, tmp_path):
    """Whatever else lies in it."""
    (pathlib.Path(folder) / "about.parquet").write_bytes(b"")
    assert sources.found(str(folder)) is None
    assert sources.found(str(tmp_path / "none")) is None


def test_resumed_shared_and_over_a_death(load, folder, tmp_path):
    """Three trainers; one of them resumes in the middle; a producer is killed."""
    file = str(made.parquet(folder, tmp_path))
    want = epoch(load(file))
    first, second = load(file, num_workers=2), load(file, num_workers=1)
    batches = iter(first)
    got = [next(batches), next(batches)]
    token = json.loads(json.dumps(first.state_dict()))
    template = first._reader.producers._process.pid
    children = pathlib.Path(f"/proc/{template}/task/{template}/children").read_text().split()
    if children:
        os.kill(int(children[0]), signal.SIGKILL)
    assert epoch(got) + epoch(batches) == want
    assert epoch(second) == want
    moved = tmp_path / "moved"
    moved.mkdir()
    third = load(str(shutil.copy(file, moved / "other.parquet")), num_workers=2)
    third.load_state_dict(token)
    assert epoch(third) == want[2:]


def test_identity_is_of_content(folder, tmp_path):
    """Not of paths and times."""
    for write in (made.parquet, made.arrow, made.hdf5, made.saved, made.lance):
        try:
            path = write(folder, tmp_path)
        except pytest.skip.Exception:
            continue
        place = tmp_path / f"of {write.__name__}"
        place.mkdir()
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, place / path.name)
        if path.is_file():
            os.utime(place / path.name, (1, 1))
        one, other = sources.found(path), sources.found(place / path.name)
        assert one.identity() == other.identity() and len(one.identity()) <= 64
    dataset = made.hugging_face(folder)
    whole = sources.HuggingFace(dataset).identity()
    assert sources.HuggingFace(made.hugging_face(folder)).identity() == whole
    assert sources.HuggingFace(dataset.select(range(20))).identity() != whole
    assert sources.HuggingFace(dataset.shuffle(seed=1)).identity() != whole
    assert sources.HuggingFace(dataset, label=None).identity() != whole
    shuffled = [sources.HuggingFace(dataset.shuffle(seed=2)).identity() for _ in range(2)]
    assert shuffled[0] == shuffled[1]


def test_what_a_file_has_else_is_another_identity(folder, tmp_path):
    file = made.parquet(folder, tmp_path)
    one = sources.Parquet(file).identity()
    assert sources.Parquet(file, label=None).identity() != one
    made.parquet(folder, tmp_path, more=[7] * 21)
    assert sources.Parquet(file).identity() != one


@pytest.mark.parametrize("write", [made.parquet, made.hdf5, made.arrow, made.saved],
                         ids=lambda write: write.__name__)
def test_a_file_that_was_replaced_is_no_data(load, folder, tmp_path, write):
    path = write(folder, tmp_path)
    loader = load(path, batch_size=1, prefetch=2, inflight=2)
    batches = iter(loader)
    next(batches)
    victim = next(path.glob("*.arrow")) if path.is_dir() else path
    shutil.copy(victim, tmp_path / "other")
    os.replace(tmp_path / "other", victim)
    with pytest.raises(stoker.SampleError, match=f"{victim.name} was replaced or written to since"):
        for _ in range(20):
            next(batches)


@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_arrays_are_those_of_the_file(load, tmp_path, dtype):
    h5py = made.library("h5py")
    values = np.arange(9 * 24).reshape(9, 2, 3, 4).astype(dtype)
    with h5py.File(tmp_path / "x.hdf5", "w") as file:
        group = file.create_group("train")
        group["image"], group["label"], group["weight"] = values, np.arange(9), np.ones(9)
    loader = load({"path": tmp_path / "x.hdf5", "image": "train/image", "label": "train/label"},
                  transforms=(), dtype="float32")
    for index, (image, label) in enumerate(by_index(loader)):
        assert image.dtype == dtype and np.array_equal(image, values[index]) and label == index
    source = sources.HDF5(tmp_path / "x.hdf5", "train/image", "train/label", ["train/weight"])
    batch = next(iter(load(source, transforms=(), shuffle=False)))
    assert np.array_equal(batch["train/image"], values[:4])
    assert batch["train/weight"].tolist() == [1.0] * 4
    with pytest.raises(ValueError, match="has no column 'image', only 'train/image', "):
        sources.HDF5(tmp_path / "x.hdf5")


def test_arrays_of_zarr(load, tmp_path):
    zarr = made.library("zarr")
    values = np.arange(9 * 24, dtype=np.float32).reshape(9, 2, 3, 4)
    zarr.save_group(str(tmp_path / "x.zarr"), images=values, labels=np.arange(9))
    loader = load(tmp_path / "x.zarr", transforms=())
    for index, (image, label) in enumerate(by_index(loader)):
        assert np.array_equal(image, values[index]) and label == index
    one = sources.Zarr(tmp_path / "x.zarr").identity()
    shutil.copytree(tmp_path / "x.zarr", tmp_path / "copy.zarr")
    assert sources.Zarr(tmp_path / "copy.zarr").identity() == one
    zarr.open_group(str(tmp_path / "x.zarr"), mode="r+")["images"][0] = 7
    assert sources.Zarr(tmp_path / "x.zarr").identity() != one


def test_pictures_in_arrays_are_transformed(load, tmp_path):
    """Those of HDF5 and DICOM, as pictures of the daemon."""
    h5py = made.library("h5py")
    pixels = np.random.RandomState(1).randint(0, 256, (9, 20, 18, 3)).astype(np.uint8)
    with h5py.File(tmp_path / "x.h5", "w") as file:
        file["images"], file["labels"] = pixels, np.arange(9)
    found = by_index(load(tmp_path / "x.h5", transforms=[stoker.CenterCrop((20, 18))],
                          layout="NHWC"))
    assert all(np.array_equal(image, want) for (image, _), want in zip(found, pixels))
    made.library("pydicom")
    made.dicom(tmp_path / "scans", pixels[:5], "ct")
    made.dicom(tmp_path / "scans", pixels[5:], "mr")
    source = sources.DICOM(tmp_path / "scans")
    found = by_index(load(source, transforms=[stoker.CenterCrop((20, 18))], layout="NHWC"))
    assert all(np.array_equal(image, want) for (image, _), want in zip(found, pixels))
    assert [int(label) for _, label in found] == [0] * 5 + [1] * 4
    assert source.class_names == ["ct", "mr"]


def test_dicom_of_sixteen_bits(load, tmp_path):
    pydicom = made.library("pydicom")
    pixels = np.random.RandomState(2).randint(0, 4096, (7, 6, 5)).astype(np.uint16)
    folder = made.dicom(tmp_path / "scans", pixels)
    found = by_index(load(str(folder), transforms=(), num_workers=0))
    files = sorted(folder.glob("*.dcm"))
    for (image, label), file in zip(found, files):
        assert np.array_equal(image, pydicom.dcmread(file).pixel_array) and label == 0
    labelled = by_index(load(sources.DICOM(folder, labels=range(7)), transforms=()))
    assert [int(label) for _, label in labelled] == list(range(7))


def test_columns_of_numbers(load, tmp_path):
    pyarrow, parquet = made.library("pyarrow"), made.library("pyarrow.parquet")
    parquet.write_table(pyarrow.table({
        "x": [[float(row), row / 2] for row in range(9)], "y": list(range(9)), "text": ["a"] * 9,
        "nested": [[[row], [2]] for row in range(9)]}), tmp_path / "x.parquet", row_group_size=2)
    loader = load({"path": tmp_path / "x.parquet", "columns": ["x", "y", "nested"]},
                  transforms=(), shuffle=False)
    batch = next(iter(loader))
    assert batch["x"].tolist() == [[0, 0], [1, .5], [2, 1], [3, 1.5]]
    assert batch["y"].tolist() == [0, 1, 2, 3] and batch["nested"].shape == (4, 2, 1)
    with pytest.raises(TypeError, match="the column 'text' is string: an array's column has num"):
        sources.Parquet(tmp_path / "x.parquet", columns=["text"])


def test_labels_that_are_names(load, folder, tmp_path):
    pyarrow, parquet = made.library("pyarrow"), made.library("pyarrow.parquet")
    images, labels = made.pictures_of(folder)
    names = pyarrow.array([f"class{label}" for label in labels])
    for column in (names, names.dictionary_encode()):
        parquet.write_table(pyarrow.table({"image": images, "label": column}),
                            tmp_path / "x.parquet", row_group_size=5)
        source = sources.Parquet(tmp_path / "x.parquet")
        assert source.class_names == ["class0", "class1", "class2"]
        assert epoch(load(source, order="global")) == epoch(load(folder))
    vectors = next(iter(load(source, one_hot=True, shuffle=False)))[1]
    assert vectors.tolist() == [[1, 0, 0]] * 4


@pytest.mark.parametrize("label, words", [
    (None, "row 5: the label 'label' is null"), (float("nan"), "row 5: the label 'label' is nan"),
    (1.5, "row 5: the label 'label' is 1.5, and a picture's label is a whole number")])
def test_a_label_that_is_none(folder, tmp_path, label, words):
    pyarrow, parquet = made.library("pyarrow"), made.library("pyarrow.parquet")
    images, _ = made.pictures_of(folder)
    labels = pyarrow.array([1.0] * 5 + [label] + [1.0] * 15, from_pandas=False)
    parquet.write_table(pyarrow.table({"image": images, "label": labels}), tmp_path / "x.parquet")
    rows = sources.Parquet(tmp_path / "x.parquet").code
    assert rows[4] == (images[4], 1)
    with pytest.raises(ValueError, match=f"x.parquet: {words}"):
        rows[5]


def test_rows_without_bytes(folder, tmp_path):
    pyarrow, parquet = made.library("pyarrow"), made.library("pyarrow.parquet")
    parquet.write_table(pyarrow.table({"image": [{"bytes": None, "path": "a.jpg"},
                                                 {"bytes": b"x", "path": None}],
                                       "label": [0, 1]}), tmp_path / "x.parquet")
    rows = sources.Parquet(tmp_path / "x.parquet").code
    assert rows[1] == (b"x", 1)
    with pytest.raises(ValueError, match="row 0: there are no bytes in 'image'"):
        rows[0]


def test_missing_columns_name_those_there_are(folder, tmp_path):
    made.library("pyarrow")
    file = made.parquet(folder, tmp_path)
    with pytest.raises(ValueError, match="has no column 'picture', only 'image', 'label'; bytes"):
        sources.Parquet(file, image="picture")
    with pytest.raises(ValueError, match="has no column 'class', only 'image', 'label'; label=No"):
        sources.Parquet(file, label="class")
    with pytest.raises(TypeError, match="the column 'label' is int64, not bytes"):
        sources.Parquet(file, image="label")
    with pytest.raises(FileNotFoundError, match="no file fits '/no/such"):
        sources.Parquet("/no/such/*.parquet")
    dataset = made.hugging_face(folder)
    with pytest.raises(ValueError, match="has no column 'class', only 'image', 'label'; label=No"):
        sources.HuggingFace(dataset, label="class")
    with pytest.raises(ValueError, match="has a transform of your own"):
        sources.HuggingFace(dataset.with_transform(lambda row: row))


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_what_is_no_such_file_is_named(tmp_path, name):
    made.library("pyarrow")
    (tmp_path / name).write_bytes(b"what is it, and whose")
    with pytest.raises(ValueError, match=f"{name}: "):
        sources.found(str(tmp_path / name))


@pytest.mark.parametrize("name, module, package", [
    ("Parquet", "pyarrow.parquet", "pyarrow"), ("Arrow", "pyarrow", "pyarrow"),
    ("HuggingFace", "datasets", "datasets"), ("HDF5", "h5py", "h5py"), ("Zarr", "zarr", "zarr"),
    ("DICOM", "pydicom", "pydicom"), ("Lance", "lance", "pylance"),
    ("LitData", "litdata", "litdata"), ("MDS", "streaming.base.format", "mosaicml-streaming")])
def test_a_missing_library_is_named(tmp_path, monkeypatch, name, module, package):
    monkeypatch.setitem(sys.modules, module, None)
    for file in ("x.parquet", "x.arrow", "zarr.json", "000.dcm"):
        (tmp_path / file).write_bytes(b"")
    index = {"chunks": [], "config": {}} if name == "LitData" else {"shards": [{
        "format": "mds", "column_names": ["image", "label"], "column_encodings": ["png", "int"],
        "samples": 1, "raw_data": {"basename": "x.arrow"}}]}
    (tmp_path / "index.json").write_text(json.dumps(index))
    path = tmp_path / "x.parquet" if name == "HDF5" else tmp_path
    with pytest.raises(ImportError, match=f"pip install {package}"):
        rows = getattr(sources, name)(path).code
        rows[0]  # MDS looks at its index by itself


def test_hugging_faces_cache_by_its_name(load, folder, tmp_path, monkeypatch):
    datasets = made.library("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    dataset = made.hugging_face(folder)
    home = tmp_path / "cache" / "owner___name" / "default" / "0.0.0" / "abc"
    home.mkdir(parents=True)
    with datasets.arrow_writer.ArrowWriter(path=str(home / "name-train.arrow"),
                                           features=dataset.features) as writer:
        writer.write_table(dataset.data.table)
        writer.finalize()
    info = dataset.info.copy()
    info.splits = {"train": datasets.splits.SplitInfo("train", 1, 21, dataset_name="name")}
    info.builder_name = info.dataset_name = "name"
    info.config_name = "default"
    info.version = datasets.Version("0.0.0")
    info.write_to_directory(str(home))
    assert epoch(load("hf://owner/name")) == epoch(load(folder))
    with pytest.raises(FileNotFoundError, match="hf://owner/other is not on this machine: "
                                                "datasets.load_dataset"):
        load("hf://owner/other")
