#!/usr/bin/env python3
"""Runs tidy.py on small trees with and without a finding."""
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from tidy import Skip, even_choice, find_clang_tidy  # noqa: E402  (the folder is known only now)

CLEAN = "int twice(int value) { return 2 * value; }\n"
WRONG = "int* nothing() { return 0; }\n"
# As g++ is called: with a precompiled header that is not there, and warnings that clang does not know.
FLAGS = "-Wall -Werror -Wno-restrict -Wno-stringop-overflow -Winvalid-pch -include missing_pch.hxx -std=c++20"


class TidyTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name, "tree").resolve()
        self.cache = pathlib.Path(folder.name, "cache")
        self.write(".clang-tidy", (HERE.parents[1] / ".clang-tidy").read_text(encoding="utf-8"))
        self.write(".gitignore", "/build/\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def compiled(self, **sources):
        """Writes modules/base/NAME.cpp for each, and what CMake would say of them."""
        commands = []
        for name, text in sources.items():
            file = self.root / "modules" / "base" / f"{name}.cpp"
            self.write(file, text)
            command = f"c++ -I{self.root}/modules {FLAGS} -o {name}.o -c {file}"
            commands.append({"directory": str(self.root), "command": command, "file": str(file)})
        self.write("build/compile_commands.json", json.dumps(commands))

    def git(self, *arguments):
        who = ["-c", "user.name=a", "-c", "user.email=a@b.c", "-c", f"safe.directory={self.root}"]
        subprocess.run(["git", *who, "-C", str(self.root), *arguments], check=True, capture_output=True)

    def tidy(self, *arguments, status, **environment):
        command = [sys.executable, str(HERE / "tidy.py"), "--root", str(self.root), "--build",
                   str(self.root / "build"), *arguments]
        environment = {**os.environ, "MULTICARD_CACHE": str(self.cache), **environment}
        run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment, cwd=self.root)
        self.assertEqual(run.returncode, status, run)
        return run.stdout

    def test_a_finding_is_named_and_fails(self):
        self.compiled(Clean=CLEAN, Wrong=f"\n{WRONG}")
        text = self.tidy("--all", status=1)
        self.assertTrue(text.startswith("modules/base/Wrong.cpp:2:25: error: "), text)
        self.assertIn("[modernize-use-nullptr", text)
        self.assertIn("tidy: 1 findings in 2 files", text)

    def test_a_clean_file_passes(self):
        self.compiled(Clean=CLEAN)
        self.assertEqual(self.tidy("modules/base/Clean.cpp", status=0),
                         "tidy: 0 findings in 1 files (0 known from before)\n")

    def test_a_file_that_does_not_compile_fails(self):
        self.compiled(Broken='#include "base/None.hpp"\n')
        for _ in range(2):  # not remembered: a header outside the project may have been installed
            text = self.tidy("--all", status=1)
            self.assertIn("modules/base/Broken.cpp:1:10: error: ", text)
            self.assertIn("(0 known", text)

    def test_a_file_named_twice_is_checked_once(self):
        self.compiled(Clean=CLEAN)
        name = "modules/base/Clean.cpp"
        self.assertIn("0 findings in 1 files", self.tidy(name, f"./{name}", name, "-j", "2", status=0))

    def test_a_finding_in_a_header_is_printed_once(self):
        self.write("modules/base/Header.hpp", f"#pragma once\ninline {WRONG}")
        self.compiled(One='#include "base/Header.hpp"\n', Two='#include "base/Header.hpp"\n')
        self.assertIn("tidy: 1 findings in 2 files", self.tidy("--all", status=1))

    def test_a_second_run_knows_the_outcome_until_a_header_changes(self):
        self.write("modules/base/Inner.hpp", "#pragma once\n")
        self.write("modules/base/Outer.hpp", '#pragma once\n#include "base/Inner.hpp"\n')
        self.compiled(Clean=f'#include "base/Outer.hpp"\n{CLEAN}', Wrong=WRONG)
        self.assertIn("1 findings in 2 files (0 known", self.tidy("--all", status=1))
        self.assertIn("1 findings in 2 files (2 known", self.tidy("--all", status=1))
        self.write("modules/base/Inner.hpp", f"#pragma once\ninline {WRONG}")
        text = self.tidy("--all", status=1)
        self.assertIn("modules/base/Inner.hpp:2:32: error: ", text)
        self.assertIn("2 findings in 2 files (1 known", text)

    def test_changed_files_are_those_of_the_last_commit_and_of_the_working_tree(self):
        self.write("modules/base/Header.hpp", "#pragma once\n")
        self.compiled(Old=WRONG, New=CLEAN, Including=f'#include "base/Header.hpp"\n{CLEAN}')
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "all")
        self.assertIn("1 findings in 3 files", self.tidy(status=1))  # without history everything is new
        self.write("modules/base/New.cpp", f"// changed\n{CLEAN}")
        self.git("commit", "-qam", "one")
        self.assertIn("0 findings in 1 files", self.tidy(status=0))
        self.write("modules/base/Header.hpp", "#pragma once\n// changed\n")
        self.assertIn("0 findings in 2 files", self.tidy(status=0))
        self.assertIn("0 findings in 1 files (1 known from before, 1 more changed", self.tidy("--limit", "1", status=0))

    def test_changed_files_are_those_since_the_branch_left_its_upstream(self):
        self.compiled(Old=WRONG, New=CLEAN)
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-qm", "all")
        self.git("checkout", "-q", "-b", "topic", "--track", "main")
        self.write("modules/base/New.cpp", f"// changed\n{CLEAN}")
        self.git("commit", "-qam", "one")
        self.git("commit", "-q", "--allow-empty", "-m", "nothing")
        self.assertIn("0 findings in 1 files", self.tidy(status=0))

    def test_without_the_tool_or_a_build_it_is_skipped(self):
        self.compiled(Clean=CLEAN)
        programs = self.root / "build" / "bin"
        programs.mkdir()
        (programs / "git").symlink_to(shutil.which("git"))
        self.assertIn("SKIPPED: clang-tidy 14", self.tidy("--all", status=77, PATH=str(programs)))
        (self.root / "build" / "compile_commands.json").unlink()
        self.assertIn("build first", self.tidy("--all", status=77))

    def test_where_git_fails_it_is_skipped(self):
        self.compiled(Clean=CLEAN)
        self.git("init", "-q")
        self.git("add", ".")
        self.git("commit", "-qm", "all")
        failing = 'case "$*" in *" diff "*) echo broken >&2; exit 128 ;; esac'
        self.write("build/bin/git", f'#!/bin/sh\n{failing}\nexec {shutil.which("git")} "$@"\n')
        (self.root / "build/bin/git").chmod(0o755)
        path = f"{self.root}/build/bin:{os.environ['PATH']}"
        self.assertIn("SKIPPED: git diff failed: broken", self.tidy(status=77, PATH=path))

    def test_an_even_choice_is_the_same_every_time(self):
        self.assertEqual(even_choice(list(range(10)), 4), [0, 2, 5, 7])
        self.assertEqual(even_choice([1, 2], 4), [1, 2])
        self.assertEqual(even_choice([1, 2], 0), [])


if __name__ == "__main__":
    try:
        find_clang_tidy()
    except Skip as reason:
        print(f"SKIPPED: {reason}")
        sys.exit(77)
    unittest.main()
