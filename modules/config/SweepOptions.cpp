#include "config/SweepOptions.hpp"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "config/DeckKind.hpp"
#include "config/DeckLimits.hpp"
#include "config/Section.hpp"
#include "config/Smoke.hpp"
#include "config/Yaml.hpp"

namespace multicard {

namespace {

/// Top keys of a sweep deck that are not keys of a run deck.
constexpr const char* kSweepKeys[] = {"base", "sweep", "repeat", "limits"};

[[noreturn]] void refuse(const Deck& sweep, const std::string& key, const std::string& problem,
                         const std::string& suggestion = {}) {
  throw UsageError(fmt::format("deck {}, {}: {}", sweep.name(), key, problem), "", suggestion);
}

Deck base_of(const Deck& sweep) {
  const Value* base = sweep.root().find("base");
  if (base == nullptr || base->is_null())
    refuse(sweep, "base", "is missing", "Name the run deck that the sweep varies.");
  if (base->kind == Value::Kind::scalar) return load_run_deck(sweep.resolve_path(base->text));
  if (!base->is_map()) refuse(sweep, "base", "expected the path of a run deck");
  Deck deck = Deck::parse("", sweep.name());
  deck.merge(*base);
  return deck;
}

/// Numbers under limits and repeat, read with the usual messages.
struct Extent {
  std::optional<std::int64_t> steps, skip_steps;
  std::optional<double> timeout_s;
  int repeat = 1;
};

Extent read_extent(const Deck& sweep) {
  // A deck of these keys alone, so that the usual reader also finds unknown keys under `limits`.
  Value own = Value::map();
  for (const char* key : {"repeat", "limits"})
    if (const Value* value = sweep.root().find(key)) own.set_path(key, *value);
  Deck deck = Deck::parse(emit_yaml(own), sweep.name());
  Section root(deck);
  Extent extent;
  extent.repeat = root.get_in_range("repeat", 1, 1, 1000);
  Section limits = root.section("limits");
  extent.steps = limits.optional_in_range<std::int64_t>("steps", 1, most::kSteps);
  extent.skip_steps = limits.optional_in_range<std::int64_t>("skip_steps", 0, most::kSteps);
  extent.timeout_s = limits.optional_in_range("timeout_s", kLeastInterval, most::kSeconds);
  if (extent.steps && extent.skip_steps && *extent.skip_steps >= *extent.steps)
    limits.reject("skip_steps", "expected fewer than limits.steps", fmt::format("which is {}", *extent.steps));
  root.finish();
  return extent;
}

/// Axes are written with dots (data.image_size: [...]); overrides of them arrive as maps in maps.
void collect_axes(const Deck& sweep, const Value& map, const std::string& prefix, std::vector<SweepAxis>& axes) {
  for (std::size_t i = 0; i < map.keys.size(); ++i) {
    const Value& values = map.items[i];
    const std::string key = prefix + map.keys[i];
    if (values.is_map())
      collect_axes(sweep, values, key + ".", axes);
    else if (values.kind == Value::Kind::list && !values.items.empty())
      axes.push_back({key, values.items});
    else if (key == "ranks" && values == kAllRanks)
      axes.push_back({key, {values}});
    else if (!values.is_null())
      refuse(sweep, "sweep." + key, fmt::format("expected a list of values, got '{}'", emit_inline(values)));
  }
}

std::vector<SweepAxis> read_axes(const Deck& sweep) {
  std::vector<SweepAxis> axes;
  const Value* map = sweep.root().find("sweep");
  if (map == nullptr || map->is_null()) return axes;
  if (!map->is_map()) refuse(sweep, "sweep", "expected keys with lists of values");
  collect_axes(sweep, *map, "", axes);
  return axes;
}

void check_cases(const Deck& sweep, const SweepAxis& axis) {
  std::vector<std::string> names;
  for (const Value& one : axis.values) {
    const Value* name = one.find("name");
    if (name == nullptr || name->kind != Value::Kind::scalar || name->text.empty())
      refuse(sweep, "sweep.cases", fmt::format("a case has no name: '{}'", emit_inline(one)),
             "Write {name: WORD, key.path: value, ...}.");
    if (std::find(names.begin(), names.end(), name->text) != names.end())
      refuse(sweep, "sweep.cases", fmt::format("two cases are named '{}'", name->text));
    names.push_back(name->text);
  }
}

/// A setting that each run measures for itself is no setting that runs can be compared by.
void check_not_measured(const Deck& sweep, const std::string& key, const Value& value) {
  if (value.kind == Value::Kind::scalar && value.text == "measured" && key.starts_with("parallel."))
    refuse(sweep, "sweep." + key, "measured is no value of an axis, as each run may measure another setting",
           "Give the values to compare, or write it in the base deck.");
}

void check_axes(const Deck& sweep, const std::vector<SweepAxis>& axes) {
  std::vector<std::string> seen;
  for (const SweepAxis& axis : axes) {
    if (axis.key == "cases") check_cases(sweep, axis);
    for (const Value& value : axis.values) {
      check_not_measured(sweep, axis.key, value);
      for (std::size_t i = 0; i < value.keys.size(); ++i)
        check_not_measured(sweep, value.keys[i], value.items[i]);
    }
    // Of two axes that set one key the later would win in every variant: equal runs would have several names.
    for (const std::string& key : axis.deck_keys()) {
      if (std::find(seen.begin(), seen.end(), key) != seen.end())
        refuse(sweep, "sweep." + key, "two axes set this key");
      seen.push_back(key);
    }
  }
}

bool swept(const std::vector<SweepAxis>& axes, const std::string& prefix) {
  return std::any_of(axes.begin(), axes.end(), [&](const SweepAxis& axis) {
    const auto keys = axis.deck_keys();
    return std::any_of(keys.begin(), keys.end(), [&](const std::string& key) { return key.starts_with(prefix); });
  });
}

/// The run keys that the sweep deck itself holds.
Value own_keys(const Deck& sweep) {
  Value own = sweep.root();
  for (const char* key : kSweepKeys)
    own.erase_path(key);
  return own;
}

/// Measuring wants neither checkpoints nor evaluations, unless the sweep asks for them.
void quieten(Deck& base, const Value& own, const std::vector<SweepAxis>& axes) {
  const auto asked = [&](const std::string& key) { return own.find_path(key) != nullptr || swept(axes, key); };
  if (!asked("run.checkpoint_every") && !asked("run.keep_checkpoints")) {
    base.set("run.keep_checkpoints", "0");
    if (!asked("run.keep_best")) base.set("run.keep_best", "false");
  }
  if (!asked("evaluate")) base.set("evaluate", "{every_epochs: 0, every_steps: 0, at_start: false}");
}

}  // namespace

std::vector<std::string> SweepAxis::deck_keys() const {
  if (key == "ranks") return {};
  if (key != "cases") return {key};
  std::vector<std::string> keys;
  for (const Value& one : values)
    for (const std::string& name : one.keys)
      if (name != "name" && std::find(keys.begin(), keys.end(), name) == keys.end()) keys.push_back(name);
  return keys;
}

Deck load_sweep_deck(const std::string& path, const std::vector<std::string>& overrides, SweepScale scale,
                     int num_ranks) {
  const Deck::Assignments layer = parse_overrides(overrides);
  Deck sweep = load_deck(path, DeckKind::sweep, overrides);
  const Value quick = take_section(sweep, "quick"), smoke = take_section(sweep, "smoke");
  if (scale == SweepScale::quick && quick.is_null())
    refuse(sweep, "quick", "is missing", "Write what is smaller in a quick sweep there, or leave out --quick.");
  // From the general to the special; the overrides were applied on loading, and are applied again over what came after.
  if (scale != SweepScale::full) {
    sweep.merge(quick);
    if (scale == SweepScale::smoke) sweep.merge(smoke);
    sweep.apply(layer);
  }
  Deck base = base_of(sweep);
  if (scale == SweepScale::smoke) {
    shorten_sweep(sweep, base, num_ranks);
    const std::string output = base.get_text("run.output");
    write_apart(sweep, output.empty() ? kDefaultRunOutput : output, layer);
    sweep.apply(layer);
  }
  sweep.apply({{"base", base.root()}});
  return sweep;
}

SweepOptions read_sweep_options(const Deck& sweep) {
  SweepOptions options;
  options.axes = read_axes(sweep);
  check_axes(sweep, options.axes);
  const Extent extent = read_extent(sweep);
  options.repeat = extent.repeat;
  options.timeout_s = extent.timeout_s;
  const Value own = own_keys(sweep);
  // Messages about the variants name the sweep: that is the file the person started.
  options.base = Deck::parse(base_of(sweep).to_yaml(), sweep.name());
  // The sweep's own keys are a layer over the base deck; its axes will be one over both.
  options.base.merge(own);
  for (const char* key : {"run.steps", "run.epochs"})
    if (extent.steps && own.find_path(key) != nullptr) refuse(sweep, key, "limits.steps replaces it");
  if (extent.steps) options.base.set("run.steps", std::to_string(*extent.steps));
  if (extent.skip_steps) options.base.set("profile.skip_steps", std::to_string(*extent.skip_steps));
  quieten(options.base, own, options.axes);
  return options;
}

}  // namespace multicard
