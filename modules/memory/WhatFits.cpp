#include "memory/WhatFits.hpp"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include <c10/util/Exception.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"
#include "device/Memory.hpp"
#include "memory/MethodMemory.hpp"
#include "nn/language/LlamaConfig.hpp"
#include "state/PeftAdapter.hpp"
#include "tasks/language/DeckAdapters.hpp"

namespace multicard {

namespace {

constexpr std::int64_t kMostRows = 1024;  ///< more are as good as any
constexpr const char* kNothing = "  nothing fits: lower data.max_length, or use a smaller model or more memory";

/// The largest size of groups up to the deck's that a model's layers can have.
/// Groups run along a layer's inputs, which are the hidden size, the size of the MLP or that of all queries: a group
/// must divide their greatest common divisor, and be even, as two values of 4 bits share a byte.
std::int64_t fitting_group(std::int64_t wanted, const LlamaConfig& config) {
  const std::int64_t inputs = std::gcd(std::gcd(config.hidden_size, config.intermediate_size), config.query_size());
  std::int64_t group = std::min(wanted, inputs);
  while (group > 2 && (inputs % group != 0 || group % 2 != 0))
    --group;
  return group;
}

/// The deck's options with another method, which keeps what the two have in common.
RunOptions with_method(RunOptions options, TuningMethod name) {
  MethodOptions& method = options.method;
  const LlamaConfig config = LlamaConfig::read(options.model.path);
  if (options.model.adapter) {
    const AdapterConfig start = PeftAdapter::open(*options.model.adapter).config();
    method.rank = start.settings.rank;
    method.alpha = start.settings.alpha;
    method.rslora = start.settings.rslora;
    method.targets = start.settings.targets;
    method.patterns = start.settings.patterns;
    method.modules_to_save = start.settings.modules_to_save;
  }
  options.model.adapter.reset();
  if (name != method.name) method.preference.reference = Reference::adapters_off;
  method.name = name;
  if (!method.has_adapters() && method.is_preference() && method.preference.reference == Reference::adapters_off)
    method.preference.reference = Reference::copy;
  if (!method.rank) method.rank = 16;
  if (!method.alpha) method.alpha = 32;
  if (!method.rslora) method.rslora = false;
  if (method.targets.empty()) method.targets = {"all-linear"};
  if (method.has_fake_quantisation()) method.group_size = fitting_group(method.group_size, config);
  return options;
}

/// \throws UsageError for adapters that the deck's model cannot have
void check_adapters(const RunOptions& deck) {
  if (!deck.method.has_adapters() || deck.model.adapter) return;
  const AdapterOptions adapters = adapters_of_deck(with_method(deck, deck.method.name).method);
  const Llama network(LlamaConfig::read(deck.model.path), at::kFloat, at::kMeta);
  const std::vector<std::string> layers = network.linear_layers();
  layer_adapters(adapters, adapted_layers(adapters, layers));
  saved_modules(adapters, network.savable_modules(), layers);
}

/// Powers of two, and the deck's own length.
std::vector<std::int64_t> lengths_for(const RunOptions& options) {
  constexpr std::int64_t kShortest = 512, kLongest = 16384;
  const std::int64_t most = LlamaConfig::read(options.model.path).max_positions;
  std::vector<std::int64_t> lengths;
  for (std::int64_t length = kShortest; length <= std::min(most, kLongest); length *= 2)
    lengths.push_back(length);
  lengths.push_back(std::min(most, options.data.max_length.value_or(kShortest)));
  std::sort(lengths.begin(), lengths.end());
  lengths.erase(std::unique(lengths.begin(), lengths.end()), lengths.end());
  return lengths;
}

/// A line of the table.
struct Choice {
  TuningMethod method;
  bool checkpointing;
  Shard shard;
  std::optional<MemoryEstimate> least = {};  ///< of one row of the shortest length
  std::vector<std::int64_t> rows = {};       ///< that fit, by length
  const char* problem = "";                  ///< why it could not be measured
};

std::string name_of(const Choice& choice) {
  return std::string(word_of(choice.method, kMethodWords));
}

std::string text_of(const Choice& choice, bool has_shards) {
  std::string line = fmt::format("  {:<12}{:<16}", name_of(choice), choice.checkpointing ? "on" : "off");
  if (has_shards) line += fmt::format("{:<11}", word_of(choice.shard, kShardWords));
  if (!choice.least) return line + choice.problem;
  line += fmt::format("{:>10}", human_bytes(static_cast<double>(choice.least->total())));
  for (const std::int64_t rows : choice.rows)
    line += fmt::format("{:>8}", rows == 0 ? "-" : rows == kMostRows ? fmt::format("{}+", rows) : grouped(rows));
  return line;
}

/// The words that turn the deck into the choice.
std::string change_to(const Choice& choice, const RunOptions& options, std::int64_t rows) {
  std::string change = fmt::format("run.micro_batch={}", rows);
  if (choice.checkpointing && !options.model.activation_checkpointing) change += " model.activation_checkpointing=true";
  if (choice.shard != options.parallel.shard)
    change += fmt::format(" parallel.shard={}{}", word_of(choice.shard, kShardWords),
                          options.parallel.shard_group ? " parallel.shard_group=auto" : "");
  if (choice.method == options.method.name) return change;
  const MethodOptions &deck = options.method, other = with_method(options, choice.method).method;
  const bool keeps_settings =
      deck.has_adapters() && other.has_adapters() && deck.preference.reference == other.preference.reference;
  return change + (keeps_settings ? " method.name=" + name_of(choice)
                                  : fmt::format(" \"method={{name: {}}}\"", name_of(choice)));
}

/// Whether it would do what the deck is for, and in less memory where it is another method.
/// A suggestion must keep the purpose (supervised or preferences, quantisation-aware or not); it may only replace full
/// tuning by adapters, or a base in 16 bits by one in 4.
bool stands_for(const Choice& choice, const RunOptions& deck) {
  if (deck.model.activation_checkpointing && !choice.checkpointing) return false;
  const MethodOptions &now = deck.method, other = with_method(deck, choice.method).method;
  if (other.name == now.name) return true;
  const bool is_lighter =
      (other.has_adapters() && !now.has_adapters()) || (other.has_quantised_base() && !now.has_quantised_base());
  return is_lighter && other.has_adapters() && other.is_preference() == now.is_preference() &&
         other.has_fake_quantisation() == now.has_fake_quantisation();
}

class FitTable {
 public:
  explicit FitTable(const FitQuestion& question) : question_(question), lengths_(lengths_for(question.options)) {}

  std::vector<std::string> lines() {
    for (const Word<TuningMethod>& word : kMethodWords)
      for (const bool checkpointing : {false, true})
        add_choices(word.value, checkpointing);
    std::vector<std::string> lines{heading(), columns()};
    for (const Choice& choice : choices_)
      lines.push_back(text_of(choice, has_shards()));
    const std::vector<std::string> more = changes();
    lines.insert(lines.end(), more.begin(), more.end());
    return lines;
  }

 private:
  bool fits(const MemoryEstimate& estimate) const {
    return estimate.total() + gaps_between(estimate.total()) <= question_.available;
  }

  bool has_shards() const {
    return question_.ranks.all > 1 && question_.options.parallel.strategy == StrategyName::ddp_ds;
  }

  /// What the ranks can split. \param options with a method
  std::vector<ShardCandidate> candidates_of(const RunOptions& options) const {
    if (has_shards()) return shard_candidates(options, question_.ranks);
    return {{question_.options.parallel.shard, question_.ranks.all}};
  }

  /// Without and with what ranks can split, of one measurement.
  void add_choices(TuningMethod method, bool checkpointing) {
    RunOptions options = question_.options;
    options.model.activation_checkpointing = checkpointing;
    const auto refuse = [&](const char* problem) {
      choices_.push_back({method, checkpointing, Shard::none, {}, {}, problem});
    };
    try {
      const RunOptions asked = with_method(options, method);
      const MethodMemory memory(asked, question_.device, question_.ranks.all);
      for (const ShardCandidate& candidate : candidates_of(asked))
        choices_.push_back(choice_of({method, checkpointing, candidate.shard}, candidate, memory));
    } catch (const UsageError&) {
      refuse("cannot start from this model");
    } catch (const c10::OutOfMemoryError&) {
      refuse("two layers of the model do not fit the device");
    }
    release_cached_device_memory(question_.device);
  }

  Choice choice_of(Choice choice, const ShardCandidate& candidate, const MethodMemory& memory) const {
    choice.least = memory.with(1, lengths_.front(), candidate);
    for (const std::int64_t length : lengths_)
      choice.rows.push_back(
          largest_that_fits(kMostRows, [&](std::int64_t rows) { return fits(memory.with(rows, length, candidate)); }));
    return choice;
  }

  std::string heading() const {
    return fmt::format(
        "what fits {} of memory, gaps between blocks included: the largest run.micro_batch by method and "
        "data.max_length, every token a target",
        human_bytes(static_cast<double>(question_.available)));
  }

  std::string columns() const {
    std::string line = fmt::format("  {:<12}{:<16}", "method", "checkpointing");
    if (has_shards()) line += fmt::format("{:<11}", "shard");
    line += fmt::format("{:>10}", "1 row");
    for (const std::int64_t length : lengths_)
      line += fmt::format("{:>8}", grouped(length));
    return line;
  }

  /// Of the deck's length.
  std::vector<std::string> changes() const {
    const RunOptions& deck = question_.options;
    const std::int64_t length = deck.data.max_length.value_or(lengths_.front());
    const auto place = std::min<std::size_t>(
        static_cast<std::size_t>(std::lower_bound(lengths_.begin(), lengths_.end(), length) - lengths_.begin()),
        lengths_.size() - 1);
    std::vector<std::string> own, others;
    for (const Choice& choice : choices_) {
      if (!choice.least || choice.rows[place] == 0 || !stands_for(choice, deck)) continue;
      std::vector<std::string>& lines = choice.method == deck.method.name ? own : others;
      lines.push_back("  fits: " + change_to(choice, deck, choice.rows[place]));
    }
    own.insert(own.end(), others.begin(), others.end());
    if (own.empty()) own.emplace_back(kNothing);
    return own;
  }

  const FitQuestion& question_;
  std::vector<std::int64_t> lengths_;
  std::vector<Choice> choices_;
};

}  // namespace

std::int64_t bytes_for_rank(at::Device device, int num_sharing) {
  // What the allocator has reserved is this process's to use; of what is left a rank has its share.
  return device.is_cuda() ? device_memory(device).reserved + free_device_bytes(device) / num_sharing
                          : available_memory_bytes() / num_sharing;
}

std::vector<std::string> what_fits(const FitQuestion& question) {
  check_adapters(question.options);
  return FitTable(question).lines();
}

}  // namespace multicard
