#include "postproc/reduce/ReadRuns.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Error.hpp"
#include "base/NearPath.hpp"
#include "base/RegularFile.hpp"
#include "base/Text.hpp"
#include "base/Utf8.hpp"
#include "postproc/reduce/AsText.hpp"
#include "postproc/reduce/Reduce.hpp"
#include "postproc/reduce/ShownRun.hpp"
#include "profile/TimelineMark.hpp"
#include "results/Divergence.hpp"
#include "results/TrialRead.hpp"

namespace multicard::post {

namespace {

/// "node1 ×4, node2 ×4", given one name per rank.
std::string counted_names(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty() || std::find(names.begin(), name, *name) != name) continue;
    const auto number = std::count(name, names.end(), *name);
    parts.push_back(number == 1 ? *name : fmt::format("{} ×{}", *name, number));
  }
  return join(parts, ", ");
}

/// Hashes that identify runs, with the file that held each run first.
using Fingerprints = std::map<std::size_t, std::string>;

/// Times in nanoseconds never agree by chance; a run without any is identified by its name and its file's creation.
std::size_t fingerprint(const Source& source, const RunData& run) {
  std::string text = run.summary.status + "\n" + run.summary.error;
  for (const auto& [key, value] : run.summary.text)
    text += "\n" + key + "=" + value;
  for (const auto& [key, value] : run.summary.integers)
    text += "\n" + key + "=" + as_text(value);
  const auto step = run.times.find("step");
  if (step != run.times.end() && !step->second.values.empty()) {
    const std::vector<double>& times = step->second.values;
    // The bytes: printed digits could agree.
    text.append(reinterpret_cast<const char*>(times.data()), times.size() * sizeof(double));
  } else if (const auto created = source.attributes.find("created_utc"); created != source.attributes.end()) {
    text += "\n" + run.summary.name + "\n" + created->second;
  }
  for (const auto& [key, value] : run.summary.reals)
    text += fmt::format("\n{}={}", key, value);
  for (const auto& [path, table] : run.summary.tables)
    for (const auto& [column, values] : table.integers)
      text += fmt::format("\n{}/{}={}", path, column, fmt::join(values, ","));
  return std::hash<std::string>{}(text);
}

/// Numbers of quick runs must not be quoted; the notice names how many runs and steps are meant.
std::string quick_notice(const std::vector<RunReport>& runs) {
  std::int64_t fewest = std::numeric_limits<std::int64_t>::max(), most = 0;
  long num_quick = 0;
  for (const RunReport& run : runs) {
    if (!run.is_quick) continue;
    ++num_quick;
    if (run.num_steps == 0) continue;
    fewest = std::min(fewest, run.num_steps);
    most = std::max(most, run.num_steps);
  }
  const std::string which =
      num_quick == static_cast<long>(runs.size())
          ? "These are quick runs"
          : fmt::format("{} of {} are quick", grouped(num_quick), counted(static_cast<long>(runs.size()), "run"));
  const std::string steps = most == 0        ? std::string()
                            : fewest == most ? fmt::format(" ({} each)", counted(most, "step"))
                                             : fmt::format(" ({} to {})", fewest, counted(most, "step"));
  return fmt::format(
      "{} with smaller sizes and fewer steps{}: they show that everything works. Quick mode: do not quote these "
      "numbers.",
      which, steps);
}

/// Says what a file is that other programs read, or another command of this one; libhdf5 would say that it is none of
/// its own.
void require_no_other_kind(const std::string& file) {
  const auto refuse = [&](const char* what, const char* instead) {
    throw DataError(fmt::format("{} is not a results file", file), what, instead);
  };
  constexpr const char* kTraces = "multicard-post trace reads traces of PyTorch's profiler.";
  std::array<char, 4096> bytes;
  std::string_view text(bytes.data(), RegularFile(file).read(bytes.data(), bytes.size()));
  if (text.empty()) refuse("it is empty", "");
  if (begins_as_time_line(text))
    refuse("it is a time line, which https://ui.perfetto.dev shows",
           "multicard-post profile makes the tables from the results.h5 next to it.");
  if (text.starts_with("\x1f\x8b")) refuse("it is gzipped", kTraces);
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t\r\n")));
  if (text.starts_with('{') || text.starts_with('[')) refuse("it is JSON", kTraces);
}

constexpr const char* kWhereResultsAre = "multicard writes it to run.output when a run, sweep or share ends.";

}  // namespace

std::vector<std::string> results_paths(const std::vector<std::string>& names) {
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    const std::filesystem::path path(name);
    std::error_code ignored;  // what is not there is reported where it is opened
    if (!std::filesystem::exists(path, ignored) && !ignored)
      throw DataError(fmt::format("{} cannot be read", name), "No such file or directory",
                      did_you_mean(name, kWhereResultsAre));
    if (!std::filesystem::is_directory(path, ignored)) {
      require_no_other_kind(name);
      paths.push_back(name);
      continue;
    }
    paths.push_back((path / "results.h5").string());
    if (!std::filesystem::exists(paths.back(), ignored))
      throw DataError(fmt::format("{} holds no results.h5", name), "a results file, or a folder with one, is needed",
                      kWhereResultsAre);
  }
  return paths;
}

Source source_of(const ResultsFile& file) {
  Source source;
  source.path = file.path();
  for (const auto& [name, value] : file.attributes())
    source.attributes[name] = std::visit([](const auto& v) { return as_text(v); }, value);
  const Provenance from = file.provenance();
  source.attributes["command_line"] = from.command_line;
  source.provenance = {{"hosts", counted_names(from.hosts)},
                       {"cpu", from.cpu},
                       {"gpus", counted_names(from.gpus)},
                       {"driver", from.driver},
                       {"cuda", from.cuda},
                       {"nccl", from.nccl},
                       {"mpi", from.mpi},
                       {"hdf5", from.hdf5},
                       {"torch", from.torch},
                       {"kernel", from.kernel},
                       {"compiler", from.compiler},
                       {"build flags", from.build_flags}};
  std::erase_if(source.provenance, [](const auto& entry) { return entry.second.empty(); });
  source.environment = from.environment;
  source.hosts = from.hosts;
  source.keys = from.keys;
  source.allocation = file.allocation();
  return shown_source(source);
}

RunsOfFiles read_runs(const std::vector<std::string>& paths, ProvenanceFilter& filter) {
  RunsOfFiles out;
  Fingerprints seen;
  for (const std::string& path : paths) {
    read_on_trial(path);
    const ResultsFile file = ResultsFile::open(path, Seal::is_checked);
    const Source source = filter.filtered(source_of(file));
    const std::vector<std::string> names = file.run_names();
    if (names.empty())
      throw DataError(fmt::format("'{}' holds no run", path), "its group /runs is empty", "Run multicard again.");
    std::map<std::string, std::size_t> repeated;  // by the file that held them first
    for (const std::string& name : names) {
      const RunData data = filter.filtered(shown_run(file.run(name)));
      const auto [first, is_new] = seen.emplace(fingerprint(source, data), source.path);
      if (!is_new) {
        ++repeated[first->second];
        continue;
      }
      if (const auto losses = data.summary.metrics.find("train_loss"); losses != data.summary.metrics.end())
        if (const auto reason = divergence(losses->second.values))
          out.notices.push_back(fmt::format("Run {} of '{}' diverged: {}.", data.summary.name, source.path, *reason));
      const bool is_shared = !source.allocation.intervals.empty();
      RunReport report = reduce_run(data, is_shared ? Presence::any_ranks : Presence::all_ranks);
      report.source = out.sources.size();
      if (is_shared) report.settings["share_task"] = report.name;
      if (report.evaluation) out.evaluated.push_back(report);
      // An evaluation at the end of a training is both.
      if (!report.evaluation || report.measured()) out.timed.push_back(std::move(report));
    }
    for (const auto& [where, number] : repeated)
      out.notices.push_back(fmt::format("{} of '{}' {} already in '{}' and {} counted only once.",
                                        counted(static_cast<long>(number), "run"), source.path,
                                        number == 1 ? "is" : "are", where, number == 1 ? "is" : "are"));
    out.sources.push_back(source);
  }
  if (std::ranges::any_of(out.timed, &RunReport::is_quick)) out.notices.push_back(quick_notice(out.timed));
  return out;
}

}  // namespace multicard::post
