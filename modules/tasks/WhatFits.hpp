#pragma once
/// \file What tuning fits a device, known before anything is built for it.

#include <cstdint>
#include <string>
#include <vector>

#include <c10/core/Device.h>

#include "tasks/MemoryEstimate.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// What one method takes, for any number of tokens at a time.
class MethodMemory {
 public:
  /// Measures forward and backward of the deck's model with one and with two of its layers: what the second takes each
  /// further one takes too. Every token counts as a target. Weights are not read. \throws UsageError where the method
  /// cannot start from the deck's model, c10::Error of a device that fails
  MethodMemory(const RunOptions& options, at::Device device);

  /// Of `rows` rows of `length` tokens at a time; of preference pairs each answer has that length.
  MemoryEstimate with(std::int64_t rows, std::int64_t length) const;

 private:
  RunOptions options_;
  at::Device device_;
  std::int64_t num_layers_ = 0, chunk_ = 0;
  MemoryEstimate lasting_;            ///< of all layers
  std::vector<MeasuredPair> passes_;  ///< of one layer and of two
};

/// What a table of fitting micro-batches is about.
struct FitQuestion {
  RunOptions options;          ///< of a language deck
  at::Device device;           ///< where passes are measured
  std::int64_t available = 0;  ///< bytes
};

/// Not collective. Lines of a table: by tuning method, with and without activation checkpointing, and by length of rows
/// the largest run.micro_batch that fits; and what to change where the deck's own choice does not fit. Room for gaps
/// between a GPU's blocks is left. \throws as MethodMemory of a device that fails
std::vector<std::string> what_fits(const FitQuestion& question);

}  // namespace multicard
