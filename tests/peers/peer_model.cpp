// What the peers are compared with, as a program for round_trip_test.py.
//
//   peer_model logits MODEL ADAPTER|- TOKENS.safetensors OUT.safetensors    "logits" [rows, T, vocabulary] of "tokens"
//   peer_model adapter MODEL FOLDER RANK ALPHA plain|rslora TARGET...       an adapter with random values
//   peer_model configured MODEL FOLDER                                      the same, as FOLDER/adapter_config.json
//   peer_model shards MODEL FOLDER BYTES                                    the same model in shards
//   peer_model serve       answers each line of standard input, a JSON object whose "words" are those of `logits`, by
//   {} or {"error"}

#include <cstdio>
#include <exception>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_like.h>
#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "io/Bytes.hpp"
#include "nn/language/LanguageFactory.hpp"
#include "nn/language/LanguageNetwork.hpp"
#include "state/ShardedWriter.hpp"
#include "text/tokenizer/NameMatch.hpp"

namespace {

using namespace multicard;
using Arguments = std::vector<std::string>;

void write_logits(const Arguments& words) {
  const std::unique_ptr<Llama> network = load_network(words.at(0), at::kFloat, at::kCPU);
  if (words.at(1) != "-") attach_adapters(*network, PeftAdapter::open(words[1]), at::kFloat, whole_matches);
  network->set_training(Mode::evaluate);
  save_tensors(words.at(3), {{"logits", network->logits(TensorFile(words.at(2)).load("tokens"))}});
}

/// Low-rank matrices are random, saved modules near the base model's.
void write_random_adapter(const std::string& model, const std::string& folder, const AdapterConfig& config) {
  const std::unique_ptr<Llama> network = load_network(model, at::kFloat, at::kCPU);
  network->add_adapters(adapter_options_of(config, whole_matches));
  const at::NoGradGuard no_grad;
  for (const NamedTensor& entry : network->adapters()) {
    const bool is_low_rank = entry.name.find(".lora_") != std::string::npos;
    const at::Tensor noise = at::empty_like(entry.tensor).normal_(0, 0.05);
    at::Tensor(entry.tensor).copy_(is_low_rank ? noise : entry.tensor + noise);
  }
  std::filesystem::create_directories(folder);
  write_adapter(folder, config, network->adapters());
}

void write_random_adapter(const Arguments& words) {
  AdapterConfig config;
  config.settings.rank = std::stoi(words.at(2));
  config.settings.alpha = std::stod(words.at(3));
  config.settings.rslora = words.at(4) == "rslora";
  config.settings.targets.assign(words.begin() + 5, words.end());
  config.base_model = words[0];
  write_random_adapter(words[0], words[1], config);
}

void write_configured_adapter(const Arguments& words) {
  const std::string path = words.at(1) + "/" + kAdapterConfigFile;
  write_random_adapter(words[0], words[1], parse_adapter_config(read_file(path), path));
}

void write_shards(const Arguments& words) {
  const ModelFolder model = ModelFolder::open(words.at(0));
  std::filesystem::create_directories(words.at(1));
  write_weights(
      words[1], model.tensors(), [&](const std::string& name) { return model.view(name); }, std::stoull(words.at(2)));
  copy_model_files(words[0], words[1], {at::kFloat});
}

void serve() {
  for (std::string line; std::getline(std::cin, line);) {
    nlohmann::json reply = nlohmann::json::object();
    try {
      write_logits(nlohmann::json::parse(line)["words"].get<Arguments>());
    } catch (const Error& error) {
      reply["error"] = error.what();
    }
    std::cout << reply.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Arguments words(argv + std::min(argc, 2), argv + argc);
    const std::string mode = argc > 1 ? argv[1] : "";
    if (mode == "logits") return write_logits(words), 0;
    if (mode == "adapter") return write_random_adapter(words), 0;
    if (mode == "configured") return write_configured_adapter(words), 0;
    if (mode == "serve") return serve(), 0;
    if (mode == "shards") return write_shards(words), 0;
    std::fprintf(stderr, "unknown mode %s\n", mode.c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
