# SPDX-License-Identifier: MIT
"""What MkDocs does not do by itself: pages that stand beside what they are about (README files of
clients, the protocol), man pages, the pictures of transforms, and links between all of them.

A link to a source file, which the site does not have, becomes its name.
"""
import posixpath
import re
import subprocess
from pathlib import Path

from mkdocs.structure.files import File

ROOT = Path(__file__).resolve().parents[2]
# Pages that do not stand in docs/: where they stand, and what they are called here.
OUTSIDE = {"README.md": "index.md", **{path: path for path in (
    "CONTRIBUTING.md", "NEWS.md", "proto/PROTOCOL.md", "tests/bench/README.md",
    *(f"client/{name}/README.md" for name in ("c", "cpp", "go", "java", "node", "python", "rust"))
)}}
MAN = ["client/ctl/stokerctl.1", "client/python/stoker.1", "daemon/stokerd.8",
       "daemon/stokerd.conf.5",
       *sorted(f"client/c/man/{path.name}" for path in (ROOT / "client/c/man").glob("*.3"))]
PICTURES = ROOT / "build-docs" / "pictures"
LINK = re.compile(r"\[([^\]]*)\]\((?![a-z]+:|#)([^)\s#]+)(#[^)\s]*)?\)")


def man_page(path):
    """A man page as HTML in a page of Markdown, with its name as heading."""
    text = subprocess.run(["mandoc", "-T", "html", "-O", "fragment", ROOT / path], text=True,
                          check=True, stdout=subprocess.PIPE).stdout
    name, _, section = Path(path).name.rpartition(".")
    return f"# {name}({section})\n\n<div>\n{text}</div>\n"


def on_files(files, config):
    for path, uri in OUTSIDE.items():
        files.append(File.generated(config, uri, content=(ROOT / path).read_text()))
    for path in MAN:
        name = f"man/{Path(path).name}.md"
        files.append(File.generated(config, name, content=man_page(path)))
    for picture in sorted(PICTURES.glob("*.png")):
        files.append(File.generated(config, f"pictures/{picture.name}",
                                    content=picture.read_bytes()))
    return files


def linked(uri, files):
    """What replaces a link in the page at `uri`: the links in its file are of the source's tree."""
    file = next((path for path, name in OUTSIDE.items() if name == uri), f"docs/{uri}")

    def link(match):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(file), match[2]))
        page = OUTSIDE.get(target, target.removeprefix("docs/"))
        if files.get_file_from_path(page):
            there = posixpath.relpath(page, posixpath.dirname(uri) or ".")
            return f"[{match[1]}]({there}{match[3] or ''})"
        if (ROOT / target).exists():
            return match[1] if "`" in match[1] else f"{match[1]} (`{target}`)"
        return match[0]  # MkDocs says that it leads nowhere
    return link


def on_page_markdown(markdown, page, config, files):
    uri = page.file.src_uri
    if uri == "reference/transforms.md" and PICTURES.is_dir():
        markdown += "\n## How they look\n\nFour samples with each transform.\n"
        for picture in sorted(PICTURES.glob("*.png")):
            markdown += f"\n### {picture.stem}\n\n![{picture.stem}](../pictures/{picture.name})\n"
    if uri.startswith("man/"):
        return markdown
    return LINK.sub(linked(uri, files), markdown)
