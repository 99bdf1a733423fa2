#!/usr/bin/env python3
"""What is in packaging/ and CITATION.cff, as far as it can be checked without Spack and without building images.

usage: recipes_test.py Spack|Containers|Citation
"""
import ast
import re
import subprocess
import sys
import unittest

from package_case import CACHE, SOURCE, main

sys.path.insert(0, str(CACHE / "packaging-peers"))
PACKAGING = SOURCE / "packaging"
VERSION = re.search(r"^project\(multicard VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
NO_PEERS = "spython and ruamel.yaml are not here (scripts/setup_peers.sh --packaging installs them)"


class Spack(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.text = (PACKAGING / "spack/package.py").read_text()
        cls.tree = ast.parse(cls.text)
        cls.calls = [node for node in ast.walk(cls.tree) if isinstance(node, ast.Call)]

    def arguments(self, function):
        return [call.args[0].value for call in self.calls if getattr(call.func, "id", "") == function]

    def test_it_compiles_and_says_that_it_is_untested(self):
        compile(self.text, "package.py", "exec")
        self.assertIn("Untested", self.text.splitlines()[0])

    def test_the_version_is_the_projects(self):
        self.assertEqual(self.arguments("version"), [VERSION])

    def test_it_depends_on_what_the_scripts_list(self):
        table = subprocess.run(["bash", "-c", f". {SOURCE}/scripts/packages.sh; dependencies"], capture_output=True,
                               text=True, check=True).stdout
        listed = {re.split(r"[+@]", line.rpartition("|")[2])[0] for line in table.splitlines()} - {"gcc"}
        named = {re.split(r"[+@~]", spec)[0] for spec in self.arguments("depends_on")}
        self.assertGreater(len(listed), 20)
        self.assertEqual(listed - named, set())

    def test_its_options_are_those_of_cmake(self):
        cmake = "".join(path.read_text() for path in [SOURCE / "CMakeLists.txt", *(SOURCE / "cmake").glob("*.cmake")])
        options = [call.args[0].value for call in self.calls
                   if getattr(call.func, "attr", "") in ("define", "define_from_variant")]
        self.assertIn("TORCH_ROOT", options)
        for option in set(options) - {"HDF5_ROOT", "CUDAToolkit_ROOT"}:  # CMake's own
            self.assertRegex(cmake, rf"\b{option}\b")


class Containers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        try:
            from spython.main.parse.parsers import get_parser
        except ImportError as error:
            raise unittest.SkipTest(NO_PEERS) from error
        folder = PACKAGING / "containers"
        cls.texts = [(folder / name).read_text() for name in ("Dockerfile", "multicard.def")]
        cls.docker = get_parser("docker")(str(folder / "Dockerfile")).recipe["spython-base"]
        cls.apptainer = get_parser("singularity")(str(folder / "multicard.def")).recipe["spython-base"]

    @staticmethod
    def commands(recipe):
        """Without comments and variables, which one of the parsers puts there too."""
        return [line for line in recipe.install if not re.match(r"#|(export )?[A-Z0-9_a-z]+=", line)]

    def test_both_make_the_same_image(self):
        commands = self.commands(self.docker)
        self.assertEqual(commands, self.commands(self.apptainer))
        self.assertEqual(len(commands), 4)
        self.assertEqual(self.docker.fromHeader, self.apptainer.fromHeader)
        self.assertEqual([" ".join(pair) for pair in self.docker.files], self.apptainer.files)
        self.assertEqual([label[0].replace('"', "").replace("=", " ") for label in self.docker.labels],
                         self.apptainer.labels)
        self.assertLess(set(self.apptainer.environ), set(self.docker.environ))

    def test_options_of_the_setup_script_exist(self):
        usage = (SOURCE / "scripts/setup_libtorch.sh").read_text()
        setup = next(line for line in self.commands(self.docker) if "setup-libtorch" in line)
        for option in setup.split()[1:]:
            self.assertIn(f"    {option}) ", usage)

    def test_they_say_that_they_are_untested_and_name_the_version(self):
        for text in self.texts:
            self.assertIn("Untested", text.splitlines()[0])
            self.assertIn(f"multicard_{VERSION}_amd64.deb", text)
        self.assertIn(f"org.opencontainers.image.version {VERSION}", self.apptainer.labels)


class Citation(unittest.TestCase):
    def test_it_is_yaml_with_what_the_format_demands(self):
        try:
            from ruamel.yaml import YAML
        except ImportError as error:
            raise unittest.SkipTest(NO_PEERS) from error
        citation = YAML(typ="safe", pure=True).load((SOURCE / "CITATION.cff").read_text())
        self.assertLessEqual({"cff-version", "message", "title", "authors"}, set(citation))
        self.assertEqual((citation["cff-version"], citation["type"]), ("1.2.0", "software"))
        self.assertEqual((str(citation["version"]), citation["license"]), (VERSION, "Apache-2.0"))
        for author in citation["authors"]:
            self.assertTrue({"name"} <= set(author) or {"family-names", "given-names"} <= set(author), author)


if __name__ == "__main__":
    main()
