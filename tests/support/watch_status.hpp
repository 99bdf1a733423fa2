#pragma once
/// \file A status of a run for tests.

#include "watch/WatchStatus.hpp"

namespace multicard::test {

/// With every part that a status can have but those of sweeps and shares.
inline WatchStatus whole_status() {
  WatchStatus status = status_of_process("run");
  status.state = "training";
  status.updated = status.started + 10;
  WatchedRun& run = status.run.emplace();
  run.output = "results/\"a\\b\"";
  run.state = "training";
  run.ranks = 2;
  run.hosts = 1;
  run.step = 30;
  run.total_steps = 120;
  run.epoch = 2;
  run.epochs = 4;
  run.loss = 0.5;
  run.rate = 1234.5;
  run.unit = "images";
  run.step_s = 0.02;
  run.left_s = 1.8;
  run.phases = {0.01, 0, 0.3, 0.5, 0.1, 0.05, 0.04};
  run.evaluation = {{"eval_loss", 0.75}};
  run.evaluated_at = 20;
  run.predicted = {{"total", 1000}};
  run.checkpoint = {20, status.started + 5, 0.25, kNone};
  run.per_rank = {{0, 0.02, 0.018, 0.01, 0.1}, {1, 0.02, 0.015, 0.01, 0.25}};
  run.memory = {{"host", 100, 200}};
  run.findings = {{"straggler", "Rank 0 takes longer than the others and they wait for it.", "", 0.2}};
  run.problem = "disk full";
  run.history = {{10, 1.5, 1000}, {20, kNone, 1100}, {30, 0.5, 1234.5}};
  return status;
}

}  // namespace multicard::test
