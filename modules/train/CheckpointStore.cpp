#include "train/CheckpointStore.hpp"

#include <algorithm>

#include <ATen/ops/all.h>
#include <ATen/ops/isfinite.h>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Clock.hpp"
#include "base/Error.hpp"
#include "comm/Agreement.hpp"
#include "comm/Mpi.hpp"
#include "io/Bytes.hpp"
#include "state/TensorFile.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr int kSchemaVersion = 1;

/// Errors of the file system as the user should see them.
template <class Body>
void with_file_errors(const std::string& what, Body&& body) {
  try {
    body();
  } catch (const fs::filesystem_error& error) {
    throw DataError(what, error.code().message());
  }
}

void check_finite(const NamedTensors& tensors) {
  for (const NamedTensor& entry : tensors)
    if (!at::isfinite(entry.tensor.detach()).all().item<bool>())
      throw NumericalError(fmt::format("{} holds values that are not finite", entry.name), "training has diverged",
                           "No checkpoint was written. Lower optimizer.learning_rate or set optimizer.clip_norm.");
}

}  // namespace

CheckpointStore::CheckpointStore(const std::string& output, int keep)
    : folder_(fs::path(output) / "checkpoints"), keep_(std::max(keep, 1)) {}

void CheckpointStore::write_folder(const fs::path& folder, const TrainerState& state, const NamedTensors& model,
                                   const NamedTensors& optimizer) const {
  fs::remove_all(folder);
  fs::create_directories(folder);
  save_tensors(model_file(folder.string()), model);
  save_tensors(optimizer_file(folder.string()), optimizer);
  const nlohmann::ordered_json json = {{"format", "multicard-checkpoint"},
                                       {"schema_version", kSchemaVersion},
                                       {"created_utc", utc_now()},
                                       {"step", state.step},
                                       {"samples_seen", state.samples_seen},
                                       {"global_batch", state.global_batch},
                                       {"deck", state.deck}};
  write_file((folder / "trainer.json").string(), json.dump(2) + "\n");
  write_file((folder / "COMPLETE").string(), "");
}

void CheckpointStore::save(const Communicator& communicator, const TrainerState& state, const NamedTensors& model,
                           const NamedTensors& optimizer) const {
  agreed(communicator, [&] {
    if (!communicator.is_root()) return;
    check_finite(model);
    check_finite(optimizer);
    const std::string name = fmt::format("step_{:08}", state.step);
    const fs::path pending = folder_ / ("." + name), replaced = folder_ / ("." + name + ".old");
    const fs::path final_name = folder_ / name;
    with_file_errors(fmt::format("checkpoint {} cannot be written", final_name.string()), [&] {
      const int ticket = on_abort_remove(pending.string());
      try {
        write_folder(pending, state, model, optimizer);
        fs::remove_all(replaced);
        if (fs::exists(final_name)) fs::rename(final_name, replaced);
        fs::rename(pending, final_name);
        fs::remove_all(replaced);
      } catch (...) {
        std::error_code ignored;
        fs::remove_all(pending, ignored);
        cancel_on_abort(ticket);
        throw;
      }
      cancel_on_abort(ticket);
      remove_others(final_name);
    });
  });
}

std::vector<fs::path> CheckpointStore::complete_ones() const {
  std::vector<fs::path> found;
  std::error_code absent;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, absent))
    if (entry.path().filename().string().rfind("step_", 0) == 0 && fs::exists(entry.path() / "COMPLETE"))
      found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

void CheckpointStore::remove_others(const fs::path& newest) const {
  const std::vector<fs::path> all = complete_ones();
  const auto last = std::find(all.begin(), all.end(), newest) - all.begin();
  for (std::ptrdiff_t i = 0; i < static_cast<std::ptrdiff_t>(all.size()); ++i) {
    if (i <= last && i > last - keep_) continue;
    fs::remove(all[static_cast<std::size_t>(i)] / "COMPLETE");  // first, so that a half-removed folder is none
    fs::remove_all(all[static_cast<std::size_t>(i)]);
  }
}

std::optional<std::string> CheckpointStore::newest() const {
  const std::vector<fs::path> all = complete_ones();
  if (all.empty()) return std::nullopt;
  return all.back().string();
}

void CheckpointStore::clear() const {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

TrainerState CheckpointStore::read_state(const std::string& checkpoint) {
  if (!fs::exists(fs::path(checkpoint) / "COMPLETE"))
    throw DataError(fmt::format("{} is not a complete checkpoint", checkpoint), "its marker COMPLETE is missing",
                    "Name another folder, or run.resume=auto for the newest complete one.");
  try {
    const auto json = nlohmann::json::parse(read_file((fs::path(checkpoint) / "trainer.json").string()));
    if (json.at("format") != "multicard-checkpoint") throw DataError(checkpoint + " is not a multicard checkpoint");
    if (json.at("schema_version").get<int>() > kSchemaVersion)
      throw DataError(fmt::format("checkpoint {} was written by a newer multicard", checkpoint),
                      fmt::format("schema version {} is not known here", json.at("schema_version").get<int>()));
    TrainerState state{json.at("step").get<std::int64_t>(), json.at("samples_seen").get<std::int64_t>(),
                       json.at("global_batch").get<std::int64_t>(), json.at("deck").get<std::string>()};
    if (state.step < 0)
      throw DataError(fmt::format("checkpoint {} has a damaged trainer.json", checkpoint), "step < 0");
    return state;
  } catch (const nlohmann::json::exception& error) {
    throw DataError(fmt::format("checkpoint {} has a damaged trainer.json", checkpoint), error.what());
  }
}

}  // namespace multicard
