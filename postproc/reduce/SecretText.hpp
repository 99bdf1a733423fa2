#pragma once
/// \file Secrets in texts.

#include <string>

namespace multicard::post {

/// What stands in place of a secret.
inline constexpr const char* kHidden = "[hidden]";

/// Without tokens, values of keys that name secrets (NAME=VALUE, --NAME VALUE, a line NAME: VALUE), and users and
/// passwords in URLs.
std::string without_secret_words(std::string text);

}  // namespace multicard::post
