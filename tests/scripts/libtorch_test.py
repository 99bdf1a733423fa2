#!/usr/bin/env python3
"""Which LibTorch the scripts take, in a made-up source tree, and whether what names versions agrees.

usage: libtorch_test.py [unittest arguments]   MULTICARD_SOURCE is the tree.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("MULTICARD_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
PINS = SOURCE / "scripts/libtorch"
VERSIONS = sorted((path.stem for path in PINS.glob("*[0-9].txt")), key=lambda name: list(map(int, name.split("."))))


class Choice(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="multicard-scripts.")
        self.addCleanup(scratch.cleanup)
        self.tree = pathlib.Path(scratch.name)
        (self.tree / "scripts").mkdir()
        shutil.copy(SOURCE / "scripts/lib.sh", self.tree / "scripts")
        shutil.copytree(PINS, self.tree / "scripts/libtorch")

    def run_bash(self, script, **environment):
        clean = {name: value for name, value in os.environ.items()
                 if name not in ("MULTICARD_LIBTORCH", "MULTICARD_CACHE", "TORCH_ROOT")}
        return subprocess.run(["bash", "-euo", "pipefail", "-c", f". scripts/lib.sh; {script}"], cwd=self.tree,
                              env={**clean, **environment}, capture_output=True, text=True, check=False)

    def taken(self, choice="", **environment):
        return self.run_bash(f"libtorch_version '{choice}'", **environment).stdout.strip()

    def test_the_option_goes_before_the_environment_and_that_before_what_is_remembered(self):
        default = (PINS / "default").read_text().strip()
        self.assertEqual(self.taken(), default)
        self.run_bash("remember_libtorch 2.11.0")
        self.assertEqual(self.taken(), "2.11.0")
        self.assertEqual(self.taken(MULTICARD_LIBTORCH="2.12.0"), "2.12.0")
        self.assertEqual(self.taken("2.13.0", MULTICARD_LIBTORCH="2.12.0"), "2.13.0")
        self.assertEqual(self.taken("2.12"), "2.12.1")

    def test_what_there_is_not_is_refused(self):
        for choice in ("2.10.0", "2.1", "2", "newest", "2.12.0 ", "2x12.0"):
            result = self.run_bash(f"version=$(libtorch_version '{choice}'); echo taken $version")
            self.assertEqual((result.returncode, result.stdout), (2, ""), choice)
            self.assertIn(f"no LibTorch {choice}: there are 2.11.0 ", result.stderr)

    def test_the_folder(self):
        self.assertEqual(self.run_bash("libtorch_folder", MULTICARD_CACHE="/c", MULTICARD_LIBTORCH="2.11").stdout,
                         "/c/libtorch-2.11.0/torch\n")
        self.assertEqual(self.run_bash("libtorch_folder", TORCH_ROOT="/own").stdout, "/own\n")


class Agreement(unittest.TestCase):
    def test_every_package_is_pinned_by_a_hash(self):
        for version in VERSIONS:
            for name in (f"{version}.txt", f"{version}-gpu.txt"):
                blocks = re.sub(r"\s*\\\n\s*", " ", re.sub("^#.*\n", "", (PINS / name).read_text(), flags=re.M))
                for line in blocks.splitlines():
                    self.assertRegex(line, r"^[a-z0-9-]+==[0-9.]+( --hash=sha256:[0-9a-f]{64})+$", name)
            text = (PINS / f"{version}.txt").read_text()
            pythons = re.search("^# CPython: (.*)$", text, re.M).group(1).split()
            torch = text[text.index(f"torch=={version} "):text.index("nvidia-cusparselt")]
            self.assertEqual(torch.count("--hash"), len(pythons), version)

    def test_the_oldest_and_the_default_are_the_same_everywhere(self):
        presets = json.loads((SOURCE / "CMakePresets.json").read_text())["configurePresets"]
        oldest = next(preset for preset in presets if preset["name"] == "oldest")["cacheVariables"]
        self.assertEqual(oldest["MULTICARD_LIBTORCH"], VERSIONS[0])
        self.assertEqual((PINS / "default").read_text().strip(), VERSIONS[-1])
        limits = re.findall(r"set\(_multicard_(?:oldest|newest)_torch ([0-9.]+)\)",
                            (SOURCE / "cmake/TorchRoot.cmake").read_text())
        self.assertEqual(limits, [version.rpartition(".")[0] for version in (VERSIONS[0], VERSIONS[-1])])


if __name__ == "__main__":
    unittest.main()
