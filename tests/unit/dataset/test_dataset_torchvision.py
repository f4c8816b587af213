# SPDX-License-Identifier: MIT
"""Image folders compared with torchvision's ImageFolder, on random trees; and random links, none of
which may lead out of the folder (FAULTS 69).

STOKER_BUILD names the build folder that holds tests/unit/dataset/dataset_tool.
"""

import json
import os
import random
import subprocess

import pytest

datasets = pytest.importorskip("torchvision.datasets")

NAMES = ["a", "b", "B", "a-b", "a.b", "a b", "ab", "é", "猫", "_", "0", "10", "9", "a'", "~", "z\n"]
ENDINGS = [".jpg", ".JPG", ".jpeg", ".Png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp",
           ".gif", ".txt", "", ".jpg.bak", "jpg", ".TIFF"]


def index(path, **keys):
    """(classes, [(path, label, size or None)]), or the words of the refusal."""
    tool = os.path.join(os.environ["STOKER_BUILD"], "tests", "unit", "dataset", "dataset_tool")
    words = [word for pair in keys.items() for word in pair]
    done = subprocess.run([tool, path, *words], capture_output=True, check=True, timeout=60)
    classes, samples = [], []
    for line in done.stdout.decode(errors="replace").splitlines():
        words = line.split(" ")
        if words[0] == "refused":
            return line
        name = bytes.fromhex(words[1 if words[0] == "class" else 2]).decode()
        if words[0] == "class":
            classes.append(name)
        else:
            samples.append((name, int(words[1]), int(words[4]) if words[3] == "0" else None))
    return classes, samples


def reference(path):
    """The same from torchvision; None if it finds no classes or an empty one."""
    try:
        folder = datasets.ImageFolder(path)
    except FileNotFoundError:
        return None
    return folder.classes, [(os.path.relpath(name, path), label, os.path.getsize(name))
                            for name, label in folder.samples]


def grow(draw, folder, depth):
    """Random files and folders; sometimes a link to a place beside or beneath."""
    for name in draw.sample(NAMES, draw.randint(1, 5)):
        path = os.path.join(folder, name)
        if depth and draw.random() < 0.4:
            os.mkdir(path)
            grow(draw, path, depth - 1)
        else:
            with open(path + draw.choice(ENDINGS), "wb") as file:
                file.write(bytes(draw.randint(1, 50)))


def link(draw, top):
    """Relative links to folders and files of the tree, none to an ancestor."""
    places = [folder for folder, _, _ in os.walk(top)]
    things = [os.path.join(folder, name) for folder, folders, files in os.walk(top)
              for name in folders + files]
    for number in range(draw.randint(0, 4)):
        place, thing = draw.choice(places), draw.choice(things)
        if (place + "/").startswith(thing + "/"):
            continue
        name = os.path.join(place, f"link{number}" + draw.choice([".jpg", "", ".png"]))
        if not os.path.lexists(name):
            os.symlink(os.path.relpath(thing, place), name)


@pytest.mark.parametrize("seed", range(150))
def test_as_torchvision(tmp_path, seed):
    draw = random.Random(seed)
    top = str(tmp_path / "data")
    os.mkdir(top)
    for name in draw.sample(NAMES, draw.randint(1, 4)):
        os.mkdir(os.path.join(top, name))
        grow(draw, os.path.join(top, name), 3)
        if draw.random() < 0.9:
            with open(os.path.join(top, name, "sure.jpg"), "wb") as file:
                file.write(b"1")
    link(draw, top)
    found = index(top)
    # Links may go round: then ours stops, torchvision goes on until the kernel refuses.
    if any(folder.count("/") > top.count("/") + 20
           for folder, _, _ in os.walk(top, followlinks=True)):
        return
    expected = reference(top)
    if expected is None:
        assert found.startswith("refused 2"), found
        assert "class folder" in found
    else:
        assert found == expected


def test_empty_class_has_its_name(tmp_path):
    (tmp_path / "cat").mkdir()
    (tmp_path / "dog").mkdir()
    (tmp_path / "dog" / "1.jpg").write_bytes(b"1")
    with pytest.raises(FileNotFoundError, match="cat"):
        datasets.ImageFolder(tmp_path)
    assert "class folder cat" in index(str(tmp_path))


@pytest.mark.parametrize("seed", range(40))
def test_without_classes(tmp_path, seed):
    """All files with ImageFolder's endings, by their folder's path and then by name."""
    draw = random.Random(seed)
    top = str(tmp_path / "data")
    os.mkdir(top)
    grow(draw, top, 3)
    found = index(top, kind="flat")
    paths = [os.path.relpath(os.path.join(folder, name), top).encode()
             for folder, _, names in os.walk(top) for name in names
             if datasets.folder.is_image_file(name)]
    if not paths:
        assert "there is no image in the folder" in found
        return
    paths.sort(key=os.path.split)
    assert found == ([], [(path.decode(), 0, os.path.getsize(os.path.join(top, path.decode())))
                          for path in paths])


FORMATS = {
    "tsv": "\t".join,
    "csv": lambda row: ",".join('"' + field.replace('"', '""') + '"' for field in row),
    "jsonl": lambda row: json.dumps({"file": row[0], "kind": row[1], "id": 3}),
}


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("seed", range(10))
def test_a_list_of_a_folder(tmp_path, seed, kind):
    """A table of ImageFolder's samples, absolute, with the names of classes: its samples, classes
    and numbers."""
    draw = random.Random(seed)
    top = str(tmp_path / "data")
    for name in draw.sample([n for n in NAMES if "\n" not in n and not n.isdigit()], 5):
        os.makedirs(os.path.join(top, name))
        for picture in draw.sample(range(20), draw.randint(1, 6)):
            with open(os.path.join(top, name, f"{picture} {name}.jpg"), "wb") as file:
                file.write(bytes(picture + 1))
    folder = datasets.ImageFolder(top)
    rows = [(path, folder.classes[label]) for path, label in folder.samples]
    draw.shuffle(rows)
    lines = [] if kind == "jsonl" else [FORMATS[kind](("file", "kind"))]
    lines += [FORMATS[kind](row) for row in rows]
    (tmp_path / f"list.{kind}").write_text("".join(line + "\n" for line in lines))
    found = index(str(tmp_path / f"list.{kind}"), root=top, path_column="file", label_column="kind")
    assert found == (folder.classes, [(os.path.relpath(path, top), folder.class_to_idx[name],
                                       os.path.getsize(path)) for path, name in rows])


@pytest.mark.parametrize("seed", range(60))
def test_no_link_leads_out(tmp_path, seed):
    """A manifest names links, folders of links and ..; what is read lies beneath the root."""
    draw = random.Random(seed)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "secret").write_bytes(b"secret!")
    top = tmp_path / "data"
    (top / "x" / "y").mkdir(parents=True)
    (top / "own").write_bytes(b"own")
    (top / "x" / "own").write_bytes(b"own")
    (top / "x" / "y" / "own").write_bytes(b"own")
    targets = ["..", "../..", ".", "x", "y", "../x", "own", "../own", "../out", "../../out",
               "../../out/secret", str(tmp_path / "out"), str(top), str(top / "own"), "/",
               "/proc/self/cwd", "/proc/self/root", "/proc/self/fd/0", "link0", "link1", "link2"]
    for folder in (top, top / "x", top / "x" / "y"):
        for number in range(3):
            os.symlink(draw.choice(targets), folder / f"link{number}")
    parts = ["x", "y", "link0", "link1", "link2", "own", "..", ".", "secret", "out"]
    paths = ["/".join(draw.choices(parts, k=draw.randint(1, 5))) for _ in range(60)]
    paths = [path for path in paths if not path.startswith("..")]
    (top / "list.txt").write_text("".join(f"{path} 0\n" for path in paths))
    found = index(str(top / "list.txt"))
    if isinstance(found, str):
        assert "leads out" in found
        return
    for path, _, size in found[1]:
        if size is None:
            continue
        # Only "own" has 3 bytes, or the list itself is read.
        assert size == 3, path
        assert os.path.realpath(top / path).startswith(str(top.resolve()) + "/")
