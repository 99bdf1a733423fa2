#include "train/CheckpointStore.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Clock.hpp"
#include "comm/Agreement.hpp"
#include "comm/Mpi.hpp"
#include "config/Deck.hpp"
#include "io/AtomicFile.hpp"
#include "io/Bytes.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr int kSchemaVersion = 1;
constexpr const char* kMarker = "COMPLETE";
constexpr const char* kBestFile = "BEST";

fs::path named(std::int64_t step) {
  return fmt::format("step_{:08}", step);
}

/// Errors of the file system as the user should see them.
template <class Body>
void with_file_errors(const std::string& what, Body&& body) {
  try {
    body();
  } catch (const fs::filesystem_error& error) {
    throw DataError(what, error.code().message());
  }
}

[[noreturn]] void refuse_values(const std::string& name) {
  throw NumericalError(fmt::format("{} holds values that are not finite", name), "training has diverged",
                       "No checkpoint was written. Lower optimizer.learning_rate or set optimizer.clip_norm.");
}

/// Whether an element has all bits of `exponent` set: infinities and NaN do.
template <class Bits>
bool any_has(Bits exponent, const at::Tensor& tensor) {
  const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
  Bits found = 0;
  for (std::int64_t i = 0; i < tensor.numel(); ++i) {
    Bits bits;
    std::memcpy(&bits, bytes + static_cast<std::size_t>(i) * sizeof(Bits), sizeof(Bits));
    found |= static_cast<Bits>((bits & exponent) == exponent);
  }
  return found != 0;
}

bool is_finite(const at::Tensor& given) {
  const at::Tensor tensor = given.is_non_overlapping_and_dense() ? given : given.contiguous();
  switch (tensor.scalar_type()) {
    case at::kDouble:
      return !any_has<std::uint64_t>(0x7ff0'0000'0000'0000, tensor);
    case at::kFloat:
      return !any_has<std::uint32_t>(0x7f80'0000, tensor);
    case at::kHalf:
      return !any_has<std::uint16_t>(0x7c00, tensor);
    case at::kBFloat16:
      return !any_has<std::uint16_t>(0x7f80, tensor);
    default:
      return true;
  }
}

void check_finite(const TrainerState& state, const CheckpointParts& parts) {
  for (const CheckpointPart& part : parts)
    for (const NamedTensor& entry : part.tensors)
      if (!is_finite(entry.tensor)) refuse_values(entry.name);
  for (const auto& [name, value] : state.extra)
    if (!std::isfinite(value)) refuse_values(name);
}

void write_content(const fs::path& folder, const TrainerState& state, const CheckpointParts& parts) {
  nlohmann::ordered_json files = nlohmann::ordered_json::object();
  const auto note = [&](const std::string& name) {
    const std::string path = (folder / name).string();
    files[name] = {{"bytes", fs::file_size(path)}, {"sha256", sha256_of_file(path)}};
  };
  for (const CheckpointPart& part : parts) {
    save_tensors((folder / part.file).string(), part.tensors);
    note(part.file);
  }
  for (const auto& [name, content] : state.files) {
    write_file((folder / name).string(), content);
    note(name);
  }
  nlohmann::ordered_json json = {{"format", "multicard-checkpoint"},
                                 {"schema_version", kSchemaVersion},
                                 {"created_utc", utc_now()},
                                 {"step", state.step},
                                 {"samples_seen", state.samples_seen},
                                 {"global_batch", state.global_batch},
                                 {"extra", state.extra},
                                 {"text", state.text},
                                 {"files", files},
                                 {"deck", state.deck}};
  if (state.origin) json["origin"] = {{"path", state.origin->path}, {"sha256", state.origin->sha256}};
  write_file((folder / kStateFile).string(), json.dump(2) + "\n");
  write_file((folder / kMarker).string(), "");
}

/// What a process that was killed while it wrote has left.
void remove_leftovers(const fs::path& folder) {
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent))
    if (entry.path().filename().string().starts_with(".")) fs::remove_all(entry.path());
}

/// The same however the folder is written: relative, with a slash at its end.
std::string absolute_name(const std::string& folder) {
  return fs::absolute(folder + "/").lexically_normal().parent_path().string();
}

std::vector<fs::path> complete_ones(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, absent))
    if (entry.path().filename().string().starts_with("step_") && fs::exists(entry.path() / kMarker, absent))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

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

nlohmann::json parse_state(const std::string& checkpoint) {
  if (const std::vector<fs::path> inside = complete_ones(fs::path(checkpoint) / "checkpoints"); !inside.empty())
    throw DataError(fmt::format("{} is not a checkpoint", checkpoint), "it is the output folder of a run",
                    fmt::format("Name one of its checkpoints, such as {}", inside.back().string()));
  refuse_other_folders(checkpoint);
  if (!fs::exists(fs::path(checkpoint) / kMarker))
    throw DataError(fmt::format("{} is not a complete checkpoint", checkpoint), "its marker COMPLETE is missing",
                    "Name another folder, or run.resume=auto for the newest complete one.");
  nlohmann::json json = nlohmann::json::parse(read_file((fs::path(checkpoint) / kStateFile).string()));
  if (json.at("format") != "multicard-checkpoint") throw DataError(checkpoint + " is not a multicard checkpoint");
  if (const int version = json.at("schema_version").get<int>(); version > kSchemaVersion)
    throw DataError(fmt::format("checkpoint {} was written by a newer multicard", checkpoint),
                    fmt::format("schema version {} is not known here", version));
  return json;
}

/// Calls `body` with the JSON of a checkpoint; what is wrong with it becomes a DataError that names the checkpoint.
template <class Body>
auto with_state(const std::string& checkpoint, Body&& body) {
  try {
    return body(parse_state(checkpoint));
  } catch (const nlohmann::json::exception& error) {
    const std::string problem = fmt::format("checkpoint {} has a damaged trainer.json", checkpoint);
    throw CheckpointStore::with_older_one(DataError(problem, error.what()), checkpoint);
  } catch (const Error& error) {
    throw CheckpointStore::with_older_one(error, checkpoint);
  }
}

void verify_file(const std::string& checkpoint, const std::string& name, const nlohmann::json& expected) {
  const fs::path path = fs::path(checkpoint) / name;
  const auto refuse = [&](const std::string& why) {
    throw DataError(fmt::format("{} is not as it was written", path.string()), why, "The checkpoint is damaged.");
  };
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) refuse(error.message());
  const auto written = expected.at("bytes").get<std::uintmax_t>();
  if (bytes != written) refuse(fmt::format("it has {} bytes instead of {}", bytes, written));
  if (sha256_of_file(path.string()) != expected.at("sha256").get<std::string>()) refuse("its SHA-256 differs");
}

}  // namespace

CheckpointStore::CheckpointStore(const std::string& output, int keep)
    : folder_(fs::path(output) / "checkpoints"), keep_(std::max(keep, 1)) {}

void CheckpointStore::write(const TrainerState& state, const CheckpointParts& parts, std::optional<double> best,
                            const std::function<void()>& before_naming) const {
  check_finite(state, parts);
  const fs::path final_name = folder_ / named(state.step), pending = folder_ / ("." + named(state.step).string());
  with_file_errors(fmt::format("checkpoint {} cannot be written", final_name.string()), [&] {
    const int ticket = on_abort_remove(pending.string());
    try {
      remove_leftovers(folder_);
      fs::create_directories(pending);
      write_content(pending, state, parts);
      before_naming();
      put_in_place(pending.string(), final_name.string());
      fs::remove_all(pending);  // what stood there before
    } catch (...) {
      std::error_code ignored;
      fs::remove_all(pending, ignored);
      cancel_on_abort(ticket);
      throw;
    }
    cancel_on_abort(ticket);
    if (best) {
      const nlohmann::ordered_json json = {{"step", state.step}, {"score", *best}};
      write_file((folder_ / kBestFile).string(), json.dump() + "\n");
    }
    remove_others(final_name);
  });
}

void CheckpointStore::remove_others(const fs::path& newest) const {
  const std::vector<fs::path> all = complete_ones(folder_);
  const auto last = std::find(all.begin(), all.end(), newest) - all.begin();
  const std::optional<BestCheckpoint> best_one = best();
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(all.size()); ++i) {
    const fs::path& path = all[static_cast<std::size_t>(i)];
    const bool is_best = best_one && path.filename() == named(best_one->step);
    if (i <= last && (i > last - keep_ || is_best)) continue;
    // By another name first: a folder that is half removed is no checkpoint, and the next write removes its rest.
    const fs::path leaving = folder_ / ("." + path.filename().string());
    fs::rename(path, leaving);
    fs::remove_all(leaving);
  }
}

std::optional<std::string> CheckpointStore::newest() const {
  const std::vector<fs::path> all = complete_ones(folder_);
  if (all.empty()) return std::nullopt;
  return all.back().string();
}

std::optional<std::string> CheckpointStore::newest_from(const std::string& named) const {
  std::optional<CheckpointOrigin> wanted;
  if (fs::exists(fs::path(named) / kMarker)) wanted = origin_of(named);
  const std::vector<fs::path> all = complete_ones(folder_);
  const auto begins_there = [&](const fs::path& checkpoint) {
    try {
      const std::optional<CheckpointOrigin> origin = read_state(checkpoint.string()).origin;
      return origin && (wanted ? origin->sha256 == wanted->sha256 : origin->path == absolute_name(named));
    } catch (const Error&) {
      return false;
    }
  };
  const auto found = std::find_if(all.rbegin(), all.rend(), begins_there);
  return found == all.rend() ? std::nullopt : std::optional(found->string());
}

std::optional<BestCheckpoint> CheckpointStore::best() const {
  const fs::path file = folder_ / kBestFile;
  if (!fs::exists(file)) return std::nullopt;
  const auto json = nlohmann::json::parse(read_file(file.string()), nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("step") || !json["step"].is_number_integer() || !json.contains("score") ||
      !json["score"].is_number())
    throw DataError(fmt::format("{} is damaged", file.string()), "it does not name a step and its score",
                    "Remove it: the next evaluation then counts as the best.");
  const BestCheckpoint found{json["step"].get<std::int64_t>(), json["score"].get<double>()};
  if (!fs::exists(folder_ / named(found.step) / kMarker)) return std::nullopt;
  return found;
}

bool CheckpointStore::owns(const std::string& checkpoint) const {
  std::error_code ignored;
  return fs::equivalent(fs::path(checkpoint) / "..", folder_, ignored);
}

void CheckpointStore::clear() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

TrainerState CheckpointStore::read_state(const std::string& checkpoint) {
  return with_state(checkpoint, [&](const nlohmann::json& json) {
    TrainerState state{json.at("step").get<std::int64_t>(),
                       json.at("samples_seen").get<std::int64_t>(),
                       json.at("global_batch").get<std::int64_t>(),
                       json.at("deck").get<std::string>(),
                       json.value("extra", std::map<std::string, double>{}),
                       json.value("text", std::map<std::string, std::string>{})};
    const std::optional<Error> broken = error_of([&] { Deck::parse(state.deck, checkpoint); });
    if (state.step < 0 || broken)
      throw DataError(fmt::format("checkpoint {} has a damaged trainer.json", checkpoint),
                      broken ? broken->problem() : "step < 0");
    if (const auto origin = json.find("origin"); origin != json.end())
      state.origin = {origin->at("path").get<std::string>(), origin->at("sha256").get<std::string>()};
    return state;
  });
}

CheckpointOrigin CheckpointStore::origin_of(const std::string& checkpoint) {
  const std::string path = absolute_name(checkpoint);
  const std::optional<CheckpointOrigin> own = read_state(checkpoint).origin;
  if (own && own->path == path) return *own;  // saved again, by the run that began from it
  return {path, sha256_of_file((fs::path(checkpoint) / kStateFile).string())};
}

void CheckpointStore::verify(const std::string& checkpoint) {
  with_state(checkpoint, [&](const nlohmann::json& json) {
    const nlohmann::json files = json.value("files", nlohmann::json::object());
    for (const auto& [name, expected] : files.items())
      verify_file(checkpoint, name, expected);
  });
}

Error CheckpointStore::with_older_one(const Error& error, const std::string& checkpoint) {
  const fs::path path(checkpoint);
  std::optional<std::string> older;
  for (const fs::path& other : complete_ones(path.parent_path()))
    if (other.filename() < path.filename()) older = other.string();
  if (!older) return error;
  return Error(error.code(), error.problem(), error.why(),
               fmt::format("run.resume={} goes on from the one before it, which is complete.", *older));
}

}  // namespace multicard
