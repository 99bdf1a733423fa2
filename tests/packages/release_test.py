#!/usr/bin/env python3
"""scripts/release.sh in a made-up source tree that is ready for a release, and in ones that are not.

usage: release_test.py Release
"""
import hashlib
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

from package_case import SOURCE, main

CPACK = """set(CPACK_PACKAGE_NAME multicard)
set(CPACK_PACKAGE_VERSION "1.2.3")
set(CPACK_PACKAGE_FILE_NAME multicard-1.2.3-linux-x86_64)
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_DESCRIPTION "made up")
set(CPACK_PACKAGE_VENDOR "none")
set(CPACK_PACKAGE_CONTACT "none")
set(CPACK_INSTALLED_DIRECTORIES "{folder}/bin;bin")
"""
GIT = ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]


class Release(unittest.TestCase):
    def setUp(self):
        if not shutil.which("git"):
            self.skipTest("git is not installed")
        scratch = tempfile.TemporaryDirectory(prefix="multicard-release.")
        self.addCleanup(scratch.cleanup)
        self.tree, self.out = pathlib.Path(scratch.name, "tree"), pathlib.Path(scratch.name, "out")
        self.build = self.tree / "build/release"
        (self.tree / "scripts").mkdir(parents=True)
        for name in ("lib.sh", "release.sh"):
            shutil.copy(SOURCE / "scripts" / name, self.tree / "scripts")
        for name, text in {"CMakeLists.txt": "project(multicard VERSION 1.2.3 LANGUAGES C CXX)\n",
                           "CHANGELOG.md": "## 1.2.3 (2031-05-06)\n", ".gitignore": "/build/\n",
                           "CITATION.cff": "version: 1.2.3\n", "packaging/spack/package.py": 'version("1.2.3")\n',
                           "packaging/containers/Dockerfile": "1.2.3\n",
                           "packaging/containers/multicard.def": "1.2.3\n"}.items():
            self.write(self.tree / name, text)
        self.git("init", "--quiet")
        self.commit()

    def write(self, path, text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def git(self, *words):
        return subprocess.run([*GIT, *words], cwd=self.tree, check=True, capture_output=True, text=True).stdout.strip()

    def commit(self):
        """All there is, and a build of it."""
        self.git("add", "-A")
        self.git("commit", "--quiet", "-m", "all")
        self.write(self.build / "CPackConfig.cmake", CPACK.format(folder=self.build))
        self.write(self.build / "bin/multicard",
                   f'#!/bin/sh\necho "multicard 1.2.3 ({self.git("rev-parse", "--short=12", "HEAD")}), LibTorch 2"\n')
        (self.build / "bin/multicard").chmod(0o755)

    def release(self, *options):
        return subprocess.run([self.tree / "scripts/release.sh", "-o", self.out, *options], check=False,
                              capture_output=True, text=True)

    def refused(self, *words):
        """Ends with 3 and makes nothing; as a draft it only says so."""
        result = self.release()
        self.assertEqual((result.returncode, self.out.exists()), (3, False), result.stderr)
        self.assertEqual(result.stderr.count("NOT READY"), len(words), result.stderr)
        draft = self.release("--draft")
        self.assertEqual(draft.returncode, 0, draft.stderr)
        for word in words:
            self.assertIn(word, result.stderr)
            self.assertIn(word, draft.stderr)

    def test_what_is_ready_becomes_files_and_their_sums(self):
        self.write(self.out / "multicard-1.0.0.tar.gz", "of an earlier release")
        result = self.release()
        self.assertEqual(result.returncode, 0, result.stderr)
        names = {"multicard-1.2.3.tar.gz", "multicard-1.2.3-linux-x86_64.tar.gz"}
        self.assertEqual({path.name for path in self.out.iterdir()}, names | {"SHA256SUMS"})
        expected = {f"{hashlib.sha256((self.out / name).read_bytes()).hexdigest()}  {name}" for name in names}
        self.assertEqual(set((self.out / "SHA256SUMS").read_text().splitlines()), expected)
        with tarfile.open(self.out / "multicard-1.2.3.tar.gz") as archive:
            self.assertIn("multicard-1.2.3/packaging/spack/package.py", archive.getnames())
        with tarfile.open(self.out / "multicard-1.2.3-linux-x86_64.tar.gz") as archive:
            self.assertIn("multicard-1.2.3-linux-x86_64/bin/multicard", archive.getnames())

    def test_what_is_not_committed_is_no_release(self):
        self.write(self.tree / "new.txt", "new")
        self.refused("there are uncommitted changes")

    def test_a_build_of_another_commit_is_no_release(self):
        before = (self.build / "bin/multicard").read_text()
        self.write(self.tree / "new.txt", "new")
        self.commit()
        self.write(self.build / "bin/multicard", before)
        self.refused("is a build of ")

    def test_versions_must_agree_and_have_a_date(self):
        self.write(self.tree / "CHANGELOG.md", "## 1.2.3 (unreleased)\n")
        self.write(self.tree / "CITATION.cff", "version: 1.2.2\n")
        self.commit()
        self.refused("CHANGELOG.md has no section '## 1.2.3 (YYYY-MM-DD)'", "CITATION.cff does not name version 1.2.3")

    def test_without_a_build_it_says_how_to_make_one(self):
        (self.build / "CPackConfig.cmake").unlink()
        result = self.release("--draft")
        self.assertEqual(result.returncode, 3)
        self.assertIn("scripts/build.sh", result.stderr)


if __name__ == "__main__":
    main()
