#pragma once
/// \file Scores of a classifier on a set of labelled images.

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "comm/Communicator.hpp"
#include "data/loading/DataSource.hpp"
#include "nn/layers/BlockHooks.hpp"
#include "train/Model.hpp"

namespace multicard {

/// (actual class, predicted class) -> number of images; only pairs that occur.
using Confusion = std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t>;

/// What an evaluation counts.
enum class Detail { totals, classes };

struct ImageTotals {
  double loss = 0;      ///< mean over images
  double accuracy = 0;  ///< top-1, a fraction
  double top5 = 0;      ///< label among the five largest outputs, a fraction
  std::int64_t samples = 0;

  Evaluation evaluation() const { return {loss, samples, {{"accuracy", accuracy}, {"top5", top5}}, accuracy}; }
};

struct ImageScores {
  ImageTotals totals;
  Confusion confusion;  ///< with Detail::classes
};

/// Logits [N, classes] and labels int64 [N] of a batch, on the compute device.
struct Classified {
  at::Tensor logits, labels;
};

/// Collective. Scores over all rows of `test_set`; counts do not depend on the number of ranks. The class predicted is
/// the one of the largest logit, of equal ones the first. \param classify called with each batch of at least one row,
/// in order \param hooks of the network that `classify` computes with
ImageScores evaluate_images(DataSource& test_set, const std::function<Classified(const Batch&)>& classify,
                            const Communicator& communicator, Detail detail, BlockHooks* hooks = nullptr);

}  // namespace multicard
