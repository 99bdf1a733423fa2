#!/usr/bin/env python3
"""Which commit cmake/DescribeCommit.cmake writes into a source, and when it leaves the source alone.

usage: describe_commit_test.py [unittest arguments]   CMAKE_COMMAND and MULTICARD_SOURCE may name cmake and the tree.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
CMAKE = os.environ.get("CMAKE_COMMAND", "cmake")


class DescribeCommit(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-commit.")
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name, "tree").resolve()
        self.tree.mkdir()
        self.output = pathlib.Path(scratch.name, "Out.cpp")
        self.template = pathlib.Path(scratch.name, "Out.cpp.in")
        self.template.write_text('"@MULTICARD_GIT@"\n', encoding="utf-8")

    def git(self, *arguments):
        command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-C", str(self.tree), *arguments]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self, text):
        (self.tree / "file").write_text(text, encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "-qm", text)
        return self.git("rev-parse", "--short=12", "HEAD")

    def described(self):
        subprocess.run([CMAKE, f"-DSOURCE={self.tree}", f"-DTEMPLATE={self.template}", f"-DOUTPUT={self.output}", "-P",
                        str(SOURCE / "cmake/DescribeCommit.cmake")], check=True, capture_output=True)
        return self.output.read_text(encoding="utf-8")

    def test_names_the_commit_of_now_and_what_differs_from_it(self):
        self.git("init", "-q")
        first, second = self.commit("one"), self.commit("two")
        self.assertEqual(self.described(), f'"{second}"\n')
        self.git("checkout", "-q", first)
        self.assertEqual(self.described(), f'"{first}"\n')
        (self.tree / "file").write_text("changed", encoding="utf-8")
        self.assertEqual(self.described(), f'"{first}-dirty"\n')

    def test_an_archive_has_no_commit(self):
        self.assertEqual(self.described(), '"unknown"\n')

    def test_an_unchanged_commit_leaves_the_source_alone(self):
        self.git("init", "-q")
        self.commit("one")
        self.described()
        os.utime(self.output, (1, 1))
        self.described()
        self.assertEqual(self.output.stat().st_mtime, 1)


if __name__ == "__main__":
    unittest.main()
