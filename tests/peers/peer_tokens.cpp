// Encodes and decodes, for tests/peers/random: answers each line of standard input, a JSON object {"tokenizer": PATH,
// "texts": [...], "ids": [[...], ...]}, by {"ids": [with special tokens, without], "texts": [without special tokens,
// with them: of the encoded texts, then of "ids"]} or {"error"}.

#include <iostream>

#include <nlohmann/json.hpp>

#include "base/Error.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace {

using namespace multicard;
using nlohmann::json;

json answer(const json& request) {
  const std::shared_ptr<const Tokenizer> tokenizer = Tokenizer::load(request["tokenizer"].get<std::string>());
  json ids = json::array(), texts = json::array();
  for (const SpecialTokens special : {SpecialTokens::add, SpecialTokens::leave_out}) {
    json all = json::array();
    for (const json& text : request["texts"])
      all.push_back(tokenizer->encode(text.get<std::string>(), special));
    ids.push_back(all);
  }
  for (const DecodeSpecial special : {DecodeSpecial::skip, DecodeSpecial::keep}) {
    json all = json::array();
    for (const json& list : {ids[0], request["ids"]})
      for (const json& numbers : list)
        all.push_back(tokenizer->decode(numbers.get<std::vector<TokenId>>(), special));
    texts.push_back(all);
  }
  return {{"ids", ids}, {"texts", texts}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    json reply;
    try {
      reply = answer(json::parse(line));
    } catch (const Error& error) {
      reply = {{"error", error.what()}};
    }
    std::cout << reply.dump(-1, ' ', false, json::error_handler_t::replace) << std::endl;
  }
}
