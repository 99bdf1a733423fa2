#pragma once
/// \file A line on standard error that rewrites itself.

#include <cstddef>
#include <string>

#include "base/Terminal.hpp"

namespace multicard {

/// The one line of this process that shows how far it is. MULTICARD_PROGRESS chooses between it, plain lines and
/// nothing; else a terminal (see Terminal) decides.
class LiveLine {
 public:
  LiveLine();
  /// Ends the line, if it is open.
  ~LiveLine();
  LiveLine(const LiveLine&) = delete;
  LiveLine& operator=(const LiveLine&) = delete;

  /// False where progress is not to be shown at all.
  bool is_wanted() const { return mode_ != ProgressMode::off; }
  /// Whether to rewrite one line, rather than to write a new one now and then.
  bool is_live() const;
  /// How many columns a line may have: one that fills the terminal would wrap.
  std::size_t room() const;

  /// Writes `text` over what stood there.
  void show(const std::string& text);
  /// Ends the line, so that other text can follow it.
  void finish();
  /// Removes the line.
  void erase();

 private:
  Terminal terminal_;
  ProgressMode mode_;
  bool is_open_ = false;
};

}  // namespace multicard
