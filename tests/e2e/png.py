"""Reduces the size of screenshots: 256 colors are enough for text and charts."""

import collections
import struct
import zlib


def _chunks(data):
    at = 8
    while at < len(data):
        [length] = struct.unpack_from(">I", data, at)
        yield data[at + 4:at + 8], data[at + 8:at + 8 + length]
        at += length + 12


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _paeth(left, up, corner):
    guess = left + up - corner
    return min((left, up, corner), key=lambda one: abs(guess - one))


def _rows(data, length, size):
    """The rows without filters; `size` is that of a pixel."""
    above = bytearray(length)
    for at in range(0, len(data), length + 1):
        kind, row = data[at], bytearray(data[at + 1:at + 1 + length])
        for i in range(length) if kind else ():
            left, corner = (row[i - size], above[i - size]) if i >= size else (0, 0)
            up = above[i]
            row[i] = row[i] + (0, left, up, (left + up) // 2,
                               _paeth(left, up, corner) if kind == 4 else 0)[kind] & 255
        yield row
        above = row


def shrink(file):
    """Keeps the most frequent colors, at least one of each shade, and replaces the others by the nearest."""
    chunks = list(_chunks(file.read_bytes()))
    width, height, depth, kind = struct.unpack_from(">IIBB", chunks[0][1])
    assert depth == 8 and kind in (2, 6), "not a picture of a browser"
    size = 3 if kind == 2 else 4
    data = zlib.decompress(b"".join(data for name, data in chunks if name == b"IDAT"))
    rows = [list(zip(*(row[i::size] for i in range(3))))
            for row in _rows(data, width * size, size)]
    count = collections.Counter(pixel for row in rows for pixel in row)
    often = [color for color, _ in count.most_common()]
    shades = {tuple(part >> 5 for part in color): color for color in reversed(often)}
    palette = list(dict.fromkeys([*shades.values(), *often]))[:256]
    index = {color: min(range(len(palette)), key=lambda i: sum(
        (a - b) ** 2 for a, b in zip(color, palette[i]))) for color in count}
    packed = zlib.compress(b"".join(b"\0" + bytes(index[p] for p in row) for row in rows), 9)
    file.write_bytes(b"\x89PNG\r\n\x1a\n" +
                     _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)) +
                     _chunk(b"PLTE", bytes(c for color in palette for c in color)) +
                     _chunk(b"IDAT", packed) + _chunk(b"IEND", b""))
