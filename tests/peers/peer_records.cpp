// Encodes records, for tests/peers/random: answers each line of standard input, a JSON object {"folder": PATH, "type":
// TYPE, "template": NAME (without: the folder's), "loss": completion or all, "record": {...}}, by {"ids", "mask",
// "said": what would be said of the record} and, for pairs, {"rejected": {"ids", "mask"}}, or by {"error"}. What a
// folder holds must stay as it is.

#include <iostream>
#include <map>

#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "prepare/records/RecordEncoder.hpp"

namespace {

using namespace multicard;
using nlohmann::ordered_json;

RecordEncoder encoder_for(const ordered_json& request) {
  static std::map<std::string, std::shared_ptr<const Tokenizer>> tokenizers;
  const auto folder = request["folder"].get<std::string>();
  std::shared_ptr<const Tokenizer>& tokenizer = tokenizers[folder];
  if (!tokenizer) tokenizer = Tokenizer::load(folder);
  const std::string name = request.value("template", std::string());
  const DatasetType type = dataset_type(request["type"].get<std::string>());
  RecordEncoder encoder(type, tokenizer,
                        name.empty() ? PromptTemplate::of_folder(folder) : PromptTemplate::resolve(name, folder),
                        loss_on(request["loss"].get<std::string>()));
  encoder.use(std::make_shared<RecordMap>(type, std::vector<std::string>{}));
  return encoder;
}

ordered_json row(const EncodedText& text) {
  return {{"ids", text.ids}, {"mask", text.loss_mask}};
}

ordered_json answer(const ordered_json& request) {
  try {
    const EncodedRecord encoded = encoder_for(request).encode_json(request["record"].dump(), "the record");
    ordered_json reply = row(encoded.sequence);
    if (encoded.rejected) reply["rejected"] = row(*encoded.rejected);
    reply["said"] = encoded.unknown_fields;
    if (encoded.drops_reasoning) reply["said"].push_back("reasoning");
    return reply;
  } catch (const Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);)
    std::cout << answer(ordered_json::parse(line)).dump(-1, ' ', false, ordered_json::error_handler_t::replace)
              << std::endl;
}
