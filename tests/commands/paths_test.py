#!/usr/bin/env python3
"""Names of files and folders with characters that shells, patterns, YAML or decks take for something else. Standard
library only.

usage: paths_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, POST, CommandTest

MODEL = Path(os.environ["MULTICARD_SOURCE"], "tests/data/models/tinystories-656K")
NAMES = ["run [1]", "lr=0.1, b=[x]", "{a}*?", "# 100%d 'q\"", "line\nend \\ ü"]


class Paths(CommandTest):
    def call(self, *command, code=0):
        done = subprocess.run(command, cwd=self.scratch, capture_output=True, text=True, timeout=120, check=False)
        return self.expect(code, (done.returncode, done.stdout, done.stderr))

    def folder(self, name):
        folder = Path(self.scratch, name)
        folder.mkdir()
        return folder

    def shards(self, prefix, *options):
        self.call(MULTICARD, "prepare", "images", "--format", "synthetic", "--size", "32", "--classes", "4", "--limit",
                  "16", "-o", prefix, *options)

    def write_deck(self, name, deck):
        Path(self.scratch, name).write_text(json.dumps(deck), encoding="utf-8")  # JSON is YAML

    def image_deck(self, train, output):
        return {"task": "image", "model": {"name": "mobilenet_v2", "width": 0.25},
                "data": {"train": train, "test": train, "image_size": 32},
                "optimizer": {"name": "sgd", "learning_rate": 0.001},
                "run": {"output": output, "steps": 1, "global_batch": 16, "seed": 1}}

    def test_images_train_from_and_into_any_folder(self):
        for name in NAMES[::2]:
            folder = self.folder(name)
            self.shards(f"{name}/train", "--shards", "2")
            self.write_deck(f"{name}/deck.yaml", self.image_deck(f"{name}/train-*.h5", f"{name}/out"))
            self.call(MULTICARD, "run", f"{name}/deck.yaml")
            self.call(MULTICARD, "eval", f"{name}/out/checkpoints/step_00000001")
            self.call(POST, f"{name}/out/results.h5", "-o", f"{name}/report")
            self.assertTrue((folder / "report/report.html").is_file())

    def test_overrides_are_paths_where_they_exist(self):
        for name in NAMES + ["- a", "[x]"]:
            self.folder(name)
            self.shards(f"{name}/train")
            self.write_deck("deck.yaml", self.image_deck("elsewhere.h5", "elsewhere"))
            said = self.call(MULTICARD, "run", "deck.yaml", f"data.train={name}/train-00000-of-00001.h5",
                             "data.test=null", f"run.output={name}/out", "--print-config")
            self.assertNotIn("elsewhere", said[1])

    def test_a_pattern_in_a_folder_with_brackets_misses_no_shard(self):
        folder = self.folder("run [1]")
        self.shards("run [1]/train", "--shards", "2")
        (folder / "train-00001-of-00002.h5").unlink()
        self.write_deck("deck.yaml", self.image_deck("run [1]/train-*.h5", "out"))
        self.assertIn("train-00001-of-00002.h5 is missing", self.call(MULTICARD, "run", "deck.yaml", code=4)[2])

    def test_texts_and_models_lie_anywhere(self):
        name = "m=[1] {x}*#\n'"
        folder = self.folder(name)
        shutil.copytree(MODEL, folder / "model")
        (folder / "in [0].jsonl").write_text('{"instruction": "a", "output": "b c d"}\n' * 4, encoding="utf-8")
        self.call(MULTICARD, "prepare", "text", "--type", "alpaca", "--in", f"{name}/in [0].jsonl", "--tokenizer",
                  f"{name}/model", "-o", f"{name}/text")
        self.write_deck(f"{name}/deck.yaml", {
            "task": "llm", "model": {"path": f"{name}/model"}, "method": {"name": "lora", "rank": 2},
            "data": {"train": f"{name}/text*.h5", "max_length": 512},
            "optimizer": {"name": "adamw", "learning_rate": 0.001},
            "run": {"output": f"{name}/out", "steps": 1, "global_batch": 2}})
        self.call(MULTICARD, "run", f"{name}/deck.yaml")
        self.call(MULTICARD, "export", f"{name}/out/checkpoints/step_00000001", f"{name}/adapter")
        self.call(MULTICARD, "generate", f"{name}/model", "--adapter", f"{name}/adapter", "Once", "--max-new", "1")


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
