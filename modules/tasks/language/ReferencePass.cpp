#include "tasks/language/ReferencePass.hpp"

#include <cmath>
#include <filesystem>
#include <limits>

#include <fmt/format.h>

#include "base/Clock.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "comm/LongWork.hpp"
#include "data/shards/ReferenceFile.hpp"
#include "device/DeviceError.hpp"
#include "device/Readback.hpp"
#include "io/Sha256.hpp"

namespace multicard {

namespace {

/// Collective. Of the files, of which each rank sums some, and of the sets where there are several.
/// Files are hashed by content, not by name or time: a set that was copied elsewhere keeps its values. Every rank
/// hashes its share of the files and all get all sums, in the order of the files, which makes the key the same on any
/// number of ranks.
std::string text_of_shards(const TokenShards& shards, const Communicator& communicator) {
  const std::vector<std::string>& files = shards.files();
  std::vector<std::string> sums(files.size());
  const auto owner = [&](std::size_t file) { return static_cast<int>(file) % communicator.size(); };
  agreed_after_long_work(communicator, [&] {
    for (std::size_t i = 0; i < files.size(); ++i)
      if (owner(i) == communicator.rank()) sums[i] = sha256_of_file(files[i]);
  });
  std::string text;
  for (std::size_t i = 0; i < files.size(); ++i)
    text += fmt::format("shard {}\n", communicator.broadcast(sums[i], owner(i)));
  const std::vector<std::int64_t> sets = shards.sequences_of_sets();
  for (std::size_t i = 0; sets.size() > 1 && i < sets.size(); ++i)
    text += fmt::format("set of {}\n", sets[i]);
  return text;
}

std::string text_of(const RowOptions& rows) {
  return fmt::format("max_length {}\noverlong {}\nlimit {}\n", rows.max_length.value_or(0),
                     static_cast<int>(rows.overlong), rows.limit.value_or(0));
}

/// Collective.
/// "reference 1" is the version of the file's content: raise it where the same key would mean other values.
std::string key_of(LanguageModel& model, const SourceOfPairs& pairs, const Communicator& communicator) {
  const std::string shards = text_of_shards(pairs.source.shards(), communicator);
  model.base_identity().finish(communicator);
  std::string key;
  agreed(communicator, [&] {
    if (communicator.is_root())
      key = sha256(fmt::format("reference 1\nbase {}\n{}{}{}", model.identity().at(kBaseHash),
                               model.reference_settings(), text_of(pairs.options.rows), shards));
  });
  return communicator.broadcast(key);
}

/// The row that a batch's place names, as its pair in the shards.
std::size_t pair_of(const TextDataSource& source, std::int64_t row) {
  return static_cast<std::size_t>(source.rows().parts(row).front().sequence);
}

/// Collective. The network before it was trained, where switching adapters off does not give it. Ranks agree on it
/// before they compute with it: where it is split, passes are collective.
std::unique_ptr<Llama> reloaded_start(const LanguageModel& model, Weights weights, const Communicator& communicator) {
  if (weights == Weights::at_start || model.has_adapters()) return nullptr;
  std::unique_ptr<Llama> start;
  agreed(communicator, [&] { with_known_errors([&] { model.check_files(); }); });
  agreed_after_long_work(communicator, [&] { with_known_errors([&] { start = model.frozen_start(); }); });
  return start;
}

/// Collective. Every rank computes a part of the rows, each row once, in the order of the shards.
ReferenceLogProbs computed(LanguageModel& model, Weights weights, const SourceOfPairs& pairs,
                           const Communicator& communicator, at::Device device) {
  TextSourceOptions in_order = pairs.options;
  in_order.order.shuffle = false;
  in_order.order.drop_last = false;
  in_order.weights.clear();
  const auto source = TextDataSource::open(in_order, communicator, device, pairs.source.scan());
  const auto num_pairs = static_cast<std::size_t>(pairs.source.shards().info().num_sequences);
  // Every row is computed by exactly one rank and is 0 on the others, so that a sum over ranks puts the table together,
  // and does so exactly.
  std::vector<double> values(2 * num_pairs, 0);
  const std::unique_ptr<Llama> start = reloaded_start(model, weights, communicator);
  agreed_after_long_work(communicator, [&] {
    with_known_errors([&] {
      model.for_each_part(
          *source, communicator,
          [&](const Batch& part) {
            const std::vector<double> found = elements_of({model.preference()->reference_log_probs(part, start.get())});
            const std::size_t rows = part.row_numbers.size();
            for (std::size_t i = 0; i < rows; ++i) {
              const std::size_t pair = pair_of(*source, part.row_numbers[i]);
              values[pair] = found[i];
              values[num_pairs + pair] = found[rows + i];
            }
          },
          start.get());
    });
  });
  communicator.allreduce(std::span<double>(values), ReduceOp::sum);
  // Pairs that the rows leave out (too long, beyond the limit) are NaN, not 0, which would be a valid value: table_of()
  // notices a file that lacks a pair that is read.
  constexpr float kLeftOut = std::numeric_limits<float>::quiet_NaN();
  ReferenceLogProbs result{std::vector<float>(num_pairs, kLeftOut), std::vector<float>(num_pairs, kLeftOut)};
  for (std::int64_t row = 0; row < source->rows().num_rows(); ++row) {
    const std::size_t pair = pair_of(*source, row);
    result.chosen[pair] = static_cast<float>(values[pair]);
    result.rejected[pair] = static_cast<float>(values[num_pairs + pair]);
  }
  return result;
}

/// Collective. Root reads.
ReferenceLogProbs read_on_all(const std::string& path, const std::string& key, std::int64_t num_pairs,
                              const Communicator& communicator) {
  ReferenceLogProbs values;
  agreed_after_long_work(communicator, [&] {
    if (communicator.is_root()) values = read_reference(path, key, num_pairs);
  });
  for (std::vector<float>* half : {&values.chosen, &values.rejected}) {
    half->resize(static_cast<std::size_t>(num_pairs));
    communicator.broadcast(std::span<float>(*half));
  }
  return values;
}

/// By rows. All ranks see the same values.
ReferenceTable table_of(const ReferenceLogProbs& values, const TextDataSource& source, const std::string& path) {
  ReferenceTable table;
  for (std::int64_t row = 0; row < source.rows().num_rows(); ++row) {
    const std::size_t pair = pair_of(source, row);
    table.chosen.push_back(values.chosen[pair]);
    table.rejected.push_back(values.rejected[pair]);
    if (!std::isfinite(table.chosen.back()) || !std::isfinite(table.rejected.back()))
      throw DataError(fmt::format("{} has no value for pair {}", path, pair), "it is damaged, or the model is",
                      "Remove it: it is computed again.")
          .on_all_ranks();
  }
  return table;
}

}  // namespace

ReferenceTable reference_table(LanguageModel& model, Weights weights, const SourceOfPairs& pairs,
                               const Communicator& communicator) {
  const std::string key = key_of(model, pairs, communicator);
  const TokenShards& shards = pairs.source.shards();
  const std::string path = reference_path(shards.files().front(), key);
  // Only root's view of the file system counts: nodes may see a new file at different times, and the branches below
  // hold different collectives.
  const bool is_root_reading = communicator.is_root() && std::filesystem::exists(path);
  if (communicator.broadcast_value(is_root_reading ? 1 : 0) > 0) {
    const ReferenceLogProbs values = read_on_all(path, key, shards.info().num_sequences, communicator);
    log_info(fmt::format("{:<10}{}", "reference", path));
    return table_of(values, pairs.source, path);
  }
  const TimePoint start = SteadyClock::now();
  const at::Device device = model.network().device();
  const ReferenceLogProbs values = computed(model, weights, pairs, communicator, device);
  ReferenceTable table = table_of(values, pairs.source, path);
  write_reference(path, key, values, communicator);
  log_info(fmt::format("{:<10}{}, {} pairs computed in {}", "reference", path, grouped(pairs.source.rows().num_rows()),
                       human_duration(seconds_since(start))));
  return table;
}

}  // namespace multicard
