#!/usr/bin/env python3
"""multicard tokenize. Standard library only.

usage: tokenize_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

from command_test import MULTICARD, CommandTest

DATA = Path(__file__).resolve().parents[1] / "data"
TINYSTORIES = str(DATA / "models" / "tinystories-656K")
ORACLES = DATA / "tokenizers" / "oracles"


def feed(lines, *arguments, ranks=1):
    launcher = ["mpirun", "-n", str(ranks)] if ranks > 1 else []
    text = "".join(line + "\n" for line in lines)
    done = subprocess.run([*launcher, MULTICARD, "tokenize", *arguments], input=text, capture_output=True, text=True,
                          encoding="utf-8", timeout=120)
    return done.returncode, done.stdout, done.stderr


class Tokenize(CommandTest):
    def answers(self, *arguments, **options):
        code, out, err = feed(*arguments, **options)
        self.assertEqual(code, 0, err)
        return [json.loads(line) for line in out.split("\n")[:-1]]

    def test_ids_and_back(self):
        cases = json.loads((ORACLES / "tinystories.json").read_text(encoding="utf-8"))["cases"]
        texts = [json.dumps(case["text"]) for case in cases]
        self.assertEqual(self.answers(texts, TINYSTORIES), [case["ids_with_special"] for case in cases])
        ids = self.answers(texts, TINYSTORIES, "--no-special", ranks=2)
        self.assertEqual(ids, [case["ids"] for case in cases])
        back = self.answers([json.dumps(line) for line in ids], TINYSTORIES, "--decode")
        self.assertEqual(back, [case["decode"] for case in cases])

    def test_tiktoken_has_specials_in_a_folder_only(self):
        file = DATA / "tokenizers" / "tiny" / "tiktoken_small.model"
        os.symlink(file, self.path("tokenizer.model"))
        text = [json.dumps("<|begin_of_text|>Hi<|eot_id|>")]
        self.assertEqual(self.answers(text, self.scratch, "--no-special")[0][::3], [2000, 2009])
        self.assertEqual(self.answers(text, self.scratch)[0][:2], [2000, 2000])
        self.assertLess(max(self.answers(text, str(file))[0]), 2000)
        ids = self.answers(text, self.scratch, "--no-special")
        back = self.answers([json.dumps(ids[0])], self.scratch, "--decode")
        self.assertEqual(back, ["<|begin_of_text|>Hi<|eot_id|>"])

    def test_a_bad_line_is_named(self):
        for arguments, good, bad in (([], '"a"', '["b"]'), ([], '"a"', '"b'), ([], '"a"', ""), ([], '"a"', '"\\ud800"'),
                                     ([], '"a"', "[" * 100000), (["--decode"], "[1]", "[-1]"),
                                     (["--decode"], "[1]", "[2048]"), (["--decode"], "[1]", '"a"')):
            with self.subTest(bad[:20]):
                code, out, err = feed([good, bad], TINYSTORIES, *arguments)
                self.assertEqual(code, 4, err)
                self.assertIn("line 2", err)
                self.assertEqual(len(out.splitlines()), 1)

    def test_what_is_no_tokenizer(self):
        Path(self.path("tokenizer.model")).write_bytes(b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x0c\n\x03<s>")
        self.expect(4, feed([], self.scratch), "tokenizer.json")
        self.expect(4, feed([], self.path("none"), ranks=2), "none")
        self.expect(2, feed([]))


if __name__ == "__main__":
    unittest.main(defaultTest=sys.argv[1:2] or None, argv=sys.argv[:1])
