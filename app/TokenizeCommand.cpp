// multicard tokenize: JSON strings in, JSON arrays of ids out, a line each; with --decode ids in, strings out.

#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "Commands.hpp"
#include "base/HubCache.hpp"
#include "base/JsonText.hpp"
#include "base/StandardOutput.hpp"
#include "comm/Agreement.hpp"
#include "io/JsonReader.hpp"
#include "text/tokenizer/Tokenizer.hpp"

namespace multicard {

namespace {

using nlohmann::json;

json encoded(const Tokenizer& tokenizer, const json& text, SpecialTokens special) {
  if (!text.is_string()) throw DataError("it is not a JSON string");
  return tokenizer.encode(text.get_ref<const std::string&>(), special);
}

json decoded(const Tokenizer& tokenizer, const json& list) {
  if (!list.is_array()) throw DataError("it is not a JSON array of ids");
  std::vector<TokenId> ids;
  for (const json& id : list) {
    if (!id.is_number_unsigned() || id.get<std::uint64_t>() >= static_cast<std::uint64_t>(tokenizer.vocabulary_size()))
      throw DataError(fmt::format("{} is not an id", id.dump().substr(0, 40)),
                      fmt::format("ids are whole numbers below {}", tokenizer.vocabulary_size()));
    ids.push_back(id.get<TokenId>());
  }
  return tokenizer.decode(ids, DecodeSpecial::keep);
}

json answer(const Tokenizer& tokenizer, const std::string& line, const TokenizeArguments& arguments) {
  const json value = parse_json(line, "it");
  if (arguments.decode) return decoded(tokenizer, value);
  return encoded(tokenizer, value, arguments.no_special ? SpecialTokens::leave_out : SpecialTokens::add);
}

void tokenize(const TokenizeArguments& arguments) {
  const auto tokenizer = Tokenizer::load(model_folder(arguments.tokenizer));
  std::string line;
  for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
    json result;
    try {
      result = answer(*tokenizer, line, arguments);
    } catch (const DataError& error) {
      throw DataError(fmt::format("line {} of the standard input: {}", number, error.problem()), error.why(),
                      error.suggestion());
    }
    // A line at once for each line: the program at the other end may wait for it before it sends the next.
    print(json_text(result) + "\n");
  }
}

}  // namespace

ExitCode tokenize_command(const TokenizeArguments& arguments, const Communicator& world) {
  agreed(world, [&] {
    if (world.rank() == 0) tokenize(arguments);
  });
  return ExitCode::complete;
}

}  // namespace multicard
