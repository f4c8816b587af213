# SPDX-License-Identifier: MIT
"""stokerctl bench. No speed is tested here, only that its report fits the numbers."""

import json

LIMITS = {"storage", "decode", "transform", "hand-over", "trainer"}


def bench(daemon, photos, *more):
    done = daemon.ctl("--json", "bench", photos, "--batch-size", 4, "--seconds", 0.3, *more)
    return json.loads(done.stdout)


def test_both_passes_are_of_the_same_samples(daemon, photos):
    seen = bench(daemon, photos)
    first, again = seen["first"], seen["again"]
    assert 0 < again["images"] <= first["images"] <= 60
    assert first["images_per_second"] > 0 and again["images_per_second"] > 0
    assert first["decode_us"] > 0 and first["transform_us"] > 0 and first["read_us"] > 0
    assert seen["limited_by"] in LIMITS and seen["change"]
    assert "kept" not in seen and "cache-memory is 0" in seen["kept_missing"]
    daemon.settle()


def test_what_is_kept(spawn, photos):
    """The second pass keeps all that the third asks for."""
    daemon = spawn(cache_memory="64M")
    seen = bench(daemon, photos)
    assert "kept" in seen, seen
    kept = seen["kept"]
    assert kept["images_per_second"] > 0 and 0 < kept["found"] <= 1
    assert kept["memory_needed"] > 0 and 0 < kept["cache_memory"] <= 64 << 20
    done = daemon.ctl("bench", photos, "-b", 4, "--seconds", 0.3)
    assert "third pass" in done.stdout and "GiB" in done.stdout, done.stdout
    daemon.settle()


def test_times_fit_to_the_rate_where_pictures_are_kept(spawn, photos):
    """Of pictures that a trainer has had, none is decoded again: what their transforms take is
    divided by those that were made."""
    daemon = spawn(cache_memory="64M", cache_decoded_size="0")
    fields = {"transforms": [{"name": "RandomResizedCrop", "size": 224}]}
    with daemon.connect() as peer:
        assert peer.attach(photos, epochs=3, **fields).name == "attached"
        assert len(list(peer.samples())) == 180
        with daemon.connect() as other:  # holds the dataset open
            other.attach(photos, epochs=0, order_seed=9, **fields)
            before = daemon.status()
            seen = bench(daemon, photos)
            after = daemon.status()
    assert after["samples_decoded_total"] - before["samples_decoded_total"] < 30
    assert after["samples_made_total"] - before["samples_made_total"] > 60
    spent = 0  # what the report says that its passes took, all together
    for name in ("first", "again"):
        one = seen[name]
        each = one["decode_us"] + one["transform_us"]
        spent += each * max(one["made"], one["images"]) * 1e3
        assert each > 0 and one["made"] <= 60, one
    worked = after["work_ns_total"] - before["work_ns_total"]
    assert spent <= worked * 1.001, (seen, worked)  # the report's digits are rounded


def test_all_that_is_kept_was_prefetched(spawn, photos):
    """A pass of one batch: what is found was found before that batch is measured."""
    daemon = spawn(cache_memory="64M")
    for _ in range(3):
        seen = bench(daemon, photos, "--seconds", 0.000001)
        assert seen["first"]["images"] <= 4 and "kept" in seen, seen
        assert seen["kept"]["found"] > 0 and "kept_missing" not in seen
        daemon.settle()


def test_nothing_can_be_kept(spawn, photos):
    """The report says why there is no third pass, or why it says nothing."""
    daemon = spawn(cache_memory="64K")  # a picture may take a sixteenth of it
    seen = bench(daemon, photos)
    assert "kept" not in seen and "no room" in seen["kept_missing"], seen
    daemon.settle()
    daemon = spawn(cache_memory="64M", max_readers_per_user=1)
    seen = bench(daemon, photos)
    assert "kept" not in seen and "max-readers-per-user" in seen["kept_missing"], seen
    daemon.settle()


def test_other_transforms_and_words(daemon, photos):
    done = daemon.ctl("bench", photos, "-b", 4, "--seconds", 0.2, "-t", "Resize(size=(16, 16))")
    lines = done.stdout.splitlines()
    assert [line.split("  ")[0] for line in lines] == [
        "first pass", "second pass", "third pass", "busy", "limited by", "advice"], done.stdout


def test_what_cannot_be_measured(daemon, photos, tmp_path):
    for arguments, words in (
            ((photos, "-b", "40"), "smaller --batch-size"),
            ((photos, "-b", "none"), "--batch-size: 'none' is not a number"),
            ((photos, "--seconds", "-1"), "--seconds: '-1' is not a number"),
            ((photos, "-t", "Blur()"), "Blur"),
            ((tmp_path / "nowhere",), "nowhere")):
        done = daemon.ctl("bench", *arguments, check=False)
        assert done.returncode != 0 and words in done.stderr, done
    done = daemon.ctl("status", "-b", "4", check=False)
    assert done.returncode == 64 and "is for bench" in done.stderr
    daemon.settle()


def test_what_a_refusal_exits_with(spawn, photos):
    daemon = spawn(max_readers_per_user=1)
    assert daemon.ctl("bench", photos, "-b", 1 << 20, check=False).returncode == 71
    with daemon.connect() as peer:
        peer.attach(photos, transforms=[{"name": "Resize", "size": [8, 8]}])
        assert daemon.ctl("bench", photos, "-b", 4, check=False).returncode == 75


def test_an_empty_path_is_not_this_folder(daemon):
    for command in ("index", "fit", "bench"):
        done = daemon.ctl(command, "", check=False)
        assert done.returncode == 64 and ("empty" in done.stderr or "missing" in done.stderr), done
