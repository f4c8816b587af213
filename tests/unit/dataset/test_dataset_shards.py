# SPDX-License-Identifier: MIT
"""Tar shards: the walk over members compared with Python's tarfile and with libarchive, samples
with WebDataset's grouping (its rule written down here, and the package itself where it is
installed), braces, and what is refused. The index itself: test_dataset_shard_index.py.

STOKER_BUILD names the build folder that holds tests/unit/dataset/shard_tool.
"""

import io
import json
import os
import random
import re
import struct
import subprocess
import tarfile

import pytest

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}


def tool(*words, **environment):
    program = os.path.join(os.environ["STOKER_BUILD"], "tests", "unit", "dataset", "shard_tool")
    done = subprocess.run([program, *map(os.fsencode, words)], capture_output=True, timeout=60,
                          env={**os.environ, **environment})
    assert done.returncode == 0, done
    return done.stdout.decode(errors="replace").splitlines()


def write_tar(path, members, form="ustar", **keys):
    """A tar of (name, bytes) or TarInfo."""
    with tarfile.open(path, "w", format=FORMATS[form], **keys) as tar:
        for name, data in members:
            info = name if isinstance(name, tarfile.TarInfo) else tarfile.TarInfo(name)
            info.size = len(data) if data is not None else 0
            tar.addfile(info, io.BytesIO(data) if data is not None else None)


def opened(path, keep="-", **keys):
    """(fingerprint, index bytes, skipped, classes, [(path, label, condition, fields)]), or the
    words of the refusal."""
    lines = tool("open", keep, path, *[word for pair in keys.items() for word in pair])
    if lines[0].startswith("refused "):
        return lines[0]
    _, fingerprint, size, skipped = lines[0].split()
    classes = [line[6:] for line in lines if line.startswith("class ")]
    samples = []
    for line in lines:
        words = line.split(" ")
        if words[0] == "sample":
            fields = dict(word.split("=", 1) for word in words[5:])
            samples.append((bytes.fromhex(words[1]).decode(), bytes.fromhex(words[2]),
                            int(words[3]), words[4], {k: bytes.fromhex(v)
                                                      for k, v in fields.items()}))
    return fingerprint, int(size), int(skipped), classes, samples


# -- the walk -----------------------------------------------------------------------------------


def members_of(path):
    found = []
    for line in tool("members", path):
        assert not line.startswith("bad"), line
        name, offset, size = line.split(" ")
        found.append((bytes.fromhex(name), int(offset), int(size)))
    return found


def random_name(draw, form):
    letters = "abcé猫0_.-" if form != "ustar" else "abc0_.-"
    longest = {"ustar": 90, "gnu": 700, "pax": 700}[form]
    size = draw.choice([1, 5, 20, longest])
    name = "".join(draw.choice(letters) for _ in range(size)).strip(".") or "x"
    if len(name) > 200:
        name = "/".join(name[at:at + 120] for at in range(0, len(name), 120))
    return name.encode()[:longest].decode(errors="ignore")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("seed", range(12))
def test_members(tmp_path, form, seed):
    """Regular files, where tarfile finds them; folders, links and devices are passed over."""
    draw = random.Random(seed)
    path = str(tmp_path / "a.tar")
    members = []
    for number in range(draw.randint(1, 40)):
        info = tarfile.TarInfo(f"{number}/" * draw.randint(0, 1) + random_name(draw, form))
        info.type = draw.choice([tarfile.REGTYPE] * 6 + [tarfile.DIRTYPE, tarfile.SYMTYPE,
                                                         tarfile.LNKTYPE, tarfile.FIFOTYPE,
                                                         tarfile.CHRTYPE, tarfile.AREGTYPE])
        if form == "pax" and draw.random() < 0.3:
            info.pax_headers = {"comment": "x" * draw.randint(1, 2000), "mtime": "1.5"}
        if info.type in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info.linkname = random_name(draw, form)
        data = None
        if info.isreg():
            data = bytes(draw.choice([0, 1, 511, 512, 513, 5000]))
        members.append((info, data))
    keys = {"pax_headers": {"comment": "all"}} if form == "pax" and seed % 2 else {}
    write_tar(path, members, form, **keys)
    with tarfile.open(path) as tar:
        expected = [(info.name.encode(), info.offset_data, info.size)
                    for info in tar if info.isreg()]
    found = members_of(path)
    assert found == expected
    archive = [line.split(" ") for line in tool("archive", path, LC_ALL="C.UTF-8")]
    assert [(bytes.fromhex(name), int(size)) for name, _, size in archive] == \
        [(name, size) for name, _, size in found]


def test_sizes_of_other_programs(tmp_path):
    """A size as GNU's binary number, and one that only a pax header says."""
    path = str(tmp_path / "a.tar")
    write_tar(path, [("a.jpg", b"x" * 600), ("b.jpg", b"y" * 10)])
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[124:136] = b"\x80" + (600).to_bytes(11, "big")
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    with open(path, "wb") as file:
        file.write(data)
    assert members_of(path) == [(b"a.jpg", 512, 600), (b"b.jpg", 2048, 10)]
    info = tarfile.TarInfo("c.jpg")
    info.pax_headers = {"size": "700"}
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        info.size = 700
        tar.addfile(info, io.BytesIO(b"z" * 700))
    with open(path, "rb") as file:
        data = bytearray(file.read())
    data[1024 + 124:1024 + 136] = b"%011o\0" % 0
    data[1024 + 148:1024 + 156] = b" " * 8
    data[1024 + 148:1024 + 156] = b"%06o\0 " % sum(data[1024:1536])
    with open(path, "wb") as file:
        file.write(data)
    assert members_of(path) == [(b"c.jpg", 1536, 700)]


def test_cut_and_damaged(tmp_path):
    """An archive that was cut is never a short one, unless it ends between two members."""
    path = str(tmp_path / "a.tar")
    write_tar(path, [(f"{number}.jpg", bytes([number]) * 700) for number in range(4)])
    with open(path, "rb") as file:
        whole = file.read()
    for size in list(range(1, 6 * 512, 100)) + [512, 1212, 1536, 2048, 6144]:
        with open(path, "wb") as file:
            file.write(whole[:size])
        lines = tool("members", path)
        between = size % 1536 == 0 or size % 1536 >= 1212
        assert lines[-1].startswith("bad ") != between, (size, lines)
    for at in (0, 1536 + 130, 3072 + 257):
        with open(path, "wb") as file:
            file.write(whole[:at] + b"\xff" + whole[at + 1:])
        lines = tool("members", path)
        assert len(lines) == at // 1536 + 1
        assert lines[-1].startswith(f"bad at byte {at // 1536 * 1536} ")


# -- samples ------------------------------------------------------------------------------------

IMAGES = {"jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp", "pbm", "pnm",
          "gif", "avif"}


def split(name):
    """WebDataset's rule for the key and the component of a member; but hidden files are of no
    sample, as for DALI, and neither is what macOS adds."""
    if name.rpartition("/")[2].startswith(".") or "/__MACOSX/" in "/" + name:
        return None
    match = re.match(r"^((?:.*/|)[^.]+)[.]([^/]*)$", name, re.DOTALL)
    if not match or re.match(r"__[^/]*__($|/)", name):
        return None
    return match.group(1), match.group(2).lower()


def test_split():
    names = ["a.jpg", "a/b.c.d", "a.b/c", "a.b/c.d", ".a", "a/.b", "a.b/.c", "a.b/c/.d", "a", "a.",
             "a/b/", "__m__/a.b", "__a__", "__a.b__", "__a__b.c", "./a.jpg", "/.x", "a//.x",
             "../a.b", "a/._0.png", "a/.DS_Store", "__MACOSX/0.png", "a/__MACOSX/0.png",
             "a__MACOSX/0.png", "__MACOSX.png", "__MACOSX"]
    draw = random.Random(1)
    names += ["".join(draw.choice("a./_B") for _ in range(draw.randint(1, 9)))
              for _ in range(600)]
    for name in names:
        expected = split(name)
        assert tool("split", name) == [str(len(expected[0].encode())) if expected else "-"], name


def test_samples(tmp_path):
    """Neighbours with one key are a sample; keys, endings, labels and bytes are as written."""
    path = str(tmp_path / "a-000.tar")
    write_tar(path, [
        ("__meta__/x.json", b"{}"), ("x/1.CLS", b" 7\n"), ("x/1.JPG", b"one"),
        ("x/2.jpg", b"two"), ("x/2.cls", b"-3"), ("x/2.txt", b"a text"), (".hidden", b""),
        ("x/3.seg.png", b"three"), ("x/3.cls", b"0")])
    _, _, skipped, classes, samples = opened(path)
    assert not skipped and not classes
    assert [sample[0] for sample in samples] == \
        ["a-000.tar/x/1.JPG", "a-000.tar/x/2.jpg", "a-000.tar/x/3.seg.png"]
    assert [int.from_bytes(sample[1], "little", signed=True) for sample in samples] == [7, -3, 0]
    assert all(sample[2] == 0 for sample in samples)


def test_long_keys(tmp_path):
    """Keys that are alike for more bytes than one byte counts, and as many as a name may have."""
    path = str(tmp_path / "a.tar")
    folders = ["/".join(["d" * 200] * count) for count in (2, 3, 19)]
    names = [f"{folder}/{'k' * 50}{number}.jpg" for folder in folders for number in range(20)]
    write_tar(path, [(name, b"x") for name in names], "pax")
    assert [sample[0] for sample in opened(path)[4]] == [f"a.tar/{name}" for name in names]


def test_labels(tmp_path):
    path = str(tmp_path / "a.tar")
    parts = [("dog", {"a": {"b": [1, 2.5]}, "n": "dog"}), ("cat", {"a": {"b": [3, 4]}, "n": "b"}),
             ("猫", {"a": {"b": [0, 0]}, "n": "a"})]
    write_tar(path, [member for key, (name, extra) in enumerate(parts) for member in
                     ((f"{key}.jpg", b"x"), (f"{key}.cls", name.encode()),
                      (f"{key}.json", json.dumps(extra).encode()))])
    number = lambda sample: int.from_bytes(sample[1], "little")  # noqa: E731
    _, _, _, classes, samples = opened(path)
    assert classes == ["cat", "dog", "猫"] and list(map(number, samples)) == [1, 0, 2]
    _, _, _, classes, samples = opened(path, label="json:n")
    assert classes == ["a", "b", "dog"] and list(map(number, samples)) == [2, 1, 0]
    _, _, _, classes, samples = opened(path, label="json:a.b")
    assert not classes and [struct.unpack("2f", sample[1]) for sample in samples] == \
        [(1, 2.5), (3, 4), (0, 0)]
    _, _, _, _, samples = opened(path, label="json:a.b.0")
    assert list(map(number, samples)) == [1, 3, 0]
    assert "there is no 'a.c'" in opened(path, label="json:a.c")


def test_json_as_python_writes_it(tmp_path):
    """Values that JSON does not have: passed over, or an error that names what was asked for."""
    path = str(tmp_path / "a.tar")
    values = [float("nan"), float("-inf"), 1 << 64, -1 << 80, "\ud83d", "\0", {"\udc00": [1e300]}]
    texts = [json.dumps({"other": value, "label": number, "more": [value, "NaN"]}).encode()
             for number, value in enumerate(values)]
    texts += [b'\xef\xbb\xbf{"label": 7}', b'{"x": "\xff", "label": 8}',
              b'{"x": 1e999, "label": 9}']
    write_tar(path, [member for key, text in enumerate(texts) for member in
                     ((f"{key}.jpg", b"x"), (f"{key}.json", text))])
    samples = opened(path, label="json:label")[4]
    assert [int.from_bytes(sample[1], "little") for sample in samples] == list(range(10))
    for name, value in (("NaN", float("nan")), (str(1 << 64), 1 << 64), ("a text with", "\ud83d")):
        write_tar(path, [("a.jpg", b"x"), ("a.json", json.dumps({"label": value}).encode())])
        said = opened(path, label="json:label")
        assert f"its label (.json): 'label' is {name}" in said, said


def test_classes_by_number(tmp_path):
    """Labels that are numbers, of so many classes."""
    path = str(tmp_path / "a.tar")
    write_tar(path, [member for key, label in enumerate((11, 0, 2)) for member in
                     ((f"{key}.jpg", b"x"), (f"{key}.cls", b"%d" % label))])
    keep = str(tmp_path)
    for _ in range(2):
        fingerprint, _, _, classes, samples = opened(path, keep, classes="12")
        assert classes == [str(number) for number in range(12)]
        assert [int.from_bytes(sample[1], "little") for sample in samples] == [11, 0, 2]
        assert fingerprint not in (opened(path)[0], opened(path, classes="13")[0])
    assert "'0': its label is not one number from 0 to 10 (classes)" in opened(path, classes="11")
    for wrong in ("0", "-1", "x", "3x", "2000000", " 3"):
        assert "no number from 1" in opened(path, classes=wrong)
    write_tar(path, [("0.jpg", b"x")])
    assert "its label is not" in opened(path, classes="3")


def test_choices(tmp_path):
    """Several pictures need a choice; the first that a sample has is taken."""
    path = str(tmp_path / "a.tar")
    write_tar(path, [("1.jpg", b"1j"), ("1.png", b"1p"), ("2.png", b"2p")])
    assert "several pictures among its components (jpg, png)" in opened(path)
    names = lambda **keys: [sample[0] for sample in opened(path, **keys)[4]]  # noqa: E731
    assert names(image="jpg;png") == ["a.tar/1.jpg", "a.tar/2.png"]
    assert names(image="png;jpg") == ["a.tar/1.png", "a.tar/2.png"]
    assert "the sample '2': it has no picture" in opened(path, image="jpg")
    assert names(image="jpg", missing_component="skip") == ["a.tar/1.jpg"]
    assert opened(path, image="jpg", missing_component="skip")[2] == 1
    assert "no component" in opened(path, image=".jpg")
    assert "no missing_component 'x'" in opened(path, missing_component="x")


def test_fields(tmp_path):
    """Components as fields: bytes padded to the widest, and how many they are."""
    path = str(tmp_path / "a.tar")
    texts = ["", "é" * 30, "short"]
    write_tar(path, [member for key, text in enumerate(texts) for member in
                     ((f"{key}.jpg", b"x"), (f"{key}.txt", text.encode()),
                      (f"{key}.emb.bin", bytes([key] * 3)))])
    for number, sample in enumerate(opened(path, components="txt emb.bin")[4]):
        text = texts[number].encode()
        assert sample[4] == {"txt": text.ljust(60, b"\0"),
                             "txt_length": len(text).to_bytes(8, "little"),
                             "emb_bin": bytes([number] * 3),
                             "emb_bin_length": (3).to_bytes(8, "little")}
    assert opened(path)[4][0][4] == {}
    assert opened(path)[0] != opened(path, components="txt")[0]
    assert "has no none among" in opened(path, components="none")
    write_tar(path, [("1.jpg", b"x"), ("1.txt", b"y" * 5000)])
    assert "5000 bytes, and at most 4096" in opened(path, components="txt")
    assert "longer than 8 bytes" in opened(path, components="ninebytes")


REFUSED = {
    "twice": ([("1.jpg", b"x"), ("1.JPG", b"y")], "the component 'jpg' twice"),
    "returns": ([("1.jpg", b"x"), ("2.jpg", b"x"), ("1.cls", b"1")], "'1': its key comes twice"),
    "no-label": ([("1.jpg", b"x"), ("1.cls", b"1"), ("2.jpg", b"x")], "'2': it has no cls"),
    "mixed": ([("1.jpg", b"x"), ("1.cls", b"1"), ("2.jpg", b"x"), ("2.cls", b"a")],
              "'2': its label"),
    "late-label": ([("1.jpg", b"x"), ("2.jpg", b"x"), ("2.cls", b"1")],
                   "'2': it has a label ('cls') and the first sample has none: with label = cls"),
    "list": ([("1.jpg", b"x"), ("1.cls", b"[[1]]")], "no list of numbers"),
    "two": ([("1.jpg", b"x"), ("1.cls", b"1\n0")], "looks like several numbers"),
    "blank": ([("1.jpg", b"x"), ("1.cls", b"\xef\xbb\xbf\n")], "the label is empty"),
    "empty-label": ([("1.jpg", b"x"), ("1.cls", b" \n")], "its label (.cls): it is empty"),
    "none": ([("folder/x", b"")], "has no samples"),
}


def numbers(samples):
    return [struct.unpack(f"<{len(sample[1]) // 8}q", sample[1]) for sample in samples]


def test_hidden_members(tmp_path):
    """What a Mac's tar has beside each file is left out wherever it lies."""
    path = str(tmp_path / "a.tar")
    for folder in ("", "./", "d/", "d/e/"):
        write_tar(path, [member for i in (0, 1) for member in
                         ((f"{folder}.DS_Store", b"x") if i == 0 else (f"{folder}._.png", b"\0"),
                          (f"{folder}._{i}.png", b"\0\5"), (f"{folder}{i}.png", b"p"),
                          (f"{folder}._{i}.cls", b"\0\5"), (f"{folder}{i}.cls", b"%d" % (i + 5)),
                          (f"{folder}__MACOSX/{i}.png", b"m"))])
        samples = opened(path)[4]
        assert [sample[0] for sample in samples] == [f"a.tar/{folder}{i}.png" for i in (0, 1)]
        assert numbers(samples) == [(5,), (6,)]


def test_labels_from_the_second_on(tmp_path):
    """With the label named, the first sample may lack it."""
    paths = [str(tmp_path / "a-0.tar"), str(tmp_path / "a-1.tar")]
    write_tar(paths[0], [("1.jpg", b"x")])
    write_tar(paths[1], [("2.jpg", b"x"), ("2.cls", b"4")])
    pattern = str(tmp_path / "a-*.tar")
    assert "a-1.tar: the sample '2': it has a label" in opened(pattern)
    assert "'1': it has no cls" in opened(pattern, label="cls")
    result = opened(pattern, label="cls", missing_component="skip")
    assert result[2] == 1 and numbers(result[4]) == [(4,)]


def test_lists_and_blanks_as_cls(tmp_path):
    path = str(tmp_path / "a.tar")
    for texts, expected in (([b"[1, 0]", b"[0,1]\n"], [(1, 0), (0, 1)]),
                            ([b"[3]", b"4"], [(3,), (4,)]),
                            ([b"\xef\xbb\xbf7\r\n", b"\xc2\xa08"], [(7,), (8,)])):
        write_tar(path, [member for key, text in enumerate(texts) for member in
                         ((f"{key}.jpg", b"x"), (f"{key}.cls", text))])
        assert numbers(opened(path)[4]) == expected


@pytest.mark.parametrize("case", REFUSED)
def test_refused(tmp_path, case):
    members, words = REFUSED[case]
    path = str(tmp_path / "a.tar")
    write_tar(path, members)
    assert words in opened(path) and opened(path).startswith("refused 2 ")


def test_no_archive(tmp_path):
    """A page that a server shows to people, and an archive that was cut within a member."""
    path = tmp_path / "a.tar"
    for page in (b"<!DOCTYPE html><html><body>log in</body></html>\n", b"<HTML>\n" + bytes(9000)):
        path.write_bytes(page)
        assert "a.tar is an HTML page and no archive" in opened(str(path))
    write_tar(str(path), [("1.jpg", bytes(3000)), ("1.cls", b"1")])
    for size in 700, 3000, 512 + 3072 + 100:
        os.truncate(path, size)
        assert "the archive was cut" in opened(str(path))
        write_tar(str(path), [("1.jpg", bytes(3000)), ("1.cls", b"1")])


def test_packed(tmp_path):
    for packing, mode in (("gzip", "w:gz"), ("xz", "w:xz"), ("bzip2", "w:bz2")):
        path = str(tmp_path / "a.tar")
        with tarfile.open(path, mode) as tar:
            info = tarfile.TarInfo("1.jpg")
            tar.addfile(info, io.BytesIO(b""))
        assert f"is packed with {packing}" in opened(path)


# -- names of shards ----------------------------------------------------------------------------

BRACES = {
    "a": ["a"], "a{b": ["a{b"], "a}b": ["a}b"], "a{b}c": ["a{b}c"], "{a,b}": ["a", "b"],
    "x{a,,b}y": ["xay", "xy", "xby"], "{8..11}": ["8", "9", "10", "11"],
    "{08..11}": ["08", "09", "10", "11"], "{3..1}": ["3", "2", "1"], "{0..9..4}": ["0", "4", "8"],
    "{a..c}": ["a", "b", "c"], "{a,{1..2}}{x,y}": ["ax", "ay", "1x", "1y", "2x", "2y"],
    "{x}{a,b}": ["{x}a", "{x}b"], "{000000..000002}": ["000000", "000001", "000002"],
    "{1..x}": ["{1..x}"], "{-1..1}": ["-1", "0", "1"], "{a,b{c,d}e}": ["a", "bce", "bde"],
}


@pytest.mark.parametrize("pattern", BRACES)
def test_braces(pattern):
    assert tool("brace", pattern) == BRACES[pattern]


def test_braces_as_the_package():
    braceexpand = pytest.importorskip("braceexpand").braceexpand
    draw = random.Random(3)
    pieces = ["a", "{", "}", ",", "..", "1", "09", "{1..3}", "{a,b}", "-"]
    for _ in range(600):
        pattern = "".join(draw.choice(pieces) for _ in range(draw.randint(1, 8)))
        depths = [pattern[:at].count("{") - pattern[:at].count("}") for at in range(len(pattern))]
        if min(depths) >= 0 and pattern.count("{") == pattern.count("}"):
            assert tool("brace", pattern) == list(braceexpand(pattern)), pattern


def test_several_shards(tmp_path):
    """Braces, globs and wids' list give the same samples, and the same fingerprint."""
    for number in range(12):
        write_tar(str(tmp_path / f"s-{number:03}.tar"), [(f"{number}-{at}.jpg", b"%d" % at)
                                                         for at in range(number % 4)])
    with open(tmp_path / "s.json", "w", encoding="utf-8") as file:
        json.dump({"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist":
                   [{"url": f"s-{number:03}.tar", "nsamples": 1, "score": float("nan")}
                    for number in range(12)]}, file)
    ways = [opened(str(tmp_path / name)) for name in
            ("s-{000..011}.tar", "s-*.tar", "s-{00?,01[01]}.tar", "s.json")]
    assert all(way == ways[0] for way in ways)
    paths = [sample[0] for sample in ways[0][4]]
    assert paths == [f"s-{number:03}.tar/{number}-{at}.jpg" for number in range(12)
                     for at in range(number % 4)]
    other = opened(str(tmp_path / "s-{000..010}.tar"))
    assert other[0] != ways[0][0]
    # The same samples in other shards: another order "shards", so another fingerprint.
    for name, numbers in (("one", [range(4)]), ("two", [range(2), range(2, 4)])):
        for part, members in enumerate(numbers):
            write_tar(str(tmp_path / f"{name}-{part}.tar"), [(f"{at}.jpg", b"x") for at in members])
    assert opened(str(tmp_path / "one-*.tar"))[0] != opened(str(tmp_path / "two-*.tar"))[0]
    assert "no file fits" in opened(str(tmp_path / "t-*.tar"))
    assert "s-012.tar" in opened(str(tmp_path / "s-{000..012}.tar"))
    os.rename(tmp_path / "s-000.tar", tmp_path / "s-{a,b}.tar")
    assert "no samples" in opened(str(tmp_path / "s-{a,b}.tar"))


def test_nothing_leads_out(tmp_path):
    """For users that are not trusted: neither braces, nor a list, nor a link lead out of the folder
    that the pattern begins at; a link within it may be followed."""
    inner = tmp_path / "allowed" / "set"
    inner.mkdir(parents=True)
    for path in (tmp_path / "out.tar", inner / "in.tar"):
        write_tar(str(path), [("1.jpg", b"x")])
    os.symlink("in.tar", inner / "near.tar")
    os.symlink("../../out.tar", inner / "far.tar")
    (inner / "list.json").write_text(json.dumps({
        "__kind__": "wids-shard-index-v1", "shardlist": [{"url": "../../out.tar"}]}))
    (inner / "rooted.json").write_text(json.dumps({
        "__kind__": "wids-shard-index-v1", "shardlist": [{"url": str(tmp_path / "out.tar")}]}))

    def confined(name):
        return tool("open", "-", str(inner / name), SHARD_TOOL_BENEATH=str(tmp_path / "allowed"))

    for name in ("in.tar", "near.tar", "{in,near}.tar", "?n.tar", "near*"):
        assert confined(name)[0].startswith("dataset "), name
    for name in ("far.tar", "f*.tar", "{in,../../out}.tar", "{..,.}/../out.tar", "list.json",
                 "rooted.json", "{../..,.}/*.tar", "../../out.tar", "{,../../}out.tar"):
        assert confined(name)[0].startswith("refused "), name
    assert opened(str(inner / "far.tar"))[4] and opened(str(inner / "{in,../../out}.tar"))[4]


# -- the package itself -------------------------------------------------------------------------


def test_webdataset(tmp_path):
    """Shards that webdataset wrote, read as webdataset reads them."""
    wds = pytest.importorskip("webdataset", reason="webdataset is not installed")
    draw = random.Random(5)
    pattern = str(tmp_path / "s-%03d.tar")
    with wds.ShardWriter(pattern, maxcount=7, verbose=0) as sink:
        for number in range(40):
            sink.write({"__key__": f"d{number % 3}/k{number:05}", "cls": number % 5,
                        "jpg": draw.randbytes(draw.randint(1, 2000)),
                        "txt": "wörd " * (number % 4), "json": {"a": {"b": number * 2}}})
    urls = str(tmp_path / "s-{000..005}.tar")
    expected = list(wds.WebDataset(urls, shardshuffle=False, empty_check=False))
    _, _, _, _, samples = opened(urls, components="txt")
    _, _, _, _, by_json = opened(urls, label="json:a.b")
    assert len(samples) == len(expected) == 40
    for found, other, sample in zip(samples, by_json, expected):
        shard = os.path.basename(sample["__url__"])
        assert found[0] == f"{shard}/{sample['__key__']}.jpg" and found[2] == 0
        assert int.from_bytes(found[1], "little") == int(sample["cls"])
        assert int.from_bytes(other[1], "little") == json.loads(sample["json"])["a"]["b"]
        length = int.from_bytes(found[4]["txt_length"], "little")
        assert found[4]["txt"][:length] == sample["txt"]
