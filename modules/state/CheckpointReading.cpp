// Reading a checkpoint: what belongs to it, and whether it is as it was written.

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/RegularFile.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/Seal.hpp"
#include "io/Sha256.hpp"
#include "state/CheckpointFolder.hpp"
#include "state/CheckpointStore.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

using checkpoint_folder::absolute_name;
using checkpoint_folder::complete_ones;
using checkpoint_folder::kMarker;
using checkpoint_folder::kSchemaVersion;
using checkpoint_folder::named;

/// What is given in place of a checkpoint by mistake.
void refuse_other_folders(const fs::path& folder) {
  std::error_code ignored;
  const auto has = [&](const char* name) { return fs::exists(folder / name, ignored); };
  const auto refuse = [&](const char* what, const char* key) {
    throw DataError(fmt::format("{} is not a checkpoint", folder.string()), what,
                    fmt::format("Score it with multicard eval DECK {}={}", key, folder.string()));
  };
  if (!fs::exists(folder, ignored))
    throw DataError(fmt::format("{} does not exist", folder.string()), "a checkpoint is needed",
                    "Name one, such as RUN/checkpoints/step_00000100.");
  if (has(kStateFile)) return;
  if (has("adapter_config.json")) refuse("it is a PEFT adapter", "model.adapter");
  if (has("config.json")) refuse("it is a model folder", "model.path");
}

std::string damage_of(const std::string& checkpoint) {
  return fmt::format("checkpoint {} has a damaged trainer.json", checkpoint);
}

/// Since schema version 2, COMPLETE says whether a bit of trainer.json has changed; before, it was empty.
void check_sum(const std::string& checkpoint, const std::string& text) {
  const std::string marker = read_file((fs::path(checkpoint) / kMarker).string());
  const bool is_old = marker.empty() && text.find("\"schema_version\": 1,") != std::string::npos;
  if (!is_old && marker != sha256(text) + "\n")
    throw DataError(damage_of(checkpoint), "its SHA-256 is not the one in COMPLETE");
}

/// A folder that was renamed or copied within the run's checkpoints would pass for the newest.
void check_name(const std::string& checkpoint, std::int64_t step) {
  const std::string name = fs::path(absolute_name(checkpoint)).filename().string();
  if (checkpoint_folder::names_step(name) && name != named(step))
    throw DataError(fmt::format("checkpoint {} is not named for its step", checkpoint),
                    fmt::format("it is the checkpoint of step {}", step),
                    fmt::format("Rename it to {}, or move it out of the folder.", named(step).string()));
}

nlohmann::json parse_state(const std::string& checkpoint) {
  // The most frequent mistakes first, with what was probably meant.
  for (const auto& [below, what] :
       {std::pair{"checkpoints", "it is the output folder of a run"}, {"", "it is the folder of a run's checkpoints"}})
    if (const auto inside = complete_ones(*below == '\0' ? fs::path(checkpoint) : fs::path(checkpoint) / below);
        !inside.empty())
      throw DataError(fmt::format("{} is not a checkpoint", checkpoint), what,
                      fmt::format("Name one of its checkpoints, such as {}", inside.back().string()));
  refuse_other_folders(checkpoint);
  if (!is_there((fs::path(checkpoint) / kMarker).string()))
    throw DataError(fmt::format("{} is not a complete checkpoint", checkpoint), "its marker COMPLETE is missing",
                    "Name another checkpoint; run.resume=auto resumes from the newest complete one.");
  // The hash before the parser: what has changed since it was written is damaged, however well it can be read.
  const std::string text = read_file((fs::path(checkpoint) / kStateFile).string());
  check_sum(checkpoint, text);
  auto json = parse_json_object<nlohmann::json>(text, damage_of(checkpoint));
  const JsonReader state(json, damage_of(checkpoint));
  if (state.text("format") != checkpoint_folder::kFormat)
    throw DataError(checkpoint + " is not a multicard checkpoint");
  if (const std::int64_t version = state.whole("schema_version", 0, INT64_MAX); version > kSchemaVersion)
    throw DataError(fmt::format("checkpoint {} was written by a newer multicard", checkpoint),
                    fmt::format("schema version {} is not known here", version));
  check_name(checkpoint, state.whole("step", 0, INT64_MAX));
  return json;
}

/// Calls `body` with the state of a checkpoint; errors say whether there is an older one.
template <class Body>
auto with_state(const std::string& checkpoint, Body&& body) {
  try {
    const nlohmann::json json = parse_state(checkpoint);
    return body(JsonReader(json, damage_of(checkpoint)));
  } catch (const Error& error) {
    throw CheckpointStore::with_older_one(error, checkpoint);
  }
}

/// Gives out what is to be hashed: of things in an order that all ranks have, one rank hashes each.
class HashedByTurns {
 public:
  HashedByTurns(int rank, int num_ranks) : rank_(rank), num_ranks_(num_ranks) {}
  bool is_mine() { return next_++ % num_ranks_ == rank_; }

 private:
  int rank_, num_ranks_, next_ = 0;
};

/// Of a file that ranks have written ranges of.
std::optional<std::string> difference_in_ranges(const std::string& path, const JsonReader& expected,
                                                std::uint64_t bytes, HashedByTurns& turns) {
  ByteRanges all;
  std::vector<WrittenRanges> of_ranks;
  for (const auto& [text, digest] : expected.texts("ranges")) {
    const std::optional<ByteRanges> ranges = ranges_in(text);
    if (!ranges) expected.refuse("ranges", fmt::format("'{}' names no ranges of bytes", text));
    all.insert(all.end(), ranges->begin(), ranges->end());
    of_ranks.push_back({*ranges, digest});
  }
  // Before anything is read: no byte is hashed twice then, whatever the ranges are.
  if (!cover(std::move(all), bytes)) expected.refuse("ranges", "they do not hold each byte of the file once");
  for (const auto& [ranges, digest] : of_ranks)
    if (turns.is_mine() && sha256_of_ranges(path, ranges) != digest)
      return fmt::format("the SHA-256 of the {} ranges from byte {} on, which one rank wrote, differs", ranges.size(),
                         ranges.front().begin);
  return std::nullopt;
}

/// In what a file differs from what trainer.json says of it.
std::optional<std::string> difference(const std::string& path, const JsonReader& expected, HashedByTurns& turns) {
  if (auto why = why_unreadable(path)) return why;
  const std::uint64_t bytes = RegularFile(path).size();
  const std::int64_t written = expected.whole("bytes", 0, INT64_MAX);
  // The length first: it costs nothing, and says of a truncated file what a hash cannot.
  if (bytes != static_cast<std::uint64_t>(written)) return fmt::format("it has {} bytes instead of {}", bytes, written);
  if (expected.holds("ranges")) return difference_in_ranges(path, expected, bytes, turns);
  if (turns.is_mine() && sha256_of_file(path) != expected.text("sha256")) return "its SHA-256 differs";
  return std::nullopt;
}

}  // namespace

TrainerState CheckpointStore::read_state(const std::string& checkpoint) {
  return with_state(checkpoint, [&](const JsonReader& json) {
    TrainerState state{json.whole("step", 0, INT64_MAX),
                       json.whole("samples_seen", 0, INT64_MAX),
                       json.whole("global_batch", 0, INT64_MAX),
                       json.text("deck"),
                       json.numbers("extra"),
                       json.texts("text")};
    // What a resumed run needs later is parsed here, where the error still names the checkpoint.
    if (const std::optional<Error> broken = error_of([&] { Deck::parse(state.deck, checkpoint); }))
      throw DataError(damage_of(checkpoint), broken->problem());
    if (const std::optional<JsonReader> origin = json.object("origin"))
      state.origin = {origin->text("path"), origin->text("sha256")};
    return state;
  });
}

CheckpointOrigin CheckpointStore::origin_of(const std::string& checkpoint) {
  const std::string path = absolute_name(checkpoint);
  const std::optional<CheckpointOrigin> own = read_state(checkpoint).origin;
  if (own && own->path == path) return *own;  // saved again, by the run that began from it
  return {path, sha256_of_file((fs::path(checkpoint) / kStateFile).string())};
}

void CheckpointStore::verify(const std::string& checkpoint, int rank, int num_ranks) {
  HashedByTurns turns(rank, num_ranks);
  with_state(checkpoint, [&](const JsonReader& json) {
    const std::optional<JsonReader> files = json.object("files");
    const std::vector<std::string> names = files ? files->keys() : std::vector<std::string>{};
    if (names.empty()) throw DataError(damage_of(checkpoint), "it names none of the checkpoint's files");
    for (const std::string& name : names) {
      const std::string path = (fs::path(checkpoint) / name).string();
      if (const auto why = difference(path, files->required_object(name), turns))
        throw DataError(fmt::format("{} has changed since it was written", path), *why, "The checkpoint is damaged.");
    }
  });
}

bool CheckpointStore::names_records(const std::string& checkpoint) {
  return with_state(checkpoint, [](const JsonReader& json) { return json.object("records").has_value(); });
}

bool CheckpointStore::has_records(const std::string& checkpoint, const std::string& records) {
  return with_state(checkpoint, [&](const JsonReader& json) {
    HashedByTurns alone(0, 1);
    if (const std::optional<JsonReader> expected = json.object("records"))
      return !difference(records, *expected, alone);
    return !error_of([&] { check_seal(records); });  // of an older multicard, which named none
  });
}

Error CheckpointStore::with_older_one(const Error& error, const std::string& checkpoint) {
  const fs::path path(checkpoint);
  // In the folder of this one, whatever run it is of; names are in the order of steps, so the last older one stays.
  std::optional<std::string> older;
  for (const fs::path& other : complete_ones(path.parent_path()))
    if (other.filename() < path.filename()) older = other.string();
  if (!older) return error;
  const std::string own = error.suggestion().empty() ? "" : error.suggestion() + " ";
  return Error(error.code(), error.problem(), error.why(),
               fmt::format("{}run.resume={} resumes from the one before it, which is complete.", own, *older));
}

}  // namespace multicard
