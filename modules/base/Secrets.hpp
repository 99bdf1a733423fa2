#pragma once
/// \file Keeping passwords and tokens of the environment out of files.

#include <string>
#include <string_view>

namespace multicard {

/// Whether a variable's name speaks of a token, key, password, secret, credential, cookie or JWT, in any case:
/// SLURM_JWT, HF_TOKEN, AWS_SECRET_ACCESS_KEY. Tokenizers are none of these.
bool speaks_of_secrets(std::string_view variable);

/// `text` with `${NAME}` in place of the value of every such variable of this process that has at least 8 characters:
/// what a shell has written out in a command line.
std::string without_secrets(std::string text);

}  // namespace multicard
