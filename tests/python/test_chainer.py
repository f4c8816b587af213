# SPDX-License-Identifier: MIT
"""stoker.chainer.Iterator beside Chainer's own iterators, step by step, and in Chainer's training
loop. What needs chainer is skipped where it is not installed."""
import copy
import gc
import itertools
import json
import logging
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from test_loader import first_state

import stoker
import stoker.chainer
from real_daemon import ROOT

SAMPLES = 21  # of pictures()
WHOLE = [stoker.CenterCrop(24)]  # the pictures as they are
COUNTERS = ("epoch", "is_new_epoch", "epoch_detail", "previous_epoch_detail", "current_position")
EXAMPLE = ROOT / "tests" / "scripts" / "chainer_train.py"


@pytest.fixture(name="chainer", scope="module")
def fixture_chainer():
    return pytest.importorskip("chainer")


@pytest.fixture(name="make")
def fixture_make(near, folder):
    """Makes iterators, by default of the folder; all are finalized."""
    made = []

    def make(dataset=folder, batch_size=8, *args, transforms=WHOLE, **options):
        made.append(stoker.chainer.Iterator(dataset, batch_size, *args, node=near,
                                            transforms=transforms, **options))
        return made[-1]
    yield make
    for iterator in made:
        iterator.finalize()


@pytest.fixture(name="labelled")
def fixture_labelled(chainer, folder):
    """Chainer's dataset of the same files, in another order; labels are what a list says."""
    paths = sorted(Path(folder).glob("*/*"), key=lambda path: path.name)
    pairs = [(str(path.relative_to(folder)), 10 * i) for i, path in enumerate(paths)]
    return chainer.datasets.LabeledImageDataset(pairs, folder)


def step(iterator):
    """What next() gives (None: it stops), and the counters after it."""
    batch = next(iterator, None)
    return batch, [getattr(iterator, name) for name in COUNTERS]


def same_example(ours, theirs):
    assert type(ours) is type(theirs)
    for one, other in zip(ours, theirs) if isinstance(theirs, tuple) else [(ours, theirs)]:
        assert type(one) is type(other)
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        assert np.array_equal(one, other)
        assert isinstance(one, np.generic) or one.flags.writeable


def same_run(ours, theirs, steps, examples=True):
    for _ in range(steps):
        (batch, counters), (wanted, their_counters) = step(ours), step(theirs)
        assert counters == their_counters and list(map(type, counters)) == \
            list(map(type, their_counters))
        assert (batch is None) == (wanted is None)
        if batch is not None:
            assert len(batch) == len(wanted)
            for one, other in zip(batch, wanted) if examples else ():
                same_example(one, other)


def labels_of(batch):
    return [int(label) for _, label in batch]


# -- value for value --------------------------------------------------------------------------


@pytest.mark.parametrize("repeat", [True, False])
@pytest.mark.parametrize("batch_size", [1, 4, 7, 8, 20, 21])
@pytest.mark.parametrize("name", ["SerialIterator", "MultiprocessIterator"])
def test_each_step_is_chainers(chainer, make, labelled, name, batch_size, repeat):
    """Over two epochs and a half, and beyond the end without repeat."""
    options = {"n_processes": 1} if name == "MultiprocessIterator" else {}
    theirs = getattr(chainer.iterators, name)(labelled, batch_size, repeat, False, **options)
    ours = make(labelled, batch_size, repeat, False)
    assert isinstance(ours, chainer.dataset.Iterator)
    for _ in range(2):
        same_run(ours, theirs, 5 * SAMPLES // 2 // batch_size + 2)
        ours.reset()
        theirs.reset()
    theirs.finalize()


@pytest.mark.parametrize("repeat", [True, False])
def test_shuffled_steps_are_chainers(chainer, make, labelled, repeat):
    """The counters, and each example once an epoch: also where batches reach into the next."""
    theirs = chainer.iterators.SerialIterator(labelled, 8, repeat=repeat)
    ours = make(labelled, 8, repeat)
    same_run(ours, theirs, 9, examples=False)
    ours.reset()
    got = [label for batch in itertools.islice(ours, 8) for label in labels_of(batch)]
    every = sorted(label for _, label in labelled._pairs)
    epochs = [got[n:n + SAMPLES] for n in range(0, 63 if repeat else 21, SAMPLES)]
    assert all(sorted(epoch) == every for epoch in epochs)
    assert len(set(map(tuple, epochs))) == len(epochs)


def test_images_without_labels(chainer, make, labelled, folder):
    theirs = chainer.datasets.ImageDataset([path for path, _ in labelled._pairs], folder)
    same_run(make(theirs, 8, True, False), chainer.iterators.SerialIterator(theirs, 8, True, False),
             5)


def test_a_text_file_names_the_images(chainer, make, folder, tmp_path):
    """As in Chainer's examples; and absolute paths, and other types."""
    other = chainer.datasets.LabeledImageDataset(
        [(str(Path(folder) / "class1" / "003.png"), 5), (str(Path(folder) / "class0/001.png"), 3)],
        root="/nowhere", dtype=np.float16, label_dtype=np.int64)
    same_run(make(other, 1, True, False), chainer.iterators.SerialIterator(other, 1, True, False),
             3)
    (tmp_path / "list.txt").write_text("class0/002.png 7\nclass2/001.png 1\n")
    listed = chainer.datasets.LabeledImageDataset(str(tmp_path / "list.txt"), folder, np.uint8)
    same_run(make(listed, 2, True, False), chainer.iterators.SerialIterator(listed, 2, True, False),
             3)


def test_names_that_a_list_quotes(chainer, make, folder, tmp_path):
    names = ['a, "b".png', "c\nd.png", "\xe9 f.png", "path"]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes((Path(folder) / "class1" / f"00{number}.png").read_bytes())
    dataset = chainer.datasets.LabeledImageDataset(list(zip(names, range(4))), str(tmp_path))
    same_run(make(dataset, 2, True, False),
             chainer.iterators.SerialIterator(dataset, 2, True, False), 3)


def test_transform_datasets(chainer, make, labelled, folder):
    """Their functions run on each example, also one of another, and one that changes its input."""
    def halve(example):
        image, label = example
        image /= 2
        return image, label

    def crop(example):
        image, label = example
        return {"image": image[:, 2:, 3:], "label": label + 1}

    nested = chainer.datasets.TransformDataset(
        chainer.datasets.TransformDataset(labelled, halve), crop)
    wanted = chainer.iterators.SerialIterator(nested, 8, True, False)
    for batch, other in itertools.islice(zip(make(nested, 8, True, False), wanted), 5):
        assert len(batch) == len(other) == 8
        for one, two in zip(batch, other):
            assert sorted(one) == sorted(two)
            assert all(np.array_equal(one[key], two[key]) for key in two)
    of_path = make(chainer.datasets.TransformDataset(folder, lambda example: example[1]))
    assert sorted(itertools.chain(*itertools.islice(of_path, 21)))[0] == 0


def test_converters(chainer, make, labelled):
    """concat_examples, and a TransformDataset over a batch."""
    theirs = chainer.iterators.SerialIterator(labelled, 8, True, False)
    for batch, wanted in itertools.islice(zip(make(labelled, 8, True, False), theirs), 4):
        for one, other in zip(chainer.dataset.concat_examples(batch),
                              chainer.dataset.concat_examples(wanted)):
            assert one.dtype == other.dtype and np.array_equal(one, other)
        changed = chainer.datasets.TransformDataset(batch, lambda example: example[0] - 1)
        assert np.array_equal(changed[3], wanted[3][0] - 1) and len(changed[:]) == 8


@pytest.mark.parametrize("end, unit", [([], 1), ([stoker.ToTensor()], 255)])
def test_kept_and_changed(make, near, folder, end, unit):
    """Examples of many batches stay as they were, and can be written to: also where they are not
    copied from the ring."""
    iterator = make(folder, SAMPLES, shuffle=False, transforms=WHOLE + end)
    kept = [example for batch in itertools.islice(iterator, 15) for example in batch]
    with near.loader(folder, batch_size=SAMPLES, shuffle=False, dtype="uint8",
                     transforms=WHOLE) as loader:
        images, labels = next(iter(loader))
    for number, (image, label) in enumerate(kept):
        assert image.dtype == np.float32 and label.dtype == np.int32
        assert np.allclose(image * unit, images[number % SAMPLES], rtol=0, atol=1e-4 * (unit > 1))
        assert label == labels[number % SAMPLES]
        image += 1
    iterator.finalize()
    assert all(image.min() >= 1 for image, _ in kept)


def test_the_range_is_what_the_transforms_say(make):
    most = {}
    for name, end in (("nothing", []), ("ToTensor", [stoker.ToTensor()]),
                      ("nested", [stoker.RandomApply([stoker.RandomHorizontalFlip()])]),
                      ("Normalize", [stoker.Normalize([0, 0, 0], [0.5, 0.5, 0.5])]),
                      ("Keras", [stoker.ImageDataGenerator(rescale=0.1)])):
        batch = make(batch_size=SAMPLES, transforms=WHOLE + end).next()
        most[name] = max(float(image.max()) for image, _ in batch)
    assert most == pytest.approx({"nothing": 120, "ToTensor": 120 / 255, "nested": 120,
                                  "Normalize": 240 / 255, "Keras": 12})
    half = make(dtype="float16").next()[0][0]
    assert half.dtype == np.float16 and make(dtype="uint8").next()[0][0].dtype == np.uint8


# -- the interface ----------------------------------------------------------------------------


def test_early_break(make):
    """Whoever breaks off goes on behind it, as with Chainer's; reset() begins again."""
    iterator = make(shuffle=False)
    for batch in iterator:
        break
    assert labels_of(batch) == [0] * 7 + [1] and iterator.current_position == 8
    assert labels_of(iterator.next()) == [1] * 6 + [2] * 2
    assert labels_of(iterator.next()) == [2] * 5 + [0] * 3
    assert (iterator.epoch, iterator.current_position, iterator.is_new_epoch) == (1, 3, True)
    iterator.reset()
    assert (iterator.epoch, iterator.previous_epoch_detail, iterator.is_new_epoch) == \
        (0, None, False)
    assert labels_of(iterator.next()) == [0] * 7 + [1]


def test_copy(make, chainer):
    iterator = make()
    for _ in range(4):
        iterator.next()
    other = copy.copy(iterator)
    same_run(other, iterator, 5)
    other.finalize()


def test_ranks(make):
    """Each of two has half of every batch, and both the same counters."""
    ranks = [make(batch_size=4, rank=rank, world_size=2, job="ranks", shuffle=False)
             for rank in range(2)]
    whole = make(batch_size=8, shuffle=False)
    for _ in range(8):
        (first, counters), (second, others), (both, wanted) = map(step, (*ranks, whole))
        assert labels_of(first + second) == labels_of(both)
        assert counters == others == wanted


def test_other_last_batches(make):
    assert [len(batch) for batch in itertools.islice(make(last_batch="short"), 4)] == [8, 8, 5, 8]
    assert [len(batch) for batch in itertools.islice(make(drop_last=True), 4)] == [8, 8, 8, 8]
    assert len(make(batch_size=30, last_batch="pad").next()) == 30
    with pytest.raises(stoker.ArgumentError, match="30 samples.*larger than an epoch .21."):
        make(batch_size=30)


def test_a_late_batch_is_a_warning(real, make):
    """As Chainer's dataset_timeout, after which next() waits on."""
    iterator = make(batch_size=1, dataset_timeout=0.3)
    iterator.next()
    real.process.send_signal(signal.SIGSTOP)
    timer = threading.Timer(1.5, real.process.send_signal, [signal.SIGCONT])
    timer.start()
    try:
        with pytest.warns(stoker.chainer.Iterator.TimeoutWarning, match="within 0.3 s.*waiting on"):
            assert len([iterator.next() for _ in range(4)]) == 4
    finally:
        timer.join()


def test_arguments_of_processes_have_no_effect(make, caplog):
    with caplog.at_level(logging.INFO, "stoker"):
        assert len(make(n_processes=4, shared_mem=1000, maxtasksperchild=3, n_prefetch=0).next())
    said = [record.getMessage() for record in caplog.records]
    assert [text.split("=")[0] for text in said] == ["n_processes", "shared_mem",
                                                     "maxtasksperchild"]
    assert "stokerctl set workers" in said[0]


def test_order_samplers(make, chainer):
    shuffling = chainer.iterators.ShuffleOrderSampler()
    got = labels_of(make(order_sampler=shuffling).next())
    assert got == labels_of(make().next()) != labels_of(make(shuffle=False).next())
    with pytest.raises(ValueError, match="exclude each other"):
        make(shuffle=True, order_sampler=shuffling)
    with pytest.raises(ValueError, match="stoker.samplers"):
        make(order_sampler=lambda order, position: order)


def test_pictures_follow_numpys_seed(make, labelled):
    """A snapshot brings its seeds with it."""
    runs = []
    for seed in (1, 1, 2):
        np.random.seed(seed)
        runs.append(make(labelled))
    orders = [labels_of(run.next()) for run in runs]
    assert orders[0] == orders[1] != orders[2]
    kept = Kept()
    runs[0].serialize(kept.write)
    runs[2].serialize(kept.read)
    same_run(runs[2], runs[0], 4)


@pytest.fixture(name="run")
def fixture_run(near, tmp_path, monkeypatch):
    """Makes iterators of datasets that producers run, beside Chainer's own."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))  # where the secret lies
    tmp_path.chmod(0o700)
    made = []

    def run(dataset, batch_size=8, **options):
        made.append(stoker.chainer.Iterator(dataset, batch_size, node=near, n_processes=2,
                                            **options))
        return made[-1]
    yield run
    for iterator in made:
        iterator.finalize()


def assert_equal(ours, theirs):
    if isinstance(theirs, np.ndarray):
        assert ours.dtype == theirs.dtype and np.array_equal(ours, theirs)
    elif isinstance(theirs, dict):
        assert_equal(list(ours.items()), list(theirs.items()))
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs) and len(ours) == len(theirs)
        for one, other in zip(ours, theirs):
            assert_equal(one, other)
    else:
        assert ours == theirs


def test_own_datasets_run_in_producers(chainer, run, caplog):
    from chainer_code import Counting, Own, named
    transformed = chainer.datasets.TransformDataset(Counting(), named)
    for dataset in (Counting(), chainer.datasets.split_dataset(transformed, 10)[1],
                    Own([("none.png", 1)] * 9, "/"), [(np.zeros((2, 3)), 1.5)] * 4):
        iterator = run(dataset, repeat=False, shuffle=False)
        theirs = chainer.iterators.SerialIterator(dataset, 8, repeat=False, shuffle=False)
        for batch in theirs:
            assert_equal(next(iterator), batch)
            assert [getattr(iterator, name) for name in COUNTERS] == \
                [getattr(theirs, name) for name in COUNTERS]
        assert next(iterator, None) is None
    assert not [record for record in caplog.records if "n_processes" in record.message]


def test_functions_of_transforms_run_in_producers(chainer, run):
    from chainer_code import Counting, twice
    iterator = run(chainer.datasets.TransformDataset(Counting(), twice))
    examples = [example for _ in range(5) for example in next(iterator)]
    assert os.getpid() not in {int(pid) for _, pid in examples}
    assert sorted(int(x[0, 0, 0]) for x, _ in examples[:20]) == list(range(0, 40, 2))
    assert iterator.epoch == 2 and iterator.current_position == 0


def same_batches(ours, theirs, count):
    for _ in range(count):
        assert_equal(next(ours), next(theirs))
        assert [getattr(ours, name) for name in COUNTERS] == \
            [getattr(theirs, name) for name in COUNTERS]


@pytest.mark.parametrize("kind", ("Sizes", "Growing", "Texts", "DictDataset", "zip"))
def test_examples_of_any_kind_in_chainers_order(chainer, run, kind):
    """From the same seed, through batches that reach into the next epoch."""
    import chainer_code
    numbers = np.arange(12)
    dataset = chainer.datasets.DictDataset(a=numbers, b=numbers[:, None]) \
        if kind == "DictDataset" else list(zip(numbers, "abcdefghijkl")) if kind == "zip" else \
        getattr(chainer_code, kind)()
    np.random.seed(3)
    theirs = chainer.iterators.SerialIterator(dataset, 8, shuffle=True)
    wanted = [next(theirs) for _ in range(8)]
    np.random.seed(3)
    ours = run(dataset)
    for batch in wanted:
        assert_equal(next(ours), batch)
    assert (ours.epoch, ours.current_position) == (theirs.epoch, theirs.current_position)


@pytest.fixture(name="most", params=["whole", "by sample"])
def fixture_most(request, monkeypatch):
    """How producers make batches that are small, or large."""
    if request.param == "by sample":
        monkeypatch.setattr("stoker.chainer.streams._WHOLE_MOST", 0)
    return request.param


def test_examples_have_the_types_that_they_had(chainer, run):
    def types(thing):
        if isinstance(thing, dict):
            return [dict, *map(types, thing.values())]
        return [type(thing), *map(types, thing)] if isinstance(thing, (list, tuple)) else \
            type(thing)
    from chainer_code import Kinds
    ours, theirs = run(Kinds(), shuffle=False), chainer.iterators.SerialIterator(
        Kinds(), 8, shuffle=False)
    for _ in range(3):
        batch, wanted = next(ours), next(theirs)
        assert_equal(batch, wanted)
        assert list(map(types, batch)) == list(map(types, wanted))
    assert batch[0][1][2].flags.writeable


def test_random_numbers_do_not_hang_on_where_an_epoch_is_begun(chainer, run, most, tmp_path):
    from chainer_code import Drawing
    np.random.seed(5)
    ours = run(Drawing(), 3, shuffle=False)
    for _ in range(4):
        next(ours)
    chainer.serializers.save_npz(str(tmp_path / "snapshot"), ours)
    wanted = [next(ours) for _ in range(9)]
    assert len({float(x[0]) for batch in wanted for x, _ in batch}) == 27
    other = run(Drawing(), 3, shuffle=False)
    next(other)
    chainer.serializers.load_npz(str(tmp_path / "snapshot"), other)
    for batch in wanted[:3]:  # of the epoch of the snapshot
        assert_equal(next(other), batch)


def test_a_batch_that_could_not_be_made_is_asked_for_again(chainer, run, most, tmp_path):
    from chainer_code import Counting, Failing
    ours = run(Failing(str(tmp_path / "there")), 4, shuffle=False)
    theirs = chainer.iterators.SerialIterator(Counting(), 4, shuffle=False)
    same_batches(ours, theirs, 2)
    with pytest.raises(KeyError, match="example 11"):
        next(ours)
    (tmp_path / "there").touch()
    same_batches(ours, theirs, 6)


def test_order_samplers_of_own_datasets(chainer, run):
    from chainer_code import Counting, reversed_order
    options = {"shuffle": None, "order_sampler": reversed_order}
    ours = run(Counting(), 8, **options)
    same_batches(ours, chainer.iterators.SerialIterator(Counting(), 8, **options), 9)
    ours.reset()
    same_batches(ours, chainer.iterators.SerialIterator(Counting(), 8, **options), 3)
    same_batches(run(Counting(3), 8, **options),
                 chainer.iterators.SerialIterator(Counting(3), 8, **options), 3)


def test_snapshots_of_own_datasets_are_chainers(chainer, run, tmp_path):
    from chainer_code import Counting
    ours, theirs = run(Counting()), chainer.iterators.SerialIterator(Counting(), 8)
    for one, other, steps in ((ours, theirs, 3), (theirs, ours, 2), (ours, run(Counting()), 2)):
        for _ in range(steps):  # and the batch behind these is within an epoch
            next(one)
        chainer.serializers.save_npz(str(tmp_path / "snapshot"), one)
        chainer.serializers.load_npz(str(tmp_path / "snapshot"), other, strict=False)
        assert [getattr(one, name) for name in COUNTERS] == \
            [getattr(other, name) for name in COUNTERS]
        assert_equal(next(one), next(other))


def test_what_a_dataset_raises(chainer, run):
    from chainer_code import Sizes
    iterator = run(Sizes(bad=True), 2, shuffle=False)
    assert [len(next(iterator)) for _ in range(3)] == [2, 2, 2]
    with pytest.raises(KeyError, match="example 6"):
        next(iterator)


def test_functions_that_fix_the_size(chainer, run, tmp_path):
    from PIL import Image

    from chainer_code import resized
    for number in range(10):
        Image.new("RGB", (9 + number, 20 - number), (number, 2, 3)).save(tmp_path / f"{number}.png")
    pictures = chainer.datasets.LabeledImageDataset(
        [(f"{number}.png", number) for number in range(10)], str(tmp_path))
    dataset = chainer.datasets.TransformDataset(pictures, resized)
    same_batches(run(dataset, 4, shuffle=False),
                 chainer.iterators.SerialIterator(dataset, 4, shuffle=False), 5)


def of_sizes(chainer, folder):
    """Pictures of sizes of their own, with labels and without."""
    from PIL import Image
    for number in range(10):
        Image.new("RGB", (9 + number, 20 - number), (number, 2, 3)).save(folder / f"{number}.png")
    names = [f"{number}.png" for number in range(10)]
    return [chainer.datasets.LabeledImageDataset(list(zip(names, range(10))), str(folder)),
            chainer.datasets.ImageDataset(names, str(folder))]


def test_functions_behind_the_daemons_pictures(chainer, run, tmp_path):
    """Beside options of the loader: in producers, with examples of any size and type."""
    from chainer_code import described, resized, with_process
    labelled, images = of_sizes(chainer, tmp_path)
    for pictures in (labelled, images):
        for options in ({"order_seed": 1}, {"transforms": [stoker.RandomHorizontalFlip(1.0)]}):
            ours = run(chainer.datasets.TransformDataset(pictures, described), 4, shuffle=False,
                       **options)
            theirs = chainer.iterators.SerialIterator(
                chainer.datasets.TransformDataset(pictures, described), 4, shuffle=False)
            for _ in range(6):
                one, other = next(ours), next(theirs)
                if "transforms" in options:
                    for example in other:
                        example["image"] = example["image"][:, :, ::-1]
                assert_equal(one, other)
                one[0]["image"][...] = 0
    iterator = run(chainer.datasets.TransformDataset(
        chainer.datasets.TransformDataset(labelled, resized), with_process), 5, order_seed=3,
        augment_seed=4)
    drawn = [example[3] for _ in range(4) for example in next(iterator)]
    assert len(set(drawn)) == 20
    again = copy.copy(iterator)
    for _ in range(2):
        one, other = next(iterator), next(again)
        assert os.getpid() not in {pid for _, _, pid, _ in one}
        assert [example[3] for example in one] == [example[3] for example in other]


def test_labels_that_are_no_whole_numbers(chainer, run, tmp_path):
    from chainer_code import with_process
    _, images = of_sizes(chainer, tmp_path)
    for labels, dtype in (np.arange(10) / 4, np.float32), (np.arange(20).reshape(10, 2), np.int16):
        pictures = chainer.datasets.LabeledImageDataset(
            list(zip(images._paths, labels.tolist())), str(tmp_path), label_dtype=dtype)
        ours = run(pictures, 4, shuffle=False, transforms=[stoker.CenterCrop(8)])
        mapped = run(chainer.datasets.TransformDataset(pictures, with_process), 4, shuffle=False,
                     order_seed=1)
        for batch in chainer.iterators.SerialIterator(pictures, 4, repeat=False, shuffle=False):
            for one, two, other in zip(next(ours), next(mapped), batch):
                assert_equal(one[1], other[1])
                assert_equal(two[:2], other)


@pytest.mark.parametrize("mode", ("L", "RGBA", "P"))
def test_pictures_that_are_not_rgb(chainer, run, tmp_path, mode):
    from PIL import Image
    for number in range(6):
        Image.new("L", (9, 7), 20 * number).convert(mode).save(tmp_path / f"{number}.png")
    names = [f"{number}.png" for number in range(6)]
    for pictures in (chainer.datasets.ImageDataset(names, str(tmp_path)),
                     chainer.datasets.LabeledImageDataset([(name, 1) for name in names],
                                                          str(tmp_path))):
        same_batches(run(pictures, 4, shuffle=False),
                     chainer.iterators.SerialIterator(pictures, 4, shuffle=False), 3)


def test_functions_that_run_in_this_process(chainer, run, tmp_path, caplog):
    from chainer_code import with_process
    caplog.set_level(logging.INFO, "stoker")
    labelled, _ = of_sizes(chainer, tmp_path)
    iterator = run(chainer.datasets.TransformDataset(labelled, with_process), 4,
                   transforms=[stoker.CenterCrop(8), stoker.ToTensor()])
    assert {pid for _, _, pid, _ in next(iterator)} == {os.getpid()}
    assert "run in this process: they get what the transforms make" in caplog.text


def test_what_is_no_dataset(chainer, run):
    with pytest.raises(TypeError, match="NoneType is no dataset"):
        run(None)
    with pytest.raises(ValueError, match="list of paths is empty"):
        run(chainer.datasets.LabeledImageDataset([], "/"))
    with pytest.raises(TypeError, match="'n_process': did you mean 'n_processes'"):
        stoker.chainer.Iterator([1], 8, n_process=2)


def lists_held():
    """How many lists of files this process holds: they are memory without a name."""
    links = [os.path.join("/proc/self/fd", fd) for fd in os.listdir("/proc/self/fd")]
    return sum("memfd:" in os.readlink(link) for link in links if os.path.lexists(link))


def test_the_list_of_files_goes_with_the_iterator(chainer, near, labelled, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    before = lists_held()
    iterator = stoker.chainer.Iterator(labelled, 4, node=near, transforms=WHOLE)
    other = copy.copy(iterator)
    assert lists_held() > before
    del iterator, other
    gc.collect()
    assert lists_held() == before
    with pytest.raises(stoker.PipelineError):
        stoker.chainer.Iterator(labelled, 4, node=near, transforms=[stoker.CenterCrop(0)])
    gc.collect()
    assert lists_held() == before and not list(tmp_path.iterdir())


# -- snapshots --------------------------------------------------------------------------------


class Kept:
    """A serializer that keeps what is written, and can read it again."""

    def __init__(self):
        self.kept = {}

    def write(self, key, value):
        self.kept[key] = np.asarray(value)
        return value

    def read(self, key, value):
        if isinstance(value, np.ndarray):
            np.copyto(value, self.kept[key])
            return value
        return type(value)(self.kept[key])


def test_serialize(make):
    first, kept = make(), Kept()
    for _ in range(4):
        first.next()
    first.serialize(kept.write)
    second = make()
    second.serialize(kept.read)
    assert [getattr(second, name) for name in COUNTERS] == \
        [getattr(first, name) for name in COUNTERS] == [1, False, 1 + 11 / 21, 1 + 3 / 21, 11]
    same_run(second, first, 4)
    for field, option in (("augment_seed", {"augment_seed": 99}), ("echo", {"echo": 2}),
                          ("subset", {"subset": (3, None)}), ("shuffle", {"shuffle": False})):
        with pytest.raises(stoker.TokenError, match=field):
            make(**option).serialize(kept.read)
    part, kept = make(subset=(3, None)), Kept()
    part.next()
    part.serialize(kept.write)
    other = make(subset=(3, None), batch_size=3)
    other.serialize(kept.read)
    assert labels_of(other.next()) == labels_of(part.next())[:3]


def test_a_snapshot_of_an_older_client(make):
    """A state of version 1, field by field; some had no word for resizes."""
    first, kept = make(resize="pillow-12"), Kept()
    for _ in range(3):
        first.next()
    first.serialize(kept.write)
    state = first_state(first.loader, epoch=first.loader.epoch, position=first.loader.position)
    del kept.kept["state"], state["resize"]
    for key, value in state.items():
        kept.write(key, stoker.chainer.snapshot._encode(value))
    second = make()
    second.serialize(kept.read)
    same_run(second, first, 4)


def test_chainers_own_serializers(chainer, make, labelled, tmp_path):
    """Ours by save_npz and load_npz; Chainer's snapshot has an order that is not the daemon's."""
    first = make(labelled)
    for _ in range(5):
        first.next()
    chainer.serializers.save_npz(str(tmp_path / "ours"), first)
    second = make(labelled, batch_size=8)
    chainer.serializers.load_npz(str(tmp_path / "ours"), second)
    same_run(second, first, 4)
    theirs = chainer.iterators.SerialIterator(labelled, 8)
    chainer.serializers.save_npz(str(tmp_path / "theirs"), theirs)
    with pytest.raises(stoker.TokenError, match="another iterator"):
        chainer.serializers.load_npz(str(tmp_path / "theirs"), make(labelled))


# -- training ---------------------------------------------------------------------------------


def model_of(chainer):
    chainer.global_config.autotune = False
    np.random.seed(7)
    return chainer.links.Classifier(chainer.links.Linear(3 * 24 * 24, 210))


def trained(chainer, train, validation, epochs, out):
    """The model after a run with updater, trainer and evaluator, and the rows of the log."""
    extensions = chainer.training.extensions
    model = model_of(chainer)
    optimizer = chainer.optimizers.SGD(1e-7).setup(model)
    updater = chainer.training.updaters.StandardUpdater(train, optimizer)
    trainer = chainer.training.Trainer(updater, (epochs, "epoch"), out=str(out))
    trainer.extend(extensions.Evaluator(validation, model))
    trainer.extend(extensions.LogReport())
    trainer.run()
    rows = [{key: value for key, value in row.items() if key != "elapsed_time"}
            for row in trainer.get_extension("LogReport").log]
    return model, rows


def test_a_training_is_chainers(chainer, make, labelled, tmp_path):
    """Losses, accuracies of the validation and parameters are those of Chainer's iterators, to the
    bit; the copies are made before anything is changed."""
    iterators = chainer.iterators
    theirs, wanted = trained(
        chainer, iterators.MultiprocessIterator(labelled, 8, True, False, n_processes=1),
        iterators.SerialIterator(labelled, 8, False, False), 4, tmp_path / "theirs")
    ours, got = trained(chainer, make(labelled, 8, True, False),
                        make(labelled, 8, False, False), 4, tmp_path / "ours")
    assert len(got) == 4 and got == wanted
    assert [row["iteration"] for row in got] == [3, 6, 8, 11]
    assert "validation/main/loss" in got[0]
    for one, other in zip(ours.params(), theirs.params()):
        assert np.array_equal(one.array, other.array)


def run_example(real, *arguments):
    environment = {**os.environ, "STOKER_SOCKET": real.path,
                   "PYTHONPATH": str(ROOT / "client" / "python")}
    return subprocess.run([sys.executable, EXAMPLE, *map(str, arguments)], env=environment,
                          check=True, capture_output=True, text=True, timeout=300).stdout


def test_the_example_resumes(chainer, real, folder, tmp_path):
    """From the snapshot of the second of three epochs, to what the run has that did not stop."""
    said = run_example(real, folder, "--epoch", 3, "--out", tmp_path / "whole")
    assert "validation/main/accuracy" in said
    run_example(real, folder, "--epoch", 3, "--out", tmp_path / "rest", "--resume",
                tmp_path / "whole" / "snapshot_epoch_2")
    last, again = (dict(np.load(tmp_path / name / "snapshot_epoch_3", allow_pickle=True))
                   for name in ("whole", "rest"))
    assert json.loads(last["updater/iterator:main/state"].tobytes())["epoch"] == 3
    assert int(last["updater/iteration"]) == 7  # 18 examples an epoch, in batches of 8
    assert last.keys() == again.keys()
    compared = [key for key in last if key.startswith("updater/")]
    assert len(compared) > 20
    for key in compared:
        assert np.array_equal(last[key], again[key]), key
