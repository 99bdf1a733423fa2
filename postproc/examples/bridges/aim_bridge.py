#!/usr/bin/env python3
"""Copies a run's metrics.jsonl to Aim.   usage: aim_bridge.py RUN/metrics.jsonl [EXPERIMENT]

Writes to the repository .aim of the current folder, which `aim up` shows.
"""
import json
import pathlib
import sys

import aim

path = pathlib.Path(sys.argv[1])
run = aim.Run(experiment=sys.argv[2] if len(sys.argv) > 2 else "multicard", capture_terminal_logs=False,
              system_tracking_interval=None)
run.name = path.resolve().parent.name
for line in map(json.loads, path.open(encoding="utf-8")):
    step, _ = line.pop("step"), line.pop("time")
    for name, value in line.items():
        run.track(value, name=name, step=step)
run.close()
