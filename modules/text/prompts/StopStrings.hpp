#pragma once
/// \file Ending a text where one of several strings occurs in it.

#include <string>
#include <vector>

namespace multicard {

/// Passes on a text that arrives in pieces, up to the first occurrence of a stop string. What may be the beginning of
/// one is held back until it is known.
class StopStrings {
 public:
  /// None of `stops` may be empty. With none of them all is passed on.
  explicit StopStrings(std::vector<std::string> stops);

  /// What can be shown after `piece`; nothing any more once the text is stopped().
  std::string next(const std::string& piece);
  /// What was held back.
  std::string finish();
  bool stopped() const { return is_stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool is_stopped_ = false;
};

}  // namespace multicard
