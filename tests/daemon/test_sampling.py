# SPDX-License-Identifier: MIT
"""Samplers, echo and views: what the reference says stands at each position, by the law, and
decoded no more often than it has to be.
"""

import collections
import itertools
import os
import subprocess
import sys

import numpy
import pytest

from harness import BUILD, SLOW, SOURCE, Daemon, digest_of, wait_for
from test_law import in_turn

sys.path.insert(0, str(SOURCE / "tests" / "reference"))
import sampling  # noqa: E402 (it stands in the reference's folder)

TRAIN = [{"name": "RandomResizedCrop", "size": 24}, {"name": "RandomHorizontalFlip"}]
STREAM = {"transforms": TRAIN, "order_seed": 7, "augment_seed": 9, "epochs": 2}
LABELS = [0] * 17 + [1] * 3 + [2] * 20
N = len(LABELS)
WEIGHTS = [i % 5 * 0.7 for i in range(N)]
SUBSET = [5, 39, 0, 17, 18, 5, 22, 3, 8, 30, 31]

SAMPLERS = {
    "subset": ({"name": "subset", "indices": SUBSET},
               lambda epoch: sampling.shuffled(SUBSET, 7, epoch)),
    "training": ({"name": "split", "validation_split": 0.3, "subset": "training"},
                 lambda epoch: sampling.shuffled(sampling.split(LABELS, 0.3, False, True), 7,
                                                 epoch)),
    "validation": ({"name": "split", "validation_split": 0.3, "subset": "validation"},
                   lambda epoch: sampling.shuffled(sampling.split(LABELS, 0.3, True, True), 7,
                                                   epoch)),
    "weighted": ({"name": "weighted", "weights": WEIGHTS, "num_samples": 90},
                 lambda epoch: sampling.weighted(WEIGHTS, 90, 7, epoch)),
    "by_class": ({"name": "weighted", "weights_by_class": [0.1, 3, 0]},
                 lambda epoch: sampling.weighted([[0.1, 3, 0][label] for label in LABELS], None, 7,
                                                 epoch)),
    "balanced": ({"name": "balanced"},
                 lambda epoch: sampling.balanced(LABELS, None, 7, epoch)),
    "per_class": ({"name": "balanced", "per_class": 5},
                  lambda epoch: sampling.balanced(LABELS, 5, 7, epoch)),
}
# A sampling: fields of the ATTACH, and the epoch's samples in order.
SAMPLINGS = {name: ({"sampler": sampler}, order) for name, (sampler, order) in SAMPLERS.items()}
SAMPLINGS["echo"] = ({"echo": 3, "echo_window": 8}, lambda epoch: sampling.echoed(
    sampling.shuffled(range(N), 7, epoch), 3, 8, 7, epoch))
SAMPLINGS["echo default"] = ({"echo": 2}, lambda epoch: sampling.echoed(
    sampling.shuffled(range(N), 7, epoch), 2, None, 7, epoch))
SAMPLINGS["echoed balance"] = (
    {"sampler": {"name": "balanced", "per_class": 7}, "echo": 2, "echo_window": 5},
    lambda epoch: sampling.echoed(sampling.balanced(LABELS, 7, 7, epoch), 2, 5, 7, epoch))
SAMPLINGS["views"] = ({"views": 3}, lambda epoch: sampling.shuffled(range(N), 7, epoch))
SAMPLINGS["all"] = (
    {"sampler": {"name": "subset", "indices": SUBSET}, "echo": 3, "echo_window": 4, "views": 2},
    lambda epoch: sampling.echoed(sampling.shuffled(SUBSET, 7, epoch), 3, 4, 7, epoch))


@pytest.fixture(scope="module", name="folder")
def fixture_folder(photos, tmp_path_factory):
    """Photographs of three classes, of 17, 3 and 20."""
    folder = tmp_path_factory.mktemp("uneven")
    files = sorted(path for path in photos.glob("*/*") if path.is_file())
    for number, label in enumerate(LABELS):
        kind = folder / f"class {label}"
        kind.mkdir(exist_ok=True)
        os.link(files[number], kind / f"{number:03}{files[number].suffix}")
    return folder


def attach(peer, folder, fields, **more):
    answer = peer.attach(folder, **{**STREAM, **fields, **more})
    assert answer.name == "attached", answer
    return answer.fields


def digests(daemon, folder, fields, **more):
    with daemon.connect() as peer:
        attach(peer, folder, fields, **more)
        return peer.digests()


@pytest.fixture(scope="module", name="references")
def fixture_references(folder):
    """By sampling, {(epoch, position): digest} of two epochs, made by one worker for one reader."""
    daemon = Daemon(workers=1, fetchers=1).spawn()
    try:
        out = {name: digests(daemon, folder, fields, batch_size=1)
               for name, (fields, _) in SAMPLINGS.items()}
        daemon.terminate()
    finally:
        daemon.remove()
    return out


@pytest.mark.parametrize("name", SAMPLINGS)
def test_the_reference_says_the_same(daemon, folder, name):
    fields, order = SAMPLINGS[name]
    with daemon.connect() as peer:
        wanted = [order(0), order(1)]
        assert attach(peer, folder, fields)["samples"] == len(wanted[0])
        got = [[], []]
        for epoch, position, arrays in peer.samples():
            assert position == len(got[epoch])
            got[epoch].append(int(arrays["index"]))
            assert arrays["label"] == LABELS[got[epoch][-1]]
    assert got == wanted


@pytest.mark.parametrize("name", ["subset", "training", "balanced", "echo"])
def test_unshuffled(daemon, folder, name):
    fields, _ = SAMPLINGS[name]
    wanted = {"subset": SUBSET, "training": sampling.split(LABELS, 0.3, False, True),
              "balanced": sampling.balanced(LABELS, None, 7, 0, False),
              "echo": sampling.echoed(range(N), 3, 8, 7, 0, False)}[name]
    with daemon.connect() as peer:
        attach(peer, folder, fields, shuffle=False, epochs=1)
        assert [int(arrays["index"]) for _, _, arrays in peer.samples()] == list(wanted)


@pytest.mark.parametrize("name", SAMPLINGS)
def test_the_law(spawn, folder, references, name):
    """Workers, batch sizes, transports, worlds and resumes change no byte."""
    fields, order = SAMPLINGS[name]
    reference, count = references[name], len(order(0))
    assert len(reference) == 2 * count
    for workers in 2, 5:
        daemon = spawn(workers=workers, fetchers=workers)
        assert digests(daemon, folder, fields) == reference
    assert digests(daemon, folder, fields, batch_size=7, accept_fd=False,
                   accept_path=True) == reference
    for position in 1, count // 2, count - 1:
        rest = {key: value for key, value in reference.items() if key >= (0, position)}
        assert digests(daemon, folder, fields, position=position, batch_size=5) == rest
    peers = [daemon.connect() for _ in range(3)]
    for rank, peer in enumerate(peers):
        attach(peer, folder, fields, rank=rank, world=3, job="a run")
    parts = in_turn(peers)
    assert {key: value for part in parts for key, value in part.items()} == reference
    assert sum(map(len, parts)) == len(reference)
    for peer in peers:
        peer.close()


def test_echoes_are_drawn_again(daemon, folder):
    """Each time with draws of its own: no two pictures of a sample are the same."""
    with daemon.connect() as peer:
        attach(peer, folder, {"echo": 4, "echo_window": 16}, epochs=1)
        pictures = collections.defaultdict(set)
        for _, _, arrays in peer.samples():
            pictures[int(arrays["index"])].add(digest_of({"image": arrays["image"]}))
    assert {index: len(found) for index, found in pictures.items()} == dict.fromkeys(range(N), 4)


def test_an_echo_costs_no_decode(daemon, folder):
    """Where the ring has room for what is asked of it, each sample is decoded once an epoch."""
    with daemon.connect() as peer:
        attach(peer, folder, {"echo": 4, "echo_window": 8}, batch_size=8, epochs=3)
        assert len(list(peer.samples())) == 3 * 4 * N
    status = daemon.status()
    assert status["samples_decoded_total"] == 3 * N
    assert status["decodes_shared_total"] == 3 * 3 * N


def test_views_are_one_decode(daemon, folder):
    """The first view is the picture without views; the others have draws of their own."""
    def images(**fields):
        before = daemon.status()["samples_decoded_total"]
        with daemon.connect() as peer:
            attach(peer, folder, fields, epochs=1, batch_size=6)
            out = [arrays["image"] for _, _, arrays in peer.samples()]
        assert daemon.status()["samples_decoded_total"] - before == N
        return numpy.stack(out)

    alone, views = images(), images(views=10)
    assert views.shape == (N, 10, 3, 24, 24)
    assert (views[:, 0] == alone).all()
    for sample in views:
        assert len({view.tobytes() for view in sample}) == 10


def test_views_are_as_the_reference_draws_them(daemon, folder):
    """View v of position p has the draws of position p + v * 2**56."""
    from PIL import Image
    import stoker_reference

    paths = sorted(folder.glob("*/*"))
    with daemon.connect() as peer:
        attach(peer, folder, {"views": 3}, epochs=1, dtype="uint8", layout="NHWC")
        for epoch, position, arrays in peer.samples():
            path = paths[int(arrays["index"])]
            if path.suffix != ".png":
                continue
            image = Image.open(path).convert("RGB")
            for view in range(3):
                wanted = stoker_reference.expected(image, TRAIN, "uint8", "NHWC", 9, epoch,
                                                   position + (view << 56))
                assert (arrays["image"][view] == wanted).all()


def test_other_samples_are_no_kin(daemon, folder):
    """Two samplers at the same time, in step: each has its own samples, and decodes them."""
    choices = ["training", "validation", "balanced", "echo"]
    references = {name: digests(daemon, folder, SAMPLINGS[name][0]) for name in choices}
    peers = [daemon.connect() for _ in choices]
    for peer, name in zip(peers, choices):
        attach(peer, folder, SAMPLINGS[name][0])
    for name, part in zip(choices, in_turn(peers)):
        assert part == references[name]
    for peer in peers:
        peer.close()


def test_kin_share_echoes(daemon, folder):
    """Streams that differ in draws alone, echoed alike: what each gets is what it gets alone."""
    fields = [{"echo": 3, "echo_window": 8, "augment_seed": seed} for seed in range(3)]
    alone = [digests(daemon, folder, field) for field in fields]
    peers = [daemon.connect() for _ in fields]
    for peer, field in zip(peers, fields):
        attach(peer, folder, field)
    assert in_turn(peers) == alone
    for peer in peers:
        peer.close()


def test_one_sampler_one_stream(daemon, folder):
    """The same sampler twice is one stream, whose table goes with it."""
    fields = {"sampler": {"name": "balanced", "per_class": 4}}
    with daemon.connect() as one, daemon.connect() as other:
        first = attach(one, folder, fields)
        second = attach(other, folder, fields)
        third = daemon.connect()
        assert first["stream"] == second["stream"]
        assert first["sampling_hash"] == second["sampling_hash"]
        fields = {"sampler": {"name": "balanced", "per_class": 5}}
        assert attach(third, folder, fields)["stream"] != first["stream"]
        third.close()
    daemon.settle()


def test_tokens_name_the_sampling(daemon, folder):
    with daemon.connect() as peer:
        known = {}
        for name, (fields, _) in SAMPLINGS.items():
            known[name] = attach(peer, folder, fields)["sampling_hash"]
            peer.request("detach")
        assert attach(peer, folder, {}).get("sampling_hash") is None
        peer.request("detach")
        assert len(set(known.values())) == len(known)
        attach(peer, folder, SAMPLINGS["echo"][0], expect_sampling=known["echo"])
        peer.request("detach")
        for fields in SAMPLINGS["balanced"][0], {}:
            answer = peer.attach(folder, **STREAM, **fields, expect_sampling=known["echo"])
            assert answer.fields["name"] == "token" and "sampler" in answer.fields["text"]


@pytest.mark.parametrize("fields,words", [
    ({"sampler": {"name": "lucky"}}, "lucky"),
    ({"sampler": [1]}, "name"),
    ({"sampler": {"name": "subset"}}, "indices"),
    ({"sampler": {"name": "subset", "indices": []}}, "indices"),
    ({"sampler": {"name": "subset", "indices": [N]}}, f"index {N}"),
    ({"sampler": {"name": "subset", "indices": [-1]}}, "indices"),
    ({"sampler": {"name": "subset", "indices": [0.5]}}, "indices"),
    ({"sampler": {"name": "subset", "indices": [1], "seed": 3}}, "seed"),
    ({"sampler": {"name": "subset", "indices": [1]}, "subset_start": 3}, "subset_start"),
    ({"sampler": {"name": "split", "validation_split": 1, "subset": "training"}},
     "validation_split"),
    ({"sampler": {"name": "split", "validation_split": 0.1, "subset": "test"}}, "subset"),
    ({"sampler": {"name": "split", "validation_split": 0.001, "subset": "validation"}}, "none"),
    ({"sampler": {"name": "weighted"}}, "weights"),
    ({"sampler": {"name": "weighted", "weights": [1.0]}}, "1 weights"),
    ({"sampler": {"name": "weighted", "weights": [0] * N}}, "none"),
    ({"sampler": {"name": "weighted", "weights": [-1] * N}}, "weights"),
    ({"sampler": {"name": "weighted", "weights": [1e308] * N}}, "sum"),
    ({"sampler": {"name": "weighted", "weights_by_class": [1, 1]}}, "weights_by_class"),
    ({"sampler": {"name": "weighted", "weights_by_class": [1, 1, 1], "num_samples": 0}},
     "num_samples"),
    ({"sampler": {"name": "balanced", "per_class": "many"}}, "per_class"),
    ({"sampler": {"name": "balanced", "per_class": 1 << 40}}, "more than 2^40"),
    ({"views": 2, "draft": True}, "draft"),
])
def test_what_is_wrong_is_said(daemon, folder, fields, words):
    with daemon.connect() as peer:
        answer = peer.attach(folder, **{**STREAM, **fields})
        assert answer.name == "error" and answer.fields["name"] == "argument", answer
        assert words in answer.fields["text"], answer
        attach(peer, folder, {})  # and may try again


def test_lists_in_files(daemon, folder, tmp_path):
    """The same as the same list in the request: the same stream."""
    def save(name, numbers, kind):
        numpy.save(tmp_path / name, numpy.array(numbers, kind))
        return str(tmp_path / name)

    halves = [i % 5 * 0.5 for i in range(N)]  # as float32 has them, too
    pairs = [("indices", "subset", SUBSET, ["int64"]),
             ("weights", "weighted", halves, ["float64", "float32"])]
    for key, name, numbers, kinds in pairs:
        with daemon.connect() as one, daemon.connect() as other:
            wanted = attach(one, folder, {"sampler": {"name": name, key: numbers}})
            for kind in kinds:
                path = save(f"{key} {kind}.npy", numbers, kind)
                got = attach(other, folder, {"sampler": {"name": name, key: path}})
                assert got["sampling_hash"] == wanted["sampling_hash"]
                assert got["stream"] == wanted["stream"]
                other.request("detach")
    many = save("many.npy", numpy.arange(20000) % N, "int64")
    with daemon.connect() as peer:
        fields = attach(peer, folder, {"sampler": {"name": "subset", "indices": many}})
        assert fields["samples"] == 20000
    (tmp_path / "cut.npy").write_bytes((tmp_path / "many.npy").read_bytes()[:-8])
    (tmp_path / "text.npy").write_text("1, 2, 3")
    for key, name, path, words in [
            ("indices", "subset", tmp_path / "none.npy", "No such file"),
            ("indices", "subset", tmp_path / "cut.npy", "shorter"),
            ("indices", "subset", tmp_path / "text.npy", "not a NumPy array"),
            ("indices", "subset", tmp_path, "indices"),
            ("indices", "subset", "here.npy", "absolute"),
            ("indices", "subset", save("f.npy", [1.0], "float64"), "int64"),
            ("indices", "subset", save("n.npy", [1, -1], "int64"), "below 0"),
            ("indices", "subset", save("m.npy", [1, N], "int64"), f"index {N}"),
            ("indices", "subset", save("2.npy", [[1]], "int64"), "(N,)"),
            ("indices", "subset", save("0.npy", [], "int64"), "(N,)"),
            ("weights", "weighted", save("i.npy", [1] * N, "int64"), "float64"),
            ("weights", "weighted", save("x.npy", [numpy.nan] * N, "float32"), "below 0"),
            ("weights", "weighted", save("s.npy", [1.0], "float64"), "1 weights"),
            ("weights_by_class", "weighted", save("c.npy", [1.0] * 3, "float64"), "list")]:
        with daemon.connect() as peer:
            answer = peer.attach(folder, **{**STREAM, "sampler": {"name": name, key: str(path)}})
            assert answer.name == "error" and answer.fields["name"] == "argument", answer
            assert words in answer.fields["text"], (path, answer)


def test_a_file_beyond_the_memory(spawn, folder, tmp_path):
    numpy.save(tmp_path / "long.npy", numpy.zeros(2**18, "int64"))
    with spawn(ring_memory="1M").connect() as peer:
        answer = peer.attach(folder, **{**STREAM, "sampler": {
            "name": "subset", "indices": str(tmp_path / "long.npy")}})
        assert answer.fields["name"] == "memory" and "262144" in answer.fields["text"], answer


def test_a_table_beyond_the_memory(spawn, folder):
    """What a sampler takes is counted with the rings."""
    daemon = spawn(ring_memory="1M")
    name = next(folder.glob("*/*")).relative_to(folder)
    manifest = folder.parent / "long.tsv"
    manifest.write_text(f"{name}\t0\n" * 100000)
    with daemon.connect() as peer:
        answer = peer.attach(manifest, dataset={"path": str(manifest), "root": str(folder)},
                             transforms=TRAIN, sampler={"name": "balanced"}, batch_size=1)
        assert answer.fields["name"] == "memory" and "100000" in answer.fields["text"], answer


def test_tables_of_a_user(spawn, tmp_path):
    """... and with those of who made the daemon have it."""
    numpy.save(tmp_path / "x.npy", numpy.zeros((40000, 1, 1, 3), "uint8"))
    daemon = spawn(ring_memory="64M", ring_memory_per_user="500K")
    wish = {"batch_size": 2, "prefetch": 1, "sampler": {"name": "split", "validation_split": 0.1,
                                                        "subset": "training"}}
    with daemon.connect() as first, daemon.connect() as second:
        assert first.attach(tmp_path / "x.npy", **wish).name == "attached"
        wish["sampler"]["subset"] = "validation"
        answer = second.attach(tmp_path / "x.npy", **wish)
        assert answer.fields["name"] == "memory", answer
        assert "ring-memory-per-user" in answer.fields["text"]
        first.request("detach")
        assert second.attach(tmp_path / "x.npy", **wish).name == "attached"


def test_epochs_end_where_they_cannot_be_counted(daemon, tmp_path):
    """All positions of all epochs stand in one row, which has an end."""
    numpy.save(tmp_path / "x.npy", numpy.zeros((8, 1, 1, 3), "uint8"))
    long = {"sampler": {"name": "weighted", "weights": [1] * 8, "num_samples": 1 << 40},
            "echo": 16, "echo_window": 2, "batch_size": 4, "epochs": 0}
    last = (1 << 19) - 2
    with daemon.connect() as peer:
        answer = peer.attach(tmp_path / "x.npy", **long, epoch=last, position=(1 << 44) - 12)
        assert answer.name == "attached", answer
        assert len(list(itertools.islice(peer.samples(), 20))) == 12
    for epoch in last + 1, (1 << 20) - 1, (1 << 32) - 1:
        with daemon.connect() as peer:
            answer = peer.attach(tmp_path / "x.npy", **long, epoch=epoch)
            assert answer.fields["name"] == "argument", answer
            assert "too large" in answer.fields["text"]


def test_a_ring_larger_than_a_number(spawn, tmp_path):
    """Bytes of a ring that 64 bits cannot hold are more than there is room for, and not few."""
    numpy.save(tmp_path / "x.npy", numpy.zeros((8, 1, 1, 3), "uint8"))
    daemon = spawn(ring_memory="1T")
    with daemon.connect() as peer:  # 8 pictures of 3 << 28 bytes, 1 << 33 times, are 3 << 64
        answer = peer.attach(tmp_path / "x.npy", views=8, dtype="uint8", last_batch="pad",
                             transforms=[{"name": "Resize", "size": [16384, 16384]}],
                             batch_size=1 << 20, world=1 << 10, prefetch=8)
        assert answer.fields["name"] == "memory", answer
        assert str(1 << 62) in answer.fields["text"], answer


def test_a_client_that_leaves_while_its_sampler_is_made(daemon, folder):
    for _ in range(10):
        peer = daemon.connect()
        peer.send("attach", seq=5, dataset={"path": str(folder)}, batch_size=2, accept_fd=True,
                  sampler={"name": "balanced"})
        peer.close()
    daemon.settle()


def test_a_substitute_is_of_the_sampler(daemon, folder, tmp_path):
    """Of what the sampler gives, never of what it leaves out."""
    for path in sorted(folder.glob("*/*")):
        (tmp_path / path.parent.name).mkdir(exist_ok=True)
        (tmp_path / path.parent.name / path.name).write_bytes(
            b"no picture" if path.name.startswith(("000", "004", "019")) else path.read_bytes())
    allowed = set(sampling.split(LABELS, 0.3, True, True))
    with daemon.connect() as peer:
        attach(peer, tmp_path, SAMPLINGS["validation"][0], bad_samples="substitute", epochs=1)
        got = [int(arrays["index"]) for _, _, arrays in peer.samples()]
    assert len(got) == len(allowed) and set(got) == allowed - {0, 4, 19}
    wait_for(lambda: daemon.status()["samples_substituted_total"] == len(allowed & {0, 4, 19}),
             "the substitutes are counted")


# A sampling as a program in C writes it.
IN_C = {
    "subset": [f"sampler=subset(indices={SUBSET})"],
    "validation": ["sampler=split(validation_split=0.3, subset=validation)"],
    "weighted": [f"sampler=weighted(weights={WEIGHTS}, num_samples=90)"],
    "by_class": ["sampler=weighted(weights_by_class=[0.1, 3, 0])"],
    "balanced": ["sampler=balanced"],
    "views": ["views=3"],
    "all": [f"sampler=subset(indices={SUBSET})", "echo=3", "echo_window=4", "views=2"],
}


@pytest.mark.parametrize("name", IN_C)
def test_through_c(daemon, folder, name):
    """libstoker gives the bytes that the protocol gives."""
    with daemon.connect() as peer:
        attach(peer, folder, SAMPLINGS[name][0], resize="pillow-13")
        wanted = b"".join(arrays["image"].tobytes() + arrays["label"].tobytes()
                          + arrays["index"].tobytes() for _, _, arrays in peer.samples())
    done = subprocess.run([str(BUILD / "tests" / "dump"), str(daemon.socket), str(folder),
                           "RandomResizedCrop(size=24) | RandomHorizontalFlip()", "8", "2",
                           *IN_C[name]], capture_output=True, check=True, timeout=60 * SLOW)
    assert done.stdout == wanted
