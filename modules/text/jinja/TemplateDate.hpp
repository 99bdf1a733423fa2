#pragma once
/// \file The date that chat templates may write.

#include <optional>
#include <string>

namespace multicard {

/// Whether numbers of a date are filled up with zeros or spaces.
enum class Padding { yes, no };

/// A day. The default is the one that Llama's templates write where their caller passes none: not the current one, so
/// that equal input gives equal tokens.
class TemplateDate {
 public:
  TemplateDate() = default;
  static constexpr const char* kDefault = "2024-07-26";  ///< that of the default constructor
  /// Of "YYYY-MM-DD", or the default one of an empty text. \throws UsageError that names --date
  static TemplateDate parse(const std::string& text);

  /// What strftime() writes of its midnight, in the C locale, for one field such as "%d" or, without padding, "%-d".
  /// Nothing for an unknown one.
  std::optional<std::string> field(char letter, Padding padding) const;

 private:
  int year_ = 2024, month_ = 7, day_ = 26;
};

}  // namespace multicard
