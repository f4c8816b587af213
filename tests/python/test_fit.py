# SPDX-License-Identifier: MIT
"""node.fit(): statistics by the real daemon, their use, and errors."""
from pathlib import Path

import numpy as np
import pytest

import stoker
from real_daemon import RealDaemon, binary, pictures

pytestmark = pytest.mark.skipif(binary() is None, reason="no stokerd was built")
N, H, W = 80, 4, 5


@pytest.fixture
def node(near):
    return near


def array():
    return np.random.default_rng(3).integers(0, 256, (N, H, W, 3), np.uint8)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("arrays") / "x.npy"
    np.save(path, array())
    return path


def images(node, path, **generator):
    loader = node.loader(path, batch_size=N, shuffle=False, epochs=1, layout="NHWC",
                         transforms=[stoker.ImageDataGenerator(**generator)])
    with loader:
        batch, = loader.batches()
        return np.array(batch.images)


def test_what_it_returns(node, path):
    done = node.fit(path, name="plain", rescale=2)
    flat = 2.0 * array().reshape(-1, 3)
    assert np.allclose(done["mean"], flat.mean(0)) and np.allclose(done["std"], flat.std(0))
    assert (done["name"], done["samples"], done["unread"]) == ("plain", N, 0)
    assert (done["height"], done["width"], done["zca"]) == (H, W, False)


@pytest.mark.parametrize("by", ["name", "digest"])
@pytest.mark.parametrize("per_pixel", [False, True])
def test_a_generator_takes_it(node, path, by, per_pixel):
    done = node.fit(path, name="features", per_pixel=per_pixel)
    x = array().astype(np.float64)
    axes = 0 if per_pixel else (0, 1, 2)
    got = images(node, path, featurewise_center=True, featurewise_std_normalization=True,
                 statistics=done[by])
    assert np.abs(got - (x - x.mean(axes)) / (x.std(axes) + 1e-6)).max() < 1e-4


def test_whitened(node, path):
    """Whitened images have no correlations and a standard deviation of 1."""
    node.fit(path, name="white", zca=True, zca_epsilon=1e-8, rescale=1 / 255)
    flat = images(node, path, zca_whitening=True, zca_epsilon=1e-8, rescale=1 / 255,
                  statistics="white").reshape(N, -1).astype(np.float64)
    assert np.allclose(flat.T @ flat / N, np.eye(3 * H * W), atol=2e-3)


def test_of_files(node, tmp_path):
    """Statistics of the output of transforms, which may be the list of the stream."""
    folder = Path(pictures(tmp_path / "train"))
    done = node.fit(folder, transforms=[stoker.Resize((8, 8)), stoker.CenterCrop(6)])
    assert (done["samples"], done["height"], done["width"]) == (21, 6, 6)
    (folder / "class0" / "no.png").write_bytes(b"no PNG")
    done = node.fit(folder, transforms=[stoker.Resize((8, 8))])
    assert (done["samples"], done["unread"]) == (21, 1)


@pytest.mark.parametrize("arguments, error, words", [
    ({"name": "a b"}, stoker.ArgumentError, "letters, digits"),
    ({"rescale": 0}, stoker.ArgumentError, "rescale"),
    ({"zca": True, "zca_epsilon": -1.0}, stoker.ArgumentError, "zca_epsilon"),
    ({"transforms": [stoker.RandomHorizontalFlip()]}, stoker.PipelineError, "RandomHorizontalFlip"),
    ({"transforms": [stoker.Resize((40, 40))], "zca": True}, stoker.PipelineError, "3072"),
])
def test_refused(node, path, arguments, error, words):
    with pytest.raises(error, match=words):
        node.fit(path, **arguments)


def test_no_dataset(node, tmp_path):
    with pytest.raises(stoker.DatasetError, match="nowhere"):
        node.fit(tmp_path / "nowhere")


def test_pictures_of_many_sizes(node, tmp_path):
    """Images of different sizes, without a transform that makes them equal."""
    with pytest.raises(stoker.PipelineError, match="Resize"):
        node.fit(pictures(tmp_path / "train"))


def test_who_does_not_wait(path, tmp_path):
    """Node and daemon go on after an interrupt, and a stop does not wait for the rest."""
    large = tmp_path / "large.npy"
    np.save(large, np.random.default_rng(1).integers(0, 256, (40, 32, 32, 3), np.uint8))
    daemon = RealDaemon(tmp_path)
    with stoker.connect(daemon.path) as node:
        with pytest.raises(TimeoutError):
            node.fit(large, zca=True, timeout=0.5)
        assert node.fit(path)["samples"] == N
    assert daemon.stop() == 0


def test_a_closed_node(real, path):
    node = stoker.connect(real.path)
    node.close()
    with pytest.raises(stoker.Error, match="closed"):
        node.fit(path)
