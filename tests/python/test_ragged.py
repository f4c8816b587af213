# SPDX-License-Identifier: MIT
"""Fields that a user's code makes, with the real daemon: of all types, any number and many
dimensions; ragged ones, whose shape differs from sample to sample; and texts."""
import contextlib
import logging
import os

import numpy as np
import pytest

import stoker
from own_fields import COUNT, EVERY, Captioned, Everything, Growing, boxes_of, caption_of

SLOW = float(os.environ.get("STOKER_SLOW", "1"))


@pytest.fixture(autouse=True)
def runtime(tmp_path, monkeypatch):
    """Keep the producers' secret in a folder of the test."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    tmp_path.chmod(0o700)


@pytest.fixture
def load(real):
    """A function that makes a loader of a dataset, not shuffled."""
    with contextlib.ExitStack() as stack:
        node = stack.enter_context(stoker.connect(real.path))

        def load(code, ragged=(), **more):
            source = stoker.Source(code, gives="arrays", ragged=ragged)
            options = {"batch_size": 4, "shuffle": False, "num_workers": 1, "timeout": 60 * SLOW}
            return stack.enter_context(node.loader(source, **{**options, **more}))
        yield load


def test_all_types_and_many_dimensions(load):
    """A dict of 42 arrays a sample, of 1, 2 and 8 dimensions."""
    for batch in load(Everything(), batch_size=COUNT):
        assert len(batch) == len(EVERY) > 16
        for name, make in EVERY.items():
            expected = np.stack([make(index) for index in range(COUNT)])
            assert batch[name].dtype == expected.dtype, name
            assert batch[name].shape == expected.shape and (batch[name] == expected).all(), name


def test_a_ragged_field_is_a_list_of_arrays(load):
    """And texts are a list of texts; other fields are one array, as ever."""
    got = list(load(Captioned(), ragged=["boxes"]))
    assert len(got) == COUNT // 4
    for number, batch in enumerate(got):
        indices = range(4 * number, 4 * number + 4)
        assert [box.dtype for box in batch["boxes"]] == [np.float32] * 4
        for box, index in zip(batch["boxes"], indices):
            np.testing.assert_array_equal(box, boxes_of(index))
        assert batch["caption"] == [caption_of(index) for index in indices]
        assert batch["raw"] == [caption_of(index).encode() for index in indices]
        assert batch["id"].tolist() == list(indices)


def test_arrays_of_ragged_fields_may_be_written_to_and_kept(load):
    loader = load(Captioned(), ragged=["boxes"])
    kept = [batch["boxes"] for batch in loader]
    kept[0][1][:] = 7
    for number, boxes in enumerate(kept):
        for box, index in zip(boxes, range(4 * number, 4 * number + 4)):
            np.testing.assert_array_equal(box, boxes_of(index) if index != 1 else
                                          np.full_like(boxes_of(1), 7))


def test_a_sample_larger_than_its_slot_gets_larger_slots_once(load, caplog):
    """All samples come, in order, and the log says once that the slots were made larger."""
    loader = load(Growing(), ragged=True)
    with caplog.at_level(logging.WARNING, "stoker"):
        got = [len(array) for batch in loader for array in batch]
        again = [len(array) for batch in loader for array in batch]
    assert got == again == [len(Growing()[index]) for index in range(COUNT)]
    said = [record.message for record in caplog.records if "with room for" in record.message]
    assert len(said) == 1 and "in 0, more than its slots" in said[0]


def test_larger_slots_do_not_change_the_token(load):
    """A resume begins with small slots again, and gets the same samples."""
    with load(Growing(), ragged=True) as loader:
        before = loader.state_dict()
        at = iter(loader)
        for _ in range(COUNT // 4 - 1):
            next(at)
        state = loader.state_dict()
        assert state["digest"] == before["digest"]
        assert state["fingerprints"] == before["fingerprints"]
    with load(Growing(), ragged=True) as loader:
        loader.load_state_dict(state)
        assert [len(array) for batch in loader for array in batch] == [
            len(Growing()[index]) for index in range(COUNT - 4, COUNT)]


def test_larger_slots_for_a_single_batch(load):
    loader = load(Growing(), ragged=True)
    number = COUNT // 4 - 1
    assert [len(array) for array in loader.batch(0, number)["image"]] == [
        len(Growing()[index]) for index in range(4 * number, 4 * number + 4)]
    assert loader.batch(0, 0)["image"][0].shape == Growing()[0].shape


@pytest.mark.parametrize("ragged, words", [
    ((), r"boxes has the shape \(2, 4\), and had \(1, 4\) in the first sample"),
    (["boxes"], r"boxes has the shape \(2,\), and had \(1, 4\) in the first sample")])
def test_a_wrong_shape_is_named(load, ragged, words):
    """Beside that of the first sample; a ragged field may not change its number of dimensions."""
    loader = load(Captioned(flat=bool(ragged)), ragged=ragged)
    with pytest.raises(stoker.SampleError, match=words):
        list(loader)


def test_ragged_tensors(real):
    torch = pytest.importorskip("torch")
    import stoker.torch
    source = stoker.Source(Captioned(), gives="arrays", ragged=["boxes"])
    with stoker.torch.Loader(source, 4, node=stoker.connect(real.path), shuffle=False,
                             num_workers=1, timeout=60 * SLOW) as loader:
        batch = next(iter(loader))
    assert isinstance(batch["boxes"][2], torch.Tensor)
    assert batch["boxes"][2].tolist() == boxes_of(2).tolist()
    assert batch["caption"] == [caption_of(index) for index in range(4)]
