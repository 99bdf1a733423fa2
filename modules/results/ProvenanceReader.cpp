#include <string>
#include <vector>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/Secrets.hpp"
#include "results/ResultsReader.hpp"
#include "results/Schema.hpp"

namespace multicard {

namespace {

/// Files that know nothing of keys have none.
std::vector<SettingKey> read_keys(const Hdf5File& file) {
  if (!file.exists(schema::kKeys)) return {};
  const auto column = [&](const char* name) {
    try {
      return file.read_texts(fmt::format("{}/{}", schema::kKeys, name));
    } catch (const Error&) {
      throw DataError(fmt::format("{}: {} is damaged", file.path(), schema::kKeys), fmt::format("it has no {}", name));
    }
  };
  const std::vector<std::string> keys = column("key"), labels = column("label"), effects = column("effect");
  if (labels.size() != keys.size() || effects.size() != keys.size())
    throw DataError(fmt::format("{}: {} is damaged", file.path(), schema::kKeys), "its columns have different lengths");
  std::vector<SettingKey> found;
  for (std::size_t i = 0; i < keys.size(); ++i)
    found.push_back({keys[i], labels[i], effects[i]});
  return found;
}

}  // namespace

Provenance ResultsFile::provenance() const {
  const auto text = [&](const char* name) { return file_.attribute<std::string>(schema::kProvenance, name); };
  const auto texts = [&](const char* name) {
    return file_.attribute<std::vector<std::string>>(schema::kProvenance, name);
  };
  Provenance found;
  found.command_line = file_.attribute<std::string>("/", "command_line");
  found.hosts = texts("hosts");
  found.cpu = text("cpu");
  found.gpus = texts("gpus");
  found.driver = text("driver");
  found.cuda = text("cuda");
  found.nccl = text("nccl");
  found.mpi = text("mpi");
  found.hdf5 = text("hdf5");
  found.torch = text("torch");
  found.kernel = text("kernel");
  found.compiler = text("compiler");
  found.build_flags = text("build_flags");
  for (const std::string& variable : file_.read_texts(schema::kEnvironment)) {
    const std::size_t equals = variable.find('=');
    if (equals == std::string::npos || speaks_of_secrets(variable.substr(0, equals))) continue;  // of an older version
    found.environment[variable.substr(0, equals)] = variable.substr(equals + 1);
  }
  found.keys = read_keys(file_);
  return found;
}

}  // namespace multicard
