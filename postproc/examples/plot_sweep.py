#!/usr/bin/env python3
"""Draws the rates of a sweep over ranks with pandas and matplotlib, from what multicard-post has written.

usage: plot_sweep.py FOLDER FIGURE      FOLDER holds cells.csv and runs.csv, FIGURE ends in .svg, .png or .pdf
"""
import argparse
import pathlib

import matplotlib
import pandas as pd

matplotlib.use("Agg")  # no display is needed
from matplotlib import pyplot  # noqa: E402

TEXT = {name: str for name in ("file", "run", "configuration", "model", "method", "strategy", "status", "error")}


def read(path):
    """Names stay text: the run 0003 does not become 3, nor a configuration called `null` or `NA` a missing value."""
    return pd.read_csv(path, dtype=TEXT, keep_default_na=False, na_values=[""])


def axes_of(table):
    """What the sweep varied, in its order; of a table without axes its configurations."""
    return [column for column in table if column.startswith("axis.")] or ["configuration"]


def name_of(keys, values):
    """"strategy ddp, batch 64": the last part of each key with its value."""
    return ", ".join(str(value) if key == "configuration" else f"{key.rsplit('.', 1)[-1]} {value}"
                     for key, value in zip(keys, values))


def draw(cells, runs, figure):
    keys = axes_of(cells)
    done = runs[runs["status"] == "complete"]
    _, axes = pyplot.subplots(figsize=(6.4, 4))
    axes.plot(done["ranks"], done["rate_per_s"], ".", color="0.7", label="single runs")
    for values, cell in cells[cells["status"] == "complete"].groupby(keys, sort=False, dropna=False):
        low, high = cell["rate_per_s"] - cell["rate_per_s_low"], cell["rate_per_s_high"] - cell["rate_per_s"]
        axes.errorbar(cell["ranks"], cell["rate_per_s"], yerr=[low, high], marker="o", capsize=3,
                      label=name_of(keys, values))
    axes.set_xticks(sorted(cells["ranks"].unique()))
    axes.set_xlabel("ranks")
    axes.set_ylabel(f"{cells['unit'].iloc[0]}/s")
    axes.set_ylim(bottom=0)
    axes.legend()
    pyplot.savefig(figure, bbox_inches="tight")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("figure")
    options = parser.parse_args()
    draw(read(options.folder / "cells.csv"), read(options.folder / "runs.csv"), options.figure)


if __name__ == "__main__":
    main()
