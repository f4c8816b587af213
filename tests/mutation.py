#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes guards out of the source, one by one, and looks for the test that notices.

A guard is what keeps one client from another, or hostile bytes from the daemon: a comparison, a
limit, a charge. Each row names a file, the text of the guard, what stands there without it, and a
unit test that has to fail then (or to come to no end). Works on a copy; nothing of it is kept.

    tests/mutation.py                 all of them, some minutes
    tests/mutation.py --only quota    those whose file has this in its name
"""

import argparse
import collections
import pathlib
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[1]
END_S = 60  # a test that takes longer has come to no end: that is noticed, too

Guard = collections.namedtuple("Guard", "file text without test")
POLICY, STATE, OS = "daemon/loop/policy/", "daemon/loop/state/", "daemon/loop/os/"
ADMISSION, PICTURE = "loop/test_admission", "transform/test_pipeline_picture"
GATES, PACK, MANIFEST = "decode/test_decode_gates", "proto/test_pack", "dataset/test_manifest"

GUARDS = [Guard(*row) for row in [
    # What users share, and what they do not.
    (POLICY + "ring_plan.c", "if (ring->uid != request->uid)", "if (false)", ADMISSION),
    (POLICY + "decode_sharing.c", "if (other->uid == ring->uid)", "if (true)",
     "loop/test_decode_sharing"),
    (POLICY + "decode_sharing.c", "other->uid == ring->uid && ring_lacks_soon", "ring_lacks_soon",
     "loop/test_decode_sharing"),
    (POLICY + "straggler.c", "ring->uid == uid ? ring_leader(ring) : NULL", "ring_leader(ring)",
     "loop/test_straggler"),
    (POLICY + "straggler.c", "== other->shard.world && reader->uid == other->uid;",
     "== other->shard.world;", "loop/test_straggler"),
    ("daemon/stage/stage_victim.c", "return origin->reader && !origin->pinned;",
     "return origin->reader;", "stage/test_stage_pins"),
    ("daemon/stage/stage_victim.c", "+ origin->victims.count * table->each", "",
     "stage/test_stage_pins"),
    ("daemon/stage/stage.c", "!stage_pins_fit(stage, asker->bytes, 1)", "false",
     "stage/test_stage_pins"),
    # What a packed shard says of itself.
    ("daemon/storage/packing_xz.c", "lzma_stream_decoder(&xz->stream, MEMORY,",
     "lzma_stream_decoder(&xz->stream, UINT64_MAX,", "storage/test_packing"),
    ("daemon/storage/packing_archive.c", "bool whole = ", "bool whole = true || ",
     "storage/test_packing"),
    # What stands behind the files that were asked for.
    ("daemon/dataset/arrays/bundle.c", "if (!result && walk->read)", "if (false)",
     "dataset/test_bundle"),
    ("daemon/dataset/arrays/bundle.c", "if (walk->failed)\n\t\treturn walk->failed;\n\tint",
     "int", "dataset/test_bundle"),
    # Quotas.
    (POLICY + "quota.c", "return rest / (users + 1);", "return rest;", ADMISSION),
    (POLICY + "quota.c", "users += !is_own(user->uid);", "users += 0;", ADMISSION),
    (POLICY + "quota.c", "if (own < share)", "if (true)", ADMISSION),
    (POLICY + "quota.c", "if (!user || user->connections < limit + QUOTA_SPARE_CONNECTIONS)",
     "if (true)", ADMISSION),
    (POLICY + "quota.c", "if (book->count > QUOTA_LEASES)", "if (false)", ADMISSION),
    (POLICY + "quota.c", "if (limit == 0 || !user || user->attached < limit)", "if (true)",
     ADMISSION),
    (POLICY + "quota.c", "if (own + count <= limit)", "if (true)", ADMISSION),
    (POLICY + "quota.c", "(uint64_t)user->connections * FDS_OF_CONNECTION", "0", ADMISSION),
    (POLICY + "quota.c", "user->in_flight + rings_of(core, user->uid)", "user->in_flight",
     ADMISSION),
    (POLICY + "quota.c", "list_for_each(ring, later, &core->abandoned, struct ring, link)\n"
     "\t\trings +=", "list_for_each(ring, later, &core->abandoned, struct ring, link)\n"
     "\t\trings += 0 *", ADMISSION),
    (POLICY + "quota.c", "list_for_each(ring, later, &core->abandoned, struct ring, link)\n"
     "\t\tbytes +=", "list_for_each(ring, later, &core->abandoned, struct ring, link)\n"
     "\t\tbytes += 0 *", ADMISSION),
    (POLICY + "quota.c", "bytes += stream_table_bytes(&stream->order);", "bytes += 0;", ADMISSION),
    (POLICY + "quota.c", "if (left < room.bytes)", "if (false)", ADMISSION),
    (POLICY + "quota.c", "datasets += atomic_load(&memory->account.bytes);", "datasets += 0;",
     ADMISSION),
    ("daemon/dataset/account.c", "if (bytes > (limit > used ? limit - used : 0))", "if (false)",
     ADMISSION),
    ("daemon/dataset/account.c", "\tatomic_fetch_sub(&account->bytes, bytes);\n\treturn false;",
     "\treturn false;", ADMISSION),
    (STATE + "user.c", "if (users->contended && user->queued >= users->share)", "if (false)",
     "loop/test_scheduler"),
    (POLICY + "quota.c", "quota_share(core, uid, core->config->index_memory, indexes)",
     "UINT64_MAX", ADMISSION),
    ("daemon/store/index_dir.c", "if (first && bytes > most)", "if (first && !next)",
     "store/test_index_dir"),
    ("daemon/store/index_dir.c", "if (a->owner != b->owner)", "if (false)", "store/test_index_dir"),
    ("daemon/store/index_dir.c", "!(file->spare && file->owner == OWNER_OF_ALL)", "!file->spare",
     "store/test_index_dir"),
    ("daemon/base/owner.c", "credentials_are_own(&credentials) ? OWNER_OF_ALL : uid",
     "OWNER_OF_ALL", "store/test_index_dir"),
    ("daemon/decode/jpeg/seek_index_set.c",
     "if (share && atomic_fetch_add(&share->bytes, bytes) + bytes > atomic_load(&share->limit))",
     "if (false)", "decode/test_seek_index_set"),
    ("daemon/cache/picture_owner.c", "if (owner == asking || owner->bytes <= most ||",
     "if (true ||", "cache/test_picture_cache"),
    ("daemon/cache/eviction.c", "if (picture->set->owner != set->owner)", "if (false)",
     "cache/test_picture_cache"),
    (STATE + "user.c", "return users->contended && user->queued >= workers &&", "return false &&",
     "loop/test_scheduler"),
    (STATE + "user.c", "if (queued_max && user->queued >= queued_max)", "if (false)",
     "loop/test_scheduler"),
    (STATE + "user.c", "clock_limit_credit(&flow->virtual_time, flow->user->flows_time,",
     "clock_limit_credit(&flow->virtual_time, 0,", "loop/test_scheduler"),
    # Work of transforms.
    ("daemon/transform/passes.c", "if (work <= PASSES_WORK_MAX)", "if (true)", PICTURE),
    ("daemon/transform/pipeline.c", "scratch->stages.work > VIEWS_WORK_MAX / views", "false",
     PICTURE),
    ("daemon/transform/pipeline.c",
     "steps_draw_all(&scratch->steps, list->pictures, list->count, &key, &why)",
     "steps_draw(&scratch->steps, list->pictures, 0, list->count, &key, &why)", PICTURE),
    ("daemon/base/cancel.h", "cancel->stopped || cancel_is_unwanted(cancel->unwanted);",
     "cancel->stopped;", PICTURE),
    ("daemon/base/cancel.h", "cancel->stopped = now_ns >= cancel->until_ns;", "", PICTURE),
    # Tasks, and memory that is given to others.
    (OS + "task.c", "if (known->kind == kind && known->uid == uid)", "if (known->kind == kind)",
     "loop/test_os"),
    (OS + "task.c", "if (known->kind == kind && known->uid == uid)", "if (known->uid == uid)",
     "loop/test_os"),
    (OS + "task.c", "lane->threads < TASK_THREADS_MAX &&", "", "loop/test_os"),
    (OS + "segment.c", "return errno == EAGAIN;", "return false;", "loop/test_os"),
    (OS + "segment.c", "F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL",
     "F_SEAL_GROW", "loop/test_os"),
    (OS + "listener.c", "if (!S_ISSOCK(stat.st_mode))", "if (false)", "loop/test_listener"),
    # Pictures.
    ("daemon/decode/limits.c", "|| width * height > limits->max_pixels", "", GATES),
    ("daemon/decode/limits.c", "if (used < limit)", "if (true)", GATES),
    ("daemon/decode/jpeg/jpeg.c", "if (bytes > limits->max_coefficient_bytes)", "if (false)",
     GATES),
    # Bytes of peers and of files.
    ("proto/check.c", "if (values > PROTO_NODES_MAX - walk->nodes)", "if (0)", PACK),
    ("proto/check.c", "if (walk->depth == PROTO_DEPTH_MAX)", "if (0)", PACK),
    ("proto/check.c", "if (count > walk->left)", "if (0)", PACK),
    ("proto/check.c", "if (walk.left > 0)", "if (0)", PACK),
    ("proto/frame.c", "if (!length_is_good(length))\n\t\treturn FRAME_E_LENGTH;", "",
     "proto/test_frame"),
    ("daemon/dataset/manifest.c", "if (depth < 0)", "if (false)", MANIFEST),
    ("daemon/dataset/manifest.c", "if (path[0] == '/')", "if (false)", MANIFEST),
    ("daemon/config/roots.c", "|| (path[size] && path[size] != '/')", "", "config/test_roots"),
    ("daemon/config/roots.c", "if (number == CREDENTIALS_UNMAPPED)", "if (false)",
     "config/test_roots"),
    ("daemon/config/roots.c", "return credentials_is_member(credentials, root->id);",
     "return true;", "config/test_roots"),
    ("daemon/config/roots.c", "return credentials_is_user(credentials, root->id);", "return true;",
     "config/test_roots"),
    ("daemon/loop/watch/watch.c", "if (status.st_mode & S_IRWXO)", "if (false)",
     "loop/test_watch"),
    ("daemon/loop/watch/writer.c", "if (size > WRITER_LABEL_MAX)", "if (false)",
     "loop/test_watch"),
    (POLICY + "resume.c", "if (resume_token_differs(expected->pipeline, own->pipeline))",
     "if (false)", ADMISSION),
    ("daemon/store/index_store_file.c",
     "if (!digest_equal(&checksum, &out->checksum) || out->bytes != whole)",
     "if (out->bytes != whole)", "store/test_index_store"),
]]


def copy_source(folder):
    """What git has of the source, as it stands."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=SOURCE, check=True,
                           capture_output=True).stdout.decode().split("\0")
    for name in filter(None, names):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(SOURCE / name, folder / name)


def build(folder, test):
    """Whether it can be built."""
    done = subprocess.run(["ninja", "-C", "build", f"tests/unit/{test}"], cwd=folder, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout[-2000:])
    return done.returncode == 0


def passes(folder, test):
    """Whether the test ends, and well."""
    try:
        done = subprocess.run([folder / "build" / "tests" / "unit" / test], cwd=folder, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              timeout=END_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def try_guard(folder, guard):
    """None, or what is wrong: nobody notices that it is gone, or it cannot be taken out."""
    path = folder / guard.file
    whole = path.read_text()
    if whole.count(guard.text) != 1:
        return f"its text stands there {whole.count(guard.text)} times: mend the row"
    path.write_text(whole.replace(guard.text, guard.without))
    try:
        if not build(folder, guard.test):
            return "it cannot be built without: mend the row"
        return f"{guard.test} does not notice" if passes(folder, guard.test) else None
    finally:
        path.write_text(whole)


def main():
    """The exit status: 1 if a guard is not missed."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="guards of files with this in their names")
    guards = [guard for guard in GUARDS if parser.parse_args().only in guard.file]
    faults = 0
    with tempfile.TemporaryDirectory(prefix="stoker-mutation-") as name:
        folder = pathlib.Path(name)
        copy_source(folder)
        subprocess.run(["meson", "setup", "build", "-Dtests=enabled"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        for test in sorted({guard.test for guard in guards}):
            if not build(folder, test) or not passes(folder, test):
                sys.exit(f"{test} fails as it is")
        for guard in guards:
            wrong = try_guard(folder, guard)
            faults += wrong is not None
            print(f"{'NOT NOTICED' if wrong else 'noticed'}  {guard.file}: "
                  f"{guard.text.splitlines()[-1].strip()}{': ' + wrong if wrong else ''}",
                  flush=True)
    print(f"{len(guards)} guards, {faults} that nobody misses")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
