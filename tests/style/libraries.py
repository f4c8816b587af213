# SPDX-License-Identifier: MIT
"""Check which files include the headers of which library, so that replacing one changes few files.

    libraries.py ROOT

Fails if a file includes a header that stands below for others, or if a made-up one goes unnoticed.
"""

import re
import sys

from layers import INCLUDE, sources_of

# A header -> the files that may include it. A folder ends in a slash.
LIBRARIES = {
    r"msgpack(/.*)?\.h": ["proto/pack.c", "proto/value.c"],
    r"j(peglib|error|config|morecfg|pegint)\.h": ["daemon/decode/jpeg/jpeg.c",
                                                  "daemon/decode/jpeg/jpeg_library.c",
                                                  "daemon/decode/jpeg/jpeg_library.h",
                                                  "daemon/decode/jpeg/jpeg_pools.c",
                                                  "daemon/decode/jpeg/jpeg_pools.h",
                                                  "daemon/decode/jpeg/rewrite.c",
                                                  "daemon/decode/jpeg/rewrite.h",
                                                  "daemon/decode/jpeg/indexed_decode.c",
                                                  "daemon/decode/jpeg/self_test.c"],
    r"turbojpeg\.h": [],
    r"archive(_entry)?\.h": ["daemon/dataset/arrays/bundle.c",
                               "daemon/storage/packing_archive.c"],
    r"spng\.h": ["daemon/decode/png.c", "client/ctl/show/picture.c"],
    r"curl/.*": ["daemon/storage/remote/transfer.c"],
    r"expat\.h": ["daemon/storage/remote/s3_list.c",
                  "daemon/storage/remote/sts.c"],
    r"zlib\.h": ["daemon/decode/png_file.c", "daemon/decode/png_orientation.c",
                 "daemon/decode/png_rules.c",
                 "daemon/storage/packing_gzip.c"],
    r"lzma\.h": ["daemon/storage/packing_xz.c"],
    r"webp/.*": ["daemon/decode/webp.c"],
    r"avif/.*": ["daemon/decode/avif.c"],
    r"tiff.*\.h": ["daemon/decode/tiff.c", "daemon/decode/tiff_file.c",
                     "daemon/decode/tiff_file.h"],
    r"(pthread|threads)\.h": ["daemon/work/pool.c", "daemon/loop/os/task.h",
                               "daemon/statistics/moments.c", "daemon/cache/", "daemon/stage/",
                               "daemon/store/picture_store.h",
                               "daemon/storage/remote/", "daemon/base/thread_group.c",
                               "daemon/dataset/folders/", "daemon/dataset/shards/shard_readahead.c",
                               "client/c/handle.h", "client/c/connection.h",
                               "client/c/examples/"],
    r"(cblas|lapacke)\.h": ["daemon/statistics/whiten.c"],
    r"uv\.h": ["daemon/loop/", "daemon/main.c"],
    r"xxh(ash|3)\.h": ["daemon/base/digest.c", "client/ctl/replay.c"],
    r"ini\.h": ["daemon/config.c", "daemon/config/"],
    r"systemd/.*": ["daemon/loop/", "daemon/main.c"],
    r"jansson\.h": ["daemon/dataset/json.c", "daemon/storage/remote/json_texts.c", "client/ctl/"],
    r"sys/mman\.h": ["daemon/loop/", "daemon/cache/", "daemon/base/block.c", "client/",
                     "daemon/storage/remote/"],
    # The journal is a socket, and the log must not wait for it.
    r"sys/socket\.h": ["daemon/loop/", "daemon/main.c", "daemon/base/log.c", "client/"],
}


def may_include(path, header):
    """Why this file may not include <header>, or None."""
    for pattern, places in LIBRARIES.items():
        if not re.fullmatch(pattern, header):
            continue
        if any(path == place or place.endswith("/") and path.startswith(place) for place in places):
            return None
        return f"only {', '.join(places) or 'no file'} may include <{header}>"
    return None


def faults_of(path, text):
    for match in INCLUDE.finditer(text):
        why = may_include(path, match.group(2)) if match.group(1) == "<" else None
        if why:
            yield f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {why}"


def self_test():
    bad = [
        ("daemon/decode/jpeg/marker.c", "#include <uv.h>"),
        ("daemon/loop/server.c", "# include <msgpack.h>"),
        ("proto/frame.c", "#include <sys/socket.h>"),
        ("client/c/batch.c", "#include <msgpack.h>"),
        ("daemon/decode/png.c", "int a;\n#include <pthread.h>"),
    ]
    good = [
        ("daemon/decode/jpeg/jpeg.c", "#include <jpeglib.h>\n#include <stdio.h>\n"),
        ("daemon/loop/server.c", "#include <uv.h>\n"),
    ]
    for path, text in bad:
        assert list(faults_of(path, text)), f"{path}: {text}: went unnoticed"
    for path, text in good:
        assert not list(faults_of(path, text)), f"{path}: {text}: was refused"


def main():
    self_test()
    sources = sources_of(sys.argv[1] if len(sys.argv) > 1 else ".")
    faults = [fault for path, text in sorted(sources.items()) for fault in faults_of(path, text)]
    for fault in faults:
        print(fault)
    print(f"{len(sources)} files, {len(faults)} includes of a library at a wrong place")
    return 1 if faults or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
