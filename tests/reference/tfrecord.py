# SPDX-License-Identifier: MIT
"""TFRecord files of tf.Example records, written by the formats' descriptions."""

import struct


def _table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ 0x82F63B78 if byte & 1 else byte >> 1
        yield byte


TABLE = list(_table())


def masked(data):
    """CRC-32C as TFRecord keeps it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def record(data):
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked(length)) + data + struct.pack("<I", masked(data))


def varint(value):
    value &= (1 << 64) - 1
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def part(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values, packed=True):
    """A Feature of bytes, floats or integers, by the first value."""
    if not values or isinstance(values[0], bytes):
        return part(1, b"".join(part(1, value) for value in values))
    if isinstance(values[0], float):
        rows = [struct.pack("<f", value) for value in values]
        return part(2, part(1, b"".join(rows)) if packed else
                    b"".join(varint(1 << 3 | 5) + row for row in rows))
    rows = [varint(value) for value in values]
    return part(3, part(1, b"".join(rows)) if packed else
                b"".join(varint(1 << 3) + row for row in rows))


def example(features, packed=True):
    """(name, values) in their order."""
    return part(1, b"".join(part(1, part(1, name.encode()) + part(2, feature(values, packed)))
                            for name, values in features))


def write_records(path, records):
    with open(path, "wb") as file:
        for data in records:
            file.write(record(data))
