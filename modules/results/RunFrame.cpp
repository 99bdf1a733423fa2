#include "results/RunFrame.hpp"

#include <algorithm>

#include "base/BuildInfo.hpp"
#include "base/Clock.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

void write_run_attributes(Hdf5File& file, const std::string& run, const RunSummary& summary, std::int64_t num_ranks) {
  for (const auto& [name, value] : summary.text)
    file.write_attribute(run, name, value);
  for (const auto& [name, value] : summary.integers)
    file.write_attribute(run, name, value);
  for (const auto& [name, value] : summary.reals)
    file.write_attribute(run, name, value);
  file.write_attribute(run, "ranks", num_ranks);
  file.write_attribute(run, "status", summary.status);
  file.write_attribute(run, "error", summary.error);
}

void write_metrics(Hdf5File& file, const std::string& run, const RunSummary& summary) {
  for (const auto& [name, series] : summary.metrics) {
    file.write_values(run + "/metrics/" + name, series.values);
    file.write_values(run + "/metrics/" + name + "_step", series.steps);
  }
}

void write_segments(Hdf5File& file, const std::string& run, std::vector<Segment> segments, const RunLayout& layout) {
  if (segments.empty())
    segments.push_back({.first_step = layout.first_step, .ranks = static_cast<std::int64_t>(layout.num_ranks)});
  std::vector<std::int64_t> first_steps, ranks;
  for (const Segment& segment : segments) {
    first_steps.push_back(segment.first_step);
    ranks.push_back(segment.ranks);
  }
  file.write_values(run + "/segments/first_step", first_steps);
  file.write_values(run + "/segments/ranks", ranks);
}

void write_table(Hdf5File& file, const std::string& group, const Table& table) {
  file.create_group(group);
  for (const auto& [name, values] : table.text)
    file.write_texts(group + "/" + name, values);
  for (const auto& [name, values] : table.integers)
    file.write_values(group + "/" + name, values);
  for (const auto& [name, values] : table.reals)
    file.write_values(group + "/" + name, values);
  for (const auto& [name, merge] : table.merge)
    for (const auto& [word, of_word] : schema::kMergeWords)
      if (merge == of_word) file.write_attribute(group + "/" + name, schema::kMerge, std::string(word));
}

Table table_of(const std::vector<SettingKey>& keys) {
  Table table;
  for (const SettingKey& key : keys) {
    table.text["key"].push_back(key.key);
    table.text["label"].push_back(key.label);
    table.text["effect"].push_back(key.effect);
  }
  return table;
}

void create_columns(Hdf5File& file, const std::string& run, const RunLayout& layout, std::uint64_t num_ranks) {
  for (const auto& [path, column] : layout.columns) {
    // Filling a dataset writes it twice, so only those are filled whose rows leave something out.
    const bool is_whole = column.num_full == num_ranks;
    const Fill gap = column.is_integer() ? Fill::zero : Fill::nan;
    const std::string dataset = run + "/" + path;
    file.create_dataset(dataset, column.is_integer() ? ElementType::int64 : ElementType::float64,
                        column.is_matrix() ? Extents{num_ranks, column.length} : Extents{num_ranks},
                        is_whole ? Fill::never : gap);
    if (!path.starts_with("steps/") || column.is_integer()) continue;
    file.write_attribute(dataset, "unit", "s");
    file.write_attribute(dataset, "clock", layout.clock);
  }
}

}  // namespace

std::string run_path(const std::string& run) {
  return std::string(schema::kRuns) + "/" + run;
}

void write_file_frame(Hdf5File& file, const Provenance& provenance) {
  const BuildInfo build = build_info();
  file.write_attribute("/", "format", schema::kFormat);
  file.write_attribute("/", "schema_version", schema::kVersion);
  file.write_attribute("/", "created_utc", utc_now());
  file.write_attribute("/", "version", build.version);
  file.write_attribute("/", "git", build.git);
  file.write_attribute("/", "command_line", provenance.command_line);
  file.create_group(schema::kRuns);
  file.create_group(schema::kProvenance);
  const std::map<std::string, Hdf5Value> values{
      {"hosts", provenance.hosts},   {"cpu", provenance.cpu},           {"gpus", provenance.gpus},
      {"driver", provenance.driver}, {"cuda", provenance.cuda},         {"nccl", provenance.nccl},
      {"mpi", provenance.mpi},       {"hdf5", provenance.hdf5},         {"torch", provenance.torch},
      {"kernel", provenance.kernel}, {"compiler", provenance.compiler}, {"build_flags", provenance.build_flags}};
  for (const auto& [name, value] : values)
    file.write_attribute(schema::kProvenance, name, value);
  std::vector<std::string> variables;
  for (const auto& [name, value] : provenance.environment)
    variables.push_back(name + "=" + value);
  file.write_texts(schema::kEnvironment, variables);
  if (!provenance.keys.empty()) write_table(file, schema::kKeys, table_of(provenance.keys));
}

void write_run_frame(Hdf5File& file, const RunSummary& summary, const RunLayout& layout,
                     const std::map<std::string, Table>& tables) {
  const std::string run = run_path(summary.name);
  // A run that has moved from more ranks to fewer has rows for the most that it had.
  const auto named = summary.integers.find("ranks");
  const std::uint64_t num_ranks =
      std::max(layout.num_ranks, named == summary.integers.end() ? 0 : static_cast<std::uint64_t>(named->second));
  file.create_group(run);
  write_run_attributes(file, run, summary, static_cast<std::int64_t>(num_ranks));
  write_metrics(file, run, summary);
  for (const auto* all : {&summary.tables, &tables})
    for (const auto& [path, table] : *all)
      write_table(file, run + "/" + path, table);
  // A run that failed before its first step, or one that a sweep only names.
  if (layout.columns.empty()) return;
  create_columns(file, run, layout, num_ranks);
  file.write_attribute(run + "/steps", "first_step", layout.first_step);
  file.write_attribute(run + "/steps", "skip_steps", summary.skip_steps);
  write_segments(file, run, summary.segments, layout);
}

void write_group(Hdf5File& file, const std::string& path, const std::map<std::string, std::string>& attributes,
                 const std::map<std::string, Table>& tables) {
  file.create_group(path);
  for (const auto& [name, value] : attributes)
    file.write_attribute(path, name, value);
  for (const auto& [name, table] : tables)
    write_table(file, path + "/" + name, table);
}

}  // namespace multicard
