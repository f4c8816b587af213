# SPDX-License-Identifier: MIT
"""Pictures of what each transform does, made by stoker: pictures.py BUILD FOLDER

One PNG for each transform of the registry, four samples. Says of which it could make none.
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / name) for name in ("demo", "")]

import photos  # noqa: E402 (these stand in other folders)
import place  # noqa: E402, F401 (sockets are where their names are short)

# Where a transform has parameters without a default, or shows little with the defaults.
SHOWN = {
    "AspectResize": "AspectResize(size=(120, 80))",
    "CenterCrop": "CenterCrop(size=120)",
    "ColorJitter": "ColorJitter(brightness=0.5, contrast=0.5, saturation=0.5, hue=0.2)",
    "Compose": 'Compose([RandomCrop(size=120), RandomHorizontalFlip()])',
    "FiveCrop": "FiveCrop(size=80)",
    "GaussianBlur": "GaussianBlur(kernel_size=15, sigma=(1.0, 5.0))",
    "Grayscale": "Grayscale(num_output_channels=3)",
    "ImageDataGenerator": "ImageDataGenerator(rotation_range=30, zoom_range=0.3)",
    "Normalize": "ToTensor() | Normalize(mean=[0.5], std=[0.25])",
    "Pad": "Pad(padding=20)",
    "FixedSizeCrop": "FixedSizeCrop(size=(100, 200))",
    "RandomAdjustSharpness": "RandomAdjustSharpness(sharpness_factor=8, p=1.0)",
    "RandomAffine": "RandomAffine(degrees=20, translate=(0.2, 0.2), shear=20)",
    "RandomApply": "RandomApply([RandomRotation(degrees=40)])",
    "RandomChoice": "RandomChoice([RandomInvert(p=1.0), RandomGrayscale(p=1.0)])",
    "RandomCrop": "RandomCrop(size=80)",
    "RandomErasing": "ToTensor() | RandomErasing(p=1.0)",
    "RandomOrder": "RandomOrder([RandomInvert(p=0.5), RandomRotation(degrees=40)])",
    "RandomPosterize": "RandomPosterize(bits=2, p=1.0)",
    "RandomResizedCrop": "RandomResizedCrop(size=120)",
    "RandomRotation": "RandomRotation(degrees=40)",
    "RandomShortestSize": "RandomShortestSize(min_size=[60, 120])",
    "RandomSolarize": "RandomSolarize(threshold=128, p=1.0)",
    "Resize": "Resize(size=(80, 120))",
    "ScaleJitter": "ScaleJitter(target_size=(120, 160))",
    "TenCrop": "TenCrop(size=80)",
    "ToTensor": "ToTensor()",
}
# They mix pictures, so they show more than one.
MIXED = {"MixUp": "RandomResizedCrop(size=120) | ToTensor() | MixUp(alpha=1.0)",
         "CutMix": "RandomResizedCrop(size=120) | ToTensor() | CutMix(alpha=1.0)"}


def main(build, out):
    build, out = Path(build).resolve(), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    registry = build / "tests" / "unit" / "transform" / "registry_rows"
    names = subprocess.check_output([registry], text=True).splitlines()
    with tempfile.TemporaryDirectory() as folder:
        photos.make(Path(folder) / "data", count=16, size=(160, 120))
        environment = {**os.environ, "XDG_RUNTIME_DIR": folder, "STOKER_RING_MEMORY": "64M"}
        daemon = subprocess.Popen([build / "daemon" / "stokerd"], env=environment,
                                  stderr=subprocess.DEVNULL)
        try:
            while subprocess.run([build / "client" / "ctl" / "stokerctl", "ping"], env=environment,
                                 check=False, capture_output=True).returncode:
                if daemon.poll() is not None:
                    raise SystemExit(f"{daemon.args[0]} ended with {daemon.returncode}")
                time.sleep(0.05)
            for name in dict.fromkeys(line.split("\t")[0] for line in names):
                text = MIXED.get(name) or SHOWN.get(name, f"{name}()")
                draw(build, environment, Path(folder) / "data", text, out / f"{name}.png")
        finally:
            daemon.terminate()
            daemon.wait()


def draw(build, environment, data, text, picture):
    """Where sizes would differ, a Resize stands behind it. Boxes alone have no picture."""
    words = ""
    for behind in "", " | Resize(size=(120, 160))":
        done = subprocess.run(
            [build / "client" / "ctl" / "stokerctl", "preview", data, "--rows", "1", "--cols", "4",
             "--transforms", text + behind, "--output", picture], env=environment, text=True,
            check=False, capture_output=True)
        if not done.returncode:
            return
        words = words or done.stderr
    print(f"no picture of {picture.stem}: {words.strip()}")


if __name__ == "__main__":
    main(*sys.argv[1:])
