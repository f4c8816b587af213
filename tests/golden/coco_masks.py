#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Polygons and what pycocotools makes of them, for tests/unit/transform/test_instances.c:

    pip install pycocotools numpy
    tests/golden/coco_masks.py > tests/unit/transform/instances_golden.h
"""
import random
import textwrap

from pycocotools import mask

CASES = 40


def points_of(case, width, height):
    """Anywhere; beyond the picture; whole numbers; halves with points that repeat."""
    least, most = (-9, 60) if case % 4 == 1 else (0, max(width, height))
    points = [(random.uniform(least, most), random.uniform(least, most))
              for _ in range(random.randint(3, 12))]
    if case % 4 == 2:
        points = [(round(x), round(y)) for x, y in points]
    if case % 4 == 3:
        points = [(round(2 * x) / 2, round(2 * y) / 2) for x, y in points]
        points[1] = points[-1] = points[0]
    return [float(f"{number:.3f}") for point in points for number in point]


HEAD = """/* SPDX-License-Identifier: MIT */
/* Written by tests/golden/coco_masks.py: polygons, and the run lengths that pycocotools makes. */
#ifndef STOKER_TESTS_INSTANCES_GOLDEN_H
#define STOKER_TESTS_INSTANCES_GOLDEN_H

#include <stdint.h>

/* clang-format off */
static const struct {
    uint32_t width, height, count;
    double points[24];
    const char *runs;
} golden[] = {"""


def main():
    random.seed(7)
    print(HEAD.replace("    ", "\t"))
    for case in range(CASES):
        width, height = random.randint(1, 48), random.randint(1, 48)
        points = points_of(case, width, height)
        runs = mask.frPyObjects([points], height, width)[0]["counts"].decode()
        numbers = textwrap.fill(", ".join(f"{number:g}" for number in points), 88)
        print(f"\t{{{width}, {height}, {len(points) // 2},")
        print(textwrap.indent(f"{{{numbers}}},", "\t "))
        for i in range(0, len(runs), 64):
            part = runs[i:i + 64].replace("\\", "\\\\").replace("?", "\\?")
            print(f'\t "{part}"' + ("}," if i + 64 >= len(runs) else ""))
    print("};\n/* clang-format on */\n\n#endif")


if __name__ == "__main__":
    main()
