# SPDX-License-Identifier: MIT
"""ImageDataGenerator and RandomErasing against Keras' and torchvision's formulas.

The bar is a mean difference below 0.1 and a largest one below 1.5 of 255. Every instruction set
gives the same bits.
"""

import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

SOURCE = Path(os.environ.get("STOKER_SOURCE", Path(__file__).resolve().parents[3]))
sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(SOURCE / "tests" / "reference"))

import keras_reference  # noqa: E402
import stoker_reference as reference  # noqa: E402
from test_pipeline_pillow import Refused, Tool, compare, noise  # noqa: E402

MODES = ["constant", "nearest", "reflect", "wrap"]
SETS = ["plain", "avx2", "avx512"]
CASES = int(os.environ.get("STOKER_CASES", "300"))


def generator(**parameters):
    return {"name": "ImageDataGenerator", **parameters}


def listed(image, transform):
    """Keras takes pictures of one size; here a Resize to the picture's own size says which."""
    return [{"name": "Resize", "size": [image.height, image.width]}, transform]


def numbers(image, transform, key=(0, 0, 0), dtype="float32", layout="NHWC"):
    """The result, which must be the same for each instruction set."""
    made = []
    before = os.environ.get("STOKER_CPU")
    for name in SETS:
        os.environ["STOKER_CPU"] = name
        made.append(Tool(listed(image, transform), dtype, layout).make(image, key))
    if before is None:
        del os.environ["STOKER_CPU"]
    else:
        os.environ["STOKER_CPU"] = before
    for array in made[1:]:
        assert (array.view(np.uint8) == made[0].view(np.uint8)).all(), (transform, key)
    shape = (image.height, image.width, 3) if layout == "NHWC" else (3, image.height, image.width)
    return made[0].reshape(shape)


def doubtful(image, transform, key):
    """In these modes the values outside of a picture do not continue those at its edge."""
    drawn = keras_reference.draw(
        transform, image.size, lambda n: reference.draw_uniform(key, 65536 + n),
        lambda n, bound: reference.draw_below(key, 65536 + n, bound))
    return transform.get("fill_mode") in ("constant", "wrap") and keras_reference.doubtful(
        drawn, image.height, image.width)


def differ(image, transform, key, scale=1.0):
    if doubtful(image, transform, key):
        return
    want = reference.expected(image, listed(image, transform), "float32", "NHWC", *key)
    apart = np.abs(numbers(image, transform, key).astype(float) - want) / scale
    assert apart.mean() < 0.1 and apart.max() < 1.5, (
        image.size, transform, key, apart.mean(), apart.max())


def random_shift(rng):
    kind = rng.randrange(5)
    if kind == 0:
        return rng.randint(0, 9)
    if kind == 1:
        return [rng.choice([-3, -1, 0, 2, 5]) for _ in range(rng.randint(1, 6))]
    if kind == 2:
        return [rng.uniform(-0.5, 0.5) for _ in range(rng.randint(1, 3))]
    return rng.choice([0.0, 0.1, 0.25, 0.9, 2.0, 3.5])


def random_geometry(rng):
    transform = generator(fill_mode=rng.choice(MODES), cval=rng.choice([0.0, 127.5, 255]))
    if rng.random() < 0.5:
        transform["rotation_range"] = rng.choice([5, 20.5, 90, 180])
    if rng.random() < 0.3:
        transform["shear_range"] = rng.choice([0.2, 10, 40])
    if rng.random() < 0.4:
        transform["zoom_range"] = rng.choice([0.2, 0.5, [0.5, 0.5], [0.3, 3.0]])
    if rng.random() < 0.7:
        transform["width_shift_range"] = random_shift(rng)
    if rng.random() < 0.7:
        transform["height_shift_range"] = random_shift(rng)
    transform["horizontal_flip"] = rng.random() < 0.5
    transform["vertical_flip"] = rng.random() < 0.5
    return transform


def random_size(rng):
    return (32, 32) if rng.random() < 0.4 else (rng.randint(1, 70), rng.randint(1, 70))


@pytest.mark.parametrize("mode", MODES)
def test_geometry(mode):
    rng = random.Random("geometry " + mode)
    for i in range(3 * CASES):
        transform = random_geometry(rng)
        transform["fill_mode"] = mode
        image = noise(rng, *random_size(rng))
        differ(image, transform, (rng.getrandbits(64), rng.randrange(9), i))


def test_values():
    rng = random.Random("values")
    for i in range(2 * CASES):
        transform = random_geometry(rng) if rng.random() < 0.5 else generator()
        scale = 1.0
        if rng.random() < 0.5:
            transform["channel_shift_range"] = rng.choice([10, 80.5])
        if rng.random() < 0.3:
            # A byte more or less before it is this many more or less behind it.
            transform["brightness_range"] = rng.choice([[0.2, 1.4], [1.0, 1.0], [0.0, 0.0]])
        if rng.random() < 0.5:
            transform["rescale"] = scale = 1 / 255
        if rng.random() < 0.3:
            transform["samplewise_center"] = True
        if rng.random() < 0.3:
            transform["featurewise_std_normalization"] = True
            transform["featurewise_mean"] = [m * scale for m in (120.0, 110.5, 3.25)]
            transform["featurewise_std"] = [s * scale for s in (60.0, 50.5, 70.0)]
            scale = 1 / 50.5
        differ(noise(rng, *random_size(rng)), transform,
               (rng.getrandbits(64), rng.randrange(9), i), scale)


def test_samplewise_deviation():
    rng = random.Random("deviation")
    for i in range(CASES):
        transform = {**random_geometry(rng), "samplewise_std_normalization": True}
        image = noise(rng, rng.randint(8, 40), rng.randint(8, 40))
        key = (i, 0, i)
        want = reference.expected(image, listed(image, transform), "float32", "NHWC", *key)
        np.testing.assert_allclose(numbers(image, transform, key), want, rtol=1e-3, atol=2e-3)


def test_bright_alone():
    """Brightness of bytes is Pillow's to the bit, also for numbers outside of their range."""
    rng = random.Random("bright")
    for i in range(CASES):
        image = noise(rng, *random_size(rng))
        transform = generator(brightness_range=[0.0, 4.0])
        want = reference.expected(image, listed(image, transform), "float32", "NHWC", i, 0, 0)
        assert (numbers(image, transform, (i, 0, 0)) == want).all()
        transform = generator(brightness_range=[0.5, 1.2], fill_mode="constant", cval=-70.0,
                              width_shift_range=[3])
        differ(image, transform, (i, 0, 0))


def test_dtypes_and_layouts():
    rng = random.Random("dtypes")
    transform = generator(rotation_range=30, horizontal_flip=True, rescale=1 / 255)
    for i in range(20):
        image = noise(rng, *random_size(rng))
        whole = numbers(image, transform, (i, 0, 0))
        assert (numbers(image, transform, (i, 0, 0), layout="NCHW") ==
                whole.transpose(2, 0, 1)).all()
        half = numbers(image, transform, (i, 0, 0), "float16")
        assert (half.view(np.float16) == whole.astype(np.float16)).all()
        brain = numbers(image, transform, (i, 0, 0), "bfloat16").astype(np.uint32) << 16
        assert np.abs(brain.view(np.float32) - whole).max() <= 2.0**-8


def test_a_scale_that_no_float32_holds():
    """A draw of 0 is 0, and does not mean "none" as in Keras."""
    image = noise(random.Random(6), 8, 8)
    assert not numbers(image, generator(rescale=1e-50), (0, 0, 0)).any()
    assert numbers(image, generator(rescale=0), (0, 0, 0)).any()


def test_list_of_one_is_not_a_number():
    image = noise(random.Random(5), 10, 10)
    texts = {Tool(listed(image, generator(width_shift_range=given))).text
             for given in (2, 2.0, [2], [2.0], 0.2, [0.2])}
    assert len(texts) == 5  # [2] and [2.0] are one


@pytest.mark.parametrize("transforms, words", [
    ([generator(zca_whitening=True)], "zca_whitening"),
    ([generator(featurewise_center=True)], "featurewise_mean"),
    ([generator(featurewise_std_normalization=True, featurewise_mean=1)], "featurewise_std"),
    ([generator(fill_mode="mirror")], "fill_mode"),
    ([generator(width_shift_range=-3)], "both ways"),
    ([generator(width_shift_range=list(range(17)))], "16"),
    ([generator(), generator()], "another"),
    ([generator(), {"name": "RandomHorizontalFlip"}], "put it before"),
    ([generator(), {"name": "ToTensor"}], "stands after"),
    ([{"name": "ToTensor"}, generator()], "without ToTensor"),
    ([{"name": "RandomErasing"}, generator()], "put it before"),
    ([{"name": "RandomErasing"}] * 9, "more than"),
    ([{"name": "RandomErasing", "value": "grey"}], "random"),
    ([{"name": "RandomErasing", "scale": [0.1, 1.5]}], "from 0 to 1"),
])
def test_refused(transforms, words):
    with pytest.raises(Refused, match=words):
        Tool([{"name": "CenterCrop", "size": 8}] + transforms)


def test_bytes_refused():
    crop = {"name": "CenterCrop", "size": 8}
    with pytest.raises(Refused, match="uint8"):
        Tool([crop, generator()], "uint8")
    for value in ("random", -1, [1, 2, 300]):
        with pytest.raises(Refused, match="0 to 255"):
            Tool([crop, {"name": "RandomErasing", "value": value}], "uint8")


def test_erasing():
    rng = random.Random("erasing")
    erased = 0
    for i in range(CASES):
        image = noise(rng, *random_size(rng))
        erasing = {"name": "RandomErasing", "p": rng.choice([0.5, 1]),
                   "value": rng.choice([0, 1.5, [10, 20, 30]])}
        if rng.random() < 0.5:
            erasing.update(scale=[0.1, 1.0], ratio=[0.1, 10])
        if rng.random() < 0.3:
            erasing["value"] = rng.randrange(256)
        crop = {"name": "Resize", "size": [image.height, image.width]}
        normalize = {"name": "Normalize", "mean": [0.5] * 3, "std": [0.2] * 3}
        flip = {"name": "RandomHorizontalFlip"}
        for dtype in ("float32", "float16", "bfloat16", "uint8"):
            middle = [] if dtype == "uint8" else [{"name": "ToTensor"}, normalize]
            for layout in ("NCHW", "NHWC"):
                compare(image, [crop, flip] + middle + [erasing], dtype, layout, (i, 0, i))
        plain = reference.expected(image, [crop], augment_seed=i, position=i)
        erased += (reference.expected(image, [crop, erasing], augment_seed=i,
                                      position=i) != plain).any()
    assert erased > CASES // 4


def test_erasing_with_normals():
    image = Image.new("RGB", (90, 60))
    erasing = {"name": "RandomErasing", "p": 1, "value": "random", "scale": [0.5, 0.9]}
    seen = []
    for i in range(5):
        want = reference.expected(image, listed(image, erasing), augment_seed=i)
        got = Tool(listed(image, erasing)).make(image, (i, 0, 0)).reshape(want.shape)
        np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
        seen += [got[got != 0]]
    seen = np.concatenate(seen)
    assert abs(seen.mean()) < 0.05 and abs(seen.std() - 1) < 0.05


def test_erasing_behind_the_generator():
    rng = random.Random("both")
    image = noise(rng, 32, 32)
    both = [{"name": "Resize", "size": [32, 32]}, generator(rotation_range=40),
            {"name": "RandomErasing", "p": 1}, {"name": "RandomErasing", "p": 1, "value": 7}]
    want = reference.expected(image, both, "float32", "NHWC", 3, 1, 4)
    got = Tool(both, "float32", "NHWC").make(image, (3, 1, 4)).reshape(want.shape)
    assert np.abs(got - want).max() < 1.5 and ((got == 7) == (want == 7)).all()
    assert keras_reference.draw(both[1], (9, 9), lambda n: 0.5, lambda n, m: 0)["theta"] == 0
