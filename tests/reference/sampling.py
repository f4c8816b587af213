# SPDX-License-Identifier: MIT
"""Which sample stands at a position, computed a second time: samplers and echo as the daemon has
them (daemon/sampler/sampler.h, daemon/base/echo.h), from the same published parts and nothing of
its code. Tables are lists here, and an epoch is made in one go.
"""

import math

from positions import LONG, WORD, draw_below, order_at, philox

ECHO_WINDOW = 32  # samples, if nobody says


def order_seed_for(seed, purpose, epoch, number):
    """Seed of an order made from another's: purpose 0 is echo's, 1 a class's, 2 shards',
    3 a window's, 4 runs', 5 a bucket's."""
    word = philox(seed, [number & WORD, epoch, number >> 32, WORD - 1 - purpose])
    return word[1] << 32 | word[0]


def shards_order(sizes, window, seed, epoch):
    """The order "shards": shards of these sizes are shuffled, then each window of positions."""
    firsts = [sum(sizes[:shard]) for shard in range(len(sizes))]
    shuffled = order_seed_for(seed, 2, epoch, 0)
    places = []
    for rank in range(len(sizes)):
        shard = order_at(shuffled, epoch, len(sizes), rank)
        places += range(firsts[shard], firsts[shard] + sizes[shard])
    out = []
    for begin in range(0, len(places), window):
        size = min(window, len(places) - begin)
        own = order_seed_for(seed, 3, epoch, begin // window)
        out += [places[begin + order_at(own, epoch, size, at)] for at in range(size)]
    return out


def nearest_bucket(sizes, height, width):
    """The bucket of a picture, by its shape; sizes are (height, width). As diffusers' own."""
    return min(range(len(sizes)), key=lambda i: (abs(height * sizes[i][1] - width * sizes[i][0]),
                                                 -i))


def bucket_order(buckets, run, seed, epoch, shuffle=True):
    """Of samples with these buckets: for each run its samples, and how many of the first ones are
    no repetitions."""
    members = [[i for i, bucket in enumerate(buckets) if bucket == number]
               for number in range(max(buckets) + 1)]
    runs = []
    for number, own in enumerate(members):
        if shuffle:
            key = order_seed_for(seed, 5, epoch, number)
            own = [own[order_at(key, epoch, len(own), at)] for at in range(len(own))]
        for first in range(0, len(own), run):
            runs.append(([own[at % len(own)] for at in range(first, first + run)],
                         min(run, len(own) - first)))
    key = order_seed_for(seed, 4, epoch, 0)
    return [runs[order_at(key, epoch, len(runs), at) if shuffle else at]
            for at in range(len(runs))]


def split(labels, fraction, validation, by_class):
    """Keras' validation_split: the first part of each class's samples (of a folder) or of all."""
    groups = [range(len(labels))]
    if by_class:
        groups = [[i for i, label in enumerate(labels) if label == name]
                  for name in sorted(set(labels))]
    out = []
    for group in groups:
        stop = int(fraction * len(group))
        out += group[:stop] if validation else group[stop:]
    return out


def split_parts(parts, fraction, validation):
    """Of datasets that are joined, each (labels, by_class): what each gives, in their order."""
    out, first = [], 0
    for labels, by_class in parts:
        out += [first + i for i in split(labels, fraction, validation, by_class)]
        first += len(labels)
    return out


def alias_table(weights):
    """Vose's method, as he gave it (1991): (threshold of 2**32, alias) of each sample."""
    n, total = len(weights), 0.0
    for weight in weights:
        total += weight
    scaled = [weight * n / total for weight in weights]
    small = [i for i, weight in enumerate(scaled) if weight < 1]
    large = [i for i, weight in enumerate(scaled) if weight >= 1]
    table = [(WORD, i) for i in range(n)]
    while small and large:
        less, more = small.pop(), large.pop()
        table[less] = (min(int(scaled[less] * 2.0**32), WORD), more)
        scaled[more] = scaled[more] + scaled[less] - 1
        (small if scaled[more] < 1 else large).append(more)
    return table


def weighted(weights, num_samples, seed, epoch):
    """torch's WeightedRandomSampler(replacement=True), with draws by position."""
    members = [i for i, weight in enumerate(weights) if weight > 0]
    table = alias_table([weights[i] for i in members])
    out = []
    for position in range(num_samples or len(weights)):
        key = seed, epoch, position
        i = draw_below(key, WORD, len(members))
        threshold, alias = table[i]
        out.append(members[i if draw_below(key, WORD - 1, 1 << 32) < threshold else alias])
    return out


def weights_by_part(weights, counts):
    """Of each sample of datasets that are joined: its part's weight, shared evenly."""
    return [weight / count for weight, count in zip(weights, counts) for _ in range(count)]


def balanced(labels, per_class, seed, epoch, shuffle=True):
    """Each class as often as the others; its samples in rounds, each in an order of its own."""
    names = sorted(set(labels))
    groups = [[i for i, label in enumerate(labels) if label == name] for name in names]
    per_class = per_class or math.ceil(len(labels) / len(names))
    out = []
    for position in range(per_class * len(names)):
        if shuffle:
            position = order_at(seed, epoch, per_class * len(names), position)
        number, turn = position % len(names), position // len(names) + epoch * per_class
        group = groups[number]
        lap, at = divmod(turn, len(group))
        if shuffle:
            at = order_at(order_seed_for(seed, 1, 0, number), lap & WORD, len(group), at)
        out.append(group[at])
    return out


def shuffled(samples, seed, epoch, shuffle=True):
    """All of a list once: the order without a sampler, of a subset, of a split."""
    if not shuffle:
        return list(samples)
    return [samples[order_at(seed, epoch, len(samples), i)] for i in range(len(samples))]


def echoed(samples, times, window, seed, epoch, shuffle=True):
    """Each of an epoch's samples `times` times."""
    if times == 1:
        return list(samples)
    n = len(samples)
    windows = -(-n // (window or ECHO_WINDOW))
    out, first = [], 0
    for number in range(windows):
        size = n // windows + (number < n % windows)
        part = samples[first:first + size]
        first += size
        for turn in range(times):
            if turn == 0 or not shuffle:
                out += part
                continue
            for half, there in enumerate((part[:size // 2], part[size // 2:])):
                own = order_seed_for(seed, 0, epoch, (number * times + turn) * 2 + half)
                out += [there[order_at(own, epoch, len(there), i)] for i in range(len(there))]
    return out
