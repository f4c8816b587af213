# SPDX-License-Identifier: MIT
"""Files of many formats with the pictures of a folder, for test_sources.py; each is written by its
own library."""
import importlib
import pathlib

import numpy as np
import pytest


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} is not here: {error}")


def pictures_of(folder):
    """The bytes of the pictures and the numbers of their classes, in the folder's order."""
    files = sorted(pathlib.Path(folder).rglob("*.png"))
    return [file.read_bytes() for file in files], [int(file.parent.name[-1]) for file in files]


def table_of(folder, **more):
    """As Hugging Face writes it, with names of classes in the schema's metadata."""
    pyarrow = library("pyarrow")
    images, labels = pictures_of(folder)
    return pyarrow.table({"image": [{"bytes": data, "path": None} for data in images],
                          "label": labels, **more})


def parquet(folder, out, **more):
    library("pyarrow.parquet").write_table(table_of(folder, **more), out / "x.parquet",
                                           row_group_size=4)
    return out / "x.parquet"


def parquet_folder(folder, out):
    pyarrow, writer = library("pyarrow"), library("pyarrow.parquet")
    images, labels = pictures_of(folder)
    whole = pyarrow.table({"img": images, "labels": labels})
    (out / "parts").mkdir()
    for number, first in enumerate((0, 8, 16)):
        writer.write_table(whole.slice(first, 8), out / f"parts/{number}.parquet")
    return out / "parts"


def arrow(folder, out):
    pyarrow = library("pyarrow")
    table = table_of(folder)
    with pyarrow.OSFile(str(out / "x.arrow"), "wb") as file, \
            pyarrow.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=5)
    return out / "x.arrow"


def feather(folder, out):
    library("pyarrow.feather").write_feather(table_of(folder), str(out / "x.feather"),
                                             compression="lz4")
    return out / "x.feather"


def hugging_face(folder, out=None):
    """A Dataset with the features of pictures and classes."""
    datasets = library("datasets")
    images, labels = pictures_of(folder)
    return datasets.Dataset.from_dict(
        {"image": [{"bytes": data, "path": None} for data in images], "label": labels},
        features=datasets.Features({"image": datasets.Image(), "label": datasets.ClassLabel(
            names=["class0", "class1", "class2"])}))


def saved(folder, out):
    hugging_face(folder).save_to_disk(out / "saved")
    return out / "saved"


def hdf5(folder, out):
    h5py = library("h5py")
    images, labels = pictures_of(folder)
    with h5py.File(out / "x.h5", "w") as file:
        rows = file.create_dataset("images", len(images), dtype=h5py.vlen_dtype(np.uint8))
        for number, data in enumerate(images):
            rows[number] = np.frombuffer(data, np.uint8)
        file["labels"] = labels
    return out / "x.h5"


def mds(folder, out):
    writer = library("streaming").MDSWriter
    images, labels = pictures_of(folder)
    with writer(out=str(out / "mds"), columns={"image": "png", "label": "int", "more": "pkl"},
                size_limit=1 << 11) as rows:
        for data, label in zip(images, labels):
            import io

            from PIL import Image
            rows.write({"image": Image.open(io.BytesIO(data)), "label": label, "more": {}})
    return out / "mds"


def litdata(folder, out):
    cache = library("litdata.streaming.cache").Cache
    images, labels = pictures_of(folder)
    (out / "lit").mkdir()
    rows = cache(str(out / "lit"), chunk_size=6)
    for number, (data, label) in enumerate(zip(images, labels)):
        rows[number] = {"image": data, "label": label}
    rows.done()
    rows.merge()
    return out / "lit"


def lance(folder, out):
    library("lance").write_dataset(table_of(folder).flatten().rename_columns(
        ["image", "path", "label"]).drop_columns(["path"]), str(out / "x.lance"),
        max_rows_per_file=6)
    return out / "x.lance"


def dicom(out, pixels, folder=""):
    """A file of each array; uint8 H x W x 3 are RGB, others grey."""
    dataset, uid = library("pydicom.dataset"), library("pydicom.uid")
    (out / folder).mkdir(parents=True, exist_ok=True)
    for number, array in enumerate(pixels):
        meta = dataset.FileMetaDataset()
        meta.TransferSyntaxUID = uid.ExplicitVRLittleEndian
        meta.MediaStorageSOPClassUID = uid.SecondaryCaptureImageStorage
        meta.MediaStorageSOPInstanceUID = f"1.2.3.{number}"
        made = dataset.Dataset()
        made.file_meta = meta
        made.Rows, made.Columns = array.shape[:2]
        bits = array.dtype.itemsize * 8
        made.BitsAllocated = made.BitsStored = bits
        made.HighBit = bits - 1
        made.PixelRepresentation = 0
        made.SamplesPerPixel = 1 if array.ndim == 2 else 3
        made.PhotometricInterpretation = "MONOCHROME2" if array.ndim == 2 else "RGB"
        if array.ndim == 3:
            made.PlanarConfiguration = 0
        made.PixelData = array.tobytes()
        made.save_as(out / folder / f"{number:03}.dcm", enforce_file_format=True)
    return out


FORMATS = [parquet, parquet_folder, arrow, feather, hugging_face, saved, hdf5, mds, litdata, lance]
