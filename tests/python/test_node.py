# SPDX-License-Identifier: MIT
"""Finding the daemon, trusting it, and the requests to it."""
import json
import os
import socket
import stat
import threading
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import stoker
from stoker import _address, _ranks, transforms


def test_where_the_socket_is_looked_for(monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/xdg")
    own = f"/tmp/stoker-{os.getuid()}/stokerd.sock"
    assert _address.candidates(None) == ["/xdg/stoker/stokerd.sock", own,
                                         "/run/stoker/stokerd.sock"]
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    assert _address.candidates(None) == [own, "/run/stoker/stokerd.sock"]
    monkeypatch.setenv("STOKER_SOCKET", "/x/sock")
    assert _address.candidates(None) == ["/x/sock"]
    for given in ("/y/sock", b"/y/sock", Path("/y/sock")):
        assert _address.candidates(given) == ["/y/sock"]


def test_the_first_that_answers(tmp_path, monkeypatch, daemon):
    (tmp_path / "stoker").mkdir()
    with socket.socket(socket.AF_UNIX) as dead:  # a socket file without a daemon
        dead.bind(str(tmp_path / "stoker" / "stokerd.sock"))
    monkeypatch.setattr(_address, "candidates", lambda given: [
        str(tmp_path / "nothing"), str(tmp_path / "stoker" / "stokerd.sock"), daemon.path])
    with stoker.connect() as node:
        assert node.socket == daemon.path
        node.ping()
    assert daemon.count("ping") == 2


def test_no_daemon_says_what_was_tried_and_what_to_do(tmp_path):
    path = tmp_path / "stokerd.sock"
    with pytest.raises(stoker.DaemonUnavailable, match="does not exist; start one with"):
        stoker.connect(path)
    path.write_text("no socket")
    with pytest.raises(stoker.DaemonUnavailable, match="cannot connect"):
        stoker.connect(path)
    with pytest.raises(stoker.DaemonUnavailable):
        stoker.connect(tmp_path / ("x" * 200))


def test_the_owners_that_are_trusted(tmp_path, monkeypatch):
    """Trusted are root, this user, and the owner of a directory that others cannot make."""
    folder = tmp_path / "stoker"
    folder.mkdir()
    path = str(folder / "stokerd.sock")
    stranger = 12345
    assert _address._trusted(path, 0) and _address._trusted(path, os.geteuid())
    assert not _address._trusted(path, stranger)

    class Status:
        def __init__(self, uid, mode):
            self.st_uid, self.st_mode = uid, stat.S_IFDIR | mode

    modes = {str(folder): 0o755}
    monkeypatch.setattr(_address.os, "stat", lambda path: Status(
        stranger if str(path) == str(folder) else 0, modes.get(str(path), 0o755)))
    assert _address._trusted(path, stranger)
    assert not _address._trusted(path, stranger + 1)
    modes[str(folder)] = 0o777
    assert not _address._trusted(path, stranger)
    modes.update({str(folder): 0o755, str(tmp_path): 0o1777})  # like /tmp
    assert not _address._trusted(path, stranger)


def test_a_strangers_daemon_is_not_spoken_to(daemon, monkeypatch):
    monkeypatch.setattr(_address, "_peer_uid", lambda sock: 12345)
    with pytest.raises(stoker.DaemonUnavailable, match="uid 12345"):
        stoker.connect(daemon.path)
    assert daemon.seen == []


def test_another_version_is_refused_in_words(daemon):
    """FAULTS 20."""
    def refuse(peer, fields):
        peer.fail(fields["seq"], 6, "version", "this daemon speaks versions 7 to 9, you 1")
        return True

    daemon.hooks["hello"] = refuse
    with pytest.raises(stoker.VersionError, match="7 to 9") as caught:
        stoker.connect(daemon.path)
    assert (caught.value.code, caught.value.name) == (6, "version")


def test_a_full_queue_of_connections_is_waited_for(tmp_path):
    """FAULTS 49: connect() gives EAGAIN while the backlog is full."""
    listener = socket.socket(socket.AF_UNIX)
    path = str(tmp_path / "stokerd.sock")
    listener.bind(path)
    listener.listen(0)
    first = socket.socket(socket.AF_UNIX)
    first.connect(path)
    accepted = []
    timer = threading.Timer(0.2, lambda: accepted.extend(listener.accept() for _ in range(2)))
    timer.start()
    sock = socket.socket(socket.AF_UNIX)
    _address._connect(sock, path)
    timer.join()
    assert len(accepted) == 2
    for end in (sock, first, listener, *(pair[0] for pair in accepted)):
        end.close()


def test_what_is_asked_for(daemon, node, tmp_path, monkeypatch):

    node.loader("/data/20", batch_size=2, seed=5, augment_seed=6, dtype="uint8", layout="NHWC",
                subset=(3, None), bad_samples="substitute", exif_orientation=True, job="run",
                rank=1, world_size=4, prefetch=7, inflight=9, transport="path",
                transforms=[stoker.Resize((4, 5)), {"name": "ToTensor"}])
    asked = daemon.last("attach")
    for key, value in {
            "dataset": {"path": "/data/20"}, "batch_size": 2, "order_seed": 5, "augment_seed": 6,
            "dtype": "uint8", "layout": "NHWC", "subset_start": 3, "bad_samples": "substitute",
            "exif_orientation": True, "job": "run", "rank": 1, "world": 4, "prefetch": 7,
            "inflight": 9, "accept_path": True,
            "transforms": [{"name": "Resize", "size": [4, 5], "interpolation": "bilinear",
                            "antialias": True}, {"name": "ToTensor"}]}.items():
        assert asked[key] == value
    assert not asked.get("accept_fd") and "subset_stop" not in asked and "epochs" not in asked


def test_what_other_libraries_call_numbers_and_types(daemon, node, monkeypatch):
    monkeypatch.setenv("HOME", "/home/somebody")
    loader = node.loader("/data/20", batch_size=np.int64(2), seed=np.uint8(5), dtype=np.float32,
                         epochs=np.int32(9))
    assert type(loader.batch_size) is int and json.loads(json.dumps(loader.state_dict()))
    node.loader({"path": "/data/20", "root": "~/data"}, batch_size=2, dtype=np.dtype("uint8"))
    asked = daemon.last("attach")
    assert (asked["dtype"], asked["dataset"]["root"]) == ("uint8", "/home/somebody/data")
    torch = pytest.importorskip("torch")
    node.loader("/data/20", batch_size=2, dtype=torch.bfloat16)
    assert daemon.last("attach")["dtype"] == "bfloat16"


@pytest.mark.parametrize("wish, words", [
    ({"inflight": 0}, "no batch would ever come"),
    ({"inflight": -1}, "at least 1, not -1"),
    ({"seed": -1}, "^seed must be 0 to"),
    ({"rank": 2, "world_size": 2}, "rank is 2, but world_size is 2: ranks are 0 to 1"),
    ({"rank": 0, "world_size": 0}, "^world_size must be 1 to"),
    ({"dataset": "gs://bucket/train"}, "not from gs://: mount or download"),
    ({"subset": [1, 2, 3]}, r"samplers.Subset\(indices\)"),
    ({"subset": 5}, r"must be \(start, stop\)"),
    ({"fields": "mask"}, r"\['mask'\]"),
    ({"timeout": "5"}, "timeout must be a number of seconds"),
    ({"reconnect": -1}, "reconnect must be a number of seconds"),
    ({"dataset": ""}, "path of the dataset is empty"),
    ({"dataset": {"path": ""}}, "path of the dataset is empty"),
])
def test_what_could_only_be_a_mistake(daemon, node, wish, words):
    with pytest.raises(ValueError, match=words):
        node.loader(**{"dataset": "/data/20", "batch_size": 4, **wish})
    assert "attach" not in [name for name, _ in daemon.seen]


@pytest.mark.parametrize("wish, words", [
    ({"seed": 1.5}, "^seed must be an int, not float"),
    ({"rank": 0, "world_size": 2.0}, "^world_size must be an int, not float"),
    ({"dataset": None}, "must be a path, not NoneType"),
    ({"transforms": 8}, "8 is no list of transforms"),
])
def test_a_mistake_of_type_is_named_as_it_was_given(daemon, node, wish, words):
    with pytest.raises(TypeError, match=words):
        node.loader(**{"dataset": "/data/20", "batch_size": 4, **wish})
    assert "attach" not in [name for name, _ in daemon.seen]


def test_a_socket_for_others(daemon, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(_address, "_connect", refuse)
    with pytest.raises(stoker.DaemonUnavailable, match="a group that may write, join it"):
        stoker.connect(daemon.path)


def test_datasets(daemon, node):
    for dataset in ("/data/20", b"/data/20", Path("/data/20"), "/data//./20",
                    {"path": "/data/20"}):
        node.loader(dataset, batch_size=4).close()
        assert daemon.last("attach")["dataset"] == {"path": "/data/20"}
    node.loader("/data/x/../20", batch_size=4).close()  # x is not there, and so is no parent of it
    assert daemon.last("attach")["dataset"] == {"path": "/data/x/../20"}
    node.loader({"path": Path("/data/20"), "kind": "manifest", "root": "/r/", "format": "csv"},
                batch_size=4)
    assert daemon.last("attach")["dataset"] == {"path": "/data/20", "kind": "manifest",
                                                "root": "/r", "format": "csv"}
    with pytest.raises(stoker.DatasetError):
        node.loader(b"/nowhere/\xff", batch_size=4)
    assert daemon.last("attach")["dataset"]["path"] == "/nowhere/\udcff"
    with pytest.raises(stoker.DatasetError):
        node.loader("20", batch_size=4)
    assert daemon.last("attach")["dataset"]["path"] == os.path.abspath("20")
    mix = stoker.Mix(["/data/20", {"path": Path("/data/./7"), "kind": "folder"}])
    assert stoker.node._dataset(mix) == {
        "parts": [{"path": "/data/20"}, {"path": "/data/7", "kind": "folder"}]}
    for wrong in ({"kind": "folder"},):
        with pytest.raises(ValueError, match="path"):
            node.loader(wrong, batch_size=4)
    for wrong in (5, {"path": "/data/x.npy", "labels": np.arange(3)}):
        with pytest.raises(TypeError, match="must be a path, not (int|ndarray): .*save.*Mix"):
            node.loader(wrong, batch_size=4)


def test_errors_by_their_kind(daemon, node):
    for code, name, kind in ((20, "dataset", stoker.DatasetError),
                             (21, "pipeline", stoker.PipelineError),
                             (22, "argument", stoker.ArgumentError),
                             (23, "memory", stoker.MemoryBudgetError),
                             (24, "transport", stoker.TransportError),
                             (25, "token", stoker.TokenError),
                             (26, "permission", stoker.NotPermitted),
                             (27, "stopping", stoker.Stopping),
                             (99, "of_the_future", stoker.RequestError)):
        daemon.hooks["attach"] = lambda peer, fields: peer.fail(
            fields["seq"], code, name, "in words") or True
        with pytest.raises(kind, match="in words") as caught:
            node.loader("/data/20", batch_size=4)
        if kind is not stoker.Stopping:
            assert (caught.value.code, caught.value.name) == (code, name)
        assert isinstance(caught.value, stoker.Error)
    daemon.settle(lambda: not daemon.peers)


def test_a_closed_node(daemon):
    with stoker.connect(daemon.path) as node:
        loaders = [node.loader("/data/20", batch_size=4) for _ in range(3)]
    for loader in loaders:
        with pytest.raises(stoker.Error, match="closed"):
            iter(loader)
    with pytest.raises(stoker.Error, match="closed"):
        node.loader("/data/20", batch_size=4)
    daemon.settle(lambda: not daemon.peers)


BATCH = {"SLURM_JOB_ID": "7", "SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_GTIDS": "0"}
SRUN = {**BATCH, "SLURM_NTASKS": "2", "SLURM_GTIDS": "0,1", "SLURM_STEP_ID": "0",
        "SLURM_STEPID": "0", "SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NUM_TASKS": "2"}


@pytest.mark.parametrize("environment,expected", [
    ({}, (0, 1)),
    ({"RANK": "3", "WORLD_SIZE": "8"}, (3, 8)),
    ({"RANK": "3"}, (0, 1)),
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "3"}, (2, 3)),
    ({"PMI_RANK": "2", "PMI_SIZE": "3"}, (2, 3)),
    ({"RANK": "0", "WORLD_SIZE": "2", **SRUN, "SLURM_PROCID": "1"}, (0, 2)),
    # As Slurm 22.05 sets them: a step of two tasks, one of a single task in the same job, the batch
    # script around them, salloc's own command, its interactive shell, and a batch script that a
    # task of that first step submitted.
    (SRUN, (0, 2)),
    ({**SRUN, "SLURM_PROCID": "1"}, (1, 2)),
    ({**SRUN, "SLURM_STEP_NUM_TASKS": "1", "SLURM_NTASKS": "1", "SLURM_GTIDS": "0"}, (0, 1)),
    (BATCH, (0, 1)),
    ({"SLURM_JOB_ID": "7", "SLURM_NTASKS": "4"}, (0, 1)),
    ({**SRUN, "SLURM_STEP_ID": "4294967290", "SLURM_STEP_NUM_TASKS": "1"}, (0, 1)),
    ({**SRUN, **BATCH}, (0, 1)),
    # Of more nodes $SLURM_GTIDS has those of this one.
    ({**SRUN, "SLURM_STEP_NUM_NODES": "2", "SLURM_GTIDS": "1", "SLURM_PROCID": "1"}, (1, 2)),
    # mpirun in a batch script: by itself on this node, through a task of srun on others.
    ({**BATCH, "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, (3, 4)),
    ({**SRUN, "OMPI_COMM_WORLD_RANK": "3", "OMPI_COMM_WORLD_SIZE": "4"}, (3, 4)),
    ({**BATCH, "PMI_RANK": "3", "PMI_SIZE": "4"}, (3, 4)),
])
def test_ranks(environment, expected):
    assert _ranks.rank_and_world(None, None, environment) == expected
    assert _ranks.rank_and_world(7, 9, environment) == (7, 9)


def test_a_rank_of_the_environment_is_said_once(caplog):
    caplog.set_level("INFO", "stoker")
    for rank in ("3", "3", "2"):
        _ranks.rank_and_world(None, None, {"RANK": rank, "WORLD_SIZE": "77"})
    _ranks.rank_and_world(0, 1, {"RANK": "1", "WORLD_SIZE": "77"})
    lines = [record.getMessage() for record in caplog.records]
    assert [line.partition(" from")[0] for line in lines] == ["rank 3 of 77", "rank 2 of 77"]
    assert "$RANK and $WORLD_SIZE; rank=0 and world_size=1 give all" in lines[0]


def test_half_a_rank_is_refused():
    for rank, world in ((1, None), (None, 2)):
        with pytest.raises(ValueError, match="together"):
            _ranks.rank_and_world(rank, world, {})
    with pytest.raises(ValueError, match="RANK"):
        _ranks.rank_and_world(None, None, {"RANK": "one", "WORLD_SIZE": "2"})


def test_transforms_as_dicts():
    assert transforms.to_dicts(stoker.ToTensor()) == [{"name": "ToTensor"}]
    assert transforms.to_dicts([]) == transforms.to_dicts(()) == []
    assert transforms.to_dicts([
        stoker.RandomCrop(32, padding=(1, 2), fill=(1, 2, 3)),
        stoker.Normalize(np.array([0.5, 0.25]), (np.float32(1), 2), inplace=True),
        {"name": "Pad", "padding": (1, 2)},
    ]) == [
        {"name": "RandomCrop", "size": 32, "padding": [1, 2], "pad_if_needed": False,
         "fill": [1, 2, 3], "padding_mode": "constant"},
        {"name": "Normalize", "mean": [0.5, 0.25], "std": [1.0, 2]},
        {"name": "Pad", "padding": [1, 2]},
    ]
    for wrong in (5, None, [5], [stoker.ToTensor], ["ToTensor"]):
        with pytest.raises(TypeError):
            transforms.to_dicts(wrong)


@pytest.mark.parametrize("wrong, words", [
    (stoker.Resize, "class.*is a class and not a transform: write stoker.Resize\\("),
    ("Resize(8)", "is a text and not a transform: write stoker.Resize\\("),
    (stoker.RandomApply([stoker.ToTensor]), "write stoker.ToTensor\\("),
    (stoker.RandomApply(stoker.Resize(8)), "Resize.* is no list of transforms"),
    (len, "no code of yours .* stoker.Map"),
    (np.zeros((100, 100)), "no transform of the daemon.*stoker.Map\\(it\\)"),
])
def test_what_is_no_transform_says_what_to_write(wrong, words):
    with pytest.raises(TypeError, match=words) as caught:
        transforms.to_dicts([{"name": "Pad", "padding": 1}, wrong])
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 800


def test_transforms_of_a_tail_as_dicts():
    """A float stays a float: Keras treats it differently from an int."""
    made = transforms.to_dicts([
        stoker.ImageDataGenerator(width_shift_range=2.0, height_shift_range=np.arange(3)),
        stoker.RandomErasing(value="random")])
    assert made[0]["name"] == "ImageDataGenerator" and "rescale" not in made[0]
    assert isinstance(made[0]["width_shift_range"], float)
    assert made[0]["height_shift_range"] == [0, 1, 2] and made[0]["fill_mode"] == "nearest"
    assert made[1] == {"name": "RandomErasing", "p": 0.5, "scale": [0.02, 0.33],
                       "ratio": [0.3, 3.3], "value": "random"}


def test_transforms_as_text():
    text = " Resize(256, bicubic) | RandomApply([ColorJitter(0.4, hue=0.1), Pad((1, 2))], p=.8)" \
           " | RandomErasing(value='random') | ToTensor"
    assert transforms.to_dicts(text) == transforms.to_dicts([
        stoker.Resize(256, "bicubic"),
        stoker.RandomApply([stoker.ColorJitter(0.4, hue=0.1), stoker.Pad((1, 2))], p=0.8),
        stoker.RandomErasing(value="random"), stoker.ToTensor()])


@pytest.mark.parametrize("text, words", [
    ("Rezise(8)", "there is no transform 'Rezise': did you mean 'Resize'\\?"),
    ("Resize(", "transforms 'Resize\\(': .*never closed|unexpected EOF"), ("", "invalid syntax"),
    ("Resize()", "Resize missing 1 required positional argument: 'size'"),
    ("Resize(8, sise=8)", "there is no option 'sise': did you mean 'size'"),
    ("Resize(open('x'))", "no transform 'open'"),
    ("Resize(8).x", "no transform 'Resize\\(8\\).x'"),
])
def test_wrong_text(text, words):
    with pytest.raises(ValueError, match=words):
        transforms.to_dicts(text)


def test_the_preset_of_torchvisions_weights():
    models = pytest.importorskip("torchvision.models")
    preset = models.ResNet50_Weights.IMAGENET1K_V2.transforms()
    assert transforms.to_dicts(preset) == transforms.to_dicts([
        stoker.Resize([232]), stoker.CenterCrop([224]), stoker.ToTensor(),
        stoker.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])])
    with pytest.raises(TypeError, match="SemanticSegmentation"):
        transforms.to_dicts(models.segmentation.FCN_ResNet50_Weights.DEFAULT.transforms())


def test_warps_of_torchvision_as_dicts():
    tv = pytest.importorskip("torchvision.transforms")
    theirs = [
        tv.RandomAffine(10, shear=(1, 2), translate=(0.1, 0)), tv.RandomRotation((3, 4)),
        tv.RandomPerspective(), tv.AutoAugment(tv.AutoAugmentPolicy.SVHN), tv.RandAugment(3),
        tv.TrivialAugmentWide(interpolation=tv.InterpolationMode.BILINEAR)]
    assert transforms.to_dicts(theirs) == transforms.to_dicts([
        stoker.RandomAffine([-10.0, 10.0], shear=[1.0, 2.0], translate=[0.1, 0]),
        stoker.RandomRotation([3.0, 4.0]), stoker.RandomPerspective(),
        stoker.AutoAugment("svhn"), stoker.RandAugment(num_ops=3),
        stoker.TrivialAugmentWide(interpolation="bilinear")])


def test_transforms_that_hold_others_as_dicts():
    flip, gray = stoker.RandomHorizontalFlip(), {"name": "Grayscale", "num_output_channels": 3}
    assert transforms.to_dicts([
        stoker.RandomApply((stoker.RandomChoice([flip, gray], p=(1, 2.5)), flip), p=1),
        {"name": "RandomOrder", "transforms": [stoker.Compose([flip])]},
    ]) == [
        {"name": "RandomApply", "p": 1, "transforms": [
            {"name": "RandomChoice", "transforms": [flip.to_dict(), gray], "p": [1, 2.5]},
            flip.to_dict()]},
        {"name": "RandomOrder", "transforms": [
            {"name": "Compose", "transforms": [flip.to_dict()]}]},
    ]
    with pytest.raises(TypeError):
        transforms.to_dicts(stoker.RandomOrder([5]))


def test_torchvision_objects_hold_others():
    tv = pytest.importorskip("torchvision.transforms")
    torch = pytest.importorskip("torch")
    flip = tv.RandomHorizontalFlip(0.25)
    held = torch.nn.ModuleList([flip])
    theirs = [tv.RandomApply(held, p=0.25), tv.RandomOrder([tv.Compose([flip])]),
              tv.RandomChoice([flip, tv.Grayscale(3)], p=[1, 2])]
    ours = stoker.RandomHorizontalFlip(0.25)
    assert transforms.to_dicts(theirs) == transforms.to_dicts([
        stoker.RandomApply([ours], p=0.25), stoker.RandomOrder([stoker.Compose([ours])]),
        stoker.RandomChoice([ours, stoker.Grayscale(3)], p=[1, 2])])


def test_detection_of_torchvision():
    """Some keep their parameters by other names."""
    def v2(name, **members):
        return type(name, (), {"__module__": "torchvision.transforms.v2._geometry", **members})()

    assert transforms.to_dicts([
        v2("RandomIoUCrop", min_scale=0.5, max_scale=1.0, min_aspect_ratio=0.5, trials=9,
           max_aspect_ratio=2.0, options=[0.1, 1.0]),
        v2("FixedSizeCrop", crop_height=4, crop_width=5, fill=3, padding_mode="edge"),
        v2("ConvertBoundingBoxFormat", format=type("Format", (), {"value": "XYWH"})()),
        v2("SanitizeBoundingBoxes", min_size=2.0, min_area=1.0, labels_getter=None)]) == [
        {"name": "RandomIoUCrop", "min_scale": 0.5, "max_scale": 1.0, "min_aspect_ratio": 0.5,
         "max_aspect_ratio": 2.0, "sampler_options": [0.1, 1.0], "trials": 9},
        {"name": "FixedSizeCrop", "size": [4, 5], "fill": 3, "padding_mode": "edge"},
        {"name": "ConvertBoundingBoxFormat", "format": "XYWH"},
        {"name": "SanitizeBoundingBoxes", "min_size": 2.0, "min_area": 1.0}]
    with pytest.raises(TypeError, match="labels_getter is code of yours"):
        transforms.to_dicts([v2("SanitizeBoundingBoxes", labels_getter=len)])


def test_what_makes_tensors_in_torchvision():
    """Transforms of torchvision v2 are known by name: older versions do not have them."""
    tv = pytest.importorskip("torchvision.transforms")
    torch = pytest.importorskip("torch")

    def v2(name, **members):
        return type(name, (), {"__module__": "torchvision.transforms.v2._type_conversion",
                               **members})()

    flip, size = stoker.RandomHorizontalFlip(), stoker.CenterCrop(8)
    ours = transforms.to_dicts([size, flip, stoker.ToTensor()])
    assert transforms.to_dicts([tv.CenterCrop(8), tv.RandomHorizontalFlip(), tv.PILToTensor(),
                                tv.ConvertImageDtype(torch.float32)]) == [
        dict(ours[0], size=[8, 8]), *ours[1:]]
    assert transforms.to_dicts([v2("ToImage"), size, flip,
                                v2("ToDtype", dtype=torch.float32, scale=True)]) == ours
    assert transforms.to_dicts([v2("ToDtype", dtype=torch.uint8, scale=True)]) == []
    with pytest.raises(TypeError, match="scale=True"):
        transforms.to_dicts([v2("ToDtype", dtype=torch.float32, scale=False)])
    with pytest.raises(TypeError, match="stoker.Map\\(it\\)"):
        transforms.to_dicts([tv.Lambda(abs)])


def test_a_mean_of_bytes_is_warned_of():
    with pytest.warns(UserWarning, match="divided by 255"):
        stoker.Normalize((123.7, 116.3, 103.5), (58.4, 57.1, 57.4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stoker.Normalize(np.array([0.485, 0.456, 0.406]), 0.2)
        stoker.Normalize(-1, 2)


def test_signatures_are_torchvisions():
    tv = pytest.importorskip("torchvision.transforms")
    import inspect
    for name in filter(partial(hasattr, tv), transforms.__all__):
        theirs = inspect.signature(getattr(tv, name).__init__).parameters
        ours = inspect.signature(getattr(stoker, name)).parameters
        names = [key for key in theirs if key not in ("self", "antialias")]
        more = ["to", "center"] if name == "Pad" else []  # with `to` it needs no padding
        assert [key for key in ours if key != "antialias"] == [*names, *more]
        for key in names[bool(more):]:
            default = theirs[key].default
            assert ours[key].default == getattr(default, "value", default)
