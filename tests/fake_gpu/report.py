#!/usr/bin/env python3
"""The counts of a run on the fake GPU, or a step's: the difference of two runs divided by the steps between them.

usage: report.py LOG.RANK [LONGER.RANK STEPS] [--sites] [--top 15]
  --sites   who waited, copied and allocated (runs with `fakegpu -b`)
"""
import argparse
import bisect
import collections
import json
import os
import re
import subprocess


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


class Counts:
    """Numbers by kind and name, per step."""

    def __init__(self, first, second, steps):
        self.first, self.second, self.steps = first, second, steps

    def of(self, kind):
        if self.second is None:
            return {name: tuple(values) for name, values in self.first.get(kind, {}).items()}
        short, long = self.first.get(kind, {}), self.second.get(kind, {})
        return {name: tuple((long.get(name, (0, 0))[i] - short.get(name, (0, 0))[i]) / self.steps for i in (0, 1))
                for name in {**short, **long}}


def short_name(kernel):
    """Of ATen's kernels the functors are what distinguishes them."""
    name = re.sub(r"^void |at::native::|c10::|\(anonymous namespace\)::|std::", "", kernel)
    match = re.match(r"(\w*elementwise_kernel|reduce_kernel|multi_tensor_apply_kernel)<(.*)", name)
    if not match:
        return name[:120]
    functors = re.findall(r"(\w*(?:[Ff]unctor|_kernel|kernel_impl|Ops|opmath)\w*)(?:<([\w ]+))?", match[2])
    named = dict.fromkeys(f"{name}<{of}>" if of else name for name, of in functors[:4] if "gpu_kernel" not in name)
    return f"{match[1]} {' '.join(named)}"[:120]


def print_kind(title, values, top):
    total = sum(values.values())
    if not total:
        return
    print(f"{title}: {total:.1f}")
    for name, number in sorted(values.items(), key=lambda item: -item[1])[:top]:
        if number:
            print(f"   {number:9.1f}  {name}")


def print_counts(counts, top):
    kernels = collections.Counter()
    for name, (number, _) in counts.of("kernel").items():
        kernels[short_name(name)] += number
    print_kind("kernels", kernels, top)
    for kind in ("gemm", "convolution", "nccl", "upload", "race"):
        print_kind(kind, {name: number for name, (number, _) in counts.of(kind).items()}, top)
    print("copies:")
    for name, (number, amount) in counts.of("copy").items():
        if number:
            print(f"   {number:9.1f}  {name}  {amount:.0f} B")
    calls = sorted(counts.of("call").items(), key=lambda item: -item[1][0])
    print("calls:", ", ".join(f"{name} {number:.1f}" for name, (number, _) in calls if number))


class Symbols:
    """Functions of the program, which exports none, by their offsets."""

    def __init__(self):
        self.tables = {}

    def find(self, path, offset):
        if path not in self.tables:
            listed = subprocess.run(["nm", "-C", "--defined-only", path], capture_output=True, text=True).stdout
            rows = (line.split(" ", 2) for line in listed.splitlines())
            self.tables[path] = sorted((int(row[0], 16), row[2]) for row in rows if len(row) == 3 and row[1] in "tTwW")
        table = self.tables[path]
        index = bisect.bisect(table, (offset, "\xff")) - 1
        return re.sub(r"\(.*|multicard::|\(anonymous namespace\)::", "", table[index][1]) if index >= 0 else ""


def callers(site, symbols, depth=5):
    """The program's functions above the call, innermost first, and LibTorch's that it went through."""
    own, torch = [], ""
    for path, offset, name in site["frames"]:
        base = os.path.basename(path)
        if base.startswith("multicard"):
            function = symbols.find(path, int(offset, 16) - 1)
            if function not in ("", "main", "_start") and own[-1:] != [function]:
                own.append(function)
        elif not own and "torch" in base and name:
            torch = re.sub(r"\(.*", "", name)
    return site["what"], " < ".join(own[:depth]), torch


def print_sites(first, second, steps):
    symbols, found = Symbols(), collections.Counter()
    for run, sign in ((first, -1 if second else 1), (second, 1)):
        for site in run["sites"] if run else []:
            found[callers(site, symbols)] += sign * site["count"]
    print("sites:")
    for (what, own, torch), number in sorted(found.items(), key=lambda item: -item[1]):
        if number:
            print(f"   {number / steps:8.2f}  {what}: {own}   [{torch}]")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("first")
    parser.add_argument("second", nargs="?")
    parser.add_argument("steps", nargs="?", type=int, default=1)
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--top", type=int, default=15)
    options = parser.parse_args()
    first, second = read(options.first), read(options.second) if options.second else None
    print(f"peak of each device: {[f'{peak / 2**30:.3f} GiB' for peak in (second or first)['peak_device_bytes']]}")
    print_counts(Counts(first, second, options.steps), options.top)
    if options.sites:
        print_sites(first, second, options.steps)


if __name__ == "__main__":
    main()
