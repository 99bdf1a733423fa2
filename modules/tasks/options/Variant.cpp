#include "tasks/options/Variant.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

#include <fmt/format.h>

#include "config/Section.hpp"
#include "config/Yaml.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

namespace {

/// Places on the axes, counted like an odometer whose last wheel turns fastest.
std::vector<std::size_t> places(const std::vector<SweepAxis>& axes, std::size_t cell) {
  std::vector<std::size_t> at(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    at[i] = cell % axes[i].values.size();
    cell /= axes[i].values.size();
  }
  return at;
}

/// Writes out the axis `ranks: all`.
void count_all_ranks(SweepOptions& sweep, int world_size) {
  for (SweepAxis& axis : sweep.axes) {
    if (axis.key != "ranks" || axis.values != std::vector{kAllRanks}) continue;
    axis.values.clear();
    for (int ranks = 1; ranks <= world_size; ++ranks)
      axis.values.push_back(Value::scalar(std::to_string(ranks)));
  }
}

int ranks_of(const SweepOptions& sweep, const Value& value) {
  Deck deck = Deck::parse("", sweep.base.name());
  deck.apply({{"sweep.ranks", value}});
  Section root(deck);
  const int ranks = root.section("sweep").get_in_range("ranks", 1, 1, std::numeric_limits<int>::max());
  root.finish();
  return ranks;
}

void check_ranks(const SweepOptions& sweep, int ranks, int world_size) {
  if (ranks > world_size)
    throw EnvironmentError(fmt::format("deck {}, sweep.ranks: {} ranks are requested", sweep.base.name(), ranks),
                           fmt::format("this job has {}", world_size),
                           fmt::format("Start it with -n {}, or leave the value out with sweep.ranks=[...].", ranks));
}

/// The values of one cell of the matrix, as one layer.
Deck::Assignments layer_of(const SweepOptions& sweep, const std::vector<std::size_t>& at, int world_size,
                           Variant& variant) {
  Deck::Assignments layer;
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::string& key = sweep.axes[i].key;
    const Value& value = sweep.axes[i].values[at[i]];
    if (key == "ranks") {
      variant.ranks = ranks_of(sweep, value);
      check_ranks(sweep, variant.ranks, world_size);
    } else if (key != "cases") {
      layer.emplace_back(key, value);
    } else {
      variant.case_name = value.find("name")->text;
      for (std::size_t k = 0; k < value.keys.size(); ++k)
        if (value.keys[k] != "name") layer.emplace_back(value.keys[k], value.items[k]);
    }
  }
  return layer;
}

// A cell whose deck is refused stays in the table with its reason: in a product of axes some combinations may well be
// impossible. A key that no deck has is a mistake of the sweep itself.
Variant variant_of(const SweepOptions& sweep, std::size_t cell, int world_size) {
  Variant variant;
  variant.ranks = world_size;
  variant.deck = sweep.base;
  variant.deck.apply(layer_of(sweep, places(sweep.axes, cell), world_size, variant));
  for (const SweepAxis& axis : sweep.axes)
    for (const std::string& key : axis.deck_keys()) {
      const std::string text = variant.deck.get_text(key);
      variant.overrides[key] = text.empty() ? "default" : text;
    }
  try {
    read_run_options(variant.deck);
  } catch (const UnknownKeyError&) {
    throw;
  } catch (const UsageError& error) {
    variant.error = error.what();
  }
  return variant;
}

void order_execution(std::vector<Variant>& variants) {
  std::vector<std::size_t> order(variants.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // Rounds run there and back (boustrophedon): a linear drift of the machine, say by warming up, adds the same to the
  // mean of every variant over an even number of rounds.
  const auto when = [&](std::size_t i) {
    const Variant& variant = variants[i];
    const int direction = variant.repeat % 2 == 0 ? 1 : -1;
    return std::tuple(variant.repeat, -direction * variant.ranks, direction * variant.index);
  };
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return when(a) < when(b); });
  for (std::size_t i = 0; i < order.size(); ++i)
    variants[order[i]].execution = static_cast<int>(i);
}

/// About the bytes of one run's deck, as text.
/// Each variant carries a whole deck: the product of long lists in a deck could exhaust memory long before the number
/// of runs is refused.
std::size_t bytes_of_run(const SweepOptions& sweep) {
  std::size_t bytes = sweep.base.to_yaml().size();
  for (const SweepAxis& axis : sweep.axes) {
    std::size_t longest = 0;
    for (const Value& value : axis.values)
      longest = std::max(longest, emit_inline(value).size());
    bytes += longest;
  }
  return bytes;
}

/// All combinations of the axes' values; refused before their number can overflow, or their decks fill the memory.
std::size_t count_cells(const SweepOptions& sweep) {
  constexpr std::size_t kMostRuns = 10'000, kMostBytes = 100 << 20;
  const auto repeat = static_cast<std::size_t>(sweep.repeat);
  std::size_t cells = 1;
  for (const SweepAxis& axis : sweep.axes) {
    cells *= axis.values.size();
    if (cells * repeat > kMostRuns)
      throw UsageError(fmt::format("deck {}: the sweep has more than {} runs", sweep.base.name(), kMostRuns), "",
                       "Remove values from its axes.");
  }
  if (cells * repeat * bytes_of_run(sweep) > kMostBytes)
    throw UsageError(fmt::format("deck {}: the decks of its {} runs are too large", sweep.base.name(), cells * repeat),
                     fmt::format("together more than {} MiB", kMostBytes >> 20));
  return cells;
}

}  // namespace

std::vector<Variant> expand(SweepOptions sweep, int world_size) {
  count_all_ranks(sweep, world_size);
  const std::size_t cells = count_cells(sweep);
  std::vector<Variant> variants;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    Variant variant = variant_of(sweep, cell, world_size);
    for (variant.repeat = 0; variant.repeat < sweep.repeat; ++variant.repeat) {
      variant.index = static_cast<int>(variants.size());
      variant.name = fmt::format("{:04}", variant.index);
      variants.push_back(variant);
    }
  }
  order_execution(variants);
  return variants;
}

std::vector<int> drop_ranks_above(SweepOptions& sweep, int world_size) {
  count_all_ranks(sweep, world_size);
  std::vector<int> dropped;
  for (SweepAxis& axis : sweep.axes) {
    if (axis.key != "ranks") continue;
    std::vector<Value> kept;
    for (const Value& value : axis.values)
      if (const int ranks = ranks_of(sweep, value); ranks > world_size)
        dropped.push_back(ranks);
      else
        kept.push_back(value);
    if (kept.empty()) return {};
    axis.values = std::move(kept);
  }
  return dropped;
}

void SweepPace::add(const Variant& variant, double seconds) {
  past_.push_back({variant.cell(), variant.ranks, seconds});
}

double SweepPace::expected(const Variant& variant) const {
  const auto mean_where = [&](const auto& counts) -> std::optional<double> {
    double sum = 0;
    int num = 0;
    for (const Past& one : past_) {
      if (!counts(one)) continue;
      sum += one.seconds;
      ++num;
    }
    return num == 0 ? std::nullopt : std::optional(sum / num);
  };
  if (const auto own = mean_where([&](const Past& one) { return one.cell == variant.cell(); })) return *own;
  if (const auto like = mean_where([&](const Past& one) { return one.ranks == variant.ranks; })) return *like;
  return mean_where([](const Past&) { return true; }).value_or(0);
}

}  // namespace multicard
