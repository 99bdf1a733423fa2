#include "postproc/ReadStudy.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "postproc/AsText.hpp"
#include "postproc/Reduce.hpp"

namespace multicard::post {

namespace {

/// "node1 ×4, node2 ×4" of a name a rank.
std::string with_counts(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (name->empty() || std::find(names.begin(), name, *name) != name) continue;
    const auto number = std::count(name, names.end(), *name);
    parts.push_back(number == 1 ? *name : fmt::format("{} ×{}", *name, number));
  }
  return join(parts, ", ");
}

}  // namespace

Source source_of(const ResultsFile& file) {
  Source source;
  source.path = file.path();
  for (const auto& [name, value] : file.attributes())
    source.attributes[name] = std::visit([](const auto& v) { return as_text(v); }, value);
  const Provenance from = file.provenance();
  source.attributes["command_line"] = from.command_line;
  source.provenance = {{"hosts", with_counts(from.hosts)},
                       {"cpu", from.cpu},
                       {"gpus", with_counts(from.gpus)},
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
  return source;
}

Study read_study(const std::vector<std::string>& paths) {
  std::vector<Source> sources;
  std::vector<RunReport> runs;
  for (const std::string& path : paths) {
    const ResultsFile file = ResultsFile::open(path);
    const std::size_t before = runs.size();
    for (const std::string& name : file.run_names()) {
      runs.push_back(reduce_run(file.run(name)));
      runs.back().source = sources.size();
    }
    if (runs.size() == before)
      throw DataError(fmt::format("'{}' holds no run", path), "its group /runs is empty", "Run multicard again.");
    sources.push_back(source_of(file));
  }
  return make_study(std::move(sources), std::move(runs));
}

}  // namespace multicard::post
