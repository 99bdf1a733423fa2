#pragma once
/// \file Secrets in texts.

#include <functional>
#include <string>

namespace multicard::post {

/// What stands in place of a secret.
inline constexpr const char* kHidden = "[hidden]";

/// `alias(SECRET)` in place of tokens, of values of keys that name secrets (NAME=VALUE, --NAME VALUE, a line
/// NAME: VALUE, "NAME": VALUE, {NAME: VALUE}), and of users and passwords in URLs.
std::string without_secret_words(std::string text, const std::function<std::string(const std::string&)>& alias);

}  // namespace multicard::post
