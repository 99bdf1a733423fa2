#pragma once
/// \file Strings as Python's `str` treats them: by characters, not by bytes. All texts are valid UTF-8.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace multicard {

/// Which ends of a text.
enum class PythonEnds { both, left, right };

bool is_python_space(char32_t character);

/// text.strip(), lstrip(), rstrip()
std::string_view python_strip(std::string_view text, PythonEnds ends = PythonEnds::both);
/// The same of the characters in `characters`.
std::string_view python_strip(std::string_view text, std::string_view characters, PythonEnds ends);

/// text.split() and rsplit(); `separator` nothing: at white space. `most`: splits at most, negative: all.
std::vector<std::string_view> python_split(std::string_view text, std::optional<std::string_view> separator,
                                           std::int64_t most, PythonEnds from);
/// text.splitlines()
std::vector<std::string_view> python_lines(std::string_view text);

/// text[begin:end:step] of indices that lie within it.
std::string python_slice(std::string_view text, std::int64_t begin, std::int64_t end, std::int64_t step);
std::vector<std::string_view> python_characters(std::string_view text);

/// text.replace(old, replacement, most); negative: all
std::string python_replace(std::string_view text, std::string_view old, std::string_view replacement,
                           std::int64_t most);
std::string python_upper(std::string_view text);
bool python_is_upper(std::string_view text);
bool python_is_lower(std::string_view text);
std::string python_title(std::string_view text);
std::string python_capitalize(std::string_view text);

/// repr() of a string and of a number.
std::string python_repr(std::string_view text);
std::string python_repr(double number);

}  // namespace multicard
