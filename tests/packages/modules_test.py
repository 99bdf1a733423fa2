#!/usr/bin/env python3
"""The module files of an installation under Lmod and Environment Modules, which scripts/setup.sh --test unpacks into
the cache: each loads and unloads the module in a shell of its own.

usage: modules_test.py Lmod|EnvironmentModules
"""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

from package_case import CACHE, PACKAGES, main

SHOW = 'echo "$PATH|${MANPATH-}|${MULTICARD_ROOT-}|${HDF5_USE_FILE_LOCKING-}|${OMPI_MCA_fs_ufs_lock_algorithm-}"'


class Modules:
    @classmethod
    def setUpClass(cls):
        cls.command = cls.find()
        scratch = tempfile.TemporaryDirectory(prefix="multicard-modules.")
        cls.addClassCleanup(scratch.cleanup)
        archive = next(PACKAGES.glob("multicard-*-linux-*.tar.gz"))
        name = archive.name.removesuffix(".tar.gz")
        subprocess.run(["tar", "-C", scratch.name, "-xf", archive, f"{name}/share/multicard/modulefiles"], check=True)
        cls.prefix = pathlib.Path(scratch.name, name)

    def states(self, *commands, **changes):
        """What SHOW prints after each command, and at first."""
        script = "\n".join([SHOW] + [f'eval "$({self.command} bash {words})"\n{SHOW}' for words in commands])
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("MANPATH", "MULTICARD_", "HDF5_", "OMPI_", "MODULE", "LMOD", "LOADEDMODULES",
                                        "_LM"))}
        folder = self.prefix / "share/multicard/modulefiles" / self.kind
        result = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False,
                                env={**kept, "PATH": "/usr/local/bin:/usr/bin:/bin", "MODULEPATH": str(folder),
                                     **changes})
        states = [line.split("|") for line in result.stdout.splitlines() if line.count("|") == 4]
        self.assertEqual(len(states), len(commands) + 1, result.stdout + result.stderr)
        return states

    def test_loaded_it_is_on_the_path_and_unloaded_all_is_as_before(self):
        before, loaded, unloaded = self.states("load multicard", "unload multicard")
        loaded[1] = loaded[1].replace("::", ":")  # Lmod writes the empty entry twice
        self.assertEqual(loaded, [f"{self.prefix}/bin:{before[0]}", f"{self.prefix}/share/man:",
                                  f"{self.prefix}/share/multicard", "FALSE", "3"])
        self.assertEqual(unloaded, before)

    def test_settings_of_the_user_stay(self):
        user = {"HDF5_USE_FILE_LOCKING": "TRUE", "OMPI_MCA_fs_ufs_lock_algorithm": "1"}
        for state in self.states("load multicard", "unload multicard", **user):
            self.assertEqual(state[3:], ["TRUE", "1"])

    def test_help_names_what_libtorch_needs(self):
        result = subprocess.run(["bash", "-c", f"{self.command} bash help multicard"], capture_output=True, text=True,
                                check=False, env={**os.environ, "MODULEPATH": str(
                                    self.prefix / "share/multicard/modulefiles" / self.kind)})
        self.assertIn("multicard-setup-libtorch", result.stdout + result.stderr)


class Lmod(Modules, unittest.TestCase):
    kind = "lmod"

    @staticmethod
    def find():
        found = sorted((CACHE / "unpacked/lmod").glob("usr/share/lmod/*/libexec/lmod"))
        if not found or not shutil.which("lua5.3"):
            raise unittest.SkipTest("no Lmod here (scripts/setup.sh --test unpacks it)")
        return found[-1]


class EnvironmentModules(Modules, unittest.TestCase):
    kind = "tcl"

    @staticmethod
    def find():
        found = sorted((CACHE / "unpacked/environment-modules").glob("usr/lib/*/modulecmd.tcl"))
        if not found or not shutil.which("tclsh"):
            raise unittest.SkipTest("no Environment Modules here (scripts/setup.sh --test unpacks them)")
        return f"tclsh {found[-1]}"


if __name__ == "__main__":
    main()
