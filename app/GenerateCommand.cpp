#include <cstdio>
#include <future>
#include <iostream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "GenerateModel.hpp"
#include "base/JsonText.hpp"
#include "base/Log.hpp"
#include "base/StandardOutput.hpp"
#include "comm/Agreement.hpp"
#include "comm/LongWork.hpp"
#include "comm/Topology.hpp"
#include "device/Device.hpp"
#include "device/DeviceError.hpp"
#include "generation/Answers.hpp"
#include "io/ForeignFormat.hpp"
#include "io/JsonReader.hpp"
#include "prepare/records/RecordFiles.hpp"
#include "tasks/language/LanguageModel.hpp"

namespace multicard {

namespace {

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

/// A model and what it is asked.
class Generation {
 public:
  /// \param is_root rank 0, which alone reads prompts and answers
  Generation(const GenerateArguments& arguments, bool is_root)
      : arguments_(arguments), source_(find_model(arguments, is_root)), config_(LlamaConfig::read(source_.model)) {
    dtype_ = arguments.dtype ? weights_type(*arguments.dtype) : config_.weights_dtype.value_or(at::kFloat);
    if (!is_root) return;
    warn_of(config_.remarks);
    warn_of(config_.generation_remarks);
    // Hashing goes in the background of tokenizing and loading, and is waited for before the first word is printed.
    base_hash_ = hash_base(source_);
    prompter_.emplace(make_prompter(arguments, source_));
    prompts_ = encode(read_prompts(arguments), *prompter_, arguments, config_);
  }

  void load(at::Device device) { network_ = load_model(source_, dtype_, device); }
  /// On ranks that split the weights.
  /// @{
  void plan() { plan_ = plan_model(source_, dtype_); }
  /// Collective.
  void load(TensorCollectives& sharding) { network_ = load_model(source_, *plan_, sharding); }
  /// @}
  /// Waits for the hash of the base model.
  void check() {
    if (base_hash_.valid()) check_base(source_.provenance, base_hash_.get(), *source_.adapter, source_.model);
  }
  Llama& network() { return *network_; }

  /// On rank 0.
  void answer() {
    const bool is_json = arguments_.json || !arguments_.prompts.empty();
    ShowText show;
    if (!is_json)
      show = [&](std::size_t, const std::string& text) {
        check();  // once, before anything is printed
        print(text);
      };
    const std::vector<Answer> found = answers(*network_, *prompter_, prompts_, answer_options(arguments_), show);
    check();
    if (!is_json) return print("\n");
    for (std::size_t i = 0; i < found.size(); ++i)
      print_json(prompts_[i], found[i]);
  }

 private:
  const GenerateArguments& arguments_;
  ModelSource source_;
  LlamaConfig config_;
  at::ScalarType dtype_ = at::kFloat;
  std::optional<NetworkPlan> plan_;
  std::future<std::string> base_hash_;
  std::optional<Prompter> prompter_;
  EncodedPrompts prompts_;
  std::unique_ptr<Llama> network_;
};

void answer_on_root(const GenerateArguments& arguments, at::Device device) {
  Generation generation(arguments, true);
  generation.load(device);
  generation.answer();
}

/// Collective. \return what rank 0 failed with when it answered
std::optional<Error> answer_sharded(const GenerateArguments& arguments, at::Device device, const Communicator& world) {
  const auto collectives = make_collectives(Backend::automatic, world, device);
  std::unique_ptr<Generation> generation;
  agreed_after_long_work(world, [&] { generation = std::make_unique<Generation>(arguments, world.is_root()); });
  agreed(world, [&] { with_known_errors([&] { generation->plan(); }); });
  agreed(world, [&] { with_known_errors([&] { generation->load(*collectives); }); });
  agreed_after_long_work(world, [&] { generation->check(); });
  std::optional<Error> failure;
  generation->network().with_unequal_passes([&] {
    if (world.is_root()) failure = error_of([&] { generation->answer(); });
  });
  return failure;
}

}  // namespace

ExitCode generate_command(const GenerateArguments& arguments, const Communicator& world) {
  const Topology topology = find_topology(world);
  // Collective, though rank 0 alone answers: a command line under mpirun must not hang for that.
  const DeviceChoice device = choose_device(DeviceRequest::automatic, ShareGpu::no, world, topology);
  set_compute_threads(topology);
  std::optional<Error> failure;
  if (arguments.shard)
    failure = answer_sharded(arguments, device.device, world);
  else if (world.is_root())
    failure = error_of([&] { answer_on_root(arguments, device.device); });
  world.idle_barrier();  // without a time-out: an answer may be long
  agree_on(world, failure);
  return ExitCode::complete;
}

}  // namespace multicard
