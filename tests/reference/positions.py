# SPDX-License-Identifier: MIT
"""Which sample stands at a position, and the numbers that are drawn for it, from the published
parts alone: see docs/order.md. Needs nothing but Python.

    order_at(seed, epoch, n, position)      which sample of n stands at this position
    draw_uniform(key, draw)                 a number in [0, 1); key is (seed, epoch, position)
    draw_below(key, draw, bound)            a whole number in [0, bound)
"""

WORD = 0xFFFFFFFF
LONG = 0xFFFFFFFFFFFFFFFF


def philox(key, counter):
    """Philox4x32-10 of Salmon et al. (2011): a 64-bit key, four 32-bit words to four."""
    c = list(counter)
    k = [key & WORD, key >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(b >> 32) ^ c[1] ^ k[0], b & WORD, (a >> 32) ^ c[3] ^ k[1], a & WORD]
        k = [(k[0] + 0x9E3779B9) & WORD, (k[1] + 0xBB67AE85) & WORD]
    return c


def draw_bits(key, draw):
    seed, epoch, position = key
    word = philox(seed, [draw, epoch, position & WORD, position >> 32])
    return word[1] << 32 | word[0]


def draw_uniform(key, draw):
    return (draw_bits(key, draw) >> 11) * 2.0**-53


def draw_below(key, draw, bound):
    return draw_bits(key, draw) * bound >> 64


def _mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & LONG
    z = (z ^ z >> 27) * 0x94D049BB133111EB & LONG
    return z ^ z >> 31


def order_at(seed, epoch, n, position):
    half = 1
    while half < 32 and 1 << 2 * half < n:
        half += 1
    mask = (1 << half) - 1
    keys = []
    for i in range(0, 8, 2):
        word = philox(seed, [i, epoch, 0, WORD])
        keys += [word[1] << 32 | word[0], word[3] << 32 | word[2]]
    at = position
    while True:
        left, right = at >> half, at & mask
        for key in keys:
            left, right = right, left ^ _mix(right ^ key) & mask
        at = left << half | right
        if at < n:
            return at
