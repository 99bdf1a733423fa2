#!/usr/bin/env python3
"""Training images of 28 x 28 grey bytes in 10 classes as compressed IDX files, named as those of Fashion-MNIST.

usage: idx_images.py --first SOURCE FOLDER   the first 20,000 of the data set in the folder SOURCE (8.8 MB)
       idx_images.py --random FOLDER         as many random ones
Standard library only.
"""
import gzip
import pathlib
import random
import struct
import sys

COUNT, EDGE, CLASSES = 20000, 28, 10
IMAGES, LABELS = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz"


def first_of(source, name, header_bytes, bytes_each):
    with gzip.open(pathlib.Path(source, name)) as file:
        return file.read(header_bytes + COUNT * bytes_each)[header_bytes:]


def write(path, dimensions, values):
    """Without a time and a name, so that the same images make the same bytes."""
    header = struct.pack(f">I{len(dimensions)}I", 0x800 + len(dimensions), *dimensions)
    with open(path, "wb") as file, gzip.GzipFile("", "wb", mtime=0, fileobj=file) as packed:
        packed.write(header + values)


def main():
    if len(sys.argv) == 4 and sys.argv[1] == "--first":
        images = first_of(sys.argv[2], IMAGES, 16, EDGE * EDGE)
        labels = first_of(sys.argv[2], LABELS, 8, 1)
    elif len(sys.argv) == 3 and sys.argv[1] == "--random":
        draw = random.Random(1)
        images = draw.randbytes(COUNT * EDGE * EDGE)
        labels = bytes(draw.choices(range(CLASSES), k=COUNT))
    else:
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[-1])
    folder.mkdir(parents=True, exist_ok=True)
    write(folder / LABELS, (COUNT,), labels)
    write(folder / IMAGES, (COUNT, EDGE, EDGE), images)


if __name__ == "__main__":
    main()
