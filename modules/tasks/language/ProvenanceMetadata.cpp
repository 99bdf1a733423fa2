#include "tasks/language/ProvenanceMetadata.hpp"

#include <filesystem>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "state/CheckpointStore.hpp"
#include "state/ModelFolder.hpp"
#include "state/PeftAdapter.hpp"
#include "state/TensorFile.hpp"
#include "tasks/language/LanguageModel.hpp"
#include "tasks/language/LanguageTask.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr const char* kTemplateKey = "multicard_template";
constexpr const char* kDateKey = "multicard_template_date";
constexpr const char* kHashKey = "multicard_base_sha256";

ProvenanceMetadata provenance_in(const SafetensorsMetadata& metadata) {
  ProvenanceMetadata provenance;
  if (const auto found = metadata.find(kTemplateKey); found != metadata.end()) provenance.template_name = found->second;
  if (const auto found = metadata.find(kDateKey); found != metadata.end()) provenance.template_date = found->second;
  if (const auto found = metadata.find(kHashKey); found != metadata.end()) provenance.base_sha256 = found->second;
  return provenance;
}

}  // namespace

ProvenanceMetadata read_provenance(const std::string& folder) {
  if (!fs::exists(fs::path(folder) / kStateFile)) {
    const fs::path adapter = fs::path(folder) / kAdapterFile;
    if (fs::exists(adapter)) return provenance_in(TensorFile(adapter.string()).file().metadata());
    return has_weights(folder) ? provenance_in(ModelFolder::open(folder).metadata()) : ProvenanceMetadata{};
  }
  const TrainerState state = CheckpointStore::read_state(folder);
  ProvenanceMetadata provenance;
  if (const auto found = state.text.find(kTemplateOfRun); found != state.text.end())
    provenance.template_name = found->second;
  if (const auto found = state.text.find(kTemplateDateOfRun); found != state.text.end())
    provenance.template_date = found->second;
  if (const auto found = state.text.find(kBaseHash); found != state.text.end()) provenance.base_sha256 = found->second;
  return provenance;
}

// transformers refuses a file whose metadata lack the key "format"; "pt" says that tensors have PyTorch's layout. All
// values of a safetensors header's metadata are strings.
SafetensorsMetadata metadata_of(const ProvenanceMetadata& provenance) {
  SafetensorsMetadata metadata{{"format", "pt"}};
  if (!provenance.template_name.empty()) metadata[kTemplateKey] = provenance.template_name;
  if (!provenance.template_date.empty()) metadata[kDateKey] = provenance.template_date;
  if (provenance.base_sha256) metadata[kHashKey] = *provenance.base_sha256;
  return metadata;
}

void check_base(const ProvenanceMetadata& provenance, const std::string& base_sha256, const std::string& folder,
                const std::string& base) {
  if (provenance.base_sha256 && *provenance.base_sha256 != base_sha256)
    throw DataError(fmt::format("{} is not the model that {} was trained on", base, folder),
                    "its weights have another SHA-256", "Name or put back the original model.");
}

}  // namespace multicard
