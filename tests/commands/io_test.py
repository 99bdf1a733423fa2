#!/usr/bin/env python3
"""How fast files are: `multicard info --selftest`, and what runs record of it. Standard library only.

usage: io_test.py NAME   runs one test class; MULTICARD_BIN is the folder of the programs.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from command_test import MULTICARD, CommandTest, run

SPEEDS = ("write_gb_per_s", "read_cold_gb_per_s", "read_warm_gb_per_s")


class SelfTest(CommandTest):
    def deck_with_output(self, folder):
        self.prepare()
        text = Path(self.deck).read_text().replace(self.path("out"), folder)
        Path(self.deck).write_text(text)

    def test_measures_on_all_ranks(self):
        work = self.path("work")
        os.mkdir(work)
        code, out, err = run(2, "info", "--selftest", "--json", cwd=work)
        self.assertEqual(code, 0, err)
        info = json.loads(out)
        self.assertEqual(len(info["ranks"]), 2)
        self.assertEqual(info["selftest"]["all_reduce"]["payload_bytes"], 4 * 3504872)
        self.assertTrue(info["selftest"]["all_reduce"]["correct"])
        self.assertGreater(info["selftest"]["all_reduce"]["bus_gb_per_s"], 0)
        self.assertGreater(info["selftest"]["shard_read"]["gb_per_s"], 0)
        files = info["selftest"]["file_system"]
        self.assertEqual(files["folder"], work)
        self.assertIn(files["bytes"], [2 * blocks * 2**24 for blocks in range(1, 5)])
        for kind in ("plain", "hdf5_independent", "hdf5_collective"):
            self.assertLessEqual({SPEEDS[0], SPEEDS[2]}, set(files[kind]))
            self.assertLessEqual(set(files[kind]), set(SPEEDS))
            for name, speed in files[kind].items():
                self.assertGreater(speed, 0, (kind, name))
        self.assertEqual([], os.listdir(work))

    def test_files_in_memory_are_never_cold(self):
        with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
            self.deck_with_output(folder + "/deep/er")
            code, out, err = run(1, "info", "--selftest", "--deck", self.deck, "--json")
            self.assertEqual(code, 0, err)
            files = json.loads(out)["selftest"]["file_system"]
            self.assertEqual(files["folder"], folder)
            self.assertNotIn("hdf5_collective", files)
            for kind in ("plain", "hdf5_independent"):
                self.assertEqual({SPEEDS[0], SPEEDS[2]}, set(files[kind]))
            self.assertEqual([], os.listdir(folder))
            _, out, _ = self.expect(0, run(1, "info", "--selftest", "--deck", self.deck))
            self.assertRegex(out, r"plain files +[\d.]+ +not measured +[\d.]+\n +HDF5 +[\d.]+ +not measured +[\d.]+\n")
            self.assertIn("stay in the page cache", out)

    def test_a_full_disk_is_4(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount a small file system")
        os.mkdir(self.path("small"))
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "none", self.path("small")]).returncode:
            self.skipTest("no mount here")
        self.addCleanup(subprocess.run, ["umount", "-l", self.path("small")])
        self.deck_with_output(self.path("small/out"))
        _, _, err = self.expect(4, run(2, "info", "--selftest", "--deck", self.deck),
                                r"small/.*cannot be written .*No space left.*Free some space")
        self.assertEqual(err.count("No space left"), 1, err)
        self.assertEqual([], os.listdir(self.path("small")))

    def test_a_folder_that_may_not_be_written_is_4(self):
        if os.getuid() != 0:
            self.skipTest("only root can take its own rights over files away")
        self.deck_with_output(self.path("locked/out"))
        os.mkdir(self.path("locked"))
        os.chown(self.path("locked"), 65534, 65534)
        os.chmod(self.path("locked"), 0o555)
        rights = "-dac_override,-dac_read_search"
        done = subprocess.run(["setpriv", "--bounding-set=" + rights, "--inh-caps=" + rights, MULTICARD, "info",
                               "--selftest", "--deck", self.deck], capture_output=True, text=True, timeout=60)
        self.expect(4, (done.returncode, done.stdout, done.stderr), "locked/.*Permission denied")


class RunFiles(CommandTest):
    def test_what_the_parts_of_a_run_read_adds_up(self):
        self.prepare()
        results, reads = self.path("out/results.h5"), []
        for steps in (2, 4):
            self.expect(0, run(1, "run", self.deck, "evaluate.every_epochs=0", "run.epochs=null",
                               "run.steps=%d" % steps))
            names = re.findall(r'"(\w+)', self.text(results, "/runs/main/io/hdf5/name"))
            of = dict(zip(names, map(float, self.dataset(results, "/runs/main/io/hdf5/bytes"))))
            reads.append(of["read_independent"])
            rows, = map(float, self.dataset(results, "/runs/main/input/stages/bytes")[:1])
            self.assertEqual(rows, steps * 16 * 32 * 32 * 3)
        # The second part opens the shards again, and reads the records of the first.
        self.assertGreaterEqual(reads[1], 2 * reads[0])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]], verbosity=2)
