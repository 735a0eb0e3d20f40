# SPDX-License-Identifier: Apache-2.0
"""Just enough PNG to compare two pictures loosely."""
import struct, zlib


def decode(data):
    """Width, height, rows of grey values and the mean distance of pixels from grey, of an 8-bit RGB or RGBA picture."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = struct.unpack(">IIBBBBB", body)
            assert depth == 8 and colour in (2, 6) and not interlaced
            pixel = 3 if colour == 2 else 4
        elif kind == b"IDAT":
            packed += body
        at += 12 + length
    raw, stride, rows, colour = zlib.decompress(packed), width * pixel, [], 0
    before = bytearray(stride)
    for y in range(height):
        kind, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride if kind else 0):
            left, above = line[i - pixel] if i >= pixel else 0, before[i]
            corner = before[i - pixel] if i >= pixel else 0
            if kind == 1:
                guess = left
            elif kind == 2:
                guess = above
            elif kind == 3:
                guess = (left + above) // 2
            else:
                estimate = left + above - corner
                guess = min((left, above, corner), key=lambda value: abs(estimate - value))
            line[i] = (line[i] + guess) & 255
        rows.append([(line[i] + line[i + 1] + line[i + 2]) / 3 for i in range(0, stride, pixel)])
        colour += sum(max(line[i:i + 3]) - min(line[i:i + 3]) for i in range(0, stride, pixel))
        before = line
    return width, height, rows, colour / (width * height)


def cells(data, size=16):
    """Mean grey of squares of `size` pixels: what is left when letters differ a little."""
    width, height, rows, _ = decode(data)
    out = []
    for top in range(0, height - size + 1, size):
        out.append([sum(sum(rows[y][left:left + size]) for y in range(top, top + size)) / size ** 2
                    for left in range(0, width - size + 1, size)])
    return out


def colour(data):
    """How much colour a picture has: charts are coloured, text is not."""
    return decode(data)[3]


def difference(one, other):
    """Mean difference of the cells, of 255; 255 for pictures of different size."""
    a, b = cells(one), cells(other)
    if len(a) != len(b) or len(a[0]) != len(b[0]):
        return 255.0
    pairs = [(x, y) for row_a, row_b in zip(a, b) for x, y in zip(row_a, row_b)]
    return sum(abs(x - y) for x, y in pairs) / len(pairs)
