#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/DeckSettings.hpp"
#include "postproc/study/Labels.hpp"
#include "results/DeckText.hpp"

namespace multicard::post {

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

/// The most important settings, separated by blanks. Those with a point are looked up in the deck, which has only what
/// applies to the task.
constexpr const char* kSettings =
    "task model model_dtype model.trainable_dtype method method.rank method.alpha method.targets method.dropout "
    "dataset template data.packing data.max_length strategy backend precision image_size global_batch "
    "batch_per_rank optimizer.name optimizer.learning_rate optimizer.weight_decay schedule.name pipeline layout "
    "pin_memory";

/// "40 steps, 35 of them measured": the distinct ones over runs.
std::string steps_text(const Study& study) {
  std::set<std::pair<std::int64_t, std::int64_t>> kinds;
  for (const RunReport& run : study.runs)
    if (run.num_steps) kinds.emplace(run.num_steps, run.num_measured);
  std::vector<std::string> parts;
  parts.reserve(kinds.size());
  for (const auto& [steps, measured] : kinds)
    parts.push_back(fmt::format("{}, {} of them measured", counted(steps, "step"), grouped(measured)));
  // A sweep that was continued with other lengths may have many.
  if (parts.size() > 3) {
    parts.resize(3);
    parts.emplace_back("…");
  }
  return join(parts, "; ");
}

/// The attribute of a run, or a value of its deck where `key` is a path. Pinned memory has no meaning without a GPU.
std::string value_of(const RunReport& run, const std::string& key) {
  if (key == "pin_memory" && setting(run, "device").starts_with("cpu")) return {};
  return key.find('.') == std::string::npos ? setting(run, key) : deck_value(run.deck, key);
}

/// The values of all runs, numbers compared by value: "4e-05" and "4.0e-5" are one.
std::string distinct(const Study& study, const std::string& key) {
  std::vector<std::string> values;
  for (const RunReport& run : study.runs) {
    const std::string value = value_of(run, key);
    const auto is_it = [&](const std::string& other) { return same_value(value, other); };
    if (!value.empty() && std::ranges::none_of(values, is_it)) values.push_back(value);
  }
  for (std::string& value : values)
    value = key == "pin_memory" || key == "image_size" ? study.keys.label(key, value) : short_value(value);
  return join(values, ", ");
}

std::string distinct_provenance(const Study& study, const std::string& key) {
  std::set<std::string> values;
  for (const Source& source : study.sources)
    if (const auto found = source.provenance.find(key); found != source.provenance.end())
      values.insert(short_value(found->second));
  return join({values.begin(), values.end()}, "; ");
}

/// "vm ×2" of the file's list with a name for each rank: "vm".
std::string distinct_hosts(const Study& study) {
  std::set<std::string> hosts;
  for (const std::string& list : split(distinct_provenance(study, "hosts"), ';'))
    for (std::string host : split(list, ',')) {
      host = host.substr(0, host.find(" ×"));
      const std::size_t from = host.find_first_not_of(' ');
      if (from != std::string::npos) hosts.insert(host.substr(from));
    }
  return join({hosts.begin(), hosts.end()}, ", ");
}

std::string repeats_of(const Study& study) {
  std::set<std::size_t> numbers;
  for (const Cell& cell : study.cells)
    numbers.insert(cell.runs.size());
  return *numbers.begin() == *numbers.rbegin() ? std::to_string(*numbers.begin())
                                               : fmt::format("{} to {}", *numbers.begin(), *numbers.rbegin());
}

std::string scaling_text(Scaling scaling) {
  if (scaling == Scaling::strong) return "strong: the global batch stays the same";
  if (scaling == Scaling::weak) return "weak: the batch of a rank stays the same";
  return "mixed: some runs fix the global batch, some that of a rank";
}

/// What varied, then what was fixed, then the machine.
Rows rows_of(const Study& study) {
  Rows rows;
  const auto add = [&](const std::string& name, const std::string& value) {
    if (!value.empty()) rows.emplace_back(name, value);
  };
  for (const Axis& axis : study.axes) {
    std::vector<std::string> labels;
    for (const std::string& value : axis.values)
      labels.push_back(study.keys.label(axis.key, value));
    add(study.keys.label(axis.key) + " (varied)", join(labels, ", "));
  }
  std::vector<std::string> ranks;
  for (const int count : study.rank_counts)
    ranks.push_back(std::to_string(count));
  add("ranks", join(ranks, ", "));
  if (study.has_scaling()) add("scaling", scaling_text(study.scaling));
  add("repeats", repeats_of(study));
  add("steps a run", steps_text(study));
  for (const std::string& key : split(kSettings, ' ')) {
    const bool is_axis =
        std::ranges::any_of(study.axes, [&](const Axis& axis) { return short_key(axis.key) == short_key(key); });
    if (!is_axis) add(study.keys.label(key), distinct(study, key));
  }
  std::set<std::string> clocks;
  for (const RunReport& run : study.runs)
    if (!run.clock.empty()) clocks.insert(run.clock);
  add("clock", join({clocks.begin(), clocks.end()}, ", "));
  add("hosts", distinct_hosts(study));
  const bool on_cpus = std::ranges::all_of(study.runs, &RunReport::on_cpu);
  for (const char* key : {"gpus", "cpu", "mpi", "nccl", "torch"})
    if (!on_cpus || std::string(key) != "nccl") add(key, distinct_provenance(study, key));
  return rows;
}

std::string settings_html(const Collection& collection) {
  std::vector<Rows> all;
  for (const Study& study : collection.studies)
    all.push_back(rows_of(study));
  if (all.size() == 1) return name_value_table(all.front());
  // Rows that all studies share are shown once, at the end.
  Rows common;
  for (const auto& row : all.front())
    if (std::ranges::all_of(all, [&](const Rows& rows) { return std::ranges::find(rows, row) != rows.end(); }))
      common.push_back(row);
  std::string out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::erase_if(all[i], [&](const auto& row) { return std::ranges::find(common, row) != common.end(); });
    out += subheading(collection.studies[i].title()) + name_value_table(all[i]);
  }
  return common.empty() ? out : out + subheading("In all studies") + name_value_table(common);
}

}  // namespace

std::string commands_html(const Collection& collection) {
  std::set<std::string> commands;
  for (const Source& source : collection.sources)
    if (const auto found = source.attributes.find("command_line");
        found != source.attributes.end() && !found->second.empty())
      commands.insert(found->second);
  std::string out;
  for (const std::string& command : commands)
    out += preformatted(command);
  return out.empty() ? out : paragraph("Repeat it with:") + out;
}

std::string setup_html(const Collection& collection) {
  return folded("Settings, machine and command", settings_html(collection) + commands_html(collection), Printed::open);
}

}  // namespace multicard::post
