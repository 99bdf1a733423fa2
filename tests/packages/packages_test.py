#!/usr/bin/env python3
"""The packages of a build, unpacked into an empty folder and used there, where nothing else of multicard is to be seen.

usage: packages_test.py Debian|Archive|Installed   MULTICARD_BUILD/packages holds them (scripts/release.sh --draft)
"""
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest

from package_case import BUILD, CACHE, PACKAGES, PackageCase, SOURCE, TORCH_ROOT, TORCH_VERSION, cached, main

VERSION = re.search(r"^project\(multicard VERSION ([0-9.]+)", (SOURCE / "CMakeLists.txt").read_text(), re.M).group(1)
MINOR = ".".join(TORCH_VERSION.split(".")[:2])


def only(pattern):
    found = list(PACKAGES.glob(pattern))
    if len(found) != 1:
        raise AssertionError(f"{PACKAGES} holds {len(found)} files {pattern}")
    return found[0]


class Uses:
    """What both packages must do."""

    def test_nothing_else_of_multicard_is_to_be_seen(self):
        for folder in (SOURCE, BUILD, CACHE):
            listed, _ = self.run_hidden("bash", "-c", f"ls -A {folder} 2>/dev/null || true")
            self.assertEqual(listed, "", folder)

    def test_without_libtorch_it_says_so_once(self):
        self.refused(f"LibTorch {MINOR} was not found", "multicard-setup-libtorch", "TORCH_ROOT")
        self.refused("LibTorch", command=("mpirun", "-n", "2", "multicard", "info"))

    def test_from_data_to_report(self):
        out, _ = self.run_hidden("multicard", "info", TORCH_ROOT=self.torch)
        self.assertRegex(out, rf"libtorch +{re.escape(TORCH_VERSION)}\n")
        for name, limit in (("train", 256), ("test", 64)):
            self.run_hidden("multicard", "prepare", "images", "--format", "synthetic", "--size", "32", "--classes", "4",
                            "--limit", str(limit), "-o", f"data/tiny/{name}", TORCH_ROOT=self.torch)
        deck = self.share / "inputs/image/tiny.yaml"
        script = f'. {self.share}/scripts/env.sh && mpirun -n 2 multicard run {deck} run.steps=8 profile.skip_steps=2'
        _, err = self.run_hidden("bash", "-c", script, TORCH_ROOT=self.torch)
        self.assertIn("2 ranks on 1 host", err)
        self.run_hidden("multicard-post", "results/tiny/results.h5")  # needs no LibTorch
        report = (self.scratch / "work/results/tiny/report.html").read_text()
        self.assertTrue("<svg" in report, "the report has no figure, which gnuplot draws")
        self.stops_on_a_signal(deck)

    def test_recipes_come_from_the_installation(self):
        out, _ = self.run_hidden("multicard", "recipes", "ls", "sweep", TORCH_ROOT=self.torch)
        self.assertRegex(out, "(?m)^image/tiny_scaling +multicard sweep ")
        self.run_hidden("multicard", "recipes", "cp", "llm/gsm8k", "mine.yaml", TORCH_ROOT=self.torch)
        copied = (self.scratch / "work/mine.yaml").read_text()
        self.assertIn(f"{self.prefix}/share/multicard/scripts/get_model.sh smollm2", copied)

    def stops_on_a_signal(self, deck):
        """The script is replaced by the program, which gets the signals and ends with its own code."""
        process = self.start("multicard", "run", deck, "run.steps=100000", "run.output=results/long", "run.log_every=1",
                             TORCH_ROOT=self.torch)
        program = str(self.prefix / "libexec/multicard/multicard")
        deadline = time.time() + 30
        while not (self.scratch / "work/results/long").exists() and time.time() < deadline:
            time.sleep(0.1)
        running = subprocess.run(["readlink", f"/proc/{process.pid}/exe"], capture_output=True, text=True, check=True)
        self.assertEqual(running.stdout.strip(), program)
        status, said = self.stop(process)
        self.assertEqual(status, 75, said)

    def test_libtorch_is_found_where_the_setup_puts_it(self):
        cache = self.scratch / "cache"
        cache.mkdir()
        (cache / f"libtorch-{TORCH_VERSION}").symlink_to(self.place)
        links = [self.prefix / "lib/libtorch"]
        if self.torch.name == "torch":  # a wheel's layout
            links += [self.scratch / f"home/.cache/multicard/libtorch-{TORCH_VERSION}",
                      self.prefix / "local/lib/libtorch"]
        for link in links:
            link.parent.mkdir(parents=True, exist_ok=True)
            link.symlink_to(self.place if self.torch.name == "torch" else self.torch)
            out, _ = self.run_hidden("multicard", "--version")
            self.assertIn(f"multicard {VERSION}", out)
            link.unlink()
        if (TORCH_ROOT.parent / ".multicard-complete").exists():
            out, _ = self.run_hidden("multicard", "--version", MULTICARD_CACHE=cache)
            self.assertIn(f"multicard {VERSION}", out)
            _, said = self.run_hidden("multicard-setup-libtorch", "--no-gpu", MULTICARD_CACHE=cache)
            self.assertIn(f"Ready: multicard finds LibTorch {TORCH_VERSION} in {cache}", said)

    def test_programs_load_from_their_own_folders_and_the_system(self):
        for name in ("libexec/multicard/multicard", "bin/multicard-post"):
            dynamic = subprocess.run(["readelf", "-d", self.prefix / name], capture_output=True, text=True, check=True)
            for paths in re.findall(r"R(?:UN)?PATH.*\[(.*)\]", dynamic.stdout):
                for path in paths.split(":"):
                    self.assertTrue(path.startswith("$ORIGIN/"), path)
        listed, _ = self.run_hidden("ldd", self.prefix / "bin/multicard-post")
        self.assertNotIn("not found", listed)

    def test_what_an_installation_holds(self):
        for name in ("bin/multicard-setup-libtorch", "share/multicard/inputs/llm/lora.yaml",
                     "share/multicard/scripts/env.sh", "share/multicard/slurm/share.sbatch",
                     "share/multicard/schema/summary.schema.json",
                     "share/doc/multicard/docs/decks.md", "share/doc/multicard/copyright",
                     "share/doc/multicard/CITATION.cff", "share/doc/multicard/LICENSE",
                     "share/man/man1/multicard-run.1", "share/man/man5/multicard-deck.5",
                     "share/bash-completion/completions/multicard-post", "share/zsh/site-functions/_multicard",
                     "share/fish/vendor_completions.d/multicard.fish"):
            self.assertTrue((self.prefix / name).is_file(), name)
        for library in (self.prefix / "lib/multicard").glob("libarrow*"):
            self.assertTrue((self.prefix / "share/doc/multicard/licences/arrow/LICENSE.txt").is_file(), library)
        self.assertEqual([str(path) for path in self.prefix.rglob("*") if "libtorch_cpu" in path.name], [])
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.stat().st_size < 1 << 20:  # all but programs, libraries and data
                self.assertNotIn(str(SOURCE).encode(), path.read_bytes(), path)


class Debian(Uses, PackageCase):
    @classmethod
    def unpack(cls, scratch):
        if not shutil.which("dpkg-deb") or not shutil.which("dpkg-shlibdeps"):
            raise unittest.SkipTest("no dpkg-deb and dpkg-shlibdeps here, so there is no Debian package")
        cls.package = only("multicard_*.deb")
        subprocess.run(["dpkg-deb", "-x", cls.package, scratch / "root"], check=True)
        return scratch / "root/usr"

    def field(self, name):
        out = subprocess.run(["dpkg-deb", "-f", self.package, name], capture_output=True, text=True, check=True)
        return out.stdout.strip()

    def test_the_control_file(self):
        self.assertEqual((self.field("Package"), self.field("Version")), ("multicard", VERSION))
        needed = self.field("Depends")
        for name in ("libopenmpi", "libhdf5-openmpi", "openmpi-bin", "gnuplot-nox", "libc6 "):
            self.assertIn(name, needed)
        self.assertNotRegex(needed, "torch|arrow|nvidia")
        # Built here, so all of it is here, in versions that suffice.
        check = subprocess.run(["dpkg-checkbuilddeps", "-d", needed, "/dev/null"], capture_output=True, text=True,
                               check=False)
        self.assertEqual(check.returncode, 0, check.stderr)


class Archive(Uses, PackageCase):
    @classmethod
    def unpack(cls, scratch):
        cls.package = only("multicard-*-linux-*.tar.gz")
        subprocess.run(["tar", "-C", scratch, "-xf", cls.package], check=True)
        return scratch / cls.package.name.removesuffix(".tar.gz")

    def test_a_wrong_torch_root_is_named(self):
        self.refused(f"TORCH_ROOT={self.scratch} holds no LibTorch", "lib/libtorch_cpu.so", TORCH_ROOT=self.scratch)
        old = self.scratch / "old"
        (old / "lib").mkdir(parents=True)
        for name in ("libtorch_cpu.so", "libc10.so", "libc10_cuda.so"):
            (old / "lib" / name).touch()
        header = old / "include/torch/headeronly/version.h"
        header.parent.mkdir(parents=True)
        header.write_text("#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 13\n")
        self.refused(f"{old} is 1.13", f"built with {MINOR}", TORCH_ROOT=old)

    def test_the_setup_script_says_what_is_wrong(self):
        out, _ = self.run_hidden("multicard-setup-libtorch", "--help")
        self.assertIn("--system", out)
        _, said = self.run_hidden("multicard-setup-libtorch", "--gpus", status=2)
        self.assertIn("unknown option --gpus", said)
        _, said = self.run_hidden("multicard-setup-libtorch", status=3, MULTICARD_CACHE="/proc/nowhere")
        self.assertIn("/proc/nowhere (it cannot be written to)", said)
        # No index: what is asked for is the torch wheel of this version, pinned by hashes.
        _, said = self.run_hidden("multicard-setup-libtorch", "--no-gpu", status=3, PIP_NO_INDEX="1",
                                  PIP_CONFIG_FILE="/dev/null", MULTICARD_CACHE=self.scratch / "empty")
        self.assertIn(f"torch=={TORCH_VERSION}", said)

    def test_the_sums_are_those_of_the_files(self):
        sums = dict(line.split()[::-1] for line in (PACKAGES / "SHA256SUMS").read_text().splitlines())
        files = {path.name for path in PACKAGES.iterdir() if path.is_file()} - {"SHA256SUMS"}
        self.assertEqual(set(sums), files)
        for name, expected in sums.items():
            self.assertEqual(hashlib.sha256((PACKAGES / name).read_bytes()).hexdigest(), expected, name)


class Installed(unittest.TestCase):
    def test_on_the_machine_of_the_build_libtorch_is_where_the_build_found_it(self):
        with tempfile.TemporaryDirectory(prefix="multicard-packages.") as folder:
            subprocess.run([cached("CMAKE_COMMAND"), "--install", BUILD, "--prefix", folder], check=True,
                           stdout=subprocess.DEVNULL)
            kept = {name: value for name, value in os.environ.items() if name not in ("TORCH_ROOT", "LD_LIBRARY_PATH")}
            result = subprocess.run([f"{folder}/bin/multicard", "--version"], capture_output=True, text=True,
                                    check=False, env={**kept, "MULTICARD_CACHE": f"{folder}/none"})
            self.assertIn(f"multicard {VERSION}", result.stdout, result.stderr)


if __name__ == "__main__":
    main()
