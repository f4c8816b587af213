# SPDX-License-Identifier: MIT
"""What stoker.torch.DataLoader makes of samplers, batches and samples that are not as usual, beside
torch's own."""
import copy
import pickle

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

from PIL import Image, ImageFile
from torch.utils.data import BatchSampler, Subset, SubsetRandomSampler, default_collate
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import torch_code as code
from stoker.torch import DataLoader
from test_data_loader import STEPS, assert_equal, beside, make, runtime  # noqa: F401

ORDERS = [[3, 1, 4, 1, 5, 9, 2], [-1, 0, -9, 8, 2, 2, 6]]


@pytest.fixture
def pictures(folder):
    return ImageFolder(folder, T.Compose(STEPS))


@pytest.mark.parametrize("options", [
    lambda: {"sampler": code.Listed(ORDERS), "batch_size": 3},
    lambda: {"sampler": ORDERS[1], "batch_size": 2, "drop_last": True},
    lambda: {"sampler": range(8, 1, -1), "batch_size": 3},
    lambda: {"batch_sampler": code.Listed([[[2, 1], [5, -3], [4]], [[7, 7], [8, 0], [3]]])},
    lambda: {"batch_sampler": BatchSampler(code.Permuted(range(9)), 4, False)},
], ids=["own", "list", "range", "batches", "within torch's"])
def test_orders_that_are_there_at_once_are_the_daemons(make, pictures, options):  # noqa: F811
    """A sampler of the program's own whose iterator is over a list needs no producers."""
    for workers in (1, 0):
        ours, theirs = (kind(pictures, num_workers=workers, **options())
                        for kind in (make, torch.utils.data.DataLoader))
        for _ in range(3):
            torch.manual_seed(6)
            wanted = list(theirs)
            torch.manual_seed(6)
            assert_equal(list(ours), wanted)
        assert ours.plan().startswith("the daemon reads" if workers else "torch's own")


def test_batches_of_several_sizes(make, pictures):  # noqa: F811
    given = [[1, 2], [3], [4, 5, 6]]
    ours, theirs = (kind(pictures, num_workers=1, batch_sampler=given)
                    for kind in (make, torch.utils.data.DataLoader))
    for _ in range(2):
        assert_equal(list(ours), list(theirs))
    assert "producers make the batches of ImageFolder: its sampler gives batches of several " \
        "sizes" in ours.plan()


def test_indices_from_the_end(make, pictures):  # noqa: F811
    some = Subset(pictures, [3, -1, -21])
    assert_equal(list(make(some, 2)), list(torch.utils.data.DataLoader(some, 2)))
    with pytest.raises(IndexError, match="there is no sample -22: the dataset has 21"):
        iter(make(Subset(pictures, [3, -22]), 2))
    own = Subset(code.Nested(), [4, -1])
    loader = make(own, 2, num_workers=1)
    # The dataset is asked for -1, as torch asks it: this one makes a sample of that number.
    assert next(iter(loader))["number"].tolist() == [4, -1]
    assert "counts from the end" in loader.plan()


def test_an_order_of_keys(beside):  # noqa: F811
    plan = beside(code.Keyed(), batch_size=3, num_workers=1, epochs=1,
                  sampler=lambda: SubsetRandomSampler([f"k{number}" for number in range(8)]))
    assert "producers make the batches of Keyed" in plan


def test_what_is_no_sampler_of_torchs_is_drawn_as_it_goes(make):  # noqa: F811
    sampler = code.Counting()
    batches = iter(make(code.Nested(), 4, sampler=sampler, num_workers=1))
    assert next(batches)["number"].tolist() == [1, 2, 3, 4]
    assert sampler.drawn <= 4 * 4


def test_samples_that_are_not_as_the_first(make, caplog):  # noqa: F811
    """They are as torch has them; a state goes on with what their code draws."""
    torch.manual_seed(2)
    ours, theirs = make(code.Mixed(), 4, num_workers=2), torch.utils.data.DataLoader(
        code.Mixed(), 4, num_workers=2)
    wanted = [[batch["label"] for batch in theirs] for _ in range(2)]
    assert [label.dtype for label in wanted[0]] == [torch.int64, torch.float32, torch.float64]
    batches, drawn = iter(ours), []
    for label in wanted[0]:
        batch = next(batches)
        assert_equal([*batch], ["drawn", "label"])
        assert_equal(batch["label"], label)
        drawn.append(batch["drawn"])
        if len(drawn) == 2:
            state = ours.state_dict()
    assert next(batches, None) is None
    assert caplog.text.count("their samples differ in form") == 1
    second = list(ours)
    assert_equal([batch["label"] for batch in second], wanted[1])
    assert "batches of Mixed: its samples differ in form" in ours.plan()

    again = make(code.Mixed(), 4, num_workers=1)
    again.load_state_dict(state)
    assert_equal([batch["drawn"] for batch in again], drawn[2:])
    again.load_state_dict({**ours.state_dict()})
    assert "its samples differ in form" in again.plan()


def test_samples_without_elements(beside):  # noqa: F811
    assert "has no elements" in beside(code.Boxless(), batch_size=4, num_workers=1, epochs=1)


def test_a_dataset_that_makes_batches(beside):  # noqa: F811
    plan = beside(Subset(code.AtOnce(), range(2, 9)), batch_size=4, num_workers=1, epochs=1)
    assert "producers make the batches of Subset: it has __getitems__()" in plan


def test_another_collate_fn(make):  # noqa: F811
    loader = make(code.Nested(4), 2, num_workers=1, collate_fn=code.first)
    list(loader)
    loader.collate_fn = len
    assert list(loader) == [2, 2]
    loader.collate_fn = default_collate
    assert [batch["number"].tolist() for batch in loader] == [[0, 1], [2, 3]]


def test_what_the_program_has_set_and_replaced(make, pictures, monkeypatch):  # noqa: F811
    """Samples are as in the workers that torch forks."""
    import torchvision.datasets.folder as folders
    theirs = torch.utils.data.DataLoader(pictures, 21)

    def equal(why):
        loader = make(pictures, 21, num_workers=1)
        assert why in loader.plan()
        assert_equal(list(loader), list(theirs))

    equal("the daemon reads")
    torch.set_default_dtype(torch.float64)
    try:
        equal("producers make the samples of ImageFolder: torch's default dtype is torch.float64")
    finally:
        torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    equal("LOAD_TRUNCATED_IMAGES is True")
    monkeypatch.undo()
    monkeypatch.setattr(folders, "pil_loader", lambda path: Image.new("RGB", (30, 30), (9, 8, 7)))
    equal("torch's own DataLoader makes the batches: torchvision's loader of pictures was replaced")


def test_copies_of_a_loader(real, monkeypatch):
    monkeypatch.setenv("STOKER_SOCKET", real.path)
    loader = DataLoader(code.Nested(5), 2, num_workers=1)
    wanted = list(loader)
    made = copy.deepcopy(loader)
    assert_equal(list(made), wanted)
    made.close()
    assert_equal(pickle.loads(pickle.dumps(loader)).plan(), loader.plan())
    loader.close()


@pytest.mark.parametrize("steps, who", [
    ([T.Resize((16, 16)), T.Pad(3, fill=(1, 2, 3)), T.ToTensor()], "the daemon reads"),
    ([T.Resize((16, 12)), T.Pad((1, 2), padding_mode="reflect"), T.ToTensor()], "the daemon reads"),
    ([T.Resize(30), T.FiveCrop(16), T.Lambda(code.stacked)], "producers run FiveCrop, Lambda"),
], ids=["pad", "reflect", "five crops"])
def test_pictures_are_as_torchs(beside, folder, steps, who):  # noqa: F811
    plan = beside(ImageFolder(folder, T.Compose(steps)), batch_size=4, num_workers=1, epochs=1)
    assert who in plan


@pytest.mark.parametrize("workers, who", [(1, "producers make the batches of ImageFolder"),
                                          (0, "torch's own")])
def test_pictures_of_several_sizes(beside, tmp_path, workers, who):  # noqa: F811
    for number in (7, 9):
        (tmp_path / "train" / "one").mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (8, number), (number, 2, 3)).save(
            tmp_path / "train" / "one" / f"{number}.png")
    plan = beside(ImageFolder(tmp_path / "train", T.ToTensor()), batch_size=1, num_workers=workers)
    assert who in plan and "several sizes" in plan


def test_pictures_of_v2(beside, folder):  # noqa: F811
    """It multiplies by 1/255, which ToTensor divides by 255: another last bit."""
    v2 = pytest.importorskip("torchvision.transforms.v2")
    if not hasattr(v2, "ToDtype"):
        pytest.skip("needs torchvision 0.16")
    scaled = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
    for steps in ([v2.Resize(20), v2.CenterCrop(16), *scaled],
                  [v2.ToImage(), v2.Resize(20), v2.CenterCrop(16), *scaled[1:]],
                  [v2.Resize((16, 16)), v2.PILToTensor(), v2.ConvertImageDtype(torch.float32)]):
        assert "producers run" in beside(ImageFolder(folder, v2.Compose(steps)), batch_size=4,
                                         num_workers=1, epochs=1)


def test_a_dataset_that_grows(make):  # noqa: F811
    loader = make(code.Grows(), 2, num_workers=1)
    for count in (3, 4):
        loader.dataset.count = count
        assert torch.cat(list(loader)).tolist() == list(range(count))
