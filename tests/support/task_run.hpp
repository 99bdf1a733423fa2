#pragma once
// Small whole runs from shards, for the tests of runs.

#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include "prepare/sets/Prepare.hpp"
#include "run/TaskRun.hpp"
#include "support/test_world.hpp"

namespace multicard::test {

/// 37 training and 13 test rows in 3 shards: blocks and batches are uneven on every number of ranks.
inline void write_shards(const ScratchFolder& scratch) {
  for (const auto& [name, count] : {std::pair{"train", 37}, std::pair{"test", 13}}) {
    PrepareOptions options;
    options.format = ImageFormat::synthetic;
    options.size = 40;
    options.classes = 10;
    options.limit = count;
    options.num_shards = 3;
    options.output = scratch / name;
    options.quiet = true;
    prepare_images(options, world());
  }
}

inline RunOptions trained_start(const ScratchFolder& scratch) {
  RunOptions options;
  options.model.width = 0.25;
  options.model.dropout = 0.0;
  options.model.weights = source_path("tests/data/oracles/mobilenet/init.safetensors").string();
  options.data.train = scratch / "train*.h5";
  options.data.test = scratch / "test*.h5";
  options.data.image_size = 64;
  options.optimizer.learning_rate = 0.01;
  options.optimizer.momentum = 0.9;
  options.precision = Precision::fp64;
  options.run.output = scratch / "out";
  options.run.epochs = 2;
  options.run.global_batch = 8;
  options.run.keep_checkpoints = 0;
  return options;
}

struct Trained {
  RunResult result;
  NamedTensors state;
};

inline Trained train(const RunOptions& options, const Communicator& communicator) {
  TaskRun training(options, "", communicator, {Verbosity::quiet, std::nullopt});
  RunResult result = training.run(nullptr);
  return {std::move(result), training.task().model_part().tensors};
}

inline void expect_same(const Trained& a, const Trained& b, double tolerance) {
  for (const char* metric : {"train_loss", "eval_loss", "eval_accuracy"}) {
    const auto& x = a.result.summary.metrics.at(metric).values;
    const auto& y = b.result.summary.metrics.at(metric).values;
    ASSERT_EQ(x.size(), y.size()) << metric;
    for (std::size_t i = 0; i < x.size(); ++i)
      EXPECT_NEAR(x[i], y[i], tolerance * (1 + std::abs(y[i]))) << metric << " " << i;
  }
  for (std::size_t i = 0; i < a.state.size(); ++i) {
    const at::Tensor x = a.state[i].tensor.detach().to(at::kDouble), y = b.state[i].tensor.detach().to(at::kDouble);
    EXPECT_LE((x - y).norm().item<double>(), tolerance * (1 + y.norm().item<double>())) << a.state[i].name;
  }
}

}  // namespace multicard::test
