# SPDX-License-Identifier: MIT
"""The types of the public constructors: those that pass keywords on know the same ones as
Node.loader(), and a type checker finds a misspelt or mistyped one. mypy is skipped if it is not
installed."""
import inspect
import os
import subprocess
import sys
from typing import get_type_hints

import pytest

import stoker
from stoker import _options, node as node_module
from real_daemon import ROOT

RIGHT = """
import stoker
import stoker.dask
import stoker.chainer
import stoker.keras
import stoker.torch
node = stoker.connect()
node.loader("d", batch_size=4, transforms="ToTensor", last_batch="drop", rank=0, world_size=2)
stoker.torch.Loader("d", 4, transforms=[], prefetch=4).class_to_idx["cat"]
stoker.torch.Loader("d", 4).state_dict()
stoker.chainer.Iterator("d", 4, transforms=[], reconnect=None)
stoker.dask.epoch("d", 4, transforms=[], shuffle=False)
stoker.keras.Dataset(node.loader("d", batch_size=4), workers=4)
images = stoker.keras.ImageDataGenerator(rotation_range=15, rescale=1 / 255)
stoker.keras.OrderedEnqueuer(images.flow_from_directory("d", color_mode="rgba"), workers=2)
"""
WRONG = ["""stoker.connect().loader("d", batch_size=4, transfroms=[])""",
         """stoker.connect().loader("d", batch_size="4")""",
         """stoker.torch.Loader("d", 4, transfroms=[])""",
         """stoker.torch.Loader("d", 4, prefetch="4")""",
         """stoker.connect().loader("d", batch_size=4).class_to_index""",
         """stoker.chainer.Iterator("d", 4, transfroms=[])""",
         """stoker.chainer.Iterator("d", 4, views="two")""",
         """stoker.dask.epoch("d", 4, transfroms=[])""",
         """stoker.dask.epoch("d", 4, seed="1")""",
         """stoker.connect(soket="s")""", """stoker.connect(start="yes")""",
         """stoker.keras.Dataset(None, wokers=4)""", """stoker.keras.Dataset()""",
         """stoker.keras.ImageDataGenerator(rotation_rnge=4)""",
         """stoker.keras.ImageDataGenerator(rotation_range="4")""",
         """stoker.keras.ImageDataGenerator().flow([], bach_size=4)""",
         """stoker.keras.ImageDataGenerator().flow_from_directory("d", batch_size="4")""",
         """stoker.keras.OrderedEnqueuer(None, shufle=True)""",
         """stoker.keras.OrderedEnqueuer(None, workers="4")""",
         """stoker.tf.dataset(None, epoch=4)""", """stoker.tf.dataset("d")""",
         """stoker.jax.arrays(None, devise=4)""", """stoker.jax.arrays("d")""",
         """stoker.Mix(["d"], wegihts=[1])""", """stoker.Mix(["d"], weights="much")""",
         """stoker.samplers.Split(0.2, sbset="training")""",
         """stoker.samplers.Weighted(num_samples="3")""",
         """stoker.RandomCrop(32, pading=4)""", """stoker.RandomHorizontalFlip("much")"""]


def test_the_keywords_are_those_of_the_loader():
    """By their names and types."""
    parameters = inspect.signature(stoker.Node.loader).parameters
    keywords = {name: parameter.annotation for name, parameter in parameters.items()
                if parameter.kind is parameter.KEYWORD_ONLY and name != "batch_size"}
    hints = {name: eval(text, vars(node_module))  # pylint: disable=eval-used
             for name, text in keywords.items()}
    assert get_type_hints(_options.Options) == hints


@pytest.mark.parametrize("name, words", [
    ("num_workers", "the daemon has the workers: `stokerctl set workers 8`"),
    ("pin_memory", "DataLoader\\(loader, batch_size=None"),
    ("transfroms", "there is no option 'transfroms': did you mean 'transforms'\\?"),
    ("batch_sise", "there is no option 'batch_sise': did you mean 'batch_size'\\?"),
    ("zzz", "there is no option 'zzz', but augment_seed, "),
])
def test_a_keyword_of_another_loader(daemon, node, name, words):
    with pytest.raises(TypeError, match=words):
        node.loader("/data/20", batch_size=4, **{name: 1})
    torch = pytest.importorskip("stoker.torch", exc_type=ImportError) \
        if "exc_type" in inspect.signature(pytest.importorskip).parameters \
        else pytest.importorskip("stoker.torch")
    with pytest.raises(TypeError, match=words):
        torch.Loader("/data/20", 4, node=node, **{name: 1})


@pytest.mark.parametrize("options, words", [
    ({"batchsize": 4}, "there is no option 'batchsize': did you mean 'batch_size'\\?"),
    ({"device": "cuda", "batch_size": 4}, "device is not supported: stoker.torch.Loader"),
])
def test_a_keyword_that_the_loader_has_not(daemon, node, options, words):
    with pytest.raises(TypeError, match=words):
        node.loader("/data/20", **options)


def test_mypy(tmp_path):
    pytest.importorskip("mypy")
    pytest.importorskip("typing_extensions")
    head = "import stoker, " + ", ".join(f"stoker.{name}" for name in (
        "chainer", "dask", "jax", "keras", "tf", "torch")) + "\n"
    (tmp_path / "right.py").write_text(RIGHT)
    for number, line in enumerate(WRONG):
        (tmp_path / f"wrong{number}.py").write_text(f"{head}{line}\n")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports",
         "--no-incremental", str(tmp_path)],
        text=True, capture_output=True, check=False, timeout=300, cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT / "client" / "python")})
    lines = [line for line in done.stdout.splitlines() if str(tmp_path.name) in line
             or line.startswith(("right", "wrong"))]
    assert not [line for line in lines if "right.py" in line], done.stdout
    # Of the package itself; without torch its classes are anything, and Dask's functions, where it
    # is installed, have no types.
    assert not [line for line in done.stdout.splitlines() if "client/python/stoker" in line
                and " error: " in line and "subclass" not in line
                and "[no-untyped-call]" not in line], done.stdout
    found = {number for number in range(len(WRONG))
             if any(f"wrong{number}.py" in line and "error" in line for line in lines)}
    assert found == set(range(len(WRONG))), done.stdout


def test_a_misspelt_keyword_of_others():
    for call, words in (
            (lambda: stoker.connect(strat=True), "'strat': did you mean 'start'"),
            (lambda: stoker.Source([1], give="bytes"), "'give': did you mean 'gives'"),
            (lambda: stoker.Resize(siz=8), "'siz': did you mean 'size'"),
            (lambda: stoker.Map(abs, give="arrays"), "'give': did you mean 'gives'"),
            (lambda: stoker.samplers.Subset(index=[1]), "'index': did you mean 'indices'"),
            (lambda: stoker.Source([1], start=True), r"stoker.connect\(start=True\) starts")):
        with pytest.raises(TypeError, match=words):
            call()
