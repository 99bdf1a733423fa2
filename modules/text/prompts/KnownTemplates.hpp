#pragma once
/// \file The known prompt templates.

#include <string>
#include <vector>

#include "text/prompts/ChatTemplateFiles.hpp"

namespace multicard {

/// A template that users can name. Where the source has {% generation %} blocks, each answer is one block with what
/// ends it, so that one rendering shows all targets.
struct KnownTemplate {
  /// Whether a folder's chat template that renders plain conversations alike gets this name.
  enum class Match { by_text, by_name };

  const char* name;
  Match match;
  const char* source;
  TemplateSpecials variables = {};     ///< bos_token, eos_token and what variants of one source differ in
  bool ends_with_eos = false;          ///< an answer ends with the tokenizer's EOS, which the source does not write
  std::string before_input = "\n";     ///< between an instruction and its input
  std::string system_with_input = {};  ///< of an instruction with an input and without a system message
};

/// All of them, in the order in which they are named and compared.
const std::vector<KnownTemplate>& known_templates();

}  // namespace multicard
