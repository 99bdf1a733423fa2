// Renders templates and encodes conversations for the comparisons with jinja2 and transformers.
//
// usage: peer_template render          standard input: a JSON object a line, {"template", "variables"};
//                                      standard output: a line each, {"text"} or {"error"}
//        peer_template encode FOLDER   standard input: a record of type chat a line; output {"ids", "mask"} or
//        {"error"}

#include <iostream>

#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "prepare/records/RecordEncoder.hpp"
#include "text/jinja/Jinja.hpp"

namespace {

using nlohmann::ordered_json;

ordered_json rendered(const std::string& line) {
  const ordered_json request = ordered_json::parse(line);
  try {
    const multicard::JinjaTemplate chat_template(request.at("template").get<std::string>());
    multicard::JinjaTemplate::Variables variables;
    for (const auto& [name, value] : request.at("variables").items())
      variables.emplace_back(name, multicard::jinja_value(value));
    return {{"text", chat_template.render(variables).text}};
  } catch (const multicard::JinjaError& error) {
    return {{"error", error.what()}};
  }
}

ordered_json encoded(const multicard::RecordEncoder& encoder, const std::string& line) {
  try {
    const multicard::EncodedText row = encoder.encode_json(line, "the record").sequence;
    return {{"ids", row.ids}, {"mask", row.loss_mask}};
  } catch (const multicard::DataError& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main(int num_words, char** words) {
  const bool encodes = num_words == 3 && std::string(words[1]) == "encode";
  if (!encodes && !(num_words == 2 && std::string(words[1]) == "render")) return 2;
  std::optional<multicard::RecordEncoder> encoder;
  if (encodes)
    encoder.emplace(multicard::DatasetType::chat, multicard::Tokenizer::load(words[2]),
                    multicard::PromptTemplate::of_folder(words[2]), multicard::LossOn::completion);
  for (std::string line; std::getline(std::cin, line);)
    std::cout << (encodes ? encoded(*encoder, line) : rendered(line)).dump() << "\n";
}
