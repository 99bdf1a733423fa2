#!/usr/bin/env python3
"""Chat templates of model families, rendered and tokenised as by transformers' apply_chat_template: equal ids, equal
masks, and refusals of the same conversations.

usage: chat_templates_test.py Templates   MULTICARD_PEER_TEMPLATE names the program peer_template
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from transformers.utils import chat_template_utils

from chat_reference import (TEMPLATES, FixedDate, NotFound, Reference, conversation, has_no_place, model_folder,
                            tokenizer_for)

PROGRAM = os.environ["MULTICARD_PEER_TEMPLATE"]
NUM_CONVERSATIONS = 500


class Templates(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="multicard-peers-")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        patch = mock.patch.object(chat_template_utils, "datetime", FixedDate)
        patch.start()
        self.addCleanup(patch.stop)

    def encoded(self, records):
        lines = "".join(json.dumps(record) + "\n" for record in records)
        done = subprocess.run([PROGRAM, "encode", str(self.folder)], input=lines, capture_output=True, text=True,
                              timeout=300, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def compare(self, path):
        source = path.read_text()
        reference = Reference(model_folder(self.folder, source, tokenizer_for(path.name)), source)
        draw = random.Random(11)
        records = [conversation(draw) for _ in range(NUM_CONVERSATIONS)]
        counts = {"equal": 0, "refused by both": 0, "no place for tools": 0, "unknown role": 0, "answer not found": 0}
        wrong = []
        for record, own in zip(records, self.encoded(records)):
            try:
                ids, mask = reference(record)
                mask[:1] = [0] * len(mask[:1])  # nothing predicts the first token
                expected = "equal"
            except NotFound:
                expected = "answer not found"
            except Exception as error:  # whatever jinja2 and Python raise
                expected, ids = "refused by both", error
            if has_no_place(source, record):
                expected = "no place for tools"
            if any(message["role"] == "critic" for message in record["messages"]):
                expected = "unknown role"  # transformers writes down whatever name it gets
            if expected == "equal":
                if own.get("ids") != ids or own.get("mask") != mask:
                    wrong.append((record, own, ids, mask))
                    continue
            elif "error" not in own:
                wrong.append((record, expected, str(ids)[:80]))
                continue
            counts[expected] += 1
        print(f"{path.stem:22} {counts}", flush=True)
        return counts, wrong

    def test_are_rendered_as_by_transformers(self):
        all_wrong = {}
        for path in TEMPLATES:
            counts, wrong = self.compare(path)
            if wrong:
                all_wrong[path.name] = wrong
            else:
                self.assertGreater(counts["equal"], NUM_CONVERSATIONS // 3, path.name)
        for name, wrong in all_wrong.items():
            print("DIFFERS", name, len(wrong))
            for case in wrong[:2]:
                print(*(json.dumps(part, ensure_ascii=False)[:600] for part in case), sep="\n    ")
        self.assertFalse(all_wrong.keys())


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[1:], verbosity=1)
