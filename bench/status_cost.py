#!/usr/bin/env python3
"""What writing status.json costs a run: CPU time of all its ranks with it and without it (MULTICARD_STATUS=off).

usage: bench/status_cost.py [--build FOLDER] [--ranks R] [--repeats N] [--steps S] [KEY=VALUE ...]

Trains MobileNetV2 on synthetic images of 32 x 32 for S (1500) steps on R (2) ranks, N (5) times with and without in
turn; KEY=VALUE are overrides of the deck. Prints the seconds of CPU time (user and system, by getrusage, mpirun among
them) and the median ratio of the pairs with its extremes. CPU time depends less on other programs than wall time does,
but on a busy machine it still varies by a few per cent: then take more repeats."""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DECK = """\
task: image
model: {name: mobilenet_v2, width: 0.25}
data: {train: "train*.h5", image_size: 32}
optimizer: {name: sgd, learning_rate: 0.02, momentum: 0.9}
run: {output: out, global_batch: 16, seed: 1, checkpoint_every: 0, keep_checkpoints: 0}
"""


def call(folder, words, status="on"):
    """The CPU seconds of a command."""
    environment = {**os.environ, "MULTICARD_STATUS": status, "MULTICARD_PROGRESS": "off"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit("%s\nended with %d: %s" % (" ".join(map(str, words)), done.returncode, done.stderr))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("overrides", nargs="*", metavar="KEY=VALUE")
    options = parser.parse_args()
    program = options.build.resolve() / "bin/multicard"
    with tempfile.TemporaryDirectory(prefix="multicard-status-cost-") as folder:
        Path(folder, "deck.yaml").write_text(DECK)
        call(folder, [program, "prepare", "images", "--format", "synthetic", "--size", "32", "--classes", "4", "-o",
                      "train", "--limit", "2048"])
        ratios = []
        print("| pair | CPU s with status.json | without | ratio |\n|---|---|---|---|")
        for pair in range(options.repeats):
            seconds = {}
            for status in ("on", "off") if pair % 2 else ("off", "on"):  # neither always comes first
                output = f"out-{pair}-{status}"
                seconds[status] = call(folder, ["mpirun", "-n", str(options.ranks), program, "run", "deck.yaml",
                                                f"run.output={output}", f"run.steps={options.steps}",
                                                *options.overrides], status)
                if Path(folder, output, "status.json").exists() != (status == "on"):
                    sys.exit(f"MULTICARD_STATUS={status} has not decided whether {output}/status.json is there")
            ratios.append(seconds["on"] / seconds["off"])
            print("| %d | %.2f | %.2f | %.4f |" % (pair + 1, seconds["on"], seconds["off"], ratios[-1]), flush=True)
        print("\nmedian ratio %.4f (%.4f to %.4f), ranks: %d, steps: %d" % (
            statistics.median(ratios), min(ratios), max(ratios), options.ranks, options.steps))


if __name__ == "__main__":
    main()
