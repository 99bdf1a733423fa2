#pragma once
/// \file What is wrong with a text that is not a trace, and where.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "profile/trace/TraceText.hpp"

namespace multicard {

/// A place in a text, and what is wrong there.
struct TextFlaw {
  std::size_t at = 0;
  std::string why;
};

/// The first flaw of strings and brackets: a control character in a string, a bracket that closes another, text after
/// the last one, or none that closes. None where other things are wrong. Reads byte by byte.
std::optional<TextFlaw> first_flaw(std::string_view text);

/// "byte 12"; of a gzipped file "byte 12 of the unpacked text".
std::string place_in(const TraceText& text, std::size_t at);

/// Refuses by its beginning what is no JSON object or array: an empty file, a results file, UTF-16, a number.
/// \throws DataError
void require_object_or_array(const std::string& path, const TraceText& text);

/// \throws UsageError where the file begins as a time line of this program, of which the rest may be missing
void require_no_time_line(const std::string& path);
/// \throws UsageError always
[[noreturn]] void throw_time_line(const std::string& path);

/// \param code what the parser says \param at where it stopped, if it says so \throws DataError always
[[noreturn]] void throw_not_json(const std::string& path, const TraceText& text, int code,
                                 std::optional<std::size_t> at);

}  // namespace multicard
