# SPDX-License-Identifier: MIT
"""Lists every message of the daemon, stokerctl and the Python client, with file and line, and
counts those that say what to do.

    tests/messages.py            how many there are, and the share that says what to do
    tests/messages.py --list     each: "c" by another, "-" does not, "n" has no remedy
    tests/messages.py --open     only those that do not; fails if there is one

A message says what to do if it names what is right (a range, a limit, a form), or another way. That
is found by words, so the count is a guide and no proof. So does one that another message carries
and adds what to do to (CARRIED), and one that ends in the system's own reason. Protocol violations
of a peer are left out: a user can do nothing about them but update, which docs/reference/errors.md
says. `make test` runs it with --open.
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# Not log_info(), and in Python no info(): they say how it is.
C_CALL = re.compile(r"\b(?:fault_say|log_(?:user|error|warning))\b|\bfprintf\(stderr,")
TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
# Words that stand apart from the call: a macro's, a format's of the file or of the function.
APART = r'((?:\s|\\\n|"(?:[^"\\]|\\.)*")+)'
MACRO = re.compile(r"^#define ([A-Z][A-Z0-9_]+)\s+" + APART + "$", re.MULTILINE)
FORMAT = re.compile(r"^static const char (\w+)\[\] =" + APART + ";", re.MULTILINE)
OWN_FORMAT = re.compile(r"^\tstatic const char (\w+)\[\] =" + APART + ";", re.MULTILINE)
LOGS = {"warning", "error"}
REMEDY = re.compile(
    r"\b(use|give|gives?|add|set|take|try|start|leave|make|write|check|see|ask|raise|install|"
    r"update|load|attach|remove|convert|replace|connect|wait|close|change|choose|name|mount|"
    r"need(s|ed)?|"
    r"must|at (most|least)|between|instead|only|has to|can have|can be|should|expected|limit|or "
    r"[a-z'%]+|did you mean|such as|from %\S+ to|with [a-z_]+=|1 to|0 to|not %|takes?|are|"
    r"lists? (them|all|those)|says? (why|where)|call|one of|may have|fetch(es)?|makes one|"
    r"log is)\b"
    r"|[:;,] (or )?(begin|chmod|chown|cop(y|ies)|correct|fill|fit|have|join|let|list|open|pack|"
    r"pass|put|quote|rebuild|release|rename|restart|resume|return|save|shorten|split|store|unpack|"
    r"upgrade)\b|: (it|they) |\[[^\]]+\]|=|%s to %s|AWS_[A-Z]|CURL_CA_BUNDLE|3 to %d|"
    r", but \{\}|, not \{\}|the dataset has \{\}",
    re.IGNORECASE)
# Nothing can be done about these but what was begun already: cancelled work, what is done by itself
# or is told as news, programming errors in stoker, and what hasattr() asks Python for.
NONE = re.compile(r"^out of memory|: out of memory$|was cancelled$|is about to stop$|^stop|"
                  r"^no read hangs any more$|no thread could|may depend on the index alone$|"
                  r"^nobody wants it|not looked ahead any|trying again|asking again$|"
                  r"attaching again|resuming at|waiting up to|stops at once$|were left out$|"
                  r"(%s|min) left$|^of %llu files|goes on there$|"
                  r"^decoder_\w+\(\)|has no attribute|the template has ended$|^there is no Subset$|"
                  r"their program has ended$|is it stopped\?$")

# Conditions of fault_say() whose words BAD_SAMPLE carries, with what error_remedy() says behind.
# Those of files in index-dir: "the others will be built again: %s".
CARRIED = re.compile(r"(?:fault|why), (?:DECODE_E_CORRUPT|DATASET_E_READ|STORAGE_E_READ|"
                     r"INDEX_STORE_E_DAMAGED|INDEX_STORE_E_OTHER)\b|\bwhy\.text\b|&out->why\b")
# The reason is the system's own (strerror), or another message's.
REASON = re.compile(r"^cannot .*%s[ :]*\.?( to the daemon's user)?$|^no random numbers|"
                    r"[:;] (%s|\{\})(: '?%s'?)?$|came within \{\} s\{\}$")


def with_words(call, words):
    """A call with the texts of macros and formats in place of their names."""
    return re.sub(r'"(?:[^"\\]|\\.)*"|\b[A-Za-z_]\w*\b',
                  lambda match: words.get(match[0], match[0]), call)


def of_c(text, macros):
    """(line, message, is it carried?) of each call in a C file that has a text."""
    words = {**macros, **dict(FORMAT.findall(text))}
    for match in C_CALL.finditer(text):
        depth, at = 0, text.find("(", match.start())
        for end in range(at, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0) if text[end] in "()" else 0
            if depth == 0:
                break
        own = OWN_FORMAT.findall(text, text.rfind("\n}\n", 0, at) + 1, at)
        call = with_words(re.sub(r"/\*.*?\*/", "", text[at:end], flags=re.DOTALL),
                          {**words, **dict(own)})
        # Texts side by side are one; those of further arguments are not.
        said = " ".join(TEXT.findall(re.sub(r'(?<!\\)"\s+"', "", call))).strip()
        if len(said.split()) > 2 and "LOG_LEVEL_INFO" not in call:
            yield (text.count("\n", 0, match.start()) + 1, said,
                   bool(CARRIED.search(call) or REASON.search(said)))


def literal(node):
    """The words of an expression, with {} for what is put in; None if it has none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "{}"
                       for part in node.values)
    if isinstance(node, ast.BinOp):
        sides = [literal(node.left), literal(node.right)]
        return "".join(side or "{}" for side in sides) if any(sides) else None
    if isinstance(node, ast.IfExp):
        return literal(node.body)
    return None


def of_python(text, _macros):
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            call, kind = node.exc, getattr(node.exc.func, "id", "")
            kind = kind or getattr(node.exc.func, "attr", "")
            if kind in ("ProtocolError", "CannotTell", "StopIteration", "broken", "_lost"):
                continue
        elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") in LOGS and \
                getattr(getattr(node.func, "value", None), "id", "") == "_log":
            call = node
        else:
            continue
        for argument in call.args[:1]:
            said = literal(argument)
            if said and len(said.split()) > 2:
                yield node.lineno, said, bool(REASON.search(said))


def messages():
    """(file, line, message, is it carried?), in their order."""
    macros = {name: words.replace("\\\n", "") for top in ("daemon", "client/ctl", "proto")
              for path in (ROOT / top).rglob("*.[ch]")
              for name, words in MACRO.findall(path.read_text(encoding="utf-8"))}
    for top, ending, find in (("daemon", "*.c", of_c), ("client/ctl", "*.c", of_c),
                              ("client/python/stoker", "*.py", of_python)):
        for path in sorted((ROOT / top).rglob(ending)):
            text = path.read_text(encoding="utf-8")
            for line, said, carried in find(text, macros):
                yield str(path.relative_to(ROOT)), line, " ".join(said.split()), carried


def mark(said, carried):
    """Of a message: "n" if there is no remedy, " " if it has one, "c" if what carries it or what it
    carries has, "-" if it does not say it."""
    return ("n" if NONE.search(said) else " " if REMEDY.search(said) else
            "c" if carried else "-")


def main():
    assert mark("the disk is full", False) == "-"  # it can fail
    found = [(place, line, said, mark(said, carried)) for place, line, said, carried in messages()]
    for top in ("daemon", "client/ctl", "client/python"):
        marks = [each for place, _, _, each in found if place.startswith(top)]
        told, carried, none = (marks.count(each) for each in " cn")
        of = len(marks) - none
        print(f"{top}: {told} of {of} say what to do, {carried} with another's words "
              f"({(told + carried) / of:.0%}); {none} have no remedy")
    for place, line, said, each in found:
        if "--list" in sys.argv or ("--open" in sys.argv and each == "-"):
            print(f"{each} {place}:{line}: {said}")
    return "--open" in sys.argv and any(each == "-" for _, _, _, each in found)


if __name__ == "__main__":
    sys.exit(main())
