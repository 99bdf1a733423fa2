#include <filesystem>
#include <future>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "Commands.hpp"
#include "Runs.hpp"
#include "base/HubCache.hpp"
#include "base/Log.hpp"
#include "base/Text.hpp"
#include "base/Thread.hpp"
#include "comm/Agreement.hpp"
#include "config/Deck.hpp"
#include "io/AtomicFile.hpp"
#include "kernels/Nf4.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "nn/language/PackedTensors.hpp"
#include "state/CheckpointStore.hpp"
#include "state/MergedWeights.hpp"
#include "state/ShardedWriter.hpp"
#include "tasks/language/LanguageModel.hpp"
#include "tasks/language/ProvenanceMetadata.hpp"
#include "tasks/options/DeckWeights.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// The checkpoint of a language model.
struct Tuned {
  std::string folder;
  std::string base;  ///< folder of the model it started from
  ProvenanceMetadata provenance;
  bool has_adapter = false;
  bool has_random_base = false;  ///< which is in no file
  WeightFormat format = {};      ///< of the base model while it was tuned
  std::string weights;           ///< name of the file of what was trained: the moving average where there is one

  /// A whole model has no base any more.
  SafetensorsMetadata metadata_of_model() const {
    return metadata_of({provenance.template_name, provenance.template_date, std::nullopt});
  }
};

Tuned read_checkpoint(const std::string& folder) {
  const TrainerState state = CheckpointStore::read_state(folder);
  const Deck deck = Deck::parse(state.deck, folder);
  if (deck.get_text("task") != "llm")
    throw UsageError(fmt::format("{} cannot be exported", folder), "it is not a checkpoint of a language model",
                     "The model.safetensors of an image model has torchvision's names and can be used as it is.");
  // What is exported goes to other people and programs, and does not carry the checkpoint's hashes along.
  CheckpointStore::verify(folder);
  Tuned tuned{folder,
              model_folder(deck.get_text("model.path")),
              read_provenance(folder),
              fs::exists(fs::path(folder) / kAdapterConfigFile),
              random_weights_seed(deck).has_value(),
              weight_format(deck),
              ""};
  tuned.weights = tuned_file_of(folder);
  log_info(fmt::format("{:<10}step {}{}", "tuned", state.step,
                       tuned.weights == kAverageFile ? ", moving average of its weights" : ""));
  return tuned;
}

/// All tensors of a file: in `dtype`, where one is wanted, else in the memory of the mapped file.
NamedTensors tensors_in(const TensorFile& file, std::optional<at::ScalarType> dtype) {
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : file.file().entries()) {
    const at::Tensor stored = file.view(entry.name);
    tensors.push_back({entry.name, dtype ? stored.to(*dtype) : stored});
  }
  return tensors;
}

void export_adapter(const Tuned& tuned, const std::string& folder, std::optional<at::ScalarType> dtype) {
  const PeftAdapter adapter = PeftAdapter::open(tuned.folder, tuned.weights);
  write_adapter(folder, adapter.config(), tensors_in(adapter.file(), dtype), metadata_of(tuned.provenance));
  const AdapterConfig& config = adapter.config();
  const std::size_t num_saved = adapter.saved_weights().size();
  log_info(fmt::format(
      "{:<10}{}, rank {}, scaling {}{}{}, for {}", "adapter", counted(adapter.layers().size(), "adapted linear layer"),
      config.settings.rank, significant(config.settings.common().scaling(config.settings.rslora)),
      config.settings.patterns.empty() ? "" : " (others by rank_pattern or alpha_pattern)",
      num_saved == 0 ? "" : fmt::format(", {} stored whole", counted(num_saved, "module")), config.base_model));
}

/// What the folder of a model is to hold: all weights in one dtype.
std::vector<TensorHeader> headers_in(std::vector<TensorHeader> headers, at::ScalarType dtype) {
  for (TensorHeader& header : headers)
    header.dtype = *safetensors_dtype(dtype);
  return headers;
}

/// Compares the base model with the one that was tuned, while other work continues.
class BaseCheck {
 public:
  BaseCheck(const Tuned& tuned, const ModelFolder& base) : tuned_(tuned) {
    // Reads the same files as the export does, at the same time: the pages of one serve the other.
    if (tuned.provenance.base_sha256)
      hash_ = start_async("the check of the base model", [&base] { return base.sha256(); });
  }

  void finish() {
    if (hash_.valid()) check_base(tuned_.provenance, hash_.get(), tuned_.folder, tuned_.base);
  }

 private:
  const Tuned& tuned_;
  std::future<std::string> hash_;
};

/// \param before of the dtype, in words
void log_model(const std::vector<TensorHeader>& headers, const std::string& before, at::ScalarType dtype) {
  std::uint64_t bytes = 0;
  for (const TensorHeader& header : headers)
    bytes += header.num_bytes();
  log_info(fmt::format("{:<10}{} tensors, {} as {}{}", "weights", headers.size(),
                       human_bytes(static_cast<double>(bytes)), before, *safetensors_dtype(dtype)));
}

/// The base model's weights as they were while the adapter was tuned.
BaseChange dequantised_base(const Tuned& tuned, const LlamaConfig& config) {
  // A network without memory, for the names alone.
  const std::vector<std::string> layers = Llama(config, at::kFloat, at::kMeta).linear_layers();
  return [names = std::set<std::string>(layers.begin(), layers.end()), nested = tuned.format.nested](
             const std::string& name, const at::Tensor& weight) {
    // The adapter has learnt on top of the rounded weights: merged onto those, the model is the one that was tuned.
    const bool is_quantised = names.contains(name.substr(0, name.rfind('.')));
    return is_quantised ? dequantise_nf4(quantise_nf4(weight, nested), at::kFloat) : weight;
  };
}

/// Writes the weights of a whole model, and its other files.
struct ModelOutput {
  std::string folder;
  LlamaConfig config;
  at::ScalarType dtype;                 ///< of what is not packed
  std::optional<WeightFormat> packing;  ///< of linear layers, int4 or nf4

  /// \param from folder of the model's other files
  /// \param unties whether the embeddings are tied no longer
  void write(const std::string& from, std::vector<TensorHeader> tensors, const PackedTensors::WeightOf& weight_of,
             const SafetensorsMetadata& metadata, bool unties = false) const {
    if (!packing) {
      tensors = headers_in(std::move(tensors), dtype);
      write_weights(
          folder, tensors, [&](const std::string& name) { return weight_of(name, dtype); }, kMaxShardBytes, metadata);
      copy_model_files(from, folder, {dtype, "", unties});
      return log_model(tensors, "", dtype);
    }
    const bool is_nf4 = packing->kind == WeightFormat::Kind::nf4;
    PackedTensors packed(
        config, is_nf4 ? make_nf4_packer(packing->nested, dtype) : make_int4_packer(config, packing->group_size), dtype,
        tensors, weight_of);
    write_weights(
        folder, packed.headers(), [&](const std::string& name) { return packed.tensor(name); }, kMaxShardBytes,
        metadata);
    copy_model_files(from, folder, {dtype, packed.quantisation_json(), unties});
    log_model(packed.headers(), is_nf4 ? "NF4 and " : "int4 in int8 and ", dtype);
  }
};

/// \param onto which base weights
void export_merged(const Tuned& tuned, const ModelOutput& to, MergeBase onto) {
  const OutputLayer output = output_layer_of(to.config);
  const ModelFolder base = ModelFolder::open(tuned.base);
  BaseCheck check(tuned, base);
  const PeftAdapter adapter = PeftAdapter::open(tuned.folder, tuned.weights);
  const bool is_dequantised = onto == MergeBase::dequantised;
  const MergedWeights merged(base, adapter, output, whole_matches,
                             is_dequantised ? dequantised_base(tuned, to.config) : BaseChange());
  SafetensorsMetadata metadata = tuned.metadata_of_model();
  // The two merges of one checkpoint are different models, which later can only be told from this note.
  if (tuned.format.is_quantised())
    metadata["merged_onto"] = is_dequantised ? "dequantised nf4 weights" : "original weights";
  to.write(
      tuned.base, merged.tensors(),
      [&](const std::string& name, at::ScalarType dtype) { return merged.weight(name, dtype); }, metadata,
      merged.output() != output);
  // Before the folder gets its name: a model with another base must not appear.
  check.finish();
}

/// After full tuning: the checkpoint has all weights, and the model's other files.
void export_model(const Tuned& tuned, const ModelOutput& to) {
  const OutputLayer output = output_layer_of(to.config);
  const ModelFolder files = ModelFolder::of_file((fs::path(tuned.folder) / tuned.weights).string());
  const auto weight_of = [&](const std::string& name, at::ScalarType dtype) {
    const std::string stored = files.stored_name(name, output).value_or(name);
    at::Tensor weight = files.view(stored).to(dtype, false, true);
    files.give_back(stored);
    return weight;
  };
  to.write(tuned.folder, files.model_tensors(output), weight_of, tuned.metadata_of_model());
}

/// \throws UsageError for arguments that do not fit the checkpoint
void check_arguments(const ExportArguments& arguments, const Tuned& tuned) {
  const bool merges = tuned.has_adapter && arguments.merge;
  if (arguments.merge == MergeBase::dequantised && !tuned.format.is_quantised())
    throw UsageError("--merge dequantised does not fit this checkpoint", "its base model was not quantised",
                     "Use --merge original.");
  if (merges && tuned.has_random_base)
    throw UsageError("--merge does not fit this checkpoint", "its base model has random weights, which are in no file",
                     "Export the adapter without --merge.");
  if (merges && LlamaConfig::read(tuned.base).is_stored_in_nf4)
    throw UsageError("--merge does not fit this checkpoint", "its base model is stored in 4 bits",
                     "Export the adapter without --merge.");
  if (arguments.int4 && arguments.nf4)
    throw UsageError("--int4 and --nf4 exclude each other", "a weight is stored in one way", "Leave one of them out.");
  if (arguments.int4 && !tuned.format.has_groups())
    throw UsageError("--int4 does not fit this checkpoint", "its weights were not tuned for int4",
                     "Tune with method.name qat or lora-qat, or leave --int4 out.");
  if ((arguments.int4 || arguments.nf4) && tuned.has_adapter && !merges)
    throw UsageError(fmt::format("--{} is given for an adapter", arguments.int4 ? "int4" : "nf4"),
                     "a model is converted, with its adapter in it", "Add --merge original.");
}

/// How the linear layers of a whole model are to be packed, where they are.
std::optional<WeightFormat> packing_of(const ExportArguments& arguments, const Tuned& tuned) {
  if (arguments.int4) return WeightFormat{WeightFormat::Kind::int4, DoubleQuantisation::off, tuned.format.group_size};
  if (arguments.nf4) return WeightFormat{WeightFormat::Kind::nf4, tuned.format.nested};
  return std::nullopt;
}

/// On rank 0.
void export_checkpoint(const ExportArguments& arguments) {
  std::optional<at::ScalarType> dtype;
  if (arguments.dtype) dtype = weights_type(*arguments.dtype);
  // Without slashes at its end, as messages name it.
  const Tuned tuned = read_checkpoint(fs::path(arguments.checkpoint + "/").parent_path().string());
  check_arguments(arguments, tuned);
  // After all arguments have been checked; without commit() it goes again, with what was written so far.
  PendingFolder pending(arguments.folder);
  const bool is_adapter = tuned.has_adapter && !arguments.merge;
  if (is_adapter) {
    export_adapter(tuned, pending.path(), dtype);
  } else {
    const LlamaConfig config = LlamaConfig::read(tuned.has_adapter ? tuned.base : tuned.folder);
    const ModelOutput to{pending.path(), config, dtype.value_or(config.weights_dtype.value_or(at::kFloat)),
                         packing_of(arguments, tuned)};
    if (tuned.has_adapter)
      export_merged(tuned, to, *arguments.merge);
    else
      export_model(tuned, to);
  }
  pending.commit();
  log_info(
      fmt::format("{:<10}{} ({})", "written", arguments.folder, is_adapter ? "PEFT adapter" : "Hugging Face model"));
}

}  // namespace

ExitCode export_command(const ExportArguments& arguments, const Communicator& world) {
  log_heading("export", arguments.checkpoint);
  agreed(world, [&] {
    if (world.is_root()) export_checkpoint(arguments);
  });
  return ExitCode::complete;
}

}  // namespace multicard
