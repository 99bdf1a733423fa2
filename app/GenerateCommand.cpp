#include <cstdio>
#include <filesystem>
#include <future>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "base/HubCache.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/NearPath.hpp"
#include "base/StandardOutput.hpp"
#include "base/Thread.hpp"
#include "comm/Agreement.hpp"
#include "comm/Topology.hpp"
#include "config/Deck.hpp"
#include "device/Device.hpp"
#include "generation/Answers.hpp"
#include "io/ForeignFormat.hpp"
#include "io/JsonReader.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "prepare/records/RecordFiles.hpp"
#include "state/CheckpointStore.hpp"
#include "tasks/language/LanguageModel.hpp"
#include "tasks/language/ProvenanceMetadata.hpp"
#include "tasks/options/DeckWeights.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace multicard {

namespace fs = std::filesystem;

namespace {

/// The model that answers.
struct ModelSource {
  std::string model;                              ///< folder with weights and tokenizer
  std::optional<std::string> adapter = {};        ///< PEFT folder
  ProvenanceMetadata provenance = {};             ///< of the adapter, else of the model
  std::optional<std::uint64_t> random_seed = {};  ///< of weights that are in no file
  WeightFormat format = {};                       ///< of the model
};

/// How a checkpoint computes, and its base model where it has an adapter.
void take_base(ModelSource& source, const std::string& checkpoint) {
  const Deck deck = Deck::parse(CheckpointStore::read_state(checkpoint).deck, checkpoint);
  if (deck.get_text("task") != "llm")
    throw UsageError(fmt::format("{} is not a checkpoint of a language model", checkpoint));
  source.format = weight_format(deck);
  if (!fs::exists(fs::path(checkpoint) / kAdapterConfigFile)) return;
  source.adapter = checkpoint;
  source.model = model_folder(deck.get_text("model.path"));
  source.random_seed = random_weights_seed(deck);
  if (!fs::exists(source.model))
    throw DataError(fmt::format("the base model of {} does not exist", checkpoint),
                    fmt::format("it was {}", source.model),
                    fmt::format("Name where it is now: multicard generate MODEL --adapter {}", checkpoint));
}

ModelSource find_model(const GenerateArguments& arguments) {
  ModelSource source{model_folder(arguments.model)};
  const std::string given = source.model;
  if (fs::exists(fs::path(given) / kStateFile)) {
    CheckpointStore::verify(given);
    take_base(source, given);
  } else if (!fs::exists(fs::path(given) / "config.json")) {
    if (fs::exists(fs::path(given) / kAdapterConfigFile))
      throw DataError(fmt::format("{} is an adapter", given), "it holds no model that it could change",
                      fmt::format("multicard generate MODEL --adapter {}", given));
    throw DataError(fmt::format("{} is neither a model folder nor a checkpoint", given),
                    fs::exists(given) ? "it holds neither config.json nor trainer.json" : "it does not exist",
                    suggest_fetching(given, did_you_mean(given,
                                                         "Name a model folder, or OUTPUT/checkpoints/step_... "
                                                         "of a run.")));
  }
  if (!arguments.adapter.empty() && source.adapter)
    throw UsageError("--adapter is given for a checkpoint that has an adapter itself", "a model has one at a time",
                     "Name the base model, or leave --adapter out.");
  if (!arguments.adapter.empty()) source.adapter = model_folder(arguments.adapter);
  source.provenance = read_provenance(source.adapter.value_or(source.model));
  return source;
}

/// The hash of the base model while other work continues, where it can be compared.
std::future<std::string> hash_base(const ModelSource& source) {
  if (!source.adapter || !source.provenance.base_sha256 || source.random_seed) return {};
  return start_async("the check of the base model",
                     [folder = source.model] { return ModelFolder::open(folder).sha256(); });
}

/// Prompts get the template of the training, which the folder may not have. Says which one it is.
Prompter make_prompter(const GenerateArguments& arguments, const ModelSource& source) {
  if (arguments.raw) return Prompter(source.model);
  const bool is_requested = !arguments.template_name.empty();
  Prompter prompter(source.model, is_requested ? arguments.template_name : source.provenance.template_name,
                    arguments.date.empty() ? source.provenance.template_date : arguments.date);
  const std::optional<PromptTemplate>& chosen = prompter.prompt_template();
  if (chosen) chosen->require_use_of(arguments.date);
  if (!chosen) {
    log_info("no template is known for this model: the prompt is continued as it is (--template names one)");
  } else {
    const char* why = is_requested                               ? "as requested"
                      : !source.provenance.template_name.empty() ? "that of the training"
                                                                 : "the model folder's chat template";
    log_info(fmt::format("template {} ({})", chosen->name(), why));
  }
  return prompter;
}

std::string read_prompt(const std::string& argument) {
  // Byte for byte: a final newline would be a token of the prompt, and is the caller's to leave out.
  if (argument != "-") return argument;
  return {std::istreambuf_iterator<char>(std::cin), {}};
}

/// What is to be answered.
struct Prompts {
  std::vector<std::string> texts;
  std::vector<std::string> names;  ///< of each, in words

  void add(std::string text, std::string name) {
    texts.push_back(std::move(text));
    names.push_back(std::move(name));
  }
};

Prompts read_prompts(const GenerateArguments& arguments) {
  Prompts prompts;
  if (arguments.prompts.empty()) {
    prompts.add(read_prompt(*arguments.prompt), "the prompt");
    return prompts;
  }
  RecordFiles files({arguments.prompts}, RecordKind::json, Communicator::null());
  for (std::int64_t i = 0; i < files.size(); ++i) {
    const std::string name = files.name_of(i);
    const nlohmann::json record = parse_json(files.read(i), name);
    prompts.add(record.is_string() ? record.get<std::string>() : text_member(record, "prompt", name), name);
  }
  return prompts;
}

EncodedPrompts encode(const Prompts& prompts, const Prompter& prompter, const GenerateArguments& arguments,
                      const LlamaConfig& config) {
  EncodedPrompts encoded;
  for (std::size_t i = 0; i < prompts.texts.size(); ++i) {
    encoded.push_back(arguments.raw ? prompter.encode_raw(prompts.texts[i]) : prompter.encode(prompts.texts[i]));
    check_prompt(encoded.back(), config, arguments.max_new, prompts.names[i], "--max-new");
  }
  return encoded;
}

AnswerOptions answer_options(const GenerateArguments& arguments) {
  AnswerOptions options;
  SamplingOptions& sampling = options.generate.sampling;
  sampling.temperature = arguments.greedy ? 0 : arguments.temperature;
  sampling.top_k = arguments.top_k;
  sampling.top_p = arguments.top_p;
  sampling.repetition_penalty = arguments.repetition_penalty;
  sampling.seed = arguments.seed;
  options.generate.max_new = arguments.max_new;
  options.generate.batch = arguments.batch;
  options.generate.end_tokens = arguments.ignore_eos ? EndTokens::ignore : EndTokens::stop;
  options.stops = arguments.stops;
  return options;
}

std::unique_ptr<Llama> load_model(const ModelSource& source, at::ScalarType dtype, at::Device device) {
  std::unique_ptr<Llama> network = load_network(source.model, dtype, device, source.random_seed, source.format);
  if (source.adapter) {
    const PeftAdapter adapter = PeftAdapter::open(*source.adapter, tuned_file_of(*source.adapter));
    warn_of(adapter.config().remarks);
    // In float32, as adapters are tuned, also next to weights of 16 bits.
    attach_adapters(*network, adapter, dtype == at::kDouble ? at::kDouble : at::kFloat, whole_matches);
  } else if (tuned_file_of(source.model) == kAverageFile) {
    load_average(*network, source.model);
  }
  network->set_training(Mode::evaluate);
  return network;
}

const char* word_of(Finish finish) {
  switch (finish) {
    case Finish::end_token:
      return "eos";
    case Finish::stopped:
      return "stop";
    case Finish::length:
      break;
  }
  return "length";
}

void print_json(const std::vector<TokenId>& prompt, const Answer& answer) {
  const nlohmann::ordered_json line{
      {"prompt_ids", prompt}, {"ids", answer.ids}, {"text", answer.text}, {"finish", word_of(answer.finish)}};
  print(json_text(line) + "\n");
}

/// On rank 0.
void answer_prompts(const GenerateArguments& arguments, at::Device device) {
  const ModelSource source = find_model(arguments);
  const LlamaConfig config = LlamaConfig::read(source.model);
  warn_of(config.remarks);
  warn_of(config.generation_remarks);
  // Hashing goes in the background of tokenizing and loading, and is waited for before the first word is printed.
  std::future<std::string> base_hash = hash_base(source);
  const Prompter prompter = make_prompter(arguments, source);
  const at::ScalarType dtype =
      arguments.dtype ? weights_type(*arguments.dtype) : config.weights_dtype.value_or(at::kFloat);
  const EncodedPrompts prompts = encode(read_prompts(arguments), prompter, arguments, config);
  const std::unique_ptr<Llama> network = load_model(source, dtype, device);

  const auto check = [&] {  // once, before anything is printed
    if (base_hash.valid()) check_base(source.provenance, base_hash.get(), *source.adapter, source.model);
  };
  const bool is_json = arguments.json || !arguments.prompts.empty();
  ShowText show;
  if (!is_json)
    show = [&](std::size_t, const std::string& text) {
      check();
      print(text);
    };
  const std::vector<Answer> found = answers(*network, prompter, prompts, answer_options(arguments), show);
  check();
  if (!is_json) return print("\n");
  for (std::size_t i = 0; i < found.size(); ++i)
    print_json(prompts[i], found[i]);
}

}  // namespace

ExitCode generate_command(const GenerateArguments& arguments, const Communicator& world) {
  const Topology topology = find_topology(world);
  // Collective, though rank 0 alone answers: a command line under mpirun must not hang for that.
  const DeviceChoice device = choose_device(DeviceRequest::automatic, ShareGpu::no, world, topology);
  set_compute_threads(topology);
  std::optional<Error> failure;
  if (world.is_root()) failure = error_of([&] { answer_prompts(arguments, device.device); });
  world.idle_barrier();  // without a time-out: an answer may be long
  agree_on(world, failure);
  return ExitCode::complete;
}

}  // namespace multicard
