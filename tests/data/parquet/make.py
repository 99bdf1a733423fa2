#!/usr/bin/env python3
"""Makes the Parquet files next to it, with pyarrow: python3 make.py. They are kept, so that tests need no pyarrow."""

import json
import struct
import zlib
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

HERE = Path(__file__).parent


def png(red, green, blue, side):
    """A picture of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes((red, green, blue)) * side) * side
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def chat():
    """Conversations: nested, of several groups of rows, some values null."""
    messages = [[{"role": "user", "content": "Question %d: naïve 中?" % i, "weight": None},
                 {"role": "assistant", "content": "Answer %d." % i, "weight": 0 if i == 3 else None}] for i in range(7)]
    kind = pa.list_(pa.struct([("role", pa.string()), ("content", pa.large_string()), ("weight", pa.int32())]))
    table = pa.table({"id": pa.array(range(7), pa.uint16()), "messages": pa.array(messages, kind),
                      "system": pa.array([None, "Be brief."] + [None] * 5, pa.string()).dictionary_encode(),
                      "score": pa.array([1.5, float("nan")] + [2.0] * 5, pa.float32())})
    pq.write_table(table, HERE / "chat.parquet", row_group_size=3, compression="zstd")


def images():
    """As the datasets library writes images with labels, and a second column of integers."""
    colours = [(200, 0, 0), (0, 200, 0), (210, 0, 0), (0, 210, 0), (220, 0, 0)]
    cells = [{"bytes": png(*colour, 6 + i % 2), "path": "%d.png" % i} for i, colour in enumerate(colours)]
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    info = {"info": {"features": {"img": {"_type": "Image"},
                                  "label": {"names": ["red", "green"], "_type": "ClassLabel"}}}}
    schema = pa.schema([("img", kind), ("label", pa.int64()), ("source", pa.int32())],
                       {"huggingface": json.dumps(info)})
    table = pa.table([pa.array(cells, kind), pa.array([0, 1, 0, 1, 0]), pa.array([7, 7, 8, 8, 9], pa.int32())], schema)
    pq.write_table(table, HERE / "images.parquet", row_group_size=2)


def columns():
    """Images with labels under names and of types that other columns could be taken for."""
    kind = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    cells = pa.array([{"bytes": png(200, 40 * i, 0, 6), "path": None} for i in range(3)], kind)
    numbers = pa.array([2, 0, 1])
    names = {"info": {"features": {"label": {"names": {"0": "a", "1": "b", "2": "c"}, "_type": "ClassLabel"}}}}
    tables = {
        "text_labels": pa.table({"image": cells, "id": numbers, "label": ["a", "b", "c"]}),
        "path_images": pa.table({"image": ["0.png", "1.png", "2.png"], "mask": cells, "label": numbers}),
        "more_columns": pa.table([cells, numbers, pa.array([1.0, 2.0, 3.0]), numbers], pa.schema(
            [("photo", kind), ("label", pa.int64()), ("weight", pa.float64()), ("__index_level_0__", pa.int64())],
            {"huggingface": json.dumps(names)})),
        "rows_only": pa.table({"image": cells, "__index_level_0__": numbers})}
    for name, table in tables.items():
        pq.write_table(table, HERE / ("%s.parquet" % name))


def kinds():
    """A value of each kind that a row may hold, and a text that is not UTF-8."""
    table = pa.table({"bool": [True], "list": pa.array([[1, 2]], pa.list_(pa.int8(), 2)), "float": [0.5],
                      "date": pa.array([19000], pa.date32()), "bytes": pa.array([b"\xff\xfe\x00"]),
                      "big": pa.array([2**64 - 1], pa.uint64()), "none": pa.array([None], pa.null())})
    pq.write_table(table, HERE / "kinds.parquet")
    text = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(struct.pack("<ii", 0, 2)), pa.py_buffer(b"a\xff")])
    pq.write_table(pa.table({"text": text}), HERE / "latin1.parquet")


if __name__ == "__main__":
    chat()
    images()
    columns()
    kinds()
