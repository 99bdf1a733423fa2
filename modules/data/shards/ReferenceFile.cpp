#include "data/shards/ReferenceFile.hpp"

#include <filesystem>
#include <regex>
#include <span>

#include <fmt/format.h>

#include "base/Blocks.hpp"
#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "comm/Agreement.hpp"
#include "io/AtomicFile.hpp"
#include "io/Hdf5.hpp"
#include "io/OwnFiles.hpp"
#include "io/Seal.hpp"

namespace multicard {

namespace {

constexpr const char* kFormat = "multicard-reference";
constexpr std::int64_t kSchemaVersion = 1;
constexpr const char* kChosen = "/chosen";
constexpr const char* kRejected = "/rejected";
constexpr const char* kRemedy = "Remove it: it is computed again.";
constexpr std::size_t kDigitsInName = 16;

[[noreturn]] void refuse(const std::string& path, const std::string& problem, const std::string& why) {
  throw DataError(path + " " + problem, why, kRemedy);
}

std::vector<float> read_values(const Hdf5File& file, const std::string& name, std::int64_t num_pairs) {
  if (!file.is_dataset(name)) refuse(file.path(), "is damaged", "it has no " + name);
  const Hdf5Dataset values = file.open_dataset(name);
  if (values.type() != ElementType::float32 || values.dims() != Extents{static_cast<std::uint64_t>(num_pairs)})
    refuse(file.path(), "does not fit the shards", fmt::format("{} must be float32 [{}]", name, num_pairs));
  return values.read_all<float>();
}

}  // namespace

// The name is that of the set without the numbers of a shard: one file serves all of its shards. The key in the name
// lets files of several models stand in one folder; the whole key is inside, and is what counts.
std::string reference_path(const std::string& shard, const std::string& key) {
  static const std::regex ending("(-[0-9]{5,}-of-[0-9]{5,})?\\.h5$");
  return fmt::format("{}.ref-{}.h5", std::regex_replace(shard, ending, ""), key.substr(0, kDigitsInName));
}

bool is_reference_file(const std::string& path) {
  static const std::regex name("[\\s\\S]*\\.ref-[0-9a-f]{16}\\.h5");
  return std::regex_match(std::filesystem::path(path).filename().string(), name);
}

// Order: all ranks write and close; a barrier; the seal (a checksum of the file) is made by root; the file gets its
// name last. A reader thus sees a whole, sealed file or none.
void write_reference(const std::string& path, const std::string& key, const ReferenceLogProbs& values,
                     const Communicator& communicator) {
  PendingFile pending(path, communicator);
  Hdf5File file = Hdf5File::create(pending.path(), communicator);
  file.write_attribute("/", "format", std::string(kFormat));
  file.write_attribute("/", "schema_version", kSchemaVersion);
  file.write_attribute("/", "key", key);
  const auto num_pairs = static_cast<std::int64_t>(values.chosen.size());
  const Block mine = block_of(num_pairs, communicator.rank(), communicator.size());
  const auto first = static_cast<std::uint64_t>(mine.first), count = static_cast<std::uint64_t>(mine.count);
  for (const auto& [name, half] : {std::pair{kChosen, &values.chosen}, std::pair{kRejected, &values.rejected}})
    file.create_dataset<float>(name, {half->size()})
        .write<float>({first}, {count}, std::span(*half).subspan(first, count), Transfer::collective);
  file.close();
  communicator.barrier();  // a rank that still writes would change what is summed
  agreed(communicator, [&] {
    if (communicator.is_root()) seal(pending.path());
  });
  agreed(communicator, [&] {
    if (communicator.is_root() && is_there(path) && !content_says(path, kHdf5Start, kFormat))
      throw DataError(fmt::format("{} cannot be replaced", path), "multicard did not write it", "Move it away.");
  });
  pending.commit();
}

ReferenceLogProbs read_reference(const std::string& path, const std::string& key, std::int64_t num_pairs) {
  try {
    if (!check_seal(path)) refuse(path, "is damaged", "it is not whole");
  } catch (const DataError& error) {
    throw DataError(error.problem(), error.why(), kRemedy);
  }
  const Hdf5File file = Hdf5File::open_read(path);
  const auto text = [&](const char* name) {
    return file.has_attribute("/", name) ? file.attribute<std::string>("/", name) : std::string();
  };
  if (text("format") != kFormat) refuse(path, "holds no reference log-probabilities", "it is another kind of file");
  if (text("key") != key)
    refuse(path, "is stale",
           fmt::format("its values belong to another model, other shards or other settings: its key is {}, not {}",
                       text("key"), key));
  return {read_values(file, kChosen, num_pairs), read_values(file, kRejected, num_pairs)};
}

}  // namespace multicard
