#pragma once
/// \file The first pass of preference tuning with a cached reference.

#include <string>

#include "data/loading/TextDataSource.hpp"
#include "tasks/interface/Task.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace multicard {

/// A data source and what it was opened with.
struct SourceOfPairs {
  const TextDataSource& source;
  TextSourceOptions options;
};

/// Collective. The reference log-probabilities of the rows of `pairs`: those of the file in the shards' folder whose
/// key fits, or computed by all ranks, each its part, and written there. The key is the SHA-256 of the base weights,
/// the adapter, the quantisation, the types, the lengths and the shards. A network that has been trained is not used:
/// full tuning then loads the start once more. \throws DataError for a file that is damaged or stale
ReferenceTable reference_table(LanguageModel& model, Weights weights, const SourceOfPairs& pairs,
                               const Communicator& communicator);

}  // namespace multicard
