#pragma once
/// \file Words of commands that messages suggest.

#include <string>
#include <string_view>

namespace multicard {

/// `text` as one word of a command that people copy into a shell: in quotes where it holds more than letters, digits
/// and _ - . / : = , + @ %.
std::string shell_word(std::string_view text);

}  // namespace multicard
