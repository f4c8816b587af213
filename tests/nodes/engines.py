#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The examples for engines that launch training, each over an epoch with two ranks, as they stand:
the union of the steps must be the epoch exactly once, bytes as one reader gets them.

    tests/nodes/engines.py [--only ray,dask,...] [--data DIR]

With the packages of the Python that runs this; what is not there is skipped, and says so. Slurm is
a real controller and a real node on this machine (root, slurmctld, slurmd, munged).
"""
import argparse
import contextlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import cluster
import slurm
import union
from torchrun import made

HERE = Path(__file__).resolve().parent
TORCHRUN = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
            "--redirects", "1", "--tee", "1"]


def example(name, *arguments, launcher=(), place=HERE):
    return lambda data, folder: [sys.executable, *launcher, str(place / f"{name}.py"), data,
                                 *(each.format(folder=folder) for each in arguments)]


# Name: (the package that it needs, its command).
ENGINES = {
    "torchrun": ("torch", example("ddp_train", "{folder}/checkpoint.pt", launcher=TORCHRUN,
                                  place=cluster.ROOT / "examples")),
    "ray": ("ray", example("ray_train")),
    "dask": ("distributed", example("dask_train")),
    "lightning": ("lightning", example("lightning_train")),
    # Its own launcher starts several processes only with GPUs or MPI, and takes torchrun's.
    "accelerate": ("accelerate", example("accelerate_train", launcher=TORCHRUN)),
    "timm": ("timm", example("timm_train", launcher=TORCHRUN)),
}


def missing(module):
    return None if importlib.util.find_spec(module) else f"{module} is not installed"


def wanted_of(node, data, name):
    import stoker
    transforms = [stoker.RandomResizedCrop(32), stoker.RandomHorizontalFlip(), stoker.ToTensor()]
    if name == "timm":
        import timm
        model = timm.get_pretrained_cfg("test_resnet.r160_in1k")
        transforms = [stoker.RandomResizedCrop(64, interpolation=model.interpolation),
                      *transforms[1:], stoker.Normalize(model.mean, model.std)]
    return union.reference(node, data, 2, seed=1, transforms=transforms)


@contextlib.contextmanager
def daemon(folder):
    """One that clients find by themselves: in $XDG_RUNTIME_DIR."""
    home = folder / "run" / "stoker"
    home.mkdir(parents=True, mode=0o700)
    process = subprocess.Popen([cluster.STOKERD, "--socket", home / "stokerd.sock"],
                               stderr=subprocess.DEVNULL)
    try:
        cluster.wait_for((home / "stokerd.sock").exists, "a daemon's socket")
        yield home / "stokerd.sock"
    finally:
        process.terminate()
        process.wait()


def variables(folder, records):
    out = {**os.environ, **union.environment(records, cluster.ROOT), "OMP_NUM_THREADS": "1",
           "XDG_RUNTIME_DIR": str(folder / "run"), "RAY_USAGE_STATS_ENABLED": "0",
           "GLOO_SOCKET_IFNAME": "lo", "CUDA_VISIBLE_DEVICES": "", "ACCELERATE_USE_CPU": "true"}
    out.pop("STOKER_SOCKET", None)
    return out


def run(name, wanted, data, folder):
    """What union.check() says; raises AssertionError with the example's words."""
    records = folder / f"records-{name}"
    records.mkdir()
    log = folder / f"log-{name}"
    with open(log, "wb") as out, contextlib.ExitStack() as stack:
        environment = variables(folder, records)
        if name == "slurm":
            stack.enter_context(slurm.controller(folder, environment))
            command = [*slurm.srun(2), sys.executable, HERE / "slurm_train.py", data,
                       folder / "token.json"]
        else:
            command = ENGINES[name][1](data, folder)
        try:
            code = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                                  env=environment, timeout=300).returncode
            assert code == 0, f"exit code {code}"
            said = union.check(records, wanted)
            assert [world for _, world, *_ in said] == [2], said
        except (AssertionError, subprocess.TimeoutExpired) as error:
            raise AssertionError(f"{error}\n{log.read_text(errors='replace')[-6000:]}") from error
    return said


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--only", default=",".join([*ENGINES, "slurm"]))
    parser.add_argument("--data", help="a folder of pictures; else some are made")
    options = parser.parse_args()
    union.self_test()
    sys.path[:0] = [str(cluster.ROOT / "client" / "python")]
    import stoker
    passed = failed = skipped = 0
    with tempfile.TemporaryDirectory(prefix="stoker-engines-") as name:
        folder = Path(name)
        data = os.path.abspath(options.data) if options.data else str(made(folder / "pictures"))
        with daemon(folder) as socket, stoker.connect(socket) as node:
            for name in options.only.split(","):
                why = slurm.missing() if name == "slurm" else missing(ENGINES[name][0])
                if why:
                    print(f"{name}: skipped: {why}", flush=True)
                    skipped += 1
                    continue
                begun = time.monotonic()
                try:
                    ((_, world, kept, _),) = run(name, wanted_of(node, data, name), data, folder)
                except AssertionError as error:
                    print(f"{name}: FAILED: {error}", flush=True)
                    failed += 1
                    continue
                passed += 1
                print(f"{name}: {kept} positions exactly once by {world} ranks, bytes as by one "
                      f"reader ({time.monotonic() - begun:.1f} s)", flush=True)
    print(f"skipped: {skipped}\n{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
