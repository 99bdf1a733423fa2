#!/usr/bin/env python3
"""Facts in documents and batch scripts that nothing else would notice to be wrong. Standard library only.

usage: documents_test.py [unittest arguments]   MULTICARD_SOURCE is the tree, MULTICARD_BIN the folder of the programs.
"""
import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PROGRAM = pathlib.Path(os.environ["MULTICARD_BIN"], "multicard")
DOCUMENTS = [*SOURCE.glob("*.md"), *SOURCE.glob("docs/**/*.md")]
CODE = re.compile(r"^```.*?^```|`[^`\n]+`", re.M | re.S)
COMMAND = re.compile(r"^(?:`|(?:mpirun|srun) .*)?multicard ([a-z]+)", re.M)


class Documents(unittest.TestCase):
    def test_name_commands_that_exist(self):
        shown = subprocess.run([PROGRAM, "help"], capture_output=True, text=True, check=True).stdout
        commands = set(re.findall(r"^  ([a-z]+) ", shown, re.M)) | {"help"}
        self.assertIn("prepare", commands)
        for document in DOCUMENTS:
            code = "\n".join(CODE.findall(document.read_text(encoding="utf-8")))
            self.assertLessEqual(set(COMMAND.findall(code)), commands, document)

    def test_name_the_last_checkpoint_that_the_example_has(self):
        """20,000 images in batches of 64 are 313 steps."""
        for name in ("evaluate.md", "watching.md"):
            steps = set(re.findall(r"step_(\d{8})", (SOURCE / "docs" / name).read_text(encoding="utf-8")))
            self.assertLessEqual(steps, {"00000313"}, name)


class Scripts(unittest.TestCase):
    def test_use_all_processors_although_a_rank_has_one_thread(self):
        count = ["bash", "-c", '. "$0/scripts/lib.sh" && processors', str(SOURCE)]
        environment = dict(os.environ, OMP_NUM_THREADS="1")
        shown = subprocess.run(count, env=environment, capture_output=True, text=True, check=True).stdout
        self.assertEqual(int(shown), len(os.sched_getaffinity(0)))


class BatchScripts(unittest.TestCase):
    def test_have_a_line_for_each_thing_that_sites_ask_for(self):
        scripts = sorted(SOURCE.glob("slurm/*.sbatch"))
        self.assertGreater(len(scripts), 3)
        for script in scripts:
            text = script.read_text(encoding="utf-8")
            for line in ("#SBATCH --mem=", "##SBATCH --account=", "##SBATCH --partition=", "#SBATCH --gpus-per-node="):
                self.assertIn("\n" + line, text, script)


if __name__ == "__main__":
    unittest.main()
