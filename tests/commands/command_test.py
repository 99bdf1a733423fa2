"""What the tests of the commands share: starting the programs, decks, reading results. MULTICARD_BIN is the folder of
the programs."""

import csv
import hashlib
import io
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

BIN = Path(os.environ["MULTICARD_BIN"])
MULTICARD, POST = str(BIN / "multicard"), str(BIN / "multicard-post")
H5DUMP = shutil.which("h5dump") or "h5dump"

DECK = """\
task: image
model: {name: mobilenet_v2, width: 0.25, dropout: 0.0}
data: {train: "SCRATCH/train*.h5", test: "SCRATCH/test*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.005, momentum: 0.9}
run: {output: SCRATCH/out, epochs: 1, global_batch: 16, seed: 3, checkpoint_every: 4, log_every: 1}
"""


def launch(ranks, *arguments, **options):
    """Starts multicard under mpirun (one rank: without it)."""
    command = [MULTICARD, *arguments]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), *command]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)


def run(ranks, *arguments, timeout=120, **options):
    process = launch(ranks, *arguments, **options)
    out, err = process.communicate(timeout=timeout)
    return process.returncode, out, err


def ranks_of(launcher):
    """Process ids of the multicard ranks below a launcher, in order of their start."""
    text = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(launcher.pid)],
                          capture_output=True, text=True).stdout
    return [int(line.split()[0]) for line in text.splitlines() if line.split()[1] == "multicard"]


def wait_for(condition, seconds=60):
    end = time.time() + seconds
    while time.time() < end:
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError("nothing happened within %d s" % seconds)


def shards_of(prefix, inputs, ranks, words):
    """The folder of shards for CommandTest.copy_shards(). Tests run at the same time: each makes what is missing
    in a folder of its own, and the first to rename it has made it for all."""
    kept = Path(os.environ["MULTICARD_BUILD"]) / "tests/shards" / str(os.stat(MULTICARD).st_mtime_ns)
    kept.mkdir(parents=True, exist_ok=True)
    for other in kept.parent.iterdir():
        if other != kept:
            shutil.rmtree(other, ignore_errors=True)  # of an earlier build
    key = hashlib.sha256(repr((prefix, sorted(inputs.items()), ranks, words)).encode()).hexdigest()
    if not (kept / key).exists():
        making = tempfile.mkdtemp(dir=kept)
        for name, text in inputs.items():
            Path(making, name).write_text(text)
        code, _, err = run(ranks, "prepare", *words, "-o", prefix, cwd=making)
        if code:
            raise AssertionError(err)
        try:
            os.rename(making, kept / key)
        except OSError:
            shutil.rmtree(making)
    return kept / key


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.scratch = tempfile.mkdtemp(prefix="multicard-commands-")
        self.addCleanup(shutil.rmtree, self.scratch, True)
        self.deck = self.path("deck.yaml")
        Path(self.deck).write_text(DECK.replace("SCRATCH", self.scratch))

    def path(self, name):
        return os.path.join(self.scratch, name)

    def prepare(self, train=64, test=16, ranks=1):
        for name, limit in (("train", train), ("test", test)):
            self.copy_shards(name, {}, ranks, "images", "--format", "synthetic", "--size", "32", "--classes", "4",
                             "--limit", str(limit))

    def copy_shards(self, prefix, inputs, ranks, *words):
        """What `multicard prepare WORDS -o PREFIX` makes of the files `inputs` (name -> text), with these files. The
        tests of a build make equal shards once: starting the program takes longer than copying them."""
        folder = shards_of(prefix, inputs, ranks, words)
        for name in os.listdir(folder):
            shutil.copy(os.path.join(folder, name), self.path(name))

    def prepare_pixels(self, pixel, count=64):
        """Training shards of grey 32 x 32 images of 4 classes; `pixel(i)` is the value of the i-th of all pixels."""
        with open(self.path("images"), "wb") as file:
            file.write(struct.pack(">IIII", 0x803, count, 32, 32) + bytes(map(pixel, range(count * 32 * 32))))
        with open(self.path("labels"), "wb") as file:
            file.write(struct.pack(">II", 0x801, count) + bytes(i % 4 for i in range(count)))
        self.expect(0, run(1, "prepare", "images", "--format", "idx", "--images", self.path("images"), "--labels",
                           self.path("labels"), "--classes", "4", "-o", self.path("train")))

    def expect(self, code, result, *texts):
        """`texts` are patterns of standard error, in which what to do stands on a line after its error."""
        self.assertEqual(result[0], code, "\n".join(result[1:]))
        for text in texts:
            self.assertRegex(result[2] + result[2].replace("\n  ", " "), text)
        return result

    def runs(self, results):
        """The table of runs that multicard-post prints, a dictionary each."""
        done = subprocess.run([POST, results, "--csv"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return list(csv.DictReader(io.StringIO(done.stdout)))

    def dataset(self, results, path):
        """Values of a float dataset, bit for bit as text."""
        done = subprocess.run([H5DUMP, "-d", path, "-m", "%.17g", "-y", "-w", "0", results],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        body = re.search(r"DATA \{(.*?)\}", done.stdout, re.S).group(1)
        return [value.strip() for value in body.split(",") if value.strip()]

    def metric(self, name, output="out"):
        """What a run has recorded, in the order of steps."""
        return [float(x) for x in self.dataset(self.path(output + "/results.h5"), "/runs/main/metrics/" + name)]

    def attribute(self, results, path):
        done = subprocess.run([H5DUMP, "-a", path, results], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def text(self, results, path):
        """A dataset of texts as h5dump shows it."""
        done = subprocess.run([H5DUMP, "-d", path, results], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def start_long_run(self, *overrides):
        """A run of two ranks that lasts long enough to be disturbed; returns once it trains."""
        self.prepare()
        process = launch(2, "run", self.deck, "run.epochs=100000", *overrides, start_new_session=True)
        self.addCleanup(self.kill_group, process)
        wait_for(lambda: os.path.isdir(self.path("out/checkpoints")) and
                 any(Path(self.path("out/checkpoints")).glob("step_*/COMPLETE")))
        return process

    @staticmethod
    def kill_group(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.communicate()
