#include "postproc/reduce/ShownRun.hpp"

#include <algorithm>
#include <utility>

#include "base/Shown.hpp"

namespace multicard::post {

namespace {

// Longer than any real value: values that differ only in what is cut off become equal. Labels are shorter.
constexpr std::size_t kLongestName = 200, kLongestValue = 20'000, kLongestAnswer = 20'000, kLongestDeck = 200'000;
/// Of a source: its command line may name hundreds of files.
constexpr std::size_t kLongestFact = 200'000;

/// Names and values are shown in lines of tables; control characters could forge others (shown() escapes them).
std::string one_line(const std::string& text, std::size_t longest) {
  std::string line = shown(text, longest);
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  return line;
}

/// The same values under names that can be shown.
template <class T>
std::map<std::string, T> named(std::map<std::string, T> values) {
  std::map<std::string, T> out;
  for (auto& [name, value] : values)
    out.emplace(one_line(name, kLongestName), std::move(value));
  return out;
}

std::map<std::string, std::string> shown_values(const std::map<std::string, std::string>& values, std::size_t longest) {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : values)
    out.emplace(one_line(name, kLongestName), name == "deck" ? shown(value, kLongestDeck) : one_line(value, longest));
  return out;
}

Table shown_table(Table table) {
  for (auto& [name, texts] : table.text)
    for (std::string& text : texts)
      text = name == "name" ? one_line(text, kLongestName) : shown(text, kLongestAnswer);
  return table;
}

}  // namespace

/// Everything of a run that is text, once, before anything else sees it.
RunData shown_run(RunData run) {
  RunSummary& summary = run.summary;
  summary.name = one_line(summary.name, kLongestName);
  summary.text = shown_values(summary.text, kLongestValue);
  summary.integers = named(std::move(summary.integers));
  summary.reals = named(std::move(summary.reals));
  summary.status = one_line(summary.status, kLongestName);
  summary.error = shown(summary.error);
  summary.metrics = named(std::move(summary.metrics));
  for (auto& [path, table] : summary.tables)
    table = shown_table(std::move(table));
  run.clock = one_line(run.clock, kLongestName);
  run.times = named(std::move(run.times));
  run.counts = named(std::move(run.counts));
  run.epochs = named(std::move(run.epochs));
  run.memory = named(std::move(run.memory));
  run.communication = named(std::move(run.communication));
  run.transfers = named(std::move(run.transfers));
  return run;
}

Source shown_source(const Source& source) {
  std::vector<SettingKey> keys;
  for (const auto& [key, label, effect] : source.keys)
    keys.push_back({one_line(key, kLongestName), one_line(label, kLongestName), one_line(effect, kLongestName)});
  AllocationRecord allocation = source.allocation;
  for (AllocationInterval& interval : allocation.intervals)
    interval.task = one_line(interval.task, kLongestName);
  for (AllocationChange& change : allocation.changes) {
    change.task = one_line(change.task, kLongestName);
    change.reason = one_line(change.reason, kLongestFact);
  }
  for (AllocationBaseline& baseline : allocation.baselines) {
    baseline.policy = one_line(baseline.policy, kLongestName);
    baseline.reason = one_line(baseline.reason, kLongestFact);
  }
  return {one_line(source.path, kLongestFact),
          shown_values(source.attributes, kLongestFact),
          shown_values(source.provenance, kLongestFact),
          shown_values(source.environment, kLongestFact),
          std::move(keys),
          std::move(allocation),
          source.hosts};
}

}  // namespace multicard::post
