#include "state/ModelFolder.hpp"

#include <algorithm>
#include <filesystem>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "base/HubCache.hpp"
#include "io/Bytes.hpp"
#include "io/JsonReader.hpp"
#include "io/Sha256.hpp"
#include "state/TensorProblems.hpp"
#include "state/WeightKeys.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

constexpr const char* kSingleFile = "model.safetensors";
constexpr const char* kIndexFile = "model.safetensors.index.json";
constexpr std::uintmax_t kLargestIndex = 100'000'000;

std::string not_an_index(const std::string& path) {
  return fmt::format("{} is not the index of a model's weights", path);
}

[[noreturn]] void refuse_index(const std::string& path, const std::string& why) {
  throw DataError(not_an_index(path), why);
}

/// A plain name of a weight file in the index's own folder.
bool is_plain_file_name(const std::string& name) {
  // The index may come from anywhere; a slash could lead out of the folder, and a NUL would cut the name short.
  return name.ends_with(".safetensors") && name.find('/') == std::string::npos && name.find('\0') == std::string::npos;
}

/// Tensor name -> file name.
std::map<std::string, std::string> read_index(const std::string& path) {
  std::error_code error;
  if (fs::file_size(path, error) > kLargestIndex && !error) refuse_index(path, "it has more than 100 MB");
  std::map<std::string, std::string> files;
  const std::string problem = not_an_index(path);
  const auto index = parse_json_object<nlohmann::json>(read_file(path), problem);
  for (const auto& [tensor, name] : JsonReader(index, problem).texts("weight_map")) {
    if (!is_plain_file_name(name)) refuse_index(path, fmt::format("it names the file \"{}\"", name));
    files[tensor] = name;
  }
  if (files.empty()) refuse_index(path, "it names no tensor");
  return files;
}

[[noreturn]] void refuse_folder(const std::string& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error))
    throw DataError(fmt::format("the model folder {} cannot be read", folder),
                    error ? error.message() : "it is not a folder", suggest_fetching(folder, "Check model.path."));
  const bool has_pickle = fs::exists(fs::path(folder) / "pytorch_model.bin") ||
                          fs::exists(fs::path(folder) / "pytorch_model.bin.index.json");
  const bool has_config = fs::exists(fs::path(folder) / "config.json");
  throw DataError(fmt::format("{} holds no {} and no {}", folder, kSingleFile, kIndexFile),
                  has_pickle   ? "it has pytorch_model.bin, which can run code when it is read"
                  : has_config ? "it has a config.json, but no weights"
                               : "",
                  has_pickle   ? "Convert it to safetensors."
                  : has_config ? "Check model.path, or set model.random_weights to try a shape without its weights."
                               : "Check model.path.");
}

/// What a program computes instead of loading it.
bool is_computable(const std::string& name) {
  return name.ends_with("rotary_emb.inv_freq");
}

}  // namespace

bool has_weights(const std::string& folder) {
  std::error_code error;
  return fs::exists(fs::path(folder) / kSingleFile, error) || fs::exists(fs::path(folder) / kIndexFile, error);
}

ModelFolder ModelFolder::open(const std::string& folder) {
  if (!has_weights(folder)) refuse_folder(folder);
  ModelFolder model;
  model.folder_ = folder;
  if (fs::exists(fs::path(folder) / kSingleFile)) {
    model.add_file(kSingleFile);
    model.add_base_prefix();
    return model;
  }
  const std::string index_path = (fs::path(folder) / kIndexFile).string();
  std::map<std::string, std::string> index = read_index(index_path);
  std::set<std::string> names;
  for (const auto& [tensor, file] : index)
    names.insert(file);
  for (const std::string& name : names) {
    if (!fs::exists(fs::path(folder) / name))
      throw DataError(fmt::format("{} names {}, which is not in the folder", index_path, name), "",
                      "Fetch the model's files again.");
    model.add_file(name);
  }
  if (model.add_base_prefix()) {
    std::map<std::string, std::string> renamed;
    for (const auto& [tensor, file] : index)
      renamed[with_base_prefix(tensor)] = file;
    index = std::move(renamed);
  }
  // Both ways: other programs would leave out a tensor without an entry, and fail at an entry without a tensor.
  for (const auto& [tensor, place] : model.places_) {
    const auto named = index.find(tensor);
    if (named == index.end() || named->second != model.files_[place.file].first)
      refuse_index(index_path, fmt::format("{} holds {}, but the index {}", model.files_[place.file].first, tensor,
                                           named == index.end() ? "does not name it" : "says " + named->second));
  }
  for (const auto& [tensor, file] : index) {
    const bool is_tied = tensor == kHead && model.places_.contains(kEmbeddings);  // an index may name it all the same
    if (!is_tied && !model.places_.contains(tensor))
      refuse_index(index_path, fmt::format("{} is not in {}", tensor, file));
  }
  return model;
}

ModelFolder ModelFolder::of_file(const std::string& path) {
  ModelFolder model;
  model.folder_ = fs::path(path).parent_path().string();
  model.add_file(fs::path(path).filename().string());
  return model;
}

void ModelFolder::add_file(const std::string& name) {
  const auto file = std::make_shared<TensorFile>((fs::path(folder_) / name).string());
  for (const SafetensorsEntry& entry : file->file().entries()) {
    // Entries stay where they are as long as their file is open, renamed or not: places point to them.
    const auto [known, is_new] = places_.try_emplace(entry.name, Place{files_.size(), &entry});
    if (!is_new)
      throw DataError(fmt::format("{} holds the tensor {} twice", folder_, entry.name),
                      fmt::format("in {} and in {}", files_[known->second.file].first, name));
  }
  files_.emplace_back(name, file);
}

std::vector<std::string> ModelFolder::file_names() const {
  std::vector<std::string> names;
  for (const auto& [name, file] : files_)
    names.push_back(name);
  return names;
}

std::vector<TensorHeader> ModelFolder::tensors() const {
  std::vector<TensorHeader> all;
  for (const auto& [name, file] : files_)
    for (const SafetensorsEntry& entry : file->file().entries())
      all.push_back({entry.name, entry.dtype, entry.shape});
  return all;
}

std::vector<TensorHeader> ModelFolder::model_tensors(OutputLayer output) const {
  std::vector<TensorHeader> wanted;
  for (TensorHeader header : tensors()) {
    const bool is_tied_head = output == OutputLayer::tied && header.name == kHead;
    if (is_computable(header.name) || (is_tied_head && places_.contains(kEmbeddings))) continue;
    if (is_tied_head) header.name = kEmbeddings;
    wanted.push_back(header);
  }
  return wanted;
}

std::uint64_t ModelFolder::num_bytes() const {
  std::uint64_t bytes = 0;
  for (const auto& [name, place] : places_)
    bytes += place.entry->bytes.size();
  return bytes;
}

const ModelFolder::Place& ModelFolder::place(const std::string& name) const {
  const auto found = places_.find(name);
  if (found == places_.end()) throw DataError(fmt::format("{} has no tensor {}", folder_, name));
  return found->second;
}

at::Tensor ModelFolder::view(const std::string& name) const {
  return files_[place(name).file].second->view(name);
}

void ModelFolder::give_back(const std::string& name) const {
  SafetensorsFile::give_back(place(name).entry->bytes);
}

std::vector<ModelFolder::Copy> ModelFolder::match(const NamedTensors& targets, const WeightSinks& sinks,
                                                  OutputLayer output) const {
  std::vector<Copy> copies;
  std::vector<std::string> missing, unknown;
  std::set<std::string> used;
  const auto add = [&](const std::string& wanted, const at::Tensor* to, const WeightSink* sink) {
    const std::optional<std::string> name = stored_name(wanted, output);
    if (!name) return missing.push_back(wanted);
    const std::vector<std::string> parts = sink ? parts_of_packed(*name) : std::vector{*name};
    used.insert(parts.begin(), parts.end());
    copies.push_back({&places_.at(*name), to, sink});
  };
  for (const NamedTensor& target : targets)
    add(target.name, &target.tensor, nullptr);
  for (const WeightSink& sink : sinks)
    add(sink.name, nullptr, &sink);
  for (const auto& [name, place] : places_)
    if (!used.contains(name) && !is_computable(name) && !(output == OutputLayer::tied && name == kHead))
      unknown.push_back(name);
  // In this order: weights packed in another way lack the plain ones too, but the packing is the better reason.
  refuse_unsupported(folder_, unknown);
  refuse_missing(folder_, missing);
  refuse_unknown(folder_, unknown);
  for (const Copy& copy : copies) {
    if (copy.sink && is_packed(copy.from->entry->name)) continue;  // its sink checks it
    refuse_shape(folder_, copy.from->entry->name, copy.from->entry->shape,
                 copy.sink ? at::IntArrayRef(copy.sink->shape) : copy.to->sizes(),
                 "Check that config.json belongs to these weights.");
    const std::optional<at::ScalarType> dtype = scalar_type_of(copy.from->entry->dtype);
    if (!dtype || !at::isFloatingType(*dtype)) refuse_dtype(folder_, copy.from->entry->name, copy.from->entry->dtype);
  }
  return copies;
}

void ModelFolder::check(const NamedTensors& targets, const WeightSinks& sinks, OutputLayer output) const {
  match(targets, sinks, output);
}

ModelFolder::FileHashes ModelFolder::file_hashes(std::size_t first, std::size_t step,
                                                 const std::stop_token& stop) const {
  FileHashes hashes;
  for (std::size_t i = first; i < files_.size() && !stop.stop_requested(); i += step)
    hashes[files_[i].first] = sha256_of_file(files_[i].second->path(), stop);
  return hashes;
}

std::string ModelFolder::sha256_of(const FileHashes& hashes) {
  if (hashes.size() == 1) return hashes.begin()->second;
  std::string lines;
  for (const auto& [name, hash] : hashes)
    lines += fmt::format("{}  {}\n", hash, name);
  return multicard::sha256(lines);
}

}  // namespace multicard
