#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Make a C file of the page: embed.py page.html page_html.c"""

import pathlib
import sys

page = pathlib.Path(sys.argv[1]).read_bytes()
rows = [", ".join(map(str, page[at:at + 20])) for at in range(0, len(page), 20)]
pathlib.Path(sys.argv[2]).write_text(
    "#include \"loop/watch/page_html.h\"\n\n"
    "const unsigned char page_html[] = {\n\t" + ",\n\t".join(rows) + "};\n"
    f"const size_t page_html_size = {len(page)};\n")
