#include "tasks/TuningNotes.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "state/CheckpointStore.hpp"
#include "state/ModelFolder.hpp"
#include "state/TensorFile.hpp"
#include "tasks/LanguageModel.hpp"
#include "tasks/LanguageTask.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTemplateKey = "multicard_template";
constexpr const char* kDateKey = "multicard_template_date";
constexpr const char* kHashKey = "multicard_base_sha256";

TuningNotes notes_in(const SafetensorsMetadata& metadata) {
  TuningNotes notes;
  if (const auto found = metadata.find(kTemplateKey); found != metadata.end()) notes.template_name = found->second;
  if (const auto found = metadata.find(kDateKey); found != metadata.end()) notes.template_date = found->second;
  if (const auto found = metadata.find(kHashKey); found != metadata.end()) notes.base_sha256 = found->second;
  return notes;
}

}  // namespace

TuningNotes read_tuning_notes(const std::string& folder) {
  if (!fs::exists(fs::path(folder) / kStateFile)) {
    const fs::path adapter = fs::path(folder) / kAdapterFile;
    if (fs::exists(adapter)) return notes_in(TensorFile(adapter.string()).file().metadata());
    return has_weights(folder) ? notes_in(ModelFolder::open(folder).metadata()) : TuningNotes{};
  }
  const TrainerState state = CheckpointStore::read_state(folder);
  TuningNotes notes;
  if (const auto found = state.text.find(kTemplateOfRun); found != state.text.end())
    notes.template_name = found->second;
  if (const auto found = state.text.find(kTemplateDateOfRun); found != state.text.end())
    notes.template_date = found->second;
  if (const auto found = state.text.find(kBaseHash); found != state.text.end()) notes.base_sha256 = found->second;
  return notes;
}

SafetensorsMetadata metadata_of(const TuningNotes& notes) {
  SafetensorsMetadata metadata{{"format", "pt"}};
  if (notes.template_name.empty()) return metadata;
  metadata[kTemplateKey] = notes.template_name;
  if (!notes.template_date.empty()) metadata[kDateKey] = notes.template_date;
  if (notes.base_sha256) metadata[kHashKey] = *notes.base_sha256;
  return metadata;
}

void check_base(const TuningNotes& notes, const std::string& base_sha256, const std::string& folder,
                const std::string& base) {
  if (notes.base_sha256 && *notes.base_sha256 != base_sha256)
    throw DataError(fmt::format("{} is not the model that {} was trained on", base, folder),
                    "its weights have another SHA-256", "Name or put back the original model.");
}

}  // namespace multicard
