#!/usr/bin/env python3
"""Image sets as others have them: what is left out is said, and what would be another set is refused.

usage: images_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs
"""

import json
import os
import shutil
import struct
import sys
import unittest
import zlib
from pathlib import Path

from command_test import CommandTest, run


def png(grey=0, size=4):
    """A grey PNG file."""
    def chunk(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
    rows = (b"\0" + bytes([grey]) * size) * size
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


class ImageFolders(CommandTest):
    def write(self, name, content=png()):
        path = Path(os.fsencode(self.scratch).decode(errors="surrogateescape"), "pictures", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)

    def prepare_folder(self, *options, prefix="set", ranks=1):
        return run(ranks, "prepare", "images", "--format", "folder", "--dir", self.path("pictures"), "-o",
                   self.path(prefix), *options)

    def test_pictures_left_out_are_counted_and_named(self):
        for name in ("a/1.png", "b/1.png", "b/more/2.png", "b/3.webp", "b/4.webp"):
            self.write(name)
        self.expect(0, self.prepare_folder(ranks=2), "warning: 3 files of .*pictures are left out",
                    "2 [*].webp: b/3.webp, b/4.webp", "1 in folders inside .*: b/more/2.png", "wrote 2 images")

    def test_an_order_that_is_not_that_of_names_is_said(self):
        for name in ("9/1.png", "10/1.png"):
            self.write(name)
        self.expect(0, self.prepare_folder(), "classes are in the order of their numbers: 9 comes before 10")

    def test_links_to_nothing_are_refused_or_skipped_when_asked(self):
        for name in ("a/1.png", "b/1.png"):
            self.write(name)
        os.symlink("/gone/2.png", self.path("pictures/b/2.png"))
        self.expect(4, self.prepare_folder(), "b/2.png")
        self.expect(0, self.prepare_folder("--skip-bad"), "1 unreadable image is left out", "b/2.png", "wrote 2 images")

    def test_names_that_are_not_utf8_are_refused(self):
        self.write("a/1.png")
        self.write("caf\udce9/1.png")
        self.expect(4, self.prepare_folder(), r"class name caf\\xe9 is not UTF-8")
        self.expect(0, self.prepare_folder("--class-names", "a,café"), "wrote 2 images")

    def test_two_classes_of_one_name_are_refused(self):
        for name in ("a/1.png", "b/1.png"):
            self.write(name)
        self.expect(4, self.prepare_folder("--class-names", "a,a"), "two classes are called a")

    def test_a_split_that_takes_the_last_image_of_a_class_is_said(self):
        for number in range(30):
            self.write("a/%d.png" % number)
        self.write("b/1.png")
        result = self.expect(0, self.prepare_folder("--split", "0.1"))
        self.assertRegex(result[2], "warning: .*set-(test|train)-[*].h5 have no image of 1 of 2 classes: b")


class ImageClasses(CommandTest):
    """Classes by name, in folders of pictures that are plain grey, dark or bright."""

    def write_set(self, name, classes, *options, count=8):
        for class_name, grey in classes.items():
            for number in range(count):
                path = Path(self.path(name), class_name, "%d.png" % number)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(png(grey + number, 32))
        self.expect(0, run(1, "prepare", "images", "--format", "folder", "--dir", self.path(name), "-o",
                           self.path(name), *options))

    def train(self, *overrides):
        return run(1, "run", self.deck, "run.epochs=4", "run.checkpoint_every=0", *overrides)

    def score(self, *arguments):
        code, out, err = run(1, "eval", self.path("out/checkpoints/step_00000004"), "--json", *arguments)
        self.assertEqual(code, 0, err)
        samples = self.dataset(self.path("out/eval.h5"), "/runs/main/evaluation/classes/samples")
        return json.loads(out), samples, err

    def test_labels_are_mapped_by_name_or_refused(self):
        self.write_set("train", {"cat": 20, "dog": 200})
        self.write_set("test", {"cat": 25, "dog": 190}, count=5)
        self.expect(0, self.train())
        before, samples, _ = self.score()
        self.assertEqual(samples, ["5", "5"])
        for path in Path(self.scratch).glob("train-*.h5"):
            path.unlink()

        self.write_set("exchanged", {"1": 190, "2": 25, "3": 100}, "--limit", "10", "--class-names", "dog,cat,cow",
                       count=5)
        after, samples, said = self.score("data.test=" + self.path("exchanged*.h5"))
        self.assertAlmostEqual(after["loss"], before["loss"], delta=1e-5 * before["loss"])
        self.assertEqual(after["accuracy"], before["accuracy"])
        self.assertEqual(samples, ["5", "5"])
        self.assertRegex(said, "warning: .*exchanged.* labels are mapped by name")

        self.write_set("other", {"zebra": 25, "dog": 190})
        self.expect(4, run(1, "eval", self.path("out/checkpoints/step_00000004"),
                           "data.test=" + self.path("other*.h5")), "does not know: zebra .it was trained on cat, dog")

    def test_a_run_maps_its_test_set_too(self):
        self.write_set("train", {"cat": 20, "dog": 200})
        self.write_set("test", {"dog": 190})
        self.expect(0, self.train(), "warning: .*test.* labels are mapped by name")
        self.assertEqual(self.score()[1], ["0", "8"])

    def test_a_run_does_not_resume_on_other_labels(self):
        self.write_set("train", {"cat": 20, "dog": 200})
        self.write_set("test", {"cat": 25, "dog": 190})
        self.expect(0, self.train())
        for name in ("train", "test"):
            shutil.rmtree(self.path(name))
        for path in Path(self.scratch).glob("t*.h5"):
            path.unlink()
        self.write_set("train", {"zcat": 20, "dog": 200})
        self.write_set("test", {"zcat": 25, "dog": 190})
        self.expect(2, self.train("run.epochs=5"), "data.train has changed",
                    r'the classes were \["cat","dog"\] and are \["dog","zcat"\]')

    def test_one_value_per_batch_norm_is_refused(self):
        self.prepare()
        self.expect(2, run(1, "run", self.deck, "run.global_batch=1"), "data.image_size to at least 33")

    def test_a_copied_shard_is_named(self):
        self.prepare()
        shutil.copy(self.path("train-00000-of-00001.h5"), self.path("train-00000-of-00001_copy.h5"))
        self.expect(4, run(1, "run", self.deck), "train-00000-of-00001.h5 and .*_copy.h5 are the same shard")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
