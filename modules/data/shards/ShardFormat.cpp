#include "data/shards/ShardFormat.hpp"

#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"

namespace multicard {

namespace {

std::string command_for(ShardKind kind) {
  return kind == ShardKind::image ? "multicard prepare images" : "multicard prepare text";
}

/// After "PATH is not ".
std::string name_of(ShardKind kind) {
  return kind == ShardKind::image ? "an image shard" : "a token shard";
}

bool is_of_another_kind(const std::string& path) {
  constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
  if (why_unreadable(path)) return false;
  RegularFile file(path);
  std::string start(kSignature.size(), '\0');
  return file.read(start.data(), start.size()) == start.size() && start != kSignature;
}

}  // namespace

// The usual mistake is to name the data from which shards are made. Only a file that can be read and does not begin
// with HDF5's signature is called another kind; a damaged HDF5 file keeps the library's message.
Hdf5File open_shard(const std::string& path, ShardKind kind, const Communicator& communicator) {
  try {
    return Hdf5File::open_read(path, communicator);
  } catch (const Error& error) {
    if (!is_of_another_kind(path)) throw;
    const DataError found(fmt::format("{} is not {}", path, name_of(kind)), "it is not an HDF5 file",
                          fmt::format("Make shards of it with {}.", command_for(kind)));
    if (error.scope() == Scope::all_ranks) throw found.on_all_ranks();
    throw found;
  }
}

void require_format(const Hdf5File& file, ShardKind kind, const std::string& format, std::int64_t version) {
  if (!file.has_attribute("/", "format") || file.attribute<std::string>("/", "format") != format)
    throw DataError(fmt::format("{} is not {}", file.path(), name_of(kind)),
                    fmt::format("its attribute format is not {}", format),
                    fmt::format("Make shards with {}.", command_for(kind)));
  const auto found = file.attribute<std::int64_t>("/", "schema_version");
  if (found != version)
    throw DataError(fmt::format("{} cannot be read", file.path()),
                    fmt::format("its schema_version is {}, this program knows {}", found, version),
                    "Prepare it again with this version.");
}

void require_unchanged(const std::string& path, const Hdf5Dataset& dataset, ElementType type, const Extents& dims) {
  if (dataset.type() == type && dataset.dims() == dims) return;
  throw DataError(fmt::format("{} has changed since the run began", path),
                  fmt::format("{} was {} [{}] and is {} [{}]", dataset.path(), name_of(type), fmt::join(dims, ", "),
                              name_of(dataset.type()), fmt::join(dataset.dims(), ", ")),
                  "Put the file back, or start the run again.");
}

}  // namespace multicard
