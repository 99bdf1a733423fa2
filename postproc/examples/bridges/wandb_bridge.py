#!/usr/bin/env python3
"""Copies a run's metrics.jsonl to Weights & Biases.   usage: wandb_bridge.py RUN/metrics.jsonl [PROJECT]

Without a network: WANDB_MODE=offline, and `wandb sync` later.
"""
import json
import pathlib
import sys

import wandb

path = pathlib.Path(sys.argv[1])
with wandb.init(project=sys.argv[2] if len(sys.argv) > 2 else "multicard", name=path.resolve().parent.name) as run:
    run.define_metric("*", step_metric="step")  # evaluations may come at a step that has been logged
    for line in path.open(encoding="utf-8"):
        run.log(json.loads(line))
