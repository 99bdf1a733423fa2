"""What the tests of packages share: a package unpacked into an empty folder, and commands that see nothing else of
multicard, neither the source tree nor the build nor the caches."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ["MULTICARD_SOURCE"])
BUILD = pathlib.Path(os.environ["MULTICARD_BUILD"])
PACKAGES = BUILD / "packages"
CACHE = pathlib.Path(os.environ.get("MULTICARD_CACHE") or pathlib.Path.home() / ".cache/multicard")
NAMESPACES = (["unshare", "--mount", "--propagation", "private"],
              ["unshare", "--user", "--map-root-user", "--mount", "--propagation", "private"])


def cached(name):
    """An entry of CMakeCache.txt."""
    for line in (BUILD / "CMakeCache.txt").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return line.partition("=")[2]
    raise KeyError(name)


TORCH_ROOT = pathlib.Path(cached("TORCH_ROOT")).resolve()
TORCH_VERSION = cached("MULTICARD_TORCH_VERSION")


def namespace():
    """The words that start a command in a mount namespace, or None where that is not permitted."""
    for words in NAMESPACES:
        with tempfile.TemporaryDirectory() as folder:
            result = subprocess.run([*words, "mount", "-t", "tmpfs", "tried", folder], capture_output=True, check=False)
            if result.returncode == 0:
                return words
    return None


class PackageCase(unittest.TestCase):
    """Subclasses unpack a package in unpack(scratch), which returns the folder that holds bin/ and share/."""

    @classmethod
    def setUpClass(cls):
        cls.words = namespace()
        if cls.words is None:
            raise unittest.SkipTest("nothing can be hidden here: unshare and mount are not permitted")
        scratch = tempfile.TemporaryDirectory(prefix="multicard-packages.", dir="/tmp")
        cls.addClassCleanup(scratch.cleanup)
        cls.scratch = pathlib.Path(scratch.name)
        (cls.scratch / "home").mkdir()
        (cls.scratch / "work").mkdir()
        cls.place = cls.scratch / "elsewhere"  # where LibTorch is
        cls.torch = cls.place / TORCH_ROOT.name
        shutil.copy(HERE / "hidden.sh", cls.scratch)
        cls.prefix = cls.unpack(cls.scratch)
        cls.share = cls.prefix / "share/multicard"

    def environment(self, changes):
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("MULTICARD_", "TORCH_ROOT", "LD_", "SLURM_"))}
        kept.update(HOME=str(self.scratch / "home"), PATH=f"{self.prefix}/bin:{os.environ['PATH']}")
        return {**kept, **{name: str(value) for name, value in changes.items()}}

    def start(self, *command, **changes):
        """Starts a command of the package; keyword arguments are environment variables."""
        hide = [*self.words, str(self.scratch / "hidden.sh"), str(TORCH_ROOT.parent), str(self.place), str(SOURCE),
                str(BUILD), str(CACHE), "--"]
        return subprocess.Popen([*hide, *map(str, command)], cwd=self.scratch / "work", stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env=self.environment(changes))

    def run_hidden(self, *command, status=0, **changes):
        """Its output and its errors; the status must be that."""
        process = self.start(*command, **changes)
        out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, f"{command}\n{out}\n{err}")
        return out, err

    def refused(self, *words, command=("multicard", "--version"), **changes):
        """Says what is wrong, and in a line of its own what to do, and ends as an environment that does not fit."""
        out, err = self.run_hidden(*command, status=3, **changes)
        for word in words:
            self.assertIn(word, err)
        self.assertEqual(out, "")
        self.assertEqual(err.count("multicard: "), 1, err)
        self.assertRegex(err, r"(?m)^multicard: .* \(.*\)\n  [A-Z].*\.$")

    def stop(self, process, number=signal.SIGUSR1):
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
        return process.returncode, out + err


def main():
    """As unittest.main, but ends with 77, after the reason, where every test is skipped."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    if result.skipped and result.testsRun <= len(result.skipped):
        for _, reason in result.skipped:
            print(f"SKIPPED: {reason}")
        sys.exit(77)
