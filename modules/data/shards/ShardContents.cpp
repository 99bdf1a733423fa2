#include "data/shards/ShardContents.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

using enum KeyUse;

constexpr const char* kCompared = "distinguishes sets";

// What would change the training if it were honoured is refused (weights, soft labels, masks) instead of being ignored;
// what only describes is listed as harmless. Anything else is named in a warning.
constexpr ForeignKey kImageShard[] = {
    {"/images", used, "the pixels"},
    {"/labels", used, "the classes"},
    {"format", used, "multicard-images"},
    {"schema_version", used, "1"},
    {"class_names", used, "names in label order"},
    {"mean", used, "of the pixels"},
    {"std", used, "of the pixels"},
    {"count", used, "images of the whole set, compared with those found"},
    {"num_shards", used, kCompared},
    {"shard", used, "which of them; identifies copies"},
    {"labels_sha256", used, kCompared},
    {"source_sha256", used, kCompared},
    {"source", harmless, "where the images come from"},
    {"/weights", unsupported, "images would not count alike"},
    {"/sample_weights", unsupported, "images would not count alike"},
    {"/soft_labels", unsupported, "labels other than one class"},
    {"/masks", unsupported, "parts of images that would not count"},
};

constexpr ForeignKey kTokenShard[] = {
    {"/tokens", used, "the tokens"},
    {"/loss_mask", used, "which of them are targets"},
    {"/offsets", used, "where sequences begin"},
    {"/chosen", used, "the three, of the better answers"},
    {"/rejected", used, "the three, of the other answers"},
    {"format", used, "multicard-tokens"},
    {"schema_version", used, "1"},
    {"dataset_type", used, "which records it was made of"},
    {"template", used, "compared with the other shards"},
    {"template_date", used, "compared with the other shards"},
    {"tokenizer_sha256", used, "compared with the model's"},
    {"loss", used, "which tokens are targets"},
    {"largest_id", used, "no token is above it"},
    {"count", used, "sequences or pairs of the whole set, compared with those found"},
    {"num_shards", used, kCompared},
    {"shard", used, "which of them; identifies copies"},
    {"num_tokens", used, kCompared},
    {"num_trained", used, kCompared},
    {"source_sha256", used, kCompared},
    {"source", used, "names of the input files"},
    {"max_length", harmless, "what sequences were cut to"},
    {"/weights", unsupported, "tokens or sequences would not count alike"},
    {"/position_ids", unsupported, "positions other than those in the text"},
};

constexpr ForeignKey kOfDatasets[] = {
    {"scale_factor", unsupported, "values would be multiplied by it"},
    {"add_offset", unsupported, "it would be added to values"},
    {"CLASS", harmless, "what h5py and PyTables note"},
    {"NAME", harmless, "what h5py and PyTables note"},
    {"TITLE", harmless, "what h5py and PyTables note"},
    {"VERSION", harmless, "what h5py and PyTables note"},
    {"FLAVOR", harmless, "what h5py and PyTables note"},
    {"DIMENSION_LABELS", harmless, "names of dimensions"},
    {"DIMENSION_LIST", harmless, "scales of dimensions"},
    {"REFERENCE_LIST", harmless, "scales of dimensions"},
    {"_FillValue", harmless, "of what is missing, and nothing is"},
};

/// `where` is empty or names the dataset that has it. h5py and netCDF write scale_factor and add_offset for packed
/// values: stored numbers would then not be the pixels.
void look_up(const Hdf5File& file, std::span<const ForeignKey> keys, const std::string& where, const std::string& name,
             std::vector<std::string>& unknown) {
  const ForeignKey* key = find_key(keys, name);
  if (!key) {
    unknown.push_back(where + name);
  } else if (key->use == unsupported) {
    throw DataError(fmt::format("{} has {}{}, which is not supported", file.path(), where, name), key->note,
                    "Take it out where it does not matter.");
  }
}

}  // namespace

std::vector<std::string> unknown_contents(const Hdf5File& file, ShardKind kind) {
  const std::span<const ForeignKey> keys =
      kind == ShardKind::image ? std::span<const ForeignKey>(kImageShard) : std::span<const ForeignKey>(kTokenShard);
  std::vector<std::string> unknown;
  for (const std::string& name : file.children("/")) {
    look_up(file, keys, "", "/" + name, unknown);
    if (!file.is_dataset("/" + name)) continue;
    for (const auto& [attribute, value] : file.attributes("/" + name))
      look_up(file, kOfDatasets, fmt::format("/{}: ", name), attribute, unknown);
  }
  for (const auto& [attribute, value] : file.attributes("/"))
    if (!find_key(kOfDatasets, attribute)) look_up(file, keys, "", attribute, unknown);
  return unknown;
}

std::vector<ForeignFormat> shard_formats() {
  return {{"image-shard", "Datasets and attributes of image shards", {kImageShard}},
          {"token-shard", "Datasets and attributes of token shards", {kTokenShard}},
          {"shard", "Attributes of datasets in shards, and any others of files", {kOfDatasets}}};
}

}  // namespace multicard
