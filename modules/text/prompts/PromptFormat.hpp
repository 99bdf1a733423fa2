#pragma once
/// \file The known prompt templates as data.

#include <map>
#include <string>
#include <vector>

namespace multicard {

/// What stands around a message: before + content + end + after. `end` belongs to the message when it is a target.
struct RoleFormat {
  std::string before, end, after;
};

struct PromptFormat {
  std::string name;
  std::string begin;  ///< before everything
  std::map<std::string, RoleFormat, std::less<>> roles;
  std::string separator = {};                  ///< between two messages
  std::string default_system = {};             ///< when a conversation does not begin with a system message
  std::string default_system_with_input = {};  ///< the same for an instruction with an input; empty: as above
  std::string system_prefix = {};              ///< in front of the first system message, which is never left out then
  std::string input_intro = "\n";              ///< between an instruction and its input
  bool trims = false;                          ///< white space around contents is left out
  bool needs_eos = false;                      ///< an answer ends with the tokenizer's EOS
};

/// All of them, by falling likelihood of being meant.
const std::vector<PromptFormat>& prompt_formats();

}  // namespace multicard
