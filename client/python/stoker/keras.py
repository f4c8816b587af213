# SPDX-License-Identifier: MIT
"""For Keras 3: a loader as a keras.utils.PyDataset, and Keras' ImageDataGenerator. Needs keras.

    model.fit(stoker.keras.Dataset(train), validation_data=stoker.keras.Dataset(val), epochs=90)

    images = stoker.keras.ImageDataGenerator(rotation_range=15, horizontal_flip=True, rescale=1/255)
    model.fit(images.flow_from_directory("/data/train", target_size=(224, 224)), epochs=90)
"""
from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np

try:
    import keras
except ImportError as error:
    raise ImportError("stoker.keras needs keras 3: pip install keras") from error

from .batch import Batch
from .loader import Iteration, Loader
from .node import connect

__all__ = ["Dataset", "Flow", "ImageDataGenerator"]


class Dataset(keras.utils.PyDataset):  # type: ignore[misc]
    """The epochs of a loader: (images, labels), or (images, labels, weights) if the dataset has the
    field "weight", as copied NumPy arrays.

    Most Keras models have channels last: give the loader layout="NHWC". Raises ValueError for a
    loader of bfloat16, which NumPy does not have.

    The daemon has already shuffled the samples, and a resumed run must repeat its order. So each
    index that Keras asks for gives the next batch of the epoch. Give fit() steps_per_epoch only to
    make epochs shorter, and leave workers at 1: the daemon has the workers.

    To resume, use state_dict() and load_state_dict() of the loader. Keras counts whole epochs: an
    epoch that starts in the middle is filled up with the first batches of the next one, and the
    rest of that one is skipped. To skip nothing, first run fit(epochs=1, steps_per_epoch=n) for the
    n batches that are left.
    """

    def __init__(self, loader: Loader) -> None:
        super().__init__(workers=1, use_multiprocessing=False)
        if loader.dtype == "bfloat16":
            raise ValueError("keras cannot take bfloat16 from NumPy: use dtype float16 or float32")
        self.loader = loader
        self._batches: Optional[Iteration[Batch]] = None
        self._start: Dict[str, Any] = {}  # where this iteration began
        self._taken = 0  # batches taken since
        self._begun = self._ever = False  # is Keras in an epoch, was it in one?

    def __len__(self) -> int:
        return len(self.loader)

    def _next(self) -> Batch:
        """The next batch of the epoch, or the first of the next epoch: an epoch that was started in
        the middle has fewer batches than Keras asks for."""
        if self._batches is None:
            self._batches = self.loader.batches()
            self._start, self._taken = self.loader.state_dict(), 0
        self._taken += 1
        try:
            return next(self._batches)
        except StopIteration:
            self._batches = self.loader.batches()
            return next(self._batches)

    def __getitem__(self, index: int) -> Any:
        with self._next() as batch:
            return tuple(batch[name].copy() for name in ("image", "label", "weight")
                         if name in self.loader.fields)

    def on_epoch_begin(self) -> None:
        self._begun = True

    def on_epoch_end(self) -> None:
        """The next batch is the first of the next epoch. Keras takes up to two batches to learn the
        shapes (with TensorFlow before each fit(), with other backends before the first epoch);
        these come again."""
        looked = self._taken <= 2 and not (self._begun and self._ever)
        if self._batches is not None and looked and self._taken < len(self):
            self.loader.load_state_dict(self._start)
        self._batches = None
        self._ever |= self._begun
        self._begun = False


class Flow(Dataset):
    """The result of ImageDataGenerator.flow() and flow_from_directory(): for model.fit(),
    evaluate() and predict(). ``next(flow)`` gives a batch.

    Attributes, as of Keras' iterators: samples (of an epoch), batch_size, image_shape; for a
    directory also class_indices (name -> label) and num_classes.
    """

    def __init__(self, loader: Loader, answers: Callable[[Any, Batch], Any],
                 prepare: Optional[Callable[[Any], Any]] = None, gray: bool = False) -> None:
        super().__init__(loader)
        self.batch_size = loader.batch_size
        self.samples = self.n = loader.samples
        self._answers = answers
        self._prepare = prepare
        self._channel: Tuple[Any, ...] = (Ellipsis,)
        if gray:
            last = loader.layout == "NHWC"
            self._channel = (Ellipsis, slice(1)) if last else (slice(None), slice(1))
        shape = (1,) + tuple(loader.fields["image"].shape)
        self.image_shape = np.empty(shape, bool)[self._channel].shape[1:]

    @property
    def class_indices(self) -> Dict[str, int]:
        return {name: label for label, name in enumerate(self.loader.classes)}

    @property
    def num_classes(self) -> int:
        return len(self.loader.classes)

    def __getitem__(self, index: int) -> Any:
        with self._next() as batch:
            images = batch.images[self._channel].copy()
            if self._prepare is not None:
                for number, image in enumerate(images):
                    images[number] = self._prepare(image)
            return self._answers(images, batch)

    def __next__(self) -> Any:
        """The next batch; after the last one of an epoch the first of the next, as in Keras."""
        return self[0]

    def reset(self) -> None:
        """Begin the epoch again."""
        self.loader.set_epoch(self.loader.epoch)
        self._batches = None


class ImageDataGenerator:
    """ImageDataGenerator of Keras; the daemon does the work.

    The arguments are those of keras.preprocessing.image.ImageDataGenerator and mean the same. Only
    the random numbers differ: here the same seed gives the same epoch with any number of workers,
    on any machine. ``preprocessing_function`` runs in the training process, on one image after the
    other, after everything that the daemon does. So it cannot be combined with arguments that Keras
    applies after it (rescale, and those that centre, normalise or whiten).

    fit() computes what it needs from the given array, as Keras does; for ZCA whitening the daemon
    does (images up to 32 x 32; it takes a minute or two). Arguments of model.fit() such as workers
    and max_queue_size are not needed: the daemon has its own workers. Instead of
    flow_from_dataframe() use a manifest and Node.loader(), instead of ``save_to_dir``
    ``stokerctl preview``.

    dtype: of images, and of labels by class_mode: float32 or float16; None: Keras' floatx.
    socket: of the daemon, as for stoker.connect().
    Raises ValueError for what is not supported, and says what to do instead.
    """

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
        data_format = data_format or keras.config.image_data_format()
        if data_format not in ("channels_last", "channels_first"):
            raise ValueError("data_format must be 'channels_last' or 'channels_first', not "
                             f"{data_format!r}")
        if not 0 <= validation_split < 1:
            raise ValueError(f"validation_split must be between 0 and 1, not {validation_split}")
        dtype = dtype or keras.config.floatx()
        if dtype not in ("float32", "float16"):
            raise ValueError(f"dtype must be 'float32' or 'float16', not {dtype!r}: cast in the "
                             "model")
        if interpolation_order != 1:
            raise ValueError("interpolation_order must be 1 (linear), not "
                             f"{interpolation_order!r}: leave it out")
        if preprocessing_function and (rescale or featurewise_center or samplewise_center
                                       or featurewise_std_normalization or zca_whitening
                                       or samplewise_std_normalization):
            raise ValueError("preprocessing_function runs in this process, after all that the "
                             "daemon does: let it rescale and normalise, too")
        self.data_format = data_format
        self.preprocessing_function = preprocessing_function
        self.rescale = rescale
        self.mean: Any = None
        self.std: Any = None
        self.dtype = dtype
        self._validation_split = validation_split
        self._socket = socket
        self._transform: Dict[str, Any] = {
            "name": "ImageDataGenerator", "featurewise_center": bool(featurewise_center),
            "samplewise_center": bool(samplewise_center),
            "featurewise_std_normalization": bool(featurewise_std_normalization),
            "samplewise_std_normalization": bool(samplewise_std_normalization),
            "zca_whitening": bool(zca_whitening), "zca_epsilon": zca_epsilon,
            "rotation_range": rotation_range, "width_shift_range": width_shift_range,
            "height_shift_range": height_shift_range, "brightness_range": brightness_range,
            "shear_range": shear_range, "zoom_range": zoom_range,
            "channel_shift_range": channel_shift_range, "fill_mode": fill_mode, "cval": cval,
            "horizontal_flip": bool(horizontal_flip), "vertical_flip": bool(vertical_flip),
            "rescale": rescale}

    def fit(self, x: Any, augment: bool = False, rounds: int = 1,
            seed: Optional[int] = None) -> None:
        """Compute what featurewise_center, featurewise_std_normalization and zca_whitening need,
        from sample data ``x`` after ``rescale``: an array as for flow(), of bytes for whitening. It
        applies to all flows that are made afterwards, also of other images. ``augment`` is not
        supported; ``rounds`` and ``seed`` belong to it and are ignored."""
        if augment:
            raise ValueError("fit() cannot augment: give augment=False")
        if self._transform["zca_whitening"]:
            with _Array(x, self.data_format) as array, connect(self._socket) as node:
                done = node.fit(array.path, name="keras", zca=True, rescale=self.rescale,
                                zca_epsilon=self._transform["zca_epsilon"])
            self._transform["statistics"] = done["digest"]
            return
        values = np.asarray(x, dtype=np.float64) * (self.rescale or 1)
        if values.ndim != 4:
            raise ValueError(f"fit() needs an array of rank 4, not of shape {values.shape}")
        axes = (0, 1, 2) if self.data_format == "channels_last" else (0, 2, 3)
        if self._transform["featurewise_center"] or \
                self._transform["featurewise_std_normalization"]:
            self.mean = values.mean(axes)
            self._transform["featurewise_mean"] = self.mean.tolist()
        if self._transform["featurewise_std_normalization"]:
            self.std = values.std(axes)
            self._transform["featurewise_std"] = self.std.tolist()

    def flow(self, x: Any, y: Any = None, batch_size: int = 32, shuffle: bool = True,
             sample_weight: Any = None, seed: Optional[int] = None, *,
             subset: Optional[str] = None, ignore_class_split: bool = False) -> Flow:
        """Batches of an array: (N, H, W, 3) or (N, H, W, 1), or (N, C, H, W) for channels first, of
        bytes or of floats that are whole numbers from 0 to 255.

        The array is written once to a file in $TMPDIR, where the daemon must be able to read it;
        the file is removed with the flow. A batch is images, (images, y) or (images, y,
        sample_weight), with the entries of y and sample_weight that belong to the images. subset:
        training or validation, split by ``validation_split``: the first part of the array is for
        validation. Both parts must have the same labels, unless ``ignore_class_split``.
        """
        for name, other in (("y", y), ("sample_weight", sample_weight)):
            if other is not None and len(other) != len(x):
                raise ValueError(f"{name} has {len(other)} entries, but x has {len(x)}")
        parts = [None if part is None else np.asarray(part) for part in (y, sample_weight)]
        split = int(len(x) * self._validation_split)
        if _subset(subset) and y is not None and not ignore_class_split and \
                not np.array_equal(np.unique(y[:split]), np.unique(y[split:])):
            raise ValueError("training and validation would not have the same labels: shuffle the "
                             "arrays if they are sorted by label, or give ignore_class_split=True")
        ranges = {None: None, "validation": (0, split), "training": (split, None)}
        array = _Array(x, self.data_format)
        try:
            flow = self._flow(array.path, [], batch_size, shuffle, seed, _arrays(*parts),
                              array.gray, subset=ranges[subset])
        except BaseException:
            array.remove()
            raise
        weakref.finalize(flow, array.remove)
        return flow

    def flow_from_directory(self, directory: Any, target_size: Tuple[int, int] = (256, 256),
                            color_mode: str = "rgb", classes: Optional[List[str]] = None,
                            class_mode: Optional[str] = "categorical", batch_size: int = 32,
                            shuffle: bool = True, seed: Optional[int] = None, *,
                            subset: Optional[str] = None, interpolation: str = "nearest") -> Flow:
        """Batches of a folder with one subfolder per class; target_size is (height, width).

        class_mode: categorical (one-hot), binary or sparse (numbers), input (the images again) or
        None (images only).
        """
        if color_mode != "rgb":
            raise ValueError(f"color_mode must be 'rgb', not {color_mode!r}: for gray images use "
                             "node.loader() with the transform Grayscale")
        if class_mode not in _MODES:
            raise ValueError(f"class_mode must be one of {', '.join(map(str, _MODES))}, not "
                             f"{class_mode!r}")
        resize = {"name": "Resize", "size": list(target_size), "interpolation": interpolation}
        options: Dict[str, Any] = {"one_hot": class_mode == "categorical"}
        if _subset(subset):
            options["sampler"] = {"name": "split", "subset": subset,
                                  "validation_split": self._validation_split}
        flow = self._flow(directory, [resize], batch_size, shuffle, seed, _MODES[class_mode],
                          **options)
        there = flow.loader.classes
        if classes is not None and list(classes) != there:
            flow.loader.close()
            raise ValueError(f"classes are the folders in the order of their names, {there}: for "
                             "other classes use a manifest")
        return flow

    def _flow(self, dataset: Any, before: List[Dict[str, Any]], batch_size: int, shuffle: bool,
              seed: Optional[int], answers: Callable[[Any, Batch], Any], gray: bool = False,
              **more: Any) -> Flow:
        node = connect(self._socket)
        loader = node.loader(
            dataset, batch_size=batch_size, shuffle=shuffle,
            seed=np.random.randint(2**31) if seed is None else seed, dtype=self.dtype,
            layout="NHWC" if self.data_format == "channels_last" else "NCHW",
            transforms=before + [self._transform], **more)
        return Flow(loader, answers, self.preprocessing_function, gray)


class _Array:
    """The images of an array as a file, for the daemon; until remove() or the end of ``with``."""

    def __init__(self, x: Any, data_format: str) -> None:
        values = _bytes(x)
        if values.ndim != 4:
            raise ValueError(f"an array of rank 4 is needed, not of shape {values.shape}")
        if data_format == "channels_first":
            values = values.transpose(0, 2, 3, 1)
        self.gray = values.shape[3] == 1
        self._folder = tempfile.mkdtemp(prefix="stoker-flow-")
        self.path = os.path.join(self._folder, "x.npy")
        try:
            os.chmod(self._folder, 0o755)
            np.save(self.path, np.ascontiguousarray(values[..., 0] if self.gray else values))
        except BaseException:
            self.remove()
            raise

    def remove(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)

    def __enter__(self) -> _Array:
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()


def _subset(subset: Optional[str]) -> Optional[str]:
    if subset not in (None, "training", "validation"):
        raise ValueError(f"subset must be 'training', 'validation' or None, not {subset!r}")
    return subset


def _bytes(x: Any) -> Any:
    values = np.asarray(x)
    if values.dtype == np.uint8:
        return values
    whole = values.astype(np.uint8)
    if not np.array_equal(whole, values):
        raise ValueError("images must be bytes, or whole numbers from 0 to 255: if you divided by "
                         "255, do not, and give rescale=1/255 instead")
    return whole


def _arrays(y: Any, weights: Any) -> Callable[[Any, Batch], Any]:
    def answers(images: Any, batch: Batch) -> Any:
        if y is None:
            return images
        if weights is None:
            return images, y[batch.index]
        return images, y[batch.index], weights[batch.index]
    return answers


def _numbers(images: Any, batch: Batch) -> Any:
    return images, batch.labels.astype(images.dtype)


_MODES: Dict[Optional[str], Callable[[Any, Batch], Any]] = {
    "categorical": _numbers, "binary": _numbers, "sparse": _numbers,
    "input": lambda images, batch: (images, images.copy()), None: lambda images, batch: images}
