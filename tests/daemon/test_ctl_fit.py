# SPDX-License-Identifier: MIT
"""stokerctl fit: statistics of a dataset as text and as JSON, and errors."""

import json
import re
import shutil
import signal
import subprocess

import numpy as np
import pytest

from harness import STOKERCTL, WAIT_S

N, H, W = 50, 4, 6
USAGE = 64


def pictures():
    return np.random.default_rng(2).integers(0, 256, (N, H, W, 3), np.uint8)


@pytest.fixture(name="dataset")
def fixture_dataset(tmp_path):
    np.save(tmp_path / "x.npy", pictures())
    return tmp_path / "x.npy"


def values_of(daemon, *arguments):
    return json.loads(daemon.ctl("--json", "fit", *arguments).stdout)


def test_for_programs(daemon, dataset):
    values = values_of(daemon, dataset, "--name", "a", "--rescale", 0.5)
    flat = 0.5 * pictures().reshape(-1, 3)
    assert np.allclose(values["mean"], flat.mean(0)) and np.allclose(values["std"], flat.std(0))
    assert (values["path"], values["name"]) == (str(dataset), "a")
    assert (values["samples"], values["unread"]) == (N, 0)
    assert (values["width"], values["height"]) == (W, H)
    assert (values["zca"], values["bytes"], values["kept"]) == (False, 0, False)


def test_every_option_counts(daemon, dataset):
    """Each option gives other statistics, as PROTOCOL.md says."""
    options = [[], ["--per-pixel"], ["--zca"], ["--zca", "--zca-epsilon", 0.1],
               ["--per-pixel", "--zca"], ["--rescale", 2], ["-t", "Resize(size=[2, 3])"]]
    found = [values_of(daemon, dataset, *more) for more in options]
    assert len({values["digest"] for values in found}) == len(options)
    length = 3 * H * W
    assert [values["bytes"] // 4 for values in found] == [
        0, 2 * length, length ** 2, length ** 2, 2 * length + length ** 2, 0, 0]
    assert (found[-1]["height"], found[-1]["width"]) == (2, 3)


def test_for_people(daemon, dataset):
    done = daemon.ctl("fit", dataset, "--zca", "--name", "white")
    assert not done.stderr
    head, mean, std, digest, kept = done.stdout.splitlines()
    assert re.fullmatch(rf"{re.escape(str(dataset))}: statistics 'white' of {N} images of "
                        rf"{W} x {H} in \S+ m?s", head)
    flat = pictures().reshape(-1, 3)
    for line, name, wanted in ((mean, "mean", flat.mean(0)), (std, "std", flat.std(0))):
        first, *numbers = line.split()
        assert first == name and np.allclose(np.array(numbers, float), wanted, rtol=1e-8)
    assert re.fullmatch(r"  digest [0-9a-f]{32}, with the ZCA matrix", digest)
    assert kept.startswith("in memory only")


def test_what_is_no_picture(daemon, photos, tmp_path):
    """Files that are not images are left out and counted."""
    folder = tmp_path / "some" / "class"
    folder.mkdir(parents=True)
    some = sorted(photos.glob("*/*.jpg"))[:3]
    for path in some:
        shutil.copy(path, folder)
    (folder / "broken.jpg").write_bytes(b"no JPEG")
    done = daemon.ctl("fit", folder.parent, "-t", "Resize(size=[8, 8])")
    assert f"of {len(some)} images of 8 x 8" in done.stdout
    assert "without 1 files that could not be read or decoded" in done.stdout


def test_kept(spawn, dataset, tmp_path):
    """Saved on disk; if that fails they are still in memory, and the log says why."""
    index = tmp_path / "index"
    daemon = spawn(index_dir=index)
    assert daemon.ctl("fit", dataset).stdout.endswith("saved on disk\n")
    file, = index.glob("*.default.fit")
    file.unlink()
    file.mkdir()
    values = values_of(daemon, dataset)
    assert not values["kept"] and values["samples"] == N
    assert re.search(r"statistics are not kept on the disk \(index-dir\): .*rename: ", daemon.log())
    assert not list(index.glob("*.new"))


def test_no_room_on_the_disk(spawn, dataset, tmp_path):
    if subprocess.run(["unshare", "-m", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be had here")
    index = tmp_path / "index"
    index.mkdir()
    daemon = spawn(index_dir=index, launcher=[
        "unshare", "-m", "sh", "-c",
        f'mount -t tmpfs -o size=8k,mode=0700 none "{index}" && exec "$@"', "sh"])
    assert values_of(daemon, dataset)["kept"]
    done = daemon.ctl("fit", dataset, "--zca", "--name", "large")
    assert "in memory only" in done.stdout
    assert re.search(r"not kept on the disk .*large.fit: write: No space left", daemon.log())


@pytest.mark.parametrize("arguments, words", [
    (["/nowhere/at/all"], "/nowhere/at/all"),
    (["{}", "--name", "a/b"], "letters, digits"),
    (["{}", "--rescale", "0"], "rescale must be"),
    (["{}", "--zca-epsilon", "-1"], "zca_epsilon must be"),
    (["{}", "-t", "Resize(size=[33, 32])", "--zca"], "whitening takes at most 3072 (32 x 32 x 3)"),
    (["{}", "-t", "Resize(size=[1500, 1000])", "--per-pixel"], "4194304"),
    (["{}", "-t", "RandomHorizontalFlip()"], "RandomHorizontalFlip"),
])
def test_refused(daemon, dataset, arguments, words):
    done = daemon.ctl("fit", *(part.format(dataset) for part in arguments), check=False)
    assert done.returncode == USAGE and not done.stdout
    assert words in done.stderr and done.stderr.startswith("stokerctl: ")
    as_json = daemon.ctl("--json", "fit", *(part.format(dataset) for part in arguments),
                         check=False)
    assert words in json.loads(as_json.stdout)["error"]["text"]
    assert as_json.returncode == done.returncode


@pytest.mark.parametrize("arguments, words", [
    ([], "DATASET"),
    (["{}", "--rescale", "x"], "--rescale: 'x' is not a number"),
    (["{}", "--zca-epsilon", ""], "--zca-epsilon: '' is not a number"),
    (["{}", "-t", "Resize("], "transforms, column 8"),
])
def test_a_wrong_command_line(daemon, dataset, arguments, words):
    done = daemon.ctl("fit", *(part.format(dataset) for part in arguments), check=False)
    assert done.returncode == USAGE and not done.stdout and words in done.stderr


def test_pictures_of_many_sizes(daemon, photos):
    """Without a transform that makes them equal."""
    done = daemon.ctl("fit", photos, check=False)
    assert done.returncode == USAGE and "Resize" in done.stderr


def test_room_in_memory(spawn, dataset):
    done = spawn(dataset_memory="40K").ctl("fit", dataset, "--zca", check=False)
    assert done.returncode != 0 and "dataset-memory" in done.stderr


def test_who_is_interrupted(daemon, dataset, tmp_path):
    """After Ctrl-C the daemon goes on, and can be stopped."""
    large = tmp_path / "large.npy"
    np.save(large, np.random.default_rng(1).integers(0, 255, (40, 32, 32, 3), np.uint8))
    with subprocess.Popen([str(STOKERCTL), "-s", str(daemon.control), "fit", str(large), "--zca"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as command:
        wait = daemon.ctl("--json", "datasets")
        while str(large) not in wait.stdout:
            wait = daemon.ctl("--json", "datasets")
        command.send_signal(signal.SIGINT)
        assert command.wait(WAIT_S) == -signal.SIGINT
    assert values_of(daemon, dataset)["samples"] == N
