"""PNG files of every colour type, depth and order of pixels, which no library here writes."""

import struct
import zlib

CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}  # of a colour type
DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
# First row, first column, and their steps, in each pass of Adam7 (PNG specification, section 8.2).
PASSES = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]


def chunk(name, content):
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def packed(samples, depth):
    """A row of samples as bytes."""
    if depth == 16:
        return b"".join(struct.pack(">H", sample) for sample in samples)
    per_byte = 8 // depth
    samples = samples + [0] * (-len(samples) % per_byte)
    return bytes(sum(sample << depth * (per_byte - 1 - i) for i, sample in enumerate(samples[at:at + per_byte]))
                 for at in range(0, len(samples), per_byte))


def predicted(kind, left, above, above_left):
    """What a filter expects a byte to be (PNG specification, section 9.2)."""
    if kind == 4:
        guess = left + above - above_left
        return min((left, above, above_left), key=lambda one: abs(guess - one))
    return [0, left, above, (left + above) // 2][kind]


def filtered(rows, step, draw):
    """Rows of bytes, each with a filter of its own; `step` is the bytes of a pixel."""
    result, before = b"", None
    for row in rows:
        kind, before = draw.randrange(5), before or bytes(len(row))
        left, above_left = bytes(step) + row, bytes(step) + before
        result += bytes([kind]) + bytes(byte - predicted(kind, left[i], before[i], above_left[i]) & 0xff
                                        for i, byte in enumerate(row))
        before = row
    return result


def png_bytes(pixels, colour, depth, draw, *, interlaced=False, before=b"", after=b""):
    """`pixels` are rows of pixels of samples; `before` and `after` chunks around the image data."""
    height, width = len(pixels), len(pixels[0])
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, int(interlaced))
    data = b""
    for row, column, down, right in PASSES if interlaced else [(0, 0, 1, 1)]:
        rows = [packed([sample for pixel in line[column::right] for sample in pixel], depth)
                for line in pixels[row::down] if line[column::right]]
        data += filtered(rows, max(1, CHANNELS[colour] * depth // 8), draw)
    stream = zlib.compress(data, draw.choice((0, 6, 9)))
    cut = draw.randrange(len(stream) + 1)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + before + chunk(b"IDAT", stream[:cut]) +
            chunk(b"IDAT", stream[cut:]) + after + chunk(b"IEND", b""))
