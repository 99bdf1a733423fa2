#!/usr/bin/env python3
"""Makes the results files of tests/data/reports by running multicard: two CPU ranks and, for one file, the fake GPU.

usage: make_results.py [-o FOLDER] [NAME ...]      all of them by default: two minutes on two cores

MULTICARD_BUILD names the build folder (build/release by default); `profile_gpu` needs the fake GPU (target fake_gpu).
Seeds, decks and data are fixed, so that losses are the same each time; times are those of the machine. Files are
compressed with gzip, since the seal of a results file allows no other change."""

import argparse
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
os.environ.setdefault("MULTICARD_BUILD", str(SOURCE / "build/release"))
os.environ.setdefault("MULTICARD_BIN", os.environ["MULTICARD_BUILD"] + "/bin")
os.environ["PATH"] = os.environ["MULTICARD_BIN"] + ":" + os.environ["PATH"]
sys.path.insert(0, str(SOURCE / "tests/fake_gpu"))
from fake_run import environment_of  # noqa: E402

MODEL = "tests/data/models/tinystories-656K"
PREFERENCES = "inputs/text/instruction-data-with-preference.json"
FOLDER = SOURCE / "tests/data/reports"

IMAGES = """\
task: image
model: {name: mobilenet_v2, width: 0.25}
data: {train: "train*.h5", test: "test*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.02, momentum: 0.9}
schedule: {name: cosine, warmup_steps: 5, total_steps: 96, min_factor: 0.1}
run: {output: out, epochs: 1, global_batch: 16, seed: 1, checkpoint_every: 0, keep_checkpoints: 0}
"""
LANGUAGE = f"""\
task: llm
model: {{path: {MODEL}, dtype: fp32}}
method: {{name: lora, rank: 8, alpha: 16}}
data: {{train: "text-train*.h5", test: "text-test*.h5", max_length: 128}}
optimizer: {{name: adamw, learning_rate: 2.0e-3, weight_decay: 0.01, clip_norm: 1.0}}
run: {{output: out, epochs: 1, global_batch: 8, seed: 1, keep_checkpoints: 0, checkpoint_every: 0}}
evaluate: {{limit: 32}}
"""
METHODS = ("full", "lora", "qlora", "qat", "lora-qat", "dpo", "lora-dpo", "qlora-dpo")


class Maker:
    """Runs the program in a folder with data and the decks images.yaml and language.yaml."""

    def __init__(self, folder):
        self.folder = folder
        for name in ("tests", "inputs"):
            (folder / name).symlink_to(SOURCE / name)
        self.write("images.yaml", IMAGES)
        self.write("language.yaml", LANGUAGE)

    def write(self, name, text):
        (self.folder / name).write_text(text)
        return name

    def call(self, ranks, *words, codes=(0,), env=None):
        command = ["multicard", *map(str, words)]  # files keep it, and the environment: no paths of this machine
        if ranks > 1:
            command = ["mpirun", "-n", str(ranks), *command]
        env = {name: value for name, value in (env or os.environ).items() if not name.startswith("MULTICARD_")}
        done = subprocess.run(command, cwd=self.folder, env=env, capture_output=True, text=True, check=False)
        if done.returncode not in codes:
            sys.exit("%s\nended with %d:\n%s" % (" ".join(command), done.returncode, done.stderr))

    def images(self):
        if not (self.folder / "train-00000-of-00001.h5").exists():
            for name, limit in (("train", 512), ("test", 128)):
                self.call(1, "prepare", "images", "--format", "synthetic", "--size", 32, "--classes", 4, "-o", name,
                          "--limit", limit)

    def texts(self):
        if not list(self.folder.glob("text-*.h5")):
            records = json.loads((SOURCE / "inputs/text/instruction-data.json").read_text())[:400]
            self.write("records.json", json.dumps(records))
            self.call(1, "prepare", "text", "--type", "alpaca", "--tokenizer", MODEL, "--in", "records.json",
                      "--split", 0.2, "--max-length", 128, "-o", "text")

    def run(self, deck, *overrides, ranks=2, **options):
        self.call(ranks, "run", deck, *overrides, **options)
        return self.folder / "out/results.h5"

    def sweep(self, deck, *overrides, ranks=2, **options):
        self.call(ranks, "sweep", self.write("sweep.yaml", deck), "run.output=out", *overrides, **options)
        return self.folder / "out/results.h5"

    def strong(self):
        self.images()
        return self.sweep("base: images.yaml\nsweep: {ranks: all}\nrepeat: 3\nlimits: {steps: 40, skip_steps: 10}\n",
                          "run.global_batch=32")

    speedup = strong  # on an idle machine

    def weak(self):
        self.images()
        return self.sweep("base: images.yaml\nsweep: {ranks: all}\nrepeat: 3\nlimits: {steps: 40, skip_steps: 10}\n",
                          "run.global_batch=null", "run.batch_per_rank=16")

    def more_ranks(self):
        """Enough numbers of ranks for a model of the step time; more ranks than cores."""
        self.images()
        return self.sweep("base: images.yaml\nsweep: {ranks: [1, 2, 4]}\nrepeat: 2\n"
                          "limits: {steps: 24, skip_steps: 6}\n", "run.global_batch=32", ranks=4)

    def options(self):
        self.images()
        return self.sweep("base: images.yaml\nsweep: {ranks: all, parallel.strategy: [dp, ddp-ds], "
                          "data.image_size: [32, 64], data.layout: [nhwc, nchw]}\n"
                          "repeat: 2\nlimits: {steps: 14, skip_steps: 4}\n")

    def methods(self):
        self.call(1, "prepare", "text", "--type", "preference", "--tokenizer", MODEL, "--split", 0.1, "-o", "pairs",
                  "--in", PREFERENCES)
        cases = ", ".join("{name: %s, method: {name: %s%s}}" % (name, name, ", group_size: 64" if "qat" in name else "")
                          for name in METHODS)
        return self.sweep(f"base: language.yaml\nsweep: {{ranks: all, cases: [{cases}]}}\n"
                          "data: {train: 'pairs-train*.h5', test: 'pairs-test*.h5', drop_last: true}\n"
                          "method: null\noptimizer: {learning_rate: 1.0e-3}\nrun: {global_batch: 4, micro_batch: 2}\n"
                          "evaluate: {limit: 16}\nlimits: {steps: 16, skip_steps: 4}\n")

    def training(self):
        self.images()
        return self.run("images.yaml", "run.epochs=4")

    def before_after(self):
        self.texts()
        return self.run("language.yaml", "run.epochs=2", "evaluate.at_start=true", "evaluate.max_new=24",
                        "evaluate.prompts=['Name a colour.', 'Name the opposite of near.']")

    def failed(self):
        """tf32 does not exist on a CPU; a learning rate of 1e30 gives losses that are not finite."""
        self.images()
        return self.sweep("base: images.yaml\nsweep: {precision: [fp32, tf32, fp16, bf16], "
                          "optimizer.learning_rate: [0.02, 1.0e+30]}\nlimits: {steps: 12, skip_steps: 2}\n")

    def not_finite(self):
        self.images()
        return self.run("images.yaml", "optimizer.learning_rate=1e30", codes=(6,))

    def few_steps(self):
        self.images()
        return self.run("images.yaml", "run.steps=2", "data.test=null", ranks=1)

    def share(self):
        self.images()
        self.texts()
        self.call(2, "share", self.write("share.yaml", (
            "tasks:\n  - {deck: images.yaml, name: vision, steps: 260}\n"
            "  - {deck: language.yaml, name: text, steps: 160, weight: 2}\n"
            "policy: {interval_s: 1}\nrun: {output: out}\n")))
        return self.folder / "out/results.h5"

    def profile_cpu(self):
        self.images()
        return self.sweep("base: images.yaml\nsweep: {parallel.strategy: [dp, ddp-ds]}\n"
                          "profile: {enabled: true, steps: 4}\nlimits: {steps: 8, skip_steps: 3}\n")

    def profile_gpu(self):
        self.images()
        return self.sweep("base: images.yaml\nsweep: {parallel.strategy: [dp, ddp-ds]}\n"
                          "profile: {enabled: true, steps: 4}\nlimits: {steps: 8, skip_steps: 3}\n",
                          "run.device=cuda", "data.test=null", env=environment_of(2))

    def evaluation(self):
        self.images()
        self.run("images.yaml", "run.epochs=4", "run.keep_checkpoints=1")
        self.call(2, "eval", "images.yaml")
        return self.folder / "out/eval.h5"

    def planned(self, deck, *overrides):
        """What a plan or a replay prints: JSON lines, in which the solver's time alone depends on the machine."""
        command = ["multicard", "plan", deck, *overrides]
        if "plan" in deck:
            command.append("--json")
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=True)
        path = self.folder / "plan.json"
        path.write_text(re.sub(r'"solve_ms":[0-9.e-]+', '"solve_ms":1', done.stdout))
        return path

    def plan(self):
        return self.planned("inputs/plan/example.yaml")

    def plan_sizes(self):
        """Plans for machines of four sizes."""
        return self.planned("inputs/plan/example.yaml", "machine={gpus: [4, 8, 12, 16]}")

    def replay(self):
        files = "tests/data/allocation/multicard"
        return self.planned(self.write("replay.yaml", (
            f"replay: {{layout: multicard, workload: {files}/workload.csv, traces: {files}, nodes: 1, "
            "gpus_per_node: 4, policy: [fifo, fifo-backfill, tiresias, greedy, adaptive]}\n")))


NAMES = [name for name in vars(Maker) if name not in ("write", "call", "images", "texts", "run", "sweep", "planned")
         and not name.startswith("_")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", dest="folder", type=Path, default=FOLDER)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(NAMES))
    options = parser.parse_args()
    if unknown := set(options.names) - set(NAMES):
        parser.error("no such file: " + ", ".join(sorted(unknown)))
    options.folder.mkdir(parents=True, exist_ok=True)
    for name in options.names or NAMES:
        with tempfile.TemporaryDirectory(prefix="multicard-reports-") as scratch:
            path = getattr(Maker(Path(scratch)), name)()
            content = path.read_bytes()
        packed = gzip.compress(content, 9, mtime=0)
        (options.folder / (name + path.suffix + ".gz")).write_bytes(packed)
        print("%-14s %7d bytes, %6d as gzip" % (name, len(content), len(packed)), flush=True)


if __name__ == "__main__":
    main()
