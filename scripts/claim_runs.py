"""How the study of the circulating claim starts multicard and keeps what was measured."""
import csv
import io
import json
import os
import re
import shutil
import subprocess
import sys
import time

import yaml  # python3-yaml

HEADER = "study"


def say(text):
    print(text, file=sys.stderr, flush=True)


def number_of(path):
    return len(path.read_text().splitlines())


def merged(grid, other):
    """`other` over `grid`: maps are merged, all else is replaced."""
    out = dict(grid)
    for key, value in other.items():
        both_maps = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both_maps else value
    return out


def words(settings):
    """KEY=VALUE as the command line takes them; JSON is YAML."""
    return ["%s=%s" % (key, json.dumps(value)) for key, value in settings.items()]


class Nodes:
    """Two nodes on this machine while the body runs; without the right to make them, cells on two nodes are left
    out."""

    def __init__(self, claim):
        self.claim = claim

    def __enter__(self):
        done = subprocess.run([self.claim.nodes_script, "up"], capture_output=True, text=True)
        if done.returncode:
            self.claim.no_nodes = done.stderr.strip().splitlines()[-1]
        return self

    def __exit__(self, *_):
        if not self.claim.no_nodes:
            subprocess.run([self.claim.nodes_script, "down"], check=False)


class Claim:
    """A grid, the file of its measured cells, and how runs are started."""

    def __init__(self, options, root):
        self.root, self.quick, self.options = root, options.quick, options
        grid = yaml.safe_load(options.grid.read_text())
        quick = grid.pop("quick", {})
        self.grid = merged(grid, quick) if options.quick else grid
        self.output, self.path = options.output, options.output / "claim.jsonl"
        self.nodes_script = str(root / "scripts/two_nodes.sh")
        os.environ.setdefault("MULTICARD_NODES", "claim%d" % os.getpid())
        os.environ.setdefault("OMP_NUM_THREADS", "1")
        self.no_nodes, self.known, self.left_out = "", {}, set()
        self.decks = {task: root / "inputs/study/claim" / (task + ".yaml") for task in ("image", "text")}
        self.output.mkdir(parents=True, exist_ok=True)

    # --- what was measured

    def begin(self, facts):
        """Reads the cells of an earlier start, which must have been of the same grid."""
        header = {"claim": HEADER, "grid": self.grid, "quick": self.quick,
                  "model": os.path.basename(self.options.model)}
        if not self.path.exists():
            return self.line({**header, **facts})
        lines = [json.loads(line) for line in self.path.read_text().splitlines()]
        if any(lines[0].get(name) != value for name, value in header.items()):
            sys.exit("study_claim: %s was measured by another grid (the claim's decks have changed). Remove it, or "
                     "name another folder with -o." % self.path)
        for line in lines[1:]:
            if "variant" in line:
                self.known[self.key_of(line)] = line["values"]
            if line["claim"] == "left out":
                self.left_out.add(line["what"])
        return None

    @staticmethod
    def key_of(line):
        return tuple(line[name] for name in ("claim", "place", "task", "variant", "repeat"))

    def line(self, content):
        with open(self.path, "a", encoding="utf-8") as file:
            file.write(json.dumps(content) + "\n")

    def leave_out(self, what, reason):
        if what not in self.left_out:
            self.left_out.add(what)
            say("      left out: %s (%s)" % (what, reason))
            self.line({"claim": "left out", "what": what, "reason": reason})

    def cell(self, claim, place, task, variant, repeat, measure, facts=None):
        """The values of a cell: those of an earlier start, or what `measure` returns now."""
        line = {"claim": claim, "place": place, "task": task, "variant": variant, "repeat": repeat}
        key = self.key_of(line)
        if key in self.known:
            return self.known[key]
        if self.no_nodes and self.is_on_two_nodes(place):
            self.leave_out(place, self.no_nodes)
            return {"step_s": 0.0}
        started = time.monotonic()
        self.known[key] = values = measure()
        if claim != "simulation":
            say("      %-10s %s: %s, %s, repeat %d  (%.0f s)" % (claim, place, task, variant, repeat + 1,
                                                                time.monotonic() - started))
        self.line({**line, **(facts or {}), "values": values})
        return values

    def is_on_two_nodes(self, place):
        return any(one["name"] == place and len(one["ranks"]) > 1 for one in self.grid["places"])

    # --- what is run

    def data_of(self, task):
        prefix = self.options.images if task == "image" else self.options.texts
        data = {"data.train": prefix + "-train*.h5", "data.test": prefix + "-test*.h5"}
        return data if task == "image" else {**data, "model.path": self.options.model}

    def batch_of(self, task):
        return yaml.safe_load(self.decks[task].read_text())["run"]["global_batch"]

    def launch(self, place, *arguments):
        """multicard on the ranks of a place."""
        ranks = place["ranks"]
        if len(ranks) == 1:
            start = ["mpirun", "-n", str(ranks[0])]
        else:
            self.do([self.nodes_script, "limit", place.get("rate", "none")])
            start = [self.nodes_script, "run", "%d,%d" % tuple(ranks)]
            start += ["--map-by", "node"] if place.get("spread") else []
        idle = {"OMPI_MCA_mpi_yield_when_idle": "1"} if sum(ranks) > os.cpu_count() else {}
        return self.do([*start, "multicard", *map(str, arguments)], {**os.environ, **idle})

    @staticmethod
    def do(command, environment=None):
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            sys.exit("study_claim: %s ended with %d\n%s" % (" ".join(command), done.returncode, done.stderr[-3000:]))
        return done.stdout

    def fresh(self, name):
        folder = self.output / name
        shutil.rmtree(folder, ignore_errors=True)
        return folder

    def rows_of(self, results):
        return list(csv.DictReader(io.StringIO(self.do(["multicard-post", str(results), "--csv=runs"]))))

    def run(self, place, task, settings):
        """The row of a run in the report's table, and its results file."""
        folder = self.fresh("run")
        settings = {"profile.skip_steps": min(5, settings["run.steps"] // 3), **self.data_of(task), **settings}
        self.launch(place, "run", self.decks[task], *words({**settings, "run.output": str(folder)}))
        return self.rows_of(folder / "results.h5")[0], folder / "results.h5"

    def share(self, place, settings):
        folder = self.fresh("share")
        self.launch(place, "share", self.root / "inputs/study/claim/pair.yaml",
                    *words({**settings, "run.output": str(folder)}))
        return self.rows_of(folder / "results.h5"), json.loads((folder / "share.json").read_text())

    def plan(self, deck):
        path = self.output / "plan.yaml"
        path.write_text(json.dumps(deck))
        return json.loads(self.do(["multicard", "plan", str(path), "--json"]))

    def exchange_run(self, place, task, settings):
        """What a run sent, how long its steps took, and its loss at the end."""
        before = self.sent()
        row, results = self.run(place, task, {**settings, "data.test": None})
        link = max(after - sent for after, sent in zip(self.sent(), before))
        kind = "/runs/main/communication/all_reduce/"
        return {"link": link, "payload": numbers_in(results, kind + "payload_bytes")[0],
                "inside_s": max(numbers_in(results, kind + "seconds_total")), "step_s": float(row["step_s"]),
                "loss": last_quarter(numbers_in(results, "/runs/main/metrics/train_loss"))}

    def sent(self):
        return [int(word) for word in self.do([self.nodes_script, "bytes"]).split()]

    @staticmethod
    def knows(key):
        return subprocess.run(["multicard", "help", key], capture_output=True).returncode == 0


def last_quarter(losses):
    """Their mean: less noise than one step has."""
    last = losses[-max(1, len(losses) // 4):]
    return sum(last) / len(last)


def numbers_in(results, dataset):
    done = subprocess.run(["h5dump", "-d", dataset, "-m", "%.17g", "-y", "-w", "0", str(results)], capture_output=True,
                          text=True)
    if done.returncode:
        sys.exit("study_claim: %s has no %s" % (results, dataset))
    body = re.search(r"DATA \{(.*?)\}", done.stdout, re.S).group(1)
    return [float(value) for value in body.split(",") if value.strip()]
