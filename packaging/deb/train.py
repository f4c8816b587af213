# SPDX-License-Identifier: MIT
"""`make FOLDER`: some pictures (PPM, which needs no library). `train FOLDER`: epochs until
/srv/stop exists; says the longest time without a batch, and that no sample was lost or came twice.
"""
import pathlib
import sys
import time

COUNT = 600


def make(folder):
    for number in range(COUNT):
        picture = folder / f"class{number % 3}" / f"{number}.ppm"
        picture.parent.mkdir(exist_ok=True)
        body = bytes((number * 7 + at) % 256 for at in range(64 * 48 * 3))
        picture.write_bytes(b"P6 64 48 255\n" + body)


def train(folder):
    import stoker
    longest, epochs, last = 0.0, 0, time.monotonic()
    with stoker.connect() as node:
        loader = node.loader(str(folder), batch_size=8, seed=1,
                             transforms="Resize(32) | ToTensor()")
        while not pathlib.Path("/srv/stop").exists():
            seen = []
            for batch in loader.batches():
                longest = max(longest, time.monotonic() - last)
                last = time.monotonic()
                if not seen and not epochs:
                    print("a batch", flush=True)
                seen += batch.index.tolist()
                time.sleep(0.002)
            assert sorted(seen) == list(range(COUNT)), "a sample was lost, or came twice"
            epochs += 1
        print(f"whole epochs only: {epochs}, {loader.reconnects} reconnects, "
              f"longest time without a batch {longest:.2f} s")


if __name__ == "__main__":
    {"make": make, "train": train}[sys.argv[1]](pathlib.Path(sys.argv[2]))
