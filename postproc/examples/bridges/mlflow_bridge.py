#!/usr/bin/env python3
"""Copies a run's metrics.jsonl to MLflow.   usage: mlflow_bridge.py RUN/metrics.jsonl [EXPERIMENT]

MLFLOW_TRACKING_URI names the server, or a file: sqlite:///mlflow.db
"""
import json
import pathlib
import sys

import mlflow
from mlflow.entities import Metric

path = pathlib.Path(sys.argv[1])
mlflow.set_experiment(sys.argv[2] if len(sys.argv) > 2 else "multicard")
lines = [json.loads(line) for line in path.open(encoding="utf-8")]
metrics = [Metric(name, value, int(1000 * line["time"]), line["step"])
           for line in lines for name, value in line.items() if name not in ("step", "time")]
with mlflow.start_run(run_name=path.resolve().parent.name) as run:
    for first in range(0, len(metrics), 1000):  # the most that a call may hold
        mlflow.MlflowClient().log_batch(run.info.run_id, metrics[first:first + 1000])
