// The memory of ranks in plain words.

#include <algorithm>
#include <functional>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "comm/Agreement.hpp"
#include "device/DeviceError.hpp"
#include "memory/MemoryEstimator.hpp"
#include "memory/RankMemory.hpp"

namespace multicard {

namespace {

constexpr std::size_t kMostColumns = 4;  ///< that fit a terminal

/// A line of the table: what it is, and of which number.
struct Line {
  std::string what;
  std::int64_t MemoryEstimate::*bytes;
};

std::string weights_text(const RunOptions& options) {
  if (!options.is_language()) return "weights that are not trained";
  const std::string type(word_of(options.model.dtype, kWeightDtypeWords));
  return options.method.has_quantised_base() ? fmt::format("base weights, frozen (4 bits, else {})", type)
                                             : fmt::format("base weights, frozen ({})", type);
}

std::string part_text(const RunOptions& options, const PartShape& part, std::int64_t at_once) {
  if (!options.is_language()) return counted(at_once, "image");
  return fmt::format("{} of {} tokens", counted(at_once, options.method.is_preference() ? "pair" : "row"),
                     grouped(part.size));
}

std::vector<Line> lines_of(const TrainingSetup& setup, const PartShape& part, std::int64_t at_once) {
  const RunOptions& options = setup.options;
  const bool adapts = options.is_language() && options.method.has_adapters();
  const std::string checkpointing = !options.is_language()                   ? ""
                                    : options.model.activation_checkpointing ? ", with activation checkpointing"
                                                                             : ", without activation checkpointing";
  using M = MemoryEstimate;
  return {{weights_text(options), &M::frozen},
          {"reference model, a frozen copy", &M::reference},
          {adapts ? "adapters, trained" : "weights, trained", &M::parameters},
          {"gradients, which are the communication buckets", &M::gradients},
          {fmt::format("optimizer state ({})", word_of(options.optimizer.name, kOptimizerWords)), &M::optimizer},
          {"moving average of the weights", &M::average},
          {"activations of " + part_text(options, part, at_once) + checkpointing, &M::activations},
          {"logits of the targets and their gradients", &M::logits},
          {"workspace of backward or the update", &M::workspace},
          {"evaluation of the test set, beyond a step", &M::evaluation},
          {"answers to prompts and questions, beyond that", &M::answers},
          {"gradients in 16 bits on their way", &M::communication},
          {"errors and factors of compressed gradients", &M::compression},
          {"batches on the device", &M::batches},
          {"buffers and what libraries keep", &M::other},
          {"batches read ahead, in host memory", &M::loader},
          {"copy of a checkpoint, in host memory", &M::copies}};
}

/// What ranks exchange after the bytes of the lines.
enum Total : std::size_t { kNeeded, kSwitched };

/// Ranks with equal numbers.
struct Column {
  std::string title;
  std::vector<std::int64_t> bytes;
};

std::string ranks_text(int first, int last) {
  return first == last ? fmt::format("rank {}", first) : fmt::format("ranks {}-{}", first, last);
}

/// Of neighbours that are alike one column; of too many columns the one that needs most.
std::vector<Column> columns_of(const std::vector<std::int64_t>& all, std::size_t width, std::size_t needed) {
  std::vector<Column> columns;
  const auto num_ranks = static_cast<int>(all.size() / width);
  for (int rank = 0, first = 0; rank < num_ranks; ++rank) {
    const auto begin = all.begin() + static_cast<std::ptrdiff_t>(width) * rank;
    const std::vector<std::int64_t> bytes(begin, begin + static_cast<std::ptrdiff_t>(width));
    if (columns.empty() || columns.back().bytes != bytes) {
      columns.push_back({"", bytes});
      first = rank;
    }
    columns.back().title = ranks_text(first, rank);
  }
  if (columns.size() <= kMostColumns) return columns;
  const auto largest = std::max_element(columns.begin(), columns.end(), [&](const Column& a, const Column& b) {
    return a.bytes[needed] < b.bytes[needed];
  });
  return {{largest->title + ", the largest", largest->bytes}};
}

std::string row_text(const std::string& what, const std::vector<Column>& columns,
                     const std::function<std::string(const Column&)>& text) {
  std::string line = fmt::format("  {:<74}", what);
  for (const Column& column : columns)
    line += fmt::format("{:>14}", text(column));
  return line;
}

}  // namespace

// Collectives come in a fixed order on all ranks: the agreed measurement, then one all-gather of equally many numbers.
// Which lines and columns are worth printing is decided afterwards, from what all ranks hold.
std::vector<std::string> memory_table(TrainingSetup& setup, const MemoryEstimate& estimate) {
  RankMemory memory(setup);
  const std::int64_t at_once = memory.at_once();
  const PartShape part = memory.part(std::max<std::int64_t>(1, at_once));
  const std::vector<Line> lines = lines_of(setup, part, at_once);
  std::vector<std::int64_t> mine;
  mine.reserve(lines.size() + 2);
  for (const Line& line : lines)
    mine.push_back(estimate.*line.bytes);
  const std::optional<std::int64_t> switched = agreed(setup.communicator, [&] {
    return with_known_errors([&] { return memory.switched_total(estimate, std::max<std::int64_t>(1, at_once)); });
  });
  mine.insert(mine.end(), {memory.needed(estimate), switched.value_or(0)});
  const std::vector<std::int64_t> all = setup.communicator.allgather(std::span<const std::int64_t>(mine));
  const std::vector<Column> columns = columns_of(all, mine.size(), lines.size() + kNeeded);
  const auto number = [](std::size_t place) {
    return [place](const Column& column) { return human_bytes(static_cast<double>(column.bytes[place])); };
  };
  std::vector<std::string> table{
      row_text("memory, predicted", columns, [](const Column& column) { return column.title; })};
  for (std::size_t i = 0; i < lines.size(); ++i)
    if (std::any_of(columns.begin(), columns.end(), [&](const Column& column) { return column.bytes[i] > 0; }))
      table.push_back(row_text(lines[i].what, columns, number(i)));
  table.push_back(
      row_text(setup.device().gpu ? "in all on the GPU" : "in all", columns, number(lines.size() + kNeeded)));
  if (switched)
    table.push_back(row_text(setup.options.model.activation_checkpointing
                                 ? "in all without activation checkpointing"
                                 : "in all with model.activation_checkpointing=true",
                             columns, number(lines.size() + kSwitched)));
  table.push_back(
      fmt::format("  available to this rank: {}", human_bytes(static_cast<double>(memory.available(estimate)))));
  return table;
}

}  // namespace multicard
