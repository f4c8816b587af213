# SPDX-License-Identifier: MIT
"""Keras' ImageDataGenerator with the daemon behind its flows."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import keras
import numpy as np
from keras.src.utils import io_utils

try:
    from keras.src.legacy.preprocessing.image import ImageDataGenerator as _Original
except ImportError as error:
    raise ImportError(f"keras {keras.__version__} has no ImageDataGenerator any more: stoker.keras "
                      "needs keras 3.0 to 3.15") from error

from .. import _options
from .data import (Files, Images, files_of_dataframe, files_of_directory,
                          files_of_folder, manifest, split_range)
from .flow import Flow
from .prepared import mapped
from ..loader import Loader
from ..node import connect

_SPLITS = ("training", "validation")
_FLAGS = {"featurewise_center", "samplewise_center", "featurewise_std_normalization",
          "samplewise_std_normalization", "zca_whitening", "horizontal_flip", "vertical_flip"}
_LABELLED = ("categorical", "binary", "sparse")


class ImageDataGenerator(_Original):  # type: ignore[misc]
    """ImageDataGenerator of Keras; the daemon does the work.

    The arguments are those of keras.preprocessing.image.ImageDataGenerator and mean the same. Only
    the random numbers differ: here the same seed gives the same epoch with any number of workers,
    on any machine. get_random_transform(), apply_transform(), random_transform() and standardize()
    are Keras' own, in this process.

    ``preprocessing_function`` runs in producers, as many as there are processors (eight at most),
    see stoker.Map: the daemon reads, decodes and resizes, and Keras' own code does the rest there,
    with random numbers that hang on the seed, the epoch and the place alone. Of images with alpha,
    or of numbers that are no bytes, and where the function cannot be pickled, it runs in this
    process, on one image after the other: after the daemon has rotated, shifted and so on, and
    before rescale and all that centres, normalises or whitens, which then run here, too.

    fit() computes what it needs from the given array, as Keras does; for ZCA whitening of bytes the
    daemon does (images up to 32 x 32; it takes a minute or two).

    dtype: of images, and of labels by class_mode: float32 or float16; None: Keras' floatx.
    socket: of the daemon, as for stoker.connect().
    Raises ValueError for what is not supported, and says what to do instead.
    """

    @_options.named
    def __init__(self, featurewise_center: bool = False, samplewise_center: bool = False,
                 featurewise_std_normalization: bool = False,
                 samplewise_std_normalization: bool = False, zca_whitening: bool = False,
                 zca_epsilon: float = 1e-6, rotation_range: float = 0,
                 width_shift_range: Any = 0.0, height_shift_range: Any = 0.0,
                 brightness_range: Optional[Sequence[float]] = None, shear_range: float = 0.0,
                 zoom_range: Any = 0.0, channel_shift_range: float = 0.0,
                 fill_mode: str = "nearest", cval: float = 0.0, horizontal_flip: bool = False,
                 vertical_flip: bool = False, rescale: Optional[float] = None,
                 preprocessing_function: Optional[Callable[[Any], Any]] = None,
                 data_format: Optional[str] = None, validation_split: float = 0.0,
                 interpolation_order: int = 1, dtype: Optional[str] = None, *,
                 socket: Optional[str] = None) -> None:
        super().__init__(
            featurewise_center, samplewise_center, featurewise_std_normalization,
            samplewise_std_normalization, zca_whitening, zca_epsilon, rotation_range,
            width_shift_range, height_shift_range, brightness_range, shear_range, zoom_range,
            channel_shift_range, fill_mode, cval, horizontal_flip, vertical_flip, rescale,
            preprocessing_function, data_format, validation_split, interpolation_order, dtype)
        if self.dtype not in ("float32", "float16"):
            raise ValueError(f"dtype must be 'float32' or 'float16', not {self.dtype!r}: cast in "
                             "the model")
        if interpolation_order != 1:
            raise ValueError("interpolation_order must be 1 (linear), not "
                             f"{interpolation_order!r}: leave it out")
        self._socket = socket
        self._statistics: Optional[str] = None  # the daemon's, for whitening
        self._fitted: Optional[Tuple[Any, ...]] = None  # the arguments of fit(), for whitening here

    @property
    def zca_whitening_matrix(self) -> Any:
        """For standardize(). Computed when it is first asked for; flows have the daemon's."""
        if self._zca is None and self._fitted is not None:
            super().fit(*self._fitted)
        return self._zca

    @zca_whitening_matrix.setter
    def zca_whitening_matrix(self, matrix: Any) -> None:
        self._zca = matrix

    def fit(self, x: Any, augment: bool = False, rounds: int = 1,
            seed: Optional[int] = None) -> None:
        """Compute what featurewise_center, featurewise_std_normalization and zca_whitening need,
        from sample data ``x`` after ``rescale``: an array as for flow(). It applies to all flows
        that are made afterwards, also of other images. With ``augment`` from ``rounds`` random
        transformations of it, made here, which is as slow as in Keras.

        The daemon whitens by what it has computed itself: of images of three channels, of bytes or
        of whole numbers from 0 to 255, without ``augment``. By a matrix that is computed here,
        batches are multiplied here, too."""
        self._statistics = self._fitted = None
        if not self.zca_whitening or augment:
            super().fit(x, augment, rounds, seed)
            return
        images = Images(x, self.data_format)
        if not images.colour:
            super().fit(x, augment, rounds, seed)
            return
        with connect(self._socket) as node:
            done = node.fit(images.file, name="keras", zca=True, rescale=self.rescale,
                            zca_epsilon=self.zca_epsilon)
        self._statistics = done["digest"]
        self._zca = None
        self._fitted = (x, augment, rounds, seed)
        self.mean = np.reshape(done["mean"], self._broadcast(3))

    def _broadcast(self, channels: int) -> List[int]:
        return [1, 1, channels] if self.data_format == "channels_last" else [channels, 1, 1]

    @_options.named
    def flow(self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True,
             sample_weight: Any = None, seed: Optional[int] = None,
             save_to_dir: Optional[str] = None, save_prefix: str = "", save_format: str = "png",
             ignore_class_split: bool = False, subset: Optional[str] = None) -> Flow:
        """Batches of an array: (N, H, W, C), or (N, C, H, W) for channels first, with 1, 3 or 4
        channels, of bytes or floats. Or (array, others): each batch of images comes as a list,
        with the entries of the other array, or arrays, that belong to them.

        The array is copied once to memory without a name, for the daemon, which is free again with
        the flow. A batch is images, (images, y) or (images, y,
        sample_weight), with the entries of y and sample_weight that belong to the images. subset:
        training or validation, split by ``validation_split``: the first part of the array is for
        validation. Both parts must have the same labels, unless ``ignore_class_split``.
        """
        x, others = _taken_apart(x)
        for name, other in (("y", y), ("sample_weight", sample_weight),
                            *(("x[1]", other) for other in others)):
            if other is not None and len(other) != len(x):
                raise ValueError(f"{name} has {len(other)} entries, but x has {len(x)}"
                                 ": give as many")
        part = split_range(len(x), self._split(subset))
        if subset and y is not None and not ignore_class_split and \
                not np.array_equal(np.unique(y[:(part.start or part.stop)]),
                                   np.unique(y[(part.start or part.stop):])):
            raise ValueError("training and validation would not have the same labels: shuffle the "
                             "arrays if they are sorted by label, or give ignore_class_split=True")
        x, others = np.asarray(x)[part], [other[part] for other in others]
        y, sample_weight = (None if each is None else np.asarray(each)[part]
                            for each in (y, sample_weight))
        images = Images(x, self.data_format)

        def answers(pictures: Any, index: Any) -> Any:
            given = [pictures, *(other[index] for other in others)] if others else pictures
            if y is None:
                return given
            return (given, y[index]) if sample_weight is None else \
                (given, y[index], sample_weight[index])
        size = images.size if images.gray or images.colour else None
        loader = self._loader(images.file, [], batch_size, shuffle, seed, size=size,
                              gray=images.gray)
        return self._flow(
            loader, answers, None, shuffle, seed, gray=images.gray,
            save_to_dir=save_to_dir, save_prefix=save_prefix, save_format=save_format, x=x, y=y,
            x_misc=others, sample_weight=sample_weight)

    @_options.named
    def flow_from_directory(self, directory: Any, target_size: Tuple[int, int] = (256, 256),
                            color_mode: str = "rgb", classes: Optional[List[str]] = None,
                            class_mode: Optional[str] = "categorical", batch_size: int = 32,
                            shuffle: bool = True, seed: Optional[int] = None,
                            save_to_dir: Optional[str] = None, save_prefix: str = "",
                            save_format: str = "png", follow_links: bool = False,
                            subset: Optional[str] = None, interpolation: str = "nearest",
                            keep_aspect_ratio: bool = False) -> Flow:
        """Batches of a folder with one subfolder per class; target_size is (height, width).

        classes: only these, numbered in this order. class_mode: categorical (one-hot), binary or
        sparse (numbers), input (the images again) or None (images only). color_mode: rgb, rgba or
        grayscale.
        """
        if class_mode not in (*_LABELLED, "input", None):
            raise ValueError("class_mode must be one of categorical, binary, sparse, input and "
                             f"None, not {class_mode!r}")
        directory = os.fsdecode(directory)
        split = self._split(subset)
        before = _before(target_size, color_mode, interpolation, keep_aspect_ratio)
        loader, rows = None, None
        files = files_of_directory(directory, classes or _folders(directory), follow_links, None)
        if not classes and not follow_links and files.every_class():
            sampler = None if subset is None else {
                "name": "split", "subset": subset, "validation_split": self._validation_split}
            loader = self._loader(directory, before, batch_size, shuffle, seed, sampler=sampler,
                                  **_form(color_mode, target_size))
            names = _paths(loader)
            if sorted(names) == sorted(files.names):
                files, rows = files_of_folder(directory, names, loader.classes, split)
            else:  # endings and links that count for the daemon and not for Keras
                loader.close()
                loader = None
        if loader is None:
            files = files_of_directory(directory, files.classes or (), follow_links, split)
            loader = self._loader(manifest(files.paths), before, batch_size, shuffle, seed,
                                  **_form(color_mode, target_size))
        return self._flow_of_files(
            loader, files, rows, class_mode, shuffle, seed, target_size=tuple(target_size),
            color_mode=color_mode, interpolation=interpolation, save_to_dir=save_to_dir,
            save_prefix=save_prefix, save_format=save_format, subset=subset, directory=directory,
            keep_aspect_ratio=keep_aspect_ratio)

    @_options.named
    def flow_from_dataframe(self, dataframe: Any, directory: Optional[str] = None,
                            x_col: str = "filename", y_col: Any = "class",
                            weight_col: Optional[str] = None,
                            target_size: Tuple[int, int] = (256, 256), color_mode: str = "rgb",
                            classes: Optional[List[str]] = None,
                            class_mode: Optional[str] = "categorical", batch_size: int = 32,
                            shuffle: bool = True, seed: Optional[int] = None,
                            save_to_dir: Optional[str] = None, save_prefix: str = "",
                            save_format: str = "png", subset: Optional[str] = None,
                            interpolation: str = "nearest", validate_filenames: bool = True,
                            keep_aspect_ratio: bool = False) -> Flow:
        """Batches of the files that a pandas.DataFrame, or a dict of columns, lists.

        class_mode: as for flow_from_directory(), of the names in y_col; or raw (the values of
        y_col), or multi_output (a list of the values of the columns y_col). validation_split takes
        the first rows for validation.
        """
        class_mode = "raw" if class_mode == "other" else class_mode
        if class_mode not in (*_LABELLED, "input", "multi_output", "raw", None):
            raise ValueError("class_mode must be one of categorical, binary, sparse, input, "
                             f"multi_output, raw and None, not {class_mode!r}")
        files = files_of_dataframe(dataframe, directory, x_col, y_col, weight_col, classes,
                                   class_mode, validate_filenames, self._split(subset))
        before = _before(target_size, color_mode, interpolation, keep_aspect_ratio)
        loader = self._loader(manifest(files.paths), before, batch_size, shuffle, seed,
                              **_form(color_mode, target_size))
        return self._flow_of_files(
            loader, files, None, class_mode, shuffle, seed,
            target_size=tuple(target_size), color_mode=color_mode, interpolation=interpolation,
            save_to_dir=save_to_dir, save_prefix=save_prefix, save_format=save_format,
            subset=subset, directory=directory or "", keep_aspect_ratio=keep_aspect_ratio)

    def _loader(self, dataset: Any, before: List[Dict[str, Any]], batch_size: int, shuffle: bool,
                seed: Optional[int], sampler: Any = None, color_mode: str = "rgb",
                size: Optional[Tuple[int, int]] = None, gray: bool = False) -> Loader:
        """``size``: that of pictures of bytes, which a function may get; ``gray``: as one channel.
        """
        by_producers = None
        if self.preprocessing_function and size is not None and color_mode != "rgba":
            by_producers = mapped(self._kerass(), size, gray)
        generator = by_producers or self._transform()
        if color_mode == "rgba":
            generator["color_mode"] = color_mode
        return connect(self._socket).loader(
            dataset, batch_size=batch_size, shuffle=shuffle, sampler=sampler,
            seed=np.random.randint(2**31) if seed is None else seed, dtype=self.dtype,
            layout="NHWC" if self.data_format == "channels_last" else "NCHW",
            transforms=before + [generator])

    def _kerass(self) -> Any:
        """A generator of Keras' own class that does the same, for other processes."""
        out = _Original.__new__(_Original)
        out.__dict__.update((name, value) for name, value in vars(self).items()
                            if name not in ("_socket", "_statistics", "_fitted", "_zca"))
        out.zca_whitening_matrix = self.zca_whitening_matrix
        return out

    def _flow_of_files(self, loader: Loader, files: Files, rows: Any, class_mode: Optional[str],
                       shuffle: bool, seed: Optional[int], **attributes: Any) -> Flow:
        """``rows``: the number of each file in the dataset; None: its place."""
        found = f"Found {len(files.names)} images"
        if files.classes is not None:
            found += f" belonging to {len(files.classes)} classes"
            attributes.update(classes=files.labels, num_classes=len(files.classes),
                              class_indices={name: label
                                             for label, name in enumerate(files.classes)})
        io_utils.print_msg(found + ".")
        return self._flow(
            loader, _answers(class_mode, files, self.dtype), rows, shuffle, seed,
            gray=attributes["color_mode"] == "grayscale", class_mode=class_mode,
            filenames=files.names, filepaths=files.paths,
            labels=files.labels, sample_weight=files.weights, **attributes)

    def _flow(self, loader: Loader, answers: Callable[[Any, Any], Any], rows: Any, shuffle: bool,
              seed: Optional[int], gray: bool, **attributes: Any) -> Flow:
        by_producers = loader._reader.tree is not None
        here = self.preprocessing_function and not by_producers
        return Flow(loader, answers, gray=gray and not by_producers, rows=rows, shuffle=shuffle,
                    seed=seed, dtype=self.dtype, data_format=self.data_format,
                    image_data_generator=self,
                    prepare=self.standardize if here else None,
                    whiten=self._zca if self._whitens_here() else None, **attributes)

    def _whitens_here(self) -> bool:
        """Batches, after the daemon has done the rest."""
        return bool(self.zca_whitening and self._zca is not None and self._statistics is None
                    and not self.preprocessing_function)

    def _split(self, subset: Optional[str]) -> Optional[Tuple[float, float]]:
        if subset is None:
            return None
        if subset not in _SPLITS:
            raise ValueError(f"subset must be 'training', 'validation' or None, not {subset!r}")
        at = self._validation_split
        return (0, at) if subset == "validation" else (at, 1)

    def _transform(self) -> Dict[str, Any]:
        """What the daemon does: all, or with a function of the user's what comes before it."""
        names = ["rotation_range", "width_shift_range", "height_shift_range", "brightness_range",
                 "shear_range", "zoom_range", "channel_shift_range", "fill_mode", "cval",
                 "horizontal_flip", "vertical_flip"]
        if not self.preprocessing_function:
            names += ["rescale", "featurewise_center", "samplewise_center",
                      "featurewise_std_normalization", "samplewise_std_normalization",
                      "zca_epsilon"]
            if not self._whitens_here():
                names.append("zca_whitening")
        out = {name: getattr(self, name) for name in names}
        out = {name: bool(value) if name in _FLAGS else value for name, value in out.items()}
        if not self.preprocessing_function:
            out.update(self._means())
        return {"name": "ImageDataGenerator", **out}

    def _means(self) -> Dict[str, Any]:
        if self._statistics is not None:
            return {"statistics": self._statistics}
        found = {"featurewise_mean": self.mean if self.featurewise_center else None,
                 "featurewise_std": self.std if self.featurewise_std_normalization else None}
        return {name: _channels(value) for name, value in found.items() if value is not None}


def _channels(value: Any) -> Any:
    """A number for all channels, or one for each."""
    numbers = np.ravel(value).astype(float).tolist()
    return numbers[0] if len(numbers) == 1 else numbers


def _form(color_mode: str, target_size: Tuple[int, int]) -> Dict[str, Any]:
    """Of pictures of files, for _loader()."""
    return {"color_mode": color_mode, "size": tuple(target_size), "gray": color_mode == "grayscale"}


def _before(target_size: Tuple[int, int], color_mode: str, interpolation: str,
            keep_aspect_ratio: bool) -> List[Dict[str, Any]]:
    """What is done to a file's picture before the generator."""
    if color_mode not in ("rgb", "rgba", "grayscale"):
        raise ValueError("color_mode must be 'rgb', 'rgba' or 'grayscale', not "
                         f"{color_mode!r}")
    resize = {"name": "AspectResize" if keep_aspect_ratio else "Resize",
              "size": list(target_size), "interpolation": interpolation}
    gray = {"name": "Grayscale", "num_output_channels": 3}
    return [gray, resize] if color_mode == "grayscale" else [resize]


def _taken_apart(x: Any) -> Tuple[Any, List[Any]]:
    """The images, and the other arrays that come with them."""
    if not isinstance(x, (tuple, list)):
        return x, []
    others = x[1] if isinstance(x[1], list) else [x[1]]
    return x[0], [np.asarray(other) for other in others]


def _answers(class_mode: Optional[str], files: Files, dtype: str) -> Callable[[Any, Any], Any]:
    def beside(images: Any, places: Any) -> Any:
        if class_mode == "input":
            return images.copy()
        if class_mode == "multi_output":
            return [each[places] for each in files.labels]
        if class_mode == "raw":
            return files.labels[places]
        labels = [files.labels[place] for place in places]
        if class_mode != "categorical":
            return np.array(labels, dtype)
        hot = np.zeros((len(labels), len(files.classes or ())), dtype)
        for row, label in zip(hot, labels):
            row[label] = 1  # of several classes all
        return hot

    def answers(images: Any, places: Any) -> Any:
        if class_mode is None:
            return images
        y = beside(images, places)
        return (images, y) if files.weights is None else (images, y, files.weights[places])
    return answers


def _folders(directory: str) -> List[str]:
    return sorted(entry.name for entry in os.scandir(directory) if entry.is_dir())


def _paths(loader: Loader) -> List[str]:
    """The paths of all samples of its dataset."""
    out: List[str] = []
    after = 0
    while True:
        page = loader._reader.listing("paths", after)
        out += loader._names(page["items"])
        if page["next"] <= after:
            return out
        after = page["next"]
