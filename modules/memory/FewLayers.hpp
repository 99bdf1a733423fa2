#pragma once
/// \file The first layers of a deck's network, for measuring what more of them take.

#include <cstdint>

#include "dist/ImaginedRanks.hpp"
#include "memory/MemoryEstimate.hpp"
#include "memory/RankMemory.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace multicard {

/// A network of a few layers with room for its gradients.
class FewLayers {
 public:
  /// Whether this rank holds all of them, or has to gather them from ranks that are not there.
  enum class Weights { whole, split };

  FewLayers(RunOptions options, std::int64_t num_layers, at::Device device, Weights weights = Weights::whole);

  /// Of forward and backward.
  MeasuredPair passes();
  /// Without what is measured. Of a network that is not split.
  MemoryEstimate lasting(const RunOptions& options, const SummingRanks& ranks) const;
  /// Bytes of the largest weight that is trained.
  std::int64_t largest_weight() const;
  /// Likewise, of those that are no matrices.
  std::int64_t largest_vector() const;
  std::int64_t bytes_of_weight() const { return parameters_.front().tensor.element_size(); }
  std::int64_t chunk() const { return model_.network().loss_chunk(); }

 private:
  ImaginedRanks others_;
  LanguageModel model_;
  NamedTensors parameters_;
};

}  // namespace multicard
