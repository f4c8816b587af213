# SPDX-License-Identifier: MIT
"""Pages that are written from what they are about: stoker(3) and those of libstoker's functions
from the comments of stoker*.h, stokerd.conf(5) from `stokerd --help`, tables of docs/reference from
the program's own.

    STOKER_BUILD=build tests/house/pages.py     write them again
"""
import functools
import os
import pathlib
import re
import subprocess
import textwrap

import reference

SOURCE = pathlib.Path(os.environ.get("STOKER_SOURCE", pathlib.Path(__file__).parents[2]))
BUILD = pathlib.Path(os.environ.get("STOKER_BUILD", SOURCE / "build"))
DATE = "2026-11-23"

CONF_HEAD = r"""'\" t
.\" SPDX-License-Identifier: MIT
.\" Written by tests/house/pages.py.
.TH STOKERD.CONF 5 {date} stoker
.SH NAME
stokerd.conf \- configuration of stokerd
.SH DESCRIPTION
.BR stokerd (8)
reads
.I /etc/stoker/stokerd.conf
if it runs as root or is the system's daemon, else
.IR $XDG_CONFIG_HOME/stoker/stokerd.conf ;
then all
.I *.conf
in the folder of the same name with
.I .d
behind it, by name. A later value overrides an earlier one, the environment
overrides the files
.RB ( STOKER_WORKERS=4
for
.BR workers ),
and the command line overrides all.
.PP
The file is INI: a section
.BR [stokerd] ,
then lines
.IR "name = value" .
A comment begins with # or ;. A name that does not exist is an error, and says
in which line it is.
.PP
SIZE is a number of bytes, or a number with a unit, in capitals or not, with a
blank before it or not: K, M, G and T, also as KiB or Ki and so on, are powers
of 1024, so that 4G, 4GiB and 4Gi are 4294967296 bytes; KB, MB, GB and TB are
powers of 1000, so that 4GB is 4000000000 bytes; B is a byte. Parts are rounded
down to whole bytes: 1.5G is 1610612736. Of memory, SIZE may also be a share of
the machine's, or of the control group's limit, in whole MiB, as in 25%. TIME is
a number with ms, s or sec, m or min (minutes), h or d, in small letters; without
a unit it is in seconds: 10m, 600s and 600 are ten minutes. MODE is octal.
.PP
.B stokerd --check
says whether a configuration is right,
.B stokerd --print-config
what applies and from where it came. A reload (SIGHUP, or
.BR "stokerctl reload" )
reads it again.
.SH OPTIONS
Those with (*) can be changed while the daemon runs.
.BR stokerd (8)
says more about some of them,
.B stokerd --help
has the defaults.
"""
CONF_TAIL = r""".SH EXAMPLES
.EX
[stokerd]
dataset-root = /data
workers = 12
ring-memory = 25%
cache-memory = 20G
.EE
.SH SEE ALSO
.BR stokerd (8),
.BR stokerctl (1)
"""
C_HEAD = r"""'\" t
.\" SPDX-License-Identifier: MIT
.\" Written by tests/house/pages.py.
.TH {title} 3 {date} stoker
.SH NAME
{names} \- {about}
.SH LIBRARY
libstoker, with the flags of
.B pkg-config --cflags --libs stoker
.SH SYNOPSIS
.B #include <stoker.h>
"""
C_TAIL = r""".PP
The options of an attach, and what a batch has, are explained in
.IR stoker.h .
"""
C_ABOUT = "batches of training samples from stokerd, read in place"
# The pages of libstoker's functions, each called as its first one.
GROUPS = {
    "connect to a daemon; errors": (
        "connect", "new", "free", "credentials", "error", "error_name", "version"),
    "what to read, and facts of it": (
        "attach", "info", "classes", "path", "stats", "token", "detach"),
    "one batch after the other": ("next", "replay", "release", "seek", "credit", "fd"),
    "the arrays of a batch": ("field", "array", "batch_array", "item"),
    "make samples by a function": ("produce",),
}


def roff(text):
    return text.replace("\\", r"\e").replace("-", r"\-")


def filled(text):
    """Lines of roff: paragraphs filled, so that no line is long or begins with what roff reads."""
    lines = textwrap.wrap(" ".join(text.split()), 76, break_on_hyphens=False,
                          break_long_words=False)
    return "".join(r"\&" * (line[0] in ".'") + roff(line) + "\n" for line in lines)


def options():
    """(name, value, words, may it change) of each option that a file may have."""
    text = subprocess.run([BUILD / "daemon" / "stokerd", "--help"], text=True, check=True,
                          stdout=subprocess.PIPE).stdout
    for name, value, words in re.findall(r"^  --([\w-]+) ([A-Z]\w*) +(.+)$", text, re.MULTILINE):
        if name != "config":
            words = re.sub(r" \[.*?\]$", "", words)
            yield name, value, words.removesuffix(" *"), words.endswith(" *")


def conf_page():
    rows = "".join(
        f'.TP\n.BR {roff(name)} " = {value}{" (*)" if live else ""}"\n{filled(words)}'
        for name, value, words, live in options())
    return CONF_HEAD.replace("{date}", DATE) + rows + CONF_TAIL


def comment(text):
    """The paragraphs of a comment in C."""
    plain = re.sub(r"^[ \t]*(?:/\*|\*/|\*)[ \t]?|\*/", "", text, flags=re.MULTILINE)
    return [part for part in re.split(r"\n\s*\n", plain.strip()) if part.strip()]


def functions(header):
    """(paragraphs of its comment, prototype) of each function."""
    found = re.findall(r"(/\*(?:(?!\*/).)*\*/)\nSTOKER_API ([^;]*);", header, re.DOTALL)
    return [(comment(words), " ".join(prototype.split())) for words, prototype in found]


def c_header():
    """The public headers that declare functions."""
    return "".join((SOURCE / "client" / "c" / name).read_text()
                   for name in ("stoker.h", "stoker_produce.h"))


def c_functions():
    """{name: (paragraphs of its comment, prototype)}, in the order of the header."""
    return {re.search(r"(\w+)\(", prototype).group(1): (words, prototype)
            for words, prototype in functions(c_header())}


def c_head(names, about, prototypes):
    head = C_HEAD.replace("{date}", DATE).replace("{title}", names[0].upper())
    head = head.replace("{names}", ", ".join(names)).replace("{about}", about)
    return head + "".join(f".PP\n.B {roff(prototype)};\n" for prototype in prototypes)


def see_also(*names):
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {name}" for name in names) + "\n"


def group_pages():
    """(names of its functions, what they are for) of each page."""
    return [([f"stoker_{name}" for name in names], about) for about, names in GROUPS.items()]


def c_page():
    about = comment(re.findall(r"/\*\n.*?\*/", c_header(), re.DOTALL)[0])
    page = c_head(["stoker"], C_ABOUT, [prototype for _, prototype in c_functions().values()])
    page += ".SH DESCRIPTION\n" + ".PP\n".join(filled(part) for part in about)
    page += ".SH FUNCTIONS\n"
    for names, words in group_pages():
        others = f" ({', '.join(names[1:])})" if names[1:] else ""
        page += f".TP\n.BR {names[0]} (3)\n{filled(words + others)}"
    return page + see_also("stokerd (8)", "stokerctl (1)") + C_TAIL


def group_page(names, about):
    known = c_functions()
    page = c_head(names, about, [known[name][1] for name in names]) + ".SH DESCRIPTION\n"
    for name in names:
        page += f".SS {name}()\n" + ".PP\n".join(filled(part) for part in known[name][0])
    others = [f"{other[0]} (3)" for other, _ in group_pages() if other != names]
    return page + see_also("stoker (3)", *others) + C_TAIL


PAGES = {
    "client/c/man/stoker.3": c_page,
    **{f"client/c/man/{names[0]}.3": functools.partial(group_page, names, about)
       for names, about in group_pages()},
    "daemon/stokerd.conf.5": conf_page,
    "docs/reference/counters.md": reference.counters_page,
    "docs/reference/errors.md": reference.errors_page,
    "docs/reference/options.md": lambda: reference.options_page(options()),
    "docs/reference/transforms.md": reference.transforms_page,
}

if __name__ == "__main__":
    for path, make in PAGES.items():
        (SOURCE / path).write_text(make())
