# SPDX-License-Identifier: MIT
"""Each transform of the registry stands in all the places that registry.h names, with the same
parameters and defaults: the Python client, the reference that tests compare with. For PROTOCOL.md
see tests/style/protocol.py.
"""

import ctypes
import dataclasses
import random

import pytest
from stoker import transforms
from test_pipeline_pillow import LIB, Tool, reference

LIB.tool_transform.restype = LIB.tool_parameter.restype = ctypes.c_char_p
UNSIZED = ("RandomIoUCrop", "RandomZoomOut", "ScaleJitter", "RandomShortestSize")
EXAMPLES = {"Buckets": {"sizes": [[24, 32]]}, "Grayscale": {"num_output_channels": 3},
            "Pad": {"padding": 3}}


def listed(function, *arguments):
    """What a function of the tool gives for 0, 1, ... until there is nothing more."""
    out = []
    while function(*arguments, len(out)):
        out.append(function(*arguments, len(out)).decode())
    return out


ROWS = {name: listed(LIB.tool_parameter, row)
        for row, name in enumerate(listed(LIB.tool_transform))}


def example(name):
    """The transform with what it needs and else its defaults, by name."""
    kind = getattr(transforms, name)
    given = reference.COLOURS[name][1](random.Random(4)) if name in reference.COLOURS else {}
    given.update(EXAMPLES.get(name, {}))
    for field in dataclasses.fields(kind):
        if field.default is dataclasses.MISSING and field.name not in given:
            given[field.name] = reference.NEEDED[field.name]
    return given


def text(transform):
    """Of a list with the transform, in one size."""
    size = {"name": "CenterCrop", "size": 24}
    if transform["name"] == "ReadAs":
        return Tool([transform, size]).text
    if transform["name"].endswith("Crop") and transform["name"] != "RandomIoUCrop":
        return Tool([transform]).text
    return Tool([size, transform, *[size] * (transform["name"] in UNSIZED)]).text


def test_the_python_client_has_all_of_them_and_no_others():
    assert set(transforms.__all__) - {"Transform"} == set(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_the_python_client_has_the_parameters(name):
    kind = getattr(transforms, name)
    assert {field.name for field in dataclasses.fields(kind)} == set(ROWS[name])


@pytest.mark.parametrize("name", ROWS)
def test_the_python_client_has_the_defaults(name):
    given = example(name)
    assert text({"name": name, **given}) == text(getattr(transforms, name)(**given).to_dict())


@pytest.mark.parametrize("name", ROWS)
def test_the_reference_has_it(name):
    if name in ("MixUp", "CutMix", "Mosaic"):
        pytest.skip("tests/daemon/test_mix.py and test_mosaic.py have references of their own")
    image = reference.Image.new("RGB", (50, 40))
    reference.expected(image, [{"name": name, **example(name)}])
