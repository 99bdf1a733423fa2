#!/usr/bin/env python3
"""Names of TRL, PEFT and transformers in the document for those who come from them: whether these libraries have them.

usage: key_names_test.py [unittest arguments], where the libraries can be found on PYTHONPATH (run.sh --methods)
"""
import importlib.util
import pathlib
import re
import unittest

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/from_torchtune_axolotl_trl.md"
COLUMN = 2
NOT_THEIRS = {"torchrun", "train_test_split", "interleave_datasets"}  # PyTorch's and the datasets library's
IDENTIFIER = re.compile(r"[A-Za-z_]\w{2,}")


def source_of(package, *patterns):
    folder = pathlib.Path(importlib.util.find_spec(package).origin).parent
    files = [path for pattern in patterns for path in folder.glob(pattern)]
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


class KeyNames(unittest.TestCase):
    def test_are_names_of_the_libraries(self):
        known = set(IDENTIFIER.findall("\n".join((
            source_of("trl", "trainer/*.py", "scripts/*.py"), source_of("peft", "*.py", "tuners/lora/*.py"),
            source_of("transformers", "training_args.py", "trainer_callback.py", "modeling_utils.py",
                      "utils/quantization_config.py", "configuration_utils.py", "optimization.py")))))
        rows = [line.strip("|").split(" | ") for line in DOCUMENT.read_text(encoding="utf-8").splitlines()
                if line.startswith("|") and line.count(" | ") == 3]
        codes = [code for row in rows for code in re.findall(r"`([^`]+)`", row[COLUMN])]
        named = {word for code in codes for word in IDENTIFIER.findall(code)}
        self.assertGreater(len(named), 60)
        self.assertEqual(named - known - NOT_THEIRS, set())


if __name__ == "__main__":
    unittest.main()
