# SPDX-License-Identifier: MIT
"""CIFAR and MNIST, small, written as they are published: what the tests compare with."""

import gzip
import io
import os
import pickle
import struct
import tarfile
import zipfile

import numpy as np

CIFAR10 = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship",
           "truck"]
FINE = [f"fine {number}" for number in range(100)]
COARSE = [f"coarse {number}" for number in range(20)]


def pictures(count, shape, seed=1):
    return np.random.default_rng(seed).integers(0, 256, (count, *shape), dtype=np.uint8)


def planes(images):
    """(N, 32, 32, 3) as CIFAR's rows of 3072."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2).reshape(len(images), -1))


def python2(value):
    """A pickle as Python 2 and the NumPy of its days wrote it: as CIFAR is published."""
    if isinstance(value, dict):
        return b"}q\x01(" + b"".join(python2(k) + python2(v) for k, v in value.items()) + b"u"
    if isinstance(value, list):
        return b"]q\x02(" + b"".join(python2(item) for item in value) + b"e"
    if isinstance(value, int):
        return b"K" + bytes([value]) if value < 256 else b"M" + struct.pack("<H", value)
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return b"U" + bytes([len(value)]) + value
    return (b"cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85U\x01b\x87R"
            b"q\x05(K\x01" + python2(len(value)) + b"M\x00\x0c\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K"
            b"\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb\x89T"
            + struct.pack("<I", value.size) + value.tobytes() + b"tb")


def dump(value, protocol):
    """Of a protocol; 0: what Python 2 wrote with its protocol 2."""
    if protocol == 0:
        return b"\x80\x02" + python2(value) + b"."
    return pickle.dumps(value, protocol)


def cifar10(images, labels, python=None, test=False):
    """{name: bytes} of one split; `python`: a protocol, or None for the binary form."""
    parts = np.array_split(np.arange(len(images)), 1 if test else 5)
    out = {}
    for number, part in enumerate(parts, 1):
        name = "test_batch" if test else f"data_batch_{number}"
        rows, own = planes(images[part]), [int(label) for label in labels[part]]
        if python is None:
            out[name + ".bin"] = np.concatenate(
                [np.array(own, np.uint8)[:, None], rows], 1).tobytes()
        else:
            out[name] = dump({b"batch_label": b"training batch", b"labels": own, b"data": rows,
                              b"filenames": [b"%d.png" % i for i in part]}, python)
    if python is None:
        out["batches.meta.txt"] = ("\n".join(CIFAR10) + "\n\n").encode()
    else:
        out["batches.meta"] = dump({"num_cases_per_batch": 10000, "label_names": CIFAR10,
                                    "num_vis": 3072}, python)
    return out


def cifar100(images, fine, coarse, python=None, test=False):
    name = "test" if test else "train"
    rows = planes(images)
    if python is None:
        labels = np.stack([coarse, fine], 1).astype(np.uint8)
        return {name + ".bin": np.concatenate([labels, rows], 1).tobytes(),
                "fine_label_names.txt": "\n".join(FINE).encode(),
                "coarse_label_names.txt": "\r\n".join(COARSE).encode()}
    return {name: dump({"filenames": ["a"] * len(rows), "batch_label": "training",
                        "fine_labels": [int(label) for label in fine],
                        "coarse_labels": [int(label) for label in coarse], "data": rows}, python),
            "meta": dump({"fine_label_names": FINE, "coarse_label_names": COARSE}, python)}


def idx(array):
    return struct.pack(">BBBB", 0, 0, 8, array.ndim) + b"".join(
        struct.pack(">I", size) for size in array.shape) + array.astype(np.uint8).tobytes()


def mnist(images, labels, test=False, packed=False):
    start, end = "t10k" if test else "train", ".gz" if packed else ""
    pack = gzip.compress if packed else bytes
    return {f"{start}-images-idx3-ubyte{end}": pack(idx(images)),
            f"{start}-labels-idx1-ubyte{end}": pack(idx(labels))}


def put(path, files):
    """The files as a folder, or as the archive that the path's ending says; returns the path."""
    path = str(path)
    if path.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    elif ".tar" in path or path.endswith(".tgz"):
        with tarfile.open(path, "w" if path.endswith(".tar") else "w:gz") as archive:
            for name, data in files.items():
                entry = tarfile.TarInfo("published/" + name)
                entry.size = len(data)
                archive.addfile(entry, io.BytesIO(data))
    else:
        os.makedirs(path, exist_ok=True)
        for name, data in files.items():
            with open(os.path.join(path, name), "wb") as file:
                file.write(data)
    return path
