# SPDX-License-Identifier: MIT
"""Check the arrows of the source: which room, layer and unit uses which.

    layers.py ROOT [BUILD]

A room is a folder or a file, a unit is a .c/.h pair. An arrow from one unit to another is an
include, or a symbol: a function or a variable that an object file of BUILD needs and another one
defines. Without BUILD only includes are checked. The rooms, and what each may use, are the table of
CONTRIBUTING.md ("Rooms and arrows"): a room may use those of its row, and what they may use.

Fails if an arrow runs to a room that may not be used, or if files use each other in a circle: by
includes and symbols, tables of functions among them, in all rooms; in the loop also units, whose
header counts as the file beside it; in the Python client modules, by their imports, but those for
type checkers. Fails as well if a folder has more files than FOLDER_FILES, or two C files of the
daemon share a base name. First it checks that it notices such faults, in a small source tree that
it makes.
"""

import argparse
import ast
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

PAGE = "CONTRIBUTING.md"
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)
ROW = re.compile(r"^\| `([^`]+)` \|([^|]*)\|", re.MULTILINE)
LOOP = "loop/"
PYTHON = "client/python/"
FOLDER_FILES = 50
# Headers that are installed, without their folder: one of them includes the other as it lies there.
PUBLIC = {f"client/c/stoker_{part}.h" for part in ("api", "choices", "produce")}

Arrow = collections.namedtuple("Arrow", "user used why")


def name_of(path):
    """The name of a unit or a room: base/order of daemon/base/order.h, base of daemon/base/."""
    path = path.rstrip("/")
    path = path[len("daemon/"):] if path.startswith("daemon/") else path
    return re.sub(r"\.[ch]$", "", path)


class Table:
    """The rooms, and for each the rooms and single units that it may use."""

    def __init__(self, page):
        _, _, rows = page.partition("| room | may use |")
        self.uses = {name_of(room): [name_of(name) for name in re.findall("`([^`]+)`", names)]
                     for room, names in ROW.findall(rows.partition("\n\n")[0])}

    def may_use(self, room, seen=()):
        """All that a room may use, also through others."""
        found = set()
        for name in self.uses.get(room, []):
            if name not in seen:
                found |= {name} | self.may_use(name, (*seen, name))
        return found

    def room_of(self, unit):
        """The innermost room with this unit, or None."""
        parts = unit.split("/")
        names = ["/".join(parts[:n]) for n in range(len(parts), 0, -1)]
        return next((name for name in names if name in self.uses), None)

    def faults(self, units):
        if not self.uses:
            yield f"{PAGE}: has no table that begins with | room | may use |"
            return
        rooms = {self.room_of(unit) for unit in units}
        for unit in sorted(units):
            if not self.room_of(unit):
                yield f"{unit}: is in no room of the table in {PAGE}"
        for room, names in self.uses.items():
            if room not in rooms:
                yield f"{PAGE}: the table names {room}, which has no source files"
            if room in self.may_use(room):
                yield f"{PAGE}: {room} may use {', '.join(names)}, which may use {room}"
            for name in names:
                if name not in self.uses and name not in units:
                    yield f"{PAGE}: {room} may use {name}, which is neither a room nor a unit"


def sources_of(root):
    """{path: text} of all C files of the product, paths from the root."""
    sources = {}
    for top in ("proto", "daemon", "client"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            for name in names:
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        sources[os.path.relpath(path, root)] = file.read()
    return sources


def includes_of(sources):
    """(arrows from file to file, faults) of the includes with quotes."""
    arrows, faults = [], []
    for path, text in sorted(sources.items()):
        for match in INCLUDE.finditer(text):
            if match.group(1) == "<":
                continue
            name = match.group(2)
            place = f"{path}:{text.count(chr(10), 0, match.start()) + 1}"
            beside = os.path.join(os.path.dirname(path), name)
            found = [there for there in (name, "daemon/" + name) if there in sources]
            found += [beside] if beside in PUBLIC else []
            if found:
                arrows.append(Arrow(path, found[0], f'{place} includes "{name}"'))
            else:
                faults.append(f'{place}: "{name}": an include names the folder and the file')
    return arrows, faults


def objects_of(root, build, sources):
    """Pairs (object file, path of its source), without what tests compile once more."""
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for command in json.load(file):
            folder = command["directory"]
            path = os.path.relpath(os.path.join(folder, command["file"]), os.path.realpath(root))
            if path in sources and not command["output"].startswith("tests/"):
                yield os.path.join(folder, command["output"]), path


def symbols_of(root, build, sources):
    """(arrows, faults) of the symbols that object files need of each other."""
    objects = dict(objects_of(root, build, sources))
    missing = [f"{name}: is not built" for name in objects if not os.path.exists(name)]
    if missing or not objects:
        return [], missing or [f"{build}: compiles none of the source files"]
    listing = subprocess.run(["nm", "-A", "-P", *objects], check=True, text=True,
                             capture_output=True).stdout
    defined, needed = collections.defaultdict(list), []
    for line in listing.splitlines():
        name, _, rest = line.partition(": ")
        symbol, kind = rest.split()[:2]
        if kind in "Uwv":
            needed.append((objects[name], symbol))
        elif kind.isupper():
            defined[symbol].append(objects[name])
    arrows = []
    for path, symbol in needed:
        # The daemon and its clients are programs of their own: each may have the same name.
        top = path.split("/")[0]
        found = sorted(defined[symbol], key=lambda there: (
            not there.startswith(top), not there.startswith("proto")))
        if found:
            arrows.append(Arrow(path, found[0], f"{path} uses {symbol}"))
    return arrows, []


def is_for_checkers(node):
    """Is it an `if TYPE_CHECKING:`?"""
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def imports_within(node):
    """All ImportFrom nodes below this one that run."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom):
            yield child
        elif is_for_checkers(child):
            for other in child.orelse:
                yield from imports_within(other)
        else:
            yield from imports_within(child)


def imports_of(root):
    """Arrows from module to module of the Python client's packages, also of imports in functions;
    paths without their .py."""
    modules = {}
    for folder, _, names in os.walk(os.path.join(root, PYTHON)):
        for name in names:
            if name.endswith(".py"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    path = os.path.relpath(os.path.join(folder, name), root)
                    modules[path[:-len(".py")]] = ast.parse(file.read())
    arrows = []
    for module, tree in sorted(modules.items()):
        for node in imports_within(tree):
            if node.level != 1:
                continue
            package = os.path.dirname(module)
            above = f"{package}/{node.module}" if node.module else package
            for name in node.names:
                found = [there for there in (f"{above}/{name.name}", above, f"{above}/__init__")
                         if there in modules]
                arrows += [Arrow(module, there, f"{module}.py:{node.lineno} imports {there}")
                           for there in found[:1]]
    return arrows


def folders_too_full(root):
    for top in ("daemon", "proto", "client"):
        for folder, _, names in os.walk(os.path.join(root, top)):
            if len(names) > FOLDER_FILES and not re.search(r"node_modules|/target|__pycache__",
                                                           folder):
                yield (f"{os.path.relpath(folder, root)}: {len(names)} files, more than "
                       f"{FOLDER_FILES}: more than one room?")


def names_shared(sources):
    """C files of the daemon whose base name another one has, too."""
    places = collections.defaultdict(list)
    for path in sources:
        if path.startswith("daemon/") and path.endswith(".c"):
            places[os.path.basename(path)].append(path)
    for name, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{' and '.join(sorted(paths))}: two files of one name"


def units_of(arrows):
    """The same arrows from unit to unit."""
    return [Arrow(name_of(arrow.user), name_of(arrow.used), arrow.why) for arrow in arrows]


def upward(table, arrows):
    """What is wrong with each arrow to a room, or a unit, that the table does not allow."""
    for arrow in arrows:
        here, there = table.room_of(arrow.user), table.room_of(arrow.used)
        if here and there and here != there and not {there, arrow.used} & table.may_use(here):
            yield f"{arrow.why}: {here} may not use {there}"


def circles(arrows):
    """(members, arrows of one way around) of each set that use each other in a circle."""
    graph = collections.defaultdict(dict)
    for arrow in arrows:
        if arrow.user != arrow.used:
            graph[arrow.user].setdefault(arrow.used, arrow)

    def ways_from(unit):
        """{unit: shortest list of arrows to it}, for each that can be reached."""
        ways, line = {}, [(unit, [])]
        for here, way in line:  # it grows while it is walked
            for there, arrow in sorted(graph.get(here, {}).items()):
                if there not in ways:
                    ways[there] = [*way, arrow]
                    line.append((there, ways[there]))
        return ways

    ways = {unit: ways_from(unit) for unit in graph}
    done = set()
    for unit in sorted(graph):
        if unit in ways[unit] and unit not in done:
            members = {other for other in ways[unit] if unit in ways.get(other, {})}
            done |= members
            yield sorted(members), ways[unit][unit]


def faults_of(root, build):
    """Everything that is wrong with the arrows of a source tree."""
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        table = Table(file.read())
    sources = sources_of(root)
    faults = list(table.faults({name_of(path) for path in sources}))
    includes, unclear = includes_of(sources)
    symbols, unread = symbols_of(root, build, sources) if build else ([], [])
    arrows = units_of(includes + symbols)
    faults += upward(table, arrows)
    rings = [*circles([arrow for arrow in arrows
                       if arrow.user.startswith(LOOP) and arrow.used.startswith(LOOP)]),
             *circles(includes + symbols), *circles(imports_of(root))]
    for members, way in rings:
        faults.append(f"{len(members)} use each other in a circle: {', '.join(members)}\n"
                      "    one way around:" + "".join(f"\n    {arrow.why}" for arrow in way))
    faults += [*folders_too_full(root), *names_shared(sources)]
    return sorted(set(faults)) + unclear + unread


# A small source tree without a fault, for the test of the test.
HEAD = "Text.\n\n| room | may use |\n|---|---|\n"
GOOD = {
    PAGE: HEAD + """\
| `proto/` | |
| `daemon/low/` | `proto/value.h` |
| `daemon/high/` | `low` |
| `daemon/loop/state/` | `high` |
| `daemon/loop/` | `loop/state`, `proto` |
| `daemon/main.c` | `loop` |
| `client/` | `proto` |

| `daemon/other/` | `of another table` |
""",
    "proto/value.h": "void value(void);\n",
    "proto/value.c": '#include "proto/value.h"\nvoid value(void) {}\n',
    "proto/pack.h": "void pack(void);\n",
    "proto/pack.c": "void pack(void) {}\n",
    "daemon/low/a.h": "void a(void);\n",
    "daemon/low/a2.h": '#include "low/a.h"\n',
    "daemon/low/a.c": '#include "proto/value.h"\nvoid a(void) { value(); }\n',
    # A table above its members, whose helper is below them.
    "daemon/low/rows.c": "void row(void);\nvoid (*const rows[])(void) = {row};\n",
    "daemon/low/row.c": "void help(void);\nvoid row(void) { help(); }\n",
    "daemon/low/help.c": "void help(void) {}\n",
    "daemon/high/b.h": "void b(void);\nextern int b_count;\n",
    "daemon/high/b.c": '#include "low/a.h"\nint b_count;\nvoid b(void) { a(); }\n',
    "daemon/loop/state/c.h": "void c(void);\n",
    "daemon/loop/state/c.c": '#include "high/b.h"\nvoid c(void) { b(); }\n',
    "daemon/loop/state/d.h": "void d(void);\n",
    "daemon/loop/state/d.c": '#include "loop/state/c.h"\nvoid d(void) { c(); }\n',
    "daemon/loop/e.h": "void e(void);\n",
    "daemon/loop/e.c": '#include "loop/state/d.h"\n#include "proto/pack.h"\n'
                       "void e(void) { d(); pack(); }\n",
    "client/python/stoker/one.py": "from . import two\n",
    "client/python/stoker/two.py": "from typing import TYPE_CHECKING\n"
                                   "if TYPE_CHECKING:\n    from .one import x\n",
    # Another program, with a function that has the name of one of the daemon's.
    "client/f.c": "void a(void) {}\n",
    "client/g.c": "void a(void);\nint main(void) { a(); return 0; }\n",
    "daemon/main.c": '#include "loop/e.h"\nint main(void) { e(); return 0; }\n',
}
# What is changed of it, and words of the fault that must then be found.
BAD = {
    "an include up": ("daemon/low/a.c", '#include "high/b.h"\n', "low may not use high"),
    "a call up": ("daemon/low/a.c", "void b(void);\nvoid x(void) { b(); }\n", "a.c uses b:"),
    "a variable above": ("daemon/low/a.c", "extern int b_count;\nint *x = &b_count;\n",
                         "a.c uses b_count:"),
    "a function's address": ("daemon/low/a.c", "void b(void);\nvoid (*x)(void) = b;\n",
                             "a.c uses b:"),
    "a client's call": ("client/g.c", "void b(void);\nvoid x(void) { b(); }\n",
                        "client may not use high"),
    "more of a room than a unit": ("daemon/low/a.h", '#include "proto/pack.h"\n',
                                   "low may not use proto"),
    "an include up in the loop": ("daemon/loop/state/c.c", '#include "loop/e.h"\n',
                                  "loop/state may not use loop"),
    "a call up in the loop": ("daemon/loop/state/c.c", "void e(void);\nvoid x(void) { e(); }\n",
                              "loop/state may not use loop"),
    "a circle of includes": ("daemon/loop/state/c.h", '#include "loop/state/d.h"\n',
                             "2 use each other in a circle: loop/state/c, loop/state/d"),
    "a circle of calls": ("daemon/loop/state/c.c", "void d(void);\nvoid x(void) { d(); }\n",
                          "2 use each other in a circle: loop/state/c, loop/state/d"),
    "a circle of headers": ("daemon/low/a.h", '#include "low/a2.h"\n',
                            "2 use each other in a circle: daemon/low/a.h, daemon/low/a2.h"),
    "a circle through a table": (
        "daemon/low/help.c", "extern void (*const rows[])(void);\nvoid (*const *x)(void) = rows;\n",
        "3 use each other in a circle: daemon/low/help.c, daemon/low/row.c, daemon/low/rows.c"),
    "a circle of imports": ("client/python/stoker/two.py", "from .one import x\n",
                            "2 use each other in a circle: client/python/stoker/one, "),
    "a circle of an import in a function": (
        "client/python/stoker/two.py", "def f():\n    from . import one\n    return one\n",
        "2 use each other in a circle: client/python/stoker/one, "),
    "two files of one name": ("daemon/high/a.c", "int other;\n",
                              "daemon/high/a.c and daemon/low/a.c: two files of one name"),
    "a bare name": ("daemon/loop/state/c.c", '#include "d.h"\n', "names the folder"),
    "an include that climbs": ("daemon/loop/state/c.c", '# include "../e.h"\n', "names the folder"),
    "a new folder": ("daemon/new/f.c", "int f;\n", "new/f: is in no room"),
    "no table": (PAGE, "| folder | uses |\n", "has no table"),
    "an empty room": (PAGE, HEAD + "| `daemon/none/` | |\n", "the table names none"),
    "an unknown name": (PAGE, HEAD + "| `daemon/low/` | `nothing` |\n", "a room nor a unit"),
    "a circle in the table": (PAGE, HEAD + "| `daemon/low/` | `high` |\n"
                              "| `daemon/high/` | `low` |\n",
                              "low may use high, which may use low"),
}


def lay_out(folder, files):
    """Write these files and compile them into the folder build/ beside them."""
    build = os.path.join(folder, "build")
    for path, text in files.items():
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as file:
            file.write(text)
    os.makedirs(build, exist_ok=True)
    for path in files:
        if path.endswith(".c"):
            subprocess.run(["cc", "-c", "-I..", "-I../daemon", "../" + path, "-o", object_of(path)],
                           cwd=build, check=True)
    return build


def object_of(path):
    return path.replace("/", "_") + ".o"


def self_test():
    with tempfile.TemporaryDirectory() as folder:
        build = lay_out(folder, GOOD)
        with open(os.path.join(build, "compile_commands.json"), "w", encoding="utf-8") as file:
            json.dump([{"directory": build, "file": "../" + path, "output": object_of(path)}
                       for path in GOOD if path.endswith(".c")], file)
        assert not faults_of(folder, build), faults_of(folder, build)
        for what, (path, more, words) in BAD.items():
            lay_out(folder, {path: more if path == PAGE else more + GOOD.get(path, "")})
            found = faults_of(folder, build)
            assert any(words in fault for fault in found), f"{what} went unnoticed: {found}"
            if path in GOOD:
                lay_out(folder, {path: GOOD[path]})
            else:
                os.remove(os.path.join(folder, path))
        lay_out(folder, {f"proto/many/{n}.h": "" for n in range(FOLDER_FILES + 1)})
        assert any("proto/many: 51 files" in fault for fault in faults_of(folder, build))


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0],
                                     usage="layers.py ROOT [BUILD]")
    parser.add_argument("root")
    parser.add_argument("build", nargs="?")
    options = parser.parse_args()
    self_test()
    faults = faults_of(options.root, options.build)
    for fault in faults:
        print(fault)
    what = "includes and symbols" if options.build else "includes only (no BUILD was given)"
    print(f"{len(faults)} faults in the arrows of {options.root}: {what}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
