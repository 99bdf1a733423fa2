#pragma once
/// \file What a run deck says, as plain values (docs/decks.md). Paths are expanded. Each module reads and explains its
/// own keys; here they become one deck.

#include <cstdint>
#include <string>
#include <vector>

#include "config/Deck.hpp"
#include "data/loading/DataOptions.hpp"
#include "device/ComputeOptions.hpp"
#include "nn/options/ModelOptions.hpp"
#include "profiler/ProfileOptions.hpp"
#include "tasks/options/EvaluateOptions.hpp"
#include "tasks/options/RunSettings.hpp"
#include "train/OptimizerOptions.hpp"
#include "train/ParallelOptions.hpp"

namespace multicard {

/// task of a deck
enum class TaskName { image, llm };
inline constexpr Word<TaskName> kTaskWords[] = {{"image", TaskName::image}, {"llm", TaskName::llm}};

/// A whole run.
struct RunOptions {
  TaskName task = TaskName::image;
  ModelOptions model;
  MethodOptions method;  ///< llm
  DataOptions data;
  ParallelOptions parallel;
  Precision precision = Precision::fp32;  ///< of text by default model.dtype
  OptimizerOptions optimizer;
  ScheduleOptions schedule;
  RunSettings run;
  EvaluateOptions evaluate;
  ProfileOptions profile;

  bool is_language() const { return task == TaskName::llm; }
};

/// Reads and checks a whole deck. \throws UnknownKeyError for a key that no deck has, UsageError for a wrong value, for
/// values that contradict each other and for what this version does not offer.
RunOptions read_run_options(const Deck& deck);

/// Whether a deck with these options could have this parallel.shard.
bool can_be_split(const RunOptions& options, Shard shard);
/// Whether `optimizer` splits the blocks of the network as well, with gradients and state, each rank having them whole
/// in the type of products: where they are trained, and no average is kept of them.
bool splits_trained_blocks(const RunOptions& options);

/// The deck with every default written out. \throws as read_run_options.
Deck with_defaults(const Deck& deck);

/// The table of all keys of run decks: section by section, as docs/decks.md shows it.
const DeckKeys& run_keys();

/// A key with how it is read, for people.
struct DescribedKey {
  DeckKey key;
  KeyReading reading;
};

/// All keys as `multicard help keys` and docs/decks.md show them.
std::vector<DescribedKey> describe_run_keys();

}  // namespace multicard
