# SPDX-License-Identifier: MIT
"""Check the arrows between the rooms: who may include whom, and one door per library.

    libc <- base <- work <- config <- loop <- main,   proto <- client

Arguments: the root of the source. Prints each include that points the wrong way; fails if there
is one, or if a made-up bad include goes unnoticed.
"""

import os
import re
import sys

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# What the rooms below `loop` may know of `proto`: the segment's layout, and the tree of values,
# which is plain data.
DATA = {"proto/segment.h", "proto/value.h"}

# A library's header -> the files that may include it. A folder ends in a slash.
LIBRARIES = {
    r"msgpack(/.*)?\.h": ["proto/pack.c"],
    r"j(peglib|error|config|morecfg|pegint)\.h": ["daemon/decode/jpeg/jpeg.c",
                                                  "daemon/decode/jpeg/jpeg_library.c",
                                                  "daemon/decode/jpeg/jpeg_library.h",
                                                  "daemon/decode/jpeg/jpeg_pools.c",
                                                  "daemon/decode/jpeg/jpeg_pools.h",
                                                  "daemon/decode/jpeg/indexed_decode.c",
                                                  "daemon/decode/jpeg/self_test.c"],
    r"turbojpeg\.h": [],
    r"archive(_entry)?\.h": ["daemon/dataset/arrays/bundle.c"],
    r"spng\.h": ["daemon/decode/png.c", "client/ctl/picture.c"],
    r"webp/.*": ["daemon/decode/webp.c"],
    r"(pthread|threads)\.h": ["daemon/work/pool.c", "daemon/statistics/moments.c"],
    r"(cblas|lapacke)\.h": ["daemon/statistics/whiten.c"],
    r"uv\.h": ["daemon/loop/", "daemon/main.c"],
    r"xxh(ash|3)\.h": ["daemon/base/digest.c", "client/ctl/replay.c"],
    r"ini\.h": ["daemon/config.c", "daemon/config/"],
    r"systemd/.*": ["daemon/loop/", "daemon/main.c"],
    r"jansson\.h": ["daemon/dataset/", "client/ctl/"],
    r"sys/(mman|socket)\.h": ["daemon/loop/", "daemon/main.c", "client/"],
}


def room(path):
    """The room of a source file: base, work, config, loop, main, proto or client."""
    parts = path.split("/")
    if parts[0] != "daemon":
        return parts[0]
    return parts[1] if len(parts) > 2 else os.path.splitext(parts[1])[0]


def may_include(path, included):
    """Why this include with quotes is not allowed, or None."""
    here = room(path)
    folder, _, name = included.rpartition("/")
    if ".." in included.split("/"):
        return "an include names its folder, it does not climb"
    if not folder and included != "config.h":
        if os.path.dirname(path).startswith("client/"):
            return None
        return "an include names its folder"
    top = "config" if included == "config.h" else included.split("/")[0]
    samples = {"base", "dataset", "decode", "statistics", "transform", "store", "work"}
    allowed = {
        "proto": {"proto"},
        "client": {"proto", "client"},
        "base": {"base"},
        "dataset": {"base", "dataset"},
        "decode": {"base", "decode"},
        "statistics": {"base", "statistics"},
        "transform": {"base", "statistics", "transform"},
        "store": {"base", "decode", "statistics", "store"},
        "work": samples,
        "config": samples | {"config"},
        "loop": samples | {"config", "loop", "proto"},
        "main": samples | {"config", "loop", "proto"},
    }
    if here not in allowed:
        return f"{path} is in no known room"
    if top in allowed[here]:
        return None
    if here in samples and included in DATA:
        return None
    return f"{here} may not know {top}"


def may_use(path, header):
    """Why this include with angle brackets is not allowed, or None."""
    for pattern, places in LIBRARIES.items():
        if not re.fullmatch(pattern, header):
            continue
        if any(path == place or place.endswith("/") and path.startswith(place) for place in places):
            return None
        return f"<{header}> has its door at {', '.join(places) or 'no file'}"
    return None


def faults_of(path, text):
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        check = may_use if match.group(1) == "<" else may_include
        why = check(path, match.group(2))
        if why:
            yield f"{path}:{line}: {match.group(0).strip()}: {why}"


def cycles_of(sources):
    """Headers that include each other, in a ring."""
    edges = {}
    for path, text in sources.items():
        if path.endswith(".h"):
            found = [match.group(2) for match in INCLUDE.finditer(text) if match.group(1) == '"']
            edges[path] = [name if name in sources else "daemon/" + name for name in found]
    done = set()

    def walk(path, way):
        if path in way:
            yield " -> ".join(way[way.index(path):] + [path])
        elif path not in done:
            for other in edges.get(path, []):
                yield from walk(other, way + [path])
            done.add(path)

    for path in sorted(edges):
        yield from walk(path, [])


def sources_of(root):
    sources = {}
    for top in ("proto", "daemon", "client"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        sources[os.path.relpath(path, root)] = file.read()
    return sources


def self_test():
    bad = [
        ("daemon/base/log.c", '#include "work/job.h"'),
        ("daemon/decode/jpeg/jpeg.c", '#include "loop/slot.h"'),
        ("daemon/decode/jpeg/jpeg.c", '#include "proto/message.h"'),
        ("daemon/decode/jpeg/jpeg.c", '#include "image.h"'),
        ("daemon/decode/jpeg/jpeg.c", "#include <uv.h>"),
        ("daemon/decode/png.c", '#include "transform/resample.h"'),
        ("daemon/loop/slot.c", "# include <msgpack.h>"),
        ("daemon/loop/slot.c", '#include "../base/list.h"'),
        ("daemon/config.c", '#include "loop/slot.h"'),
        ("proto/pack.c", '#include "base/buffer.h"'),
        ("proto/frame.c", "#include <sys/socket.h>"),
        ("client/c/batch.c", '#include "base/buffer.h"'),
        ("client/c/batch.c", "#include <msgpack.h>"),
        ("daemon/decode/png.c", "#include <pthread.h>"),
    ]
    good = [
        ("daemon/decode/jpeg/jpeg.c", '#include <jpeglib.h>\n#include "decode/decode.h"\n'),
        ("daemon/transform/pipeline.c", '#include "proto/value.h"'),
        ("daemon/loop/slot.c", '#include <uv.h>\n#include "work/job.h"\n#include "config.h"\n'),
        ("daemon/main.c", '#include "loop/slot.h"\n#include "config.h"\n'),
        ("client/c/batch.c", '#include "proto/frame.h"\n#include "stoker.h"\n'),
    ]
    for path, text in bad:
        assert list(faults_of(path, text)), f"{path}: {text}: went unnoticed"
    for path, text in good:
        assert not list(faults_of(path, text)), f"{path}: {text}: was refused"
    ring = {"daemon/base/a.h": '#include "base/b.h"\n', "daemon/base/b.h": '#include "base/a.h"\n'}
    assert list(cycles_of(ring)), "a ring of headers went unnoticed"


def main():
    self_test()
    sources = sources_of(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults = [fault for path, text in sorted(sources.items()) for fault in faults_of(path, text)]
    faults += [f"headers in a ring: {ring}" for ring in cycles_of(sources)]
    for fault in faults:
        print(fault)
    print(f"{len(sources)} files, {len(faults)} includes that point the wrong way")
    return 1 if faults or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
