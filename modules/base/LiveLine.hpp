#pragma once
/// \file A line on standard error that rewrites itself.

#include <cstddef>
#include <string>

#include "base/Terminal.hpp"

namespace multicard {

/// What becomes of a live line when its owner is done with it.
enum class LineEnd { kept, erased };

/// The one line of this process that shows how far it is. MULTICARD_PROGRESS chooses between it, plain lines and
/// nothing; else a terminal (see Terminal) decides. A message that is logged meanwhile takes its place until the next
/// show(). Where one owner shows a line over another's, the first to finish ends it for both.
class LiveLine {
 public:
  explicit LiveLine(LineEnd end = LineEnd::kept);
  /// As finish().
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
  /// Ends the line or erases it, as its owner wants, so that other text can follow.
  void finish();
  /// Removes the line.
  void erase();

 private:
  Terminal terminal_;
  ProgressMode mode_;
  LineEnd end_;
  bool is_open_ = false;
};

}  // namespace multicard
