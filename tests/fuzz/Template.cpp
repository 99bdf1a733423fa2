// Chat templates: parsing, and rendering of a conversation with what transformers gives to a template.
#include <nlohmann/json.hpp>

#include "base/Shown.hpp"
#include "fuzz/Target.hpp"
#include "text/jinja/Jinja.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

namespace {

JinjaValue value(const char* json) {
  return jinja_value(nlohmann::ordered_json::parse(json));
}

const JinjaTemplate::Variables& variables() {
  static const JinjaTemplate::Variables kVariables{
      {"messages", value(R"([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"},
                             {"role": "assistant", "content": "4", "tool_calls": [{"function": {"name": "add",
                              "arguments": {"a": 2, "b": 2.5}}}]}])")},
      {"tools", value(R"([{"type": "function", "function": {"name": "add", "parameters": {}}}])")},
      {"bos_token", "<s>"},
      {"eos_token", "</s>"},
      {"add_generation_prompt", true}};
  return kVariables;
}

}  // namespace

void read(std::string_view input) {
  try {
    const JinjaTemplate parsed(input);
    parsed.mentions("tools");
    const JinjaOutput output = parsed.render(variables());
    std::size_t last = 0;
    for (const TextRange& range : output.generated) {
      require(last <= range.begin && range.begin <= range.end && range.end <= output.text.size(),
              "what was generated is out of order");
      last = range.end;
    }
  } catch (const JinjaError& error) {
    throw DataError("the template cannot be used", error.what());  // as ChatTemplate does
  }
}

}  // namespace multicard::fuzz
