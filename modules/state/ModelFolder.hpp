#pragma once
/// \file The weights of a Hugging Face model folder: model.safetensors, or shards and their index.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "state/NamedTensor.hpp"
#include "state/TensorFile.hpp"
#include "state/WeightSink.hpp"

namespace multicard {

/// Whether the output layer lm_head has weights of its own or uses those of the embeddings.
enum class OutputLayer { own, tied };

/// Some elements of a weight, in row-major order.
struct WeightRange {
  std::string name;
  std::int64_t first = 0;  ///< element of the weight
  at::Tensor values;       ///< [count], contiguous: to be filled
};

/// The weight files of one folder, mapped into memory: ranks of one node share the pages. May be used by several
/// threads.
class ModelFolder {
 public:
  /// Opens all files and checks what can be checked without the model. \throws DataError when the folder has no
  /// safetensors weights, when a file is missing or damaged, when the index is not one, names files outside the folder
  /// or does not agree with the files, and when two files hold the same tensor.
  static ModelFolder open(const std::string& folder);

  /// The same for one file of a folder, whatever its name.
  static ModelFolder of_file(const std::string& path);

  const std::string& path() const { return folder_; }
  /// Names of the weight files, sorted.
  std::vector<std::string> file_names() const;
  /// All stored tensors, file by file in file order.
  std::vector<TensorHeader> tensors() const;
  /// Those that load_into() would use, under the model's names.
  std::vector<TensorHeader> model_tensors(OutputLayer output) const;
  /// What the header of the first file holds besides its tensors.
  const SafetensorsMetadata& metadata() const { return files_.front().second->file().metadata(); }
  /// Bytes of all tensors.
  std::uint64_t num_bytes() const;

  /// The name under which the tensor `name` of a model is stored: its own; another one that the file's metadata says
  /// shares its values; for the embeddings of a tied model lm_head.weight. Nothing if there is none.
  std::optional<std::string> stored_name(const std::string& name, OutputLayer output) const;
  /// The tensor stored as `name` on the CPU, sharing the mapped memory: never write to it. Valid also after this
  /// object.
  at::Tensor view(const std::string& name) const;
  /// Takes the pages of a tensor that was read out of this process.
  void give_back(const std::string& name) const;

  /// Whether a weight is stored in NF4 or in int4.
  bool is_packed(const std::string& name) const;
  /// Whether it is stored in NF4 with quantised scales.
  bool has_nested_scales(const std::string& name) const;

  /// Whether load_into() could fill the targets, which may be on the meta device: the files are compared with a model
  /// before it takes any memory. \throws DataError as load_into()
  void check(const NamedTensors& targets, OutputLayer output) const { check(targets, {}, output); }
  void check(const NamedTensors& targets, const WeightSinks& sinks, OutputLayer output) const;

  /// Fills every target from the tensor of its name; dtype and device of the targets stay. Goes through the files once
  /// in file order and gives pages back on the way, so that the process holds the targets and some 64 MB more. Extra
  /// tensors are ignored when they can be computed (rotary inv_freq) or are the output layer of a tied model, which
  /// must then be the same matrix as the embeddings. \throws DataError, with nothing written, when a target is missing
  /// or has another shape or a dtype that has no counterpart, or when other tensors are there that are no target.
  void load_into(const NamedTensors& targets, OutputLayer output) const { load_into(targets, {}, output); }
  /// The same, where sinks take the tensors of their names, one by one; also those that bitsandbytes stored
  /// in NF4 and torchao in int4.
  void load_into(const NamedTensors& targets, const WeightSinks& sinks, OutputLayer output) const;

  /// Of a tied model. \throws DataError where the output layer is another matrix than the embeddings; reads both
  void require_one_matrix() const;
  /// \name Parts of what load_into() reads, in the order of the calls. \pre check() of all of it
  /// \return bytes of the files that were asked for
  /// @{
  std::uint64_t load_range(const WeightRange& range, OutputLayer output) const;
  std::uint64_t load_sink(const WeightSink& sink, OutputLayer output) const;
  /// @}

  /// SHA-256 that names these weights: the file's own for a single file (as sha256sum prints it), else the one of the
  /// lines that `sha256sum *.safetensors` prints for the files. Reads everything: seconds for a model of some GB.
  std::string sha256() const { return sha256_of(file_hashes(0, 1)); }
  using FileHashes = std::map<std::string, std::string>;  ///< by name of the file
  /// SHA-256 of the files of which every `step`-th is asked for, from `first` on. Nothing of use once it is asked to
  /// stop.
  FileHashes file_hashes(std::size_t first, std::size_t step, const std::stop_token& stop = {}) const;
  /// sha256() of a folder, by those of all its files.
  static std::string sha256_of(const FileHashes& hashes);

 private:
  static constexpr const char* kEmbeddings = "model.embed_tokens.weight";
  static constexpr const char* kHead = "lm_head.weight";
  struct Place {
    std::size_t file;
    const SafetensorsEntry* entry;
  };
  struct Copy {
    const Place* from;
    const at::Tensor* to;    ///< or
    const WeightSink* sink;  ///< if not null
  };

  ModelFolder() = default;
  void add_file(const std::string& name);
  /// Gives the tensors of a class without an output layer the names that they have in one with it. \return whether
  /// they had others
  bool add_base_prefix();
  const Place& place(const std::string& name) const;
  /// What goes where. \throws DataError as load_into()
  std::vector<Copy> match(const NamedTensors& targets, const WeightSinks& sinks, OutputLayer output) const;
  bool is_stored_in_nf4(const std::string& name) const;
  bool is_stored_in_int4(const std::string& name) const;
  /// The names of what belongs to it, with its own.
  std::vector<std::string> parts_of_packed(const std::string& name) const;
  StoredNf4 stored_nf4(const std::string& name) const;
  /// Gives the sink what is stored as `name`.
  void fill(const WeightSink& sink, const std::string& name) const;
  StoredWeight stored_weight(const std::string& name) const;

  std::string folder_;
  std::vector<std::pair<std::string, std::shared_ptr<TensorFile>>> files_;
  std::map<std::string, Place> places_;
};

/// Whether `folder` has weights that ModelFolder looks for.
bool has_weights(const std::string& folder);

}  // namespace multicard
