"""What the tests on the fake GPU share: starting the program on it, its counts, decks and models. MULTICARD_BIN is the
folder of the programs, MULTICARD_BUILD that of the build, MULTICARD_SOURCE the source tree; FAKE_GPU_LACKS, where it
is set, says why the tests are skipped."""

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from collections import Counter as Ages
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(SOURCE / "tests" / "commands"))
# Its folder is known only now; ranks_of and wait_for are for the tests.
from command_test import H5DUMP, MULTICARD, CommandTest, ranks_of, shards_of, wait_for  # noqa: E402,F401

LIBRARIES = Path(os.environ["MULTICARD_BUILD"]) / "fake_gpu"
SKIPPED = 77
TINY_MODEL = SOURCE / "tests/data/models/tinystories-656K"

IMAGE_DECK = """\
task: image
model: {name: mobilenet_v2, width: 0.25, dropout: 0.0}
data: {train: "DATA/train*.h5", test: "DATA/test*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.01, momentum: 0.9}
run: {output: SCRATCH/out, device: cuda, steps: 4, global_batch: 16, seed: 3, checkpoint_every: 0}
evaluate: {every_epochs: 0}
"""
LANGUAGE_DECK = """\
task: llm
model: {path: MODEL, dtype: fp32}
method: {name: lora, rank: 4, alpha: 8}
data: {train: "DATA/text-train*.h5", test: "DATA/text-test*.h5", max_length: 160}
optimizer: {name: adamw, learning_rate: 0.002, clip_norm: 1.0}
run: {output: SCRATCH/out, device: cuda, steps: 4, global_batch: 4, seed: 3, checkpoint_every: 0}
evaluate: {every_epochs: 0}
"""


@dataclasses.dataclass
class Counts:
    """What one rank did on its GPU, or the difference of two runs. Names as in the log: kind -> name -> number."""

    calls: dict
    amounts: dict
    live_events: int
    event_wait_ages: list
    peak_device_bytes: int
    order: list  # with order=True what was asked for: [what, bytes, address of the memory that it reads]

    @staticmethod
    def of(path, device=0):
        log = json.loads(Path(path).read_text())
        kinds = {kind: values for kind, values in log.items() if isinstance(values, dict)}
        return Counts({k: {name: n for name, (n, _) in v.items()} for k, v in kinds.items()},
                      {k: {name: amount for name, (_, amount) in v.items()} for k, v in kinds.items()},
                      log["live_events"], log["event_wait_ages"], log["peak_device_bytes"][device], log["order"])

    def number(self, kind, name=None):
        """How many of a kind there were, all together or of one name."""
        found = self.calls.get(kind, {})
        return found.get(name, 0) if name else sum(found.values())

    def launches(self):
        return self.number("kernel") + self.number("gemm") + self.number("convolution")

    def copies(self, word):
        """Copies whose name (`SOURCE -> TARGET`, with `, blocking`) holds the word."""
        return sum(n for name, n in self.calls.get("copy", {}).items() if word in name)

    def bytes_copied(self, word):
        return sum(n for name, n in self.amounts.get("copy", {}).items() if word in name)

    def waits(self):
        return {name: self.number("call", name) for name in
                ("cudaStreamSynchronize", "cudaDeviceSynchronize", "cudaEventSynchronize")}


def environment_of(devices=1, **settings):
    """The environment in which a program finds fake GPUs. Settings: see the script fakegpu; is_async=True is its -a."""
    preload = sorted(str(path) for path in LIBRARIES.glob("lib*.so.*"))
    if "absent" in settings:
        preload.append(str(LIBRARIES / "libfake_absent.so"))
    values = {"FAKE_GPU_" + name.upper(): str(int(value) if isinstance(value, bool) else value)
              for name, value in settings.items()}
    if "FAKE_GPU_IS_ASYNC" in values:
        values["FAKE_GPU_ASYNC"] = values.pop("FAKE_GPU_IS_ASYNC")
    return {**os.environ, **values, "FAKE_GPU_DEVICES": str(devices), "LD_PRELOAD": ":".join(preload),
            "NVTX_INJECTION64_PATH": str(LIBRARIES / "libfake_nvtx.so")}


def launch(ranks, *arguments, devices=None, **settings):
    """Starts multicard on `ranks` fake GPUs (or `devices`)."""
    command = [MULTICARD, *map(str, arguments)]
    if ranks > 1:
        command = ["mpirun", "-n", str(ranks), *command]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
                            env=environment_of(ranks if devices is None else devices, **settings))


def run(ranks, *arguments, timeout=240, **settings):
    process = launch(ranks, *arguments, **settings)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        CommandTest.kill_group(process)
        raise
    return process.returncode, out, err


def counts_of_run(log, ranks, *arguments, **settings):
    """Runs multicard, which must end with 0; the counts of rank 0, or of all ranks."""
    code, _, err = run(ranks, *arguments, log=log, **settings)
    if code != 0:
        raise AssertionError("exit code %d: %s" % (code, err))
    return [Counts.of("%s.%d" % (log, rank), rank) for rank in range(ranks)]


def counts_of_steps(log, ranks, first, last, *arguments, **settings):
    """What a run of multicard does from the end of its `first` steps to that of its `last`, a list by rank; of events
    those that are left when it ends."""
    ends = counts_of_run(log, ranks, *arguments, "run.steps=%d" % (last + 1), log_at="%d,%d" % (first, last),
                         **settings)
    return [dataclasses.replace(difference(*(Counts.of("%s.%d.%d" % (log, rank, step), rank)
                                             for step in (first, last))), live_events=end.live_events)
            for rank, end in enumerate(ends)]


def difference(short, long):
    """What was done more at a later moment, or by a longer run."""
    def minus(a, b):
        return {kind: {name: n - b.get(kind, {}).get(name, 0) for name, n in names.items()}
                for kind, names in a.items()}
    return Counts(minus(long.calls, short.calls), minus(long.amounts, short.amounts),
                  long.live_events - short.live_events,
                  list((Ages(long.event_wait_ages) - Ages(short.event_wait_ages)).elements()),
                  long.peak_device_bytes - short.peak_device_bytes, long.order[len(short.order):])


def memory_of_ranks(results, name="main"):
    """Bytes of a run in a results file, of each rank, by what they are: peaks, and `predicted` where it is recorded."""
    found = {}
    for key, path in (("device_peak_bytes", "device_peak_bytes"), ("device_reserved_bytes", "device_reserved_bytes"),
                      ("predicted", "model/predicted_total")):
        place = "/runs/%s/memory/%s" % (name, path)
        done = subprocess.run([H5DUMP, "-y", "-d", place, str(results)], capture_output=True, text=True)
        if done.returncode == 0:
            found[key] = [int(word) for word in re.search(r"DATA \{\s*([\d,\s]+)", done.stdout)[1].split(",")]
    return found


def memory_of(results, name="main"):
    """Those of rank 0."""
    return {key: values[0] for key, values in memory_of_ranks(results, name).items()}


def number_in(results, path):
    """The first number of a dataset of the run, 0 where there is none."""
    done = subprocess.run([H5DUMP, "-y", "-d", "/runs/main/" + path, str(results)], capture_output=True, text=True)
    found = re.search(r"DATA \{\s*([\d.e+]+)", done.stdout)
    return int(float(found[1])) if done.returncode == 0 and found else 0


def make_image_data(folder, size=32, train=512, test=64, classes=4):
    for name, limit in (("train", train), ("test", test)):
        copy_shards(folder, name, {}, "images", "--format", "synthetic", "--size", size, "--classes", classes,
                    "--limit", limit)


def make_text_data(folder, model=TINY_MODEL, number=60):
    records = json.loads((SOURCE / "inputs/text/instruction-data.json").read_text())[:number]
    copy_shards(folder, "text", {"records.json": json.dumps(records)}, "text", "--type", "alpaca", "--tokenizer",
                model, "--in", "records.json", "--split", "0.2")


def prepare(*arguments):
    done = subprocess.run([MULTICARD, "prepare", *map(str, arguments)], capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(done.stderr)


def copy_shards(folder, prefix, inputs, *words):
    """As CommandTest.copy_shards(), for the tests of a class."""
    shards = shards_of(prefix, inputs, 1, tuple(map(str, words)))
    for name in os.listdir(shards):
        shutil.copy(Path(shards, name), folder)


class FakeGpuTest(CommandTest):
    """A folder of its own for each test, and shards that the tests of a class share."""

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="multicard-fake-gpu-")
        cls.addClassCleanup(shutil.rmtree, cls.data, True)
        make_image_data(cls.data)
        make_text_data(cls.data)

    def setUp(self):
        super().setUp()
        self.image = self.write("image.yaml", IMAGE_DECK)
        self.language = self.write("language.yaml", LANGUAGE_DECK)

    def write(self, name, text, model=TINY_MODEL):
        text = text.replace("SCRATCH", self.scratch).replace("DATA", self.data).replace("MODEL", str(model))
        Path(self.path(name)).write_text(text)
        return self.path(name)

    def counts(self, ranks, *arguments, **settings):
        shutil.rmtree(self.path("out"), True)
        return counts_of_run(self.path("counts"), ranks, *arguments, **settings)

    def steady(self, ranks, deck, *overrides, first=20, more=40, **settings):
        """Counts of `more` steps of a run that has done its `first`, a list by rank."""
        shutil.rmtree(self.path("out"), True)
        return counts_of_steps(self.path("counts"), ranks, first, first + more, "run", deck, "run.keep_checkpoints=0",
                               *overrides, **settings)


def main():
    if os.environ.get("FAKE_GPU_LACKS"):
        print("SKIPPED: " + os.environ["FAKE_GPU_LACKS"])
        sys.exit(SKIPPED)
    unittest.main(argv=[sys.argv[0], "-v", *sys.argv[1:]])
