"""Data sets in Parquet, the format of hubs, become the same shards as those in JSON and in folders."""

import json
import os
import sys
import unittest
from pathlib import Path

from command_test import CommandTest, run

SOURCE = Path(os.environ["MULTICARD_SOURCE"])
TOKENIZER = str(SOURCE / "tests/data/tokenizers/smollm2")
CHAT = str(SOURCE / "tests/data/parquet/chat.parquet")
IMAGES = str(SOURCE / "tests/data/parquet/images.parquet")


class Parquet(CommandTest):
    def setUp(self):
        super().setUp()
        code, _, err = self.prepare_text(CHAT, "probe")
        if code != 0 and "built without libparquet" in err:
            self.assertIn("scripts/setup.sh --parquet", err)
            self.skipTest("built without libparquet (scripts/setup.sh --parquet)")
        self.assertEqual(code, 0, err)

    def prepare_text(self, path, prefix, ranks=1, *more):
        return run(ranks, "prepare", "text", "--type", "chat", "--in", path, "--tokenizer", TOKENIZER, "-o",
                   self.path(prefix), *more)

    def prepare_images(self, prefix, *more, path=IMAGES):
        return run(1, "prepare", "images", "--format", "parquet", "--images", path, "-o", self.path(prefix), *more)

    def values(self, prefix, names):
        return {name: self.text(self.path(prefix + "-00000-of-00001.h5"), name).split("\n", 1)[1] for name in names}

    def test_rows_are_what_lines_of_json_are(self):
        lines = []
        for i in range(7):
            record = {"messages": [{"role": "user", "content": "Question %d: naïve 中?" % i},
                                   {"role": "assistant", "content": "Answer %d." % i}]}
            if i == 1:
                record["system"] = "Be brief."
            if i == 3:
                record["messages"][1]["weight"] = 0
            lines.append(json.dumps(record) + "\n")
        Path(self.path("chat.jsonl")).write_text("".join(lines))
        self.expect(0, self.prepare_text(self.path("chat.jsonl"), "lines"), "wrote 6 sequences")
        for ranks in (1, 2):
            self.expect(0, self.prepare_text(CHAT, "rows%d" % ranks, ranks), "wrote 6 sequences")
            names = ("/tokens", "/loss_mask", "/offsets")
            self.assertEqual(self.values("rows%d" % ranks, names), self.values("lines", names))

    def test_bad_rows_and_files_are_named(self):
        latin1 = str(SOURCE / "tests/data/parquet/latin1.parquet")
        self.expect(4, self.prepare_text(latin1, "set"), r"row 1 of .*latin1\.parquet is not UTF-8")
        self.expect(4, self.prepare_text(IMAGES, "set"), r"row 1 of .*images\.parquet has neither \"messages\"")
        Path(self.path("renamed.jsonl")).write_bytes(Path(CHAT).read_bytes())
        self.expect(4, self.prepare_text(self.path("renamed.jsonl"), "set"), "is a file of Parquet", "Rename it")
        Path(self.path("text.parquet")).write_text('{"messages": []}\n')
        self.expect(4, self.prepare_text(self.path("text.parquet"), "set"), "cannot be read as Parquet")

    def test_images_have_their_classes(self):
        self.expect(0, self.prepare_images("set", "--size", "8", "--columns", "img,label"), "5 images", "2 classes")
        shard = self.path("set-00000-of-00001.h5")
        self.assertIn('"red", "green"', self.attribute(shard, "/class_names"))
        self.assertRegex(self.text(shard, "/labels"), r"0, 1, 0, 1, 0")
        self.assertRegex(self.text(shard, "/images"), r"200, 0, 0")

    def test_images_are_refused_where_columns_are_open(self):
        self.expect(0, self.prepare_images("usual", "--size", "8"), "5 images")  # `label` is among the integers
        self.expect(4, self.prepare_images("set", "--columns", "img,messages"), "no column messages of labels")
        self.expect(4, self.prepare_images("set", path=CHAT), "has no column of images")
        self.expect(2, self.prepare_images("set", "--columns", "img"), "--columns names two columns")
        self.expect(4, self.prepare_images("set"), "the images have different sizes", "row 2 of ")

    def columns_of(self, name, code, *words):
        path = str(SOURCE / "tests/data/parquet" / (name + ".parquet"))
        return self.expect(code, self.prepare_images(name, path=path), *words)

    def test_a_column_is_not_taken_in_the_place_of_another(self):
        self.columns_of("text_labels", 4, r"column label holds no labels \(it is of type string; labels are integers")
        self.columns_of("path_images", 4, r"its column image holds no images \(it is of type string")
        self.columns_of("rows_only", 4, r"has no column of labels \(its columns are image \(struct<.*"
                        r"__index_level_0__ \(int64\)")

    def test_what_is_read_and_what_not_is_said(self):
        self.columns_of("more_columns", 0, r"columns +images of photo, labels of label",
                        r"has columns that are not read: weight, __index_level_0__")
        self.assertIn('"a", "b", "c"', self.attribute(self.path("more_columns-00000-of-00001.h5"), "/class_names"))

    def test_files_are_one_set_and_each_is_there_once(self):
        for name in ("train-00000-of-00002", "test-00000-of-00001", "copy"):
            Path(self.path(name + ".parquet")).write_bytes(Path(IMAGES).read_bytes())
        part = ("--size", "8", "--columns", "img,label")
        self.expect(0, self.prepare_images("part", *part, path=self.path("train-*.parquet")),
                    r"one of 2 files, of which 1 is")
        self.expect(4, self.prepare_images("two", *part, path=self.path("t*.parquet")), "are of two sets")
        self.expect(4, self.prepare_images("twice", *part, path=self.path("*[ny]*.parquet")), "hold the same rows")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
