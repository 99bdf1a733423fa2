#pragma once
/// \file The known prompt templates that are written in Jinja.

#include <string>
#include <vector>

namespace multicard {

struct KnownTemplate {
  const char* name;
  std::string bos, eos;  ///< what it writes as bos_token and eos_token
  const char* source;
};

const std::vector<KnownTemplate>& known_templates();

}  // namespace multicard
