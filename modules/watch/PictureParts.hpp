#pragma once
/// \file The parts of a picture.

#include <string>
#include <string_view>
#include <vector>

#include "watch/Picture.hpp"

namespace multicard {

/// Lines that fit the columns of a form, to which parts are added.
class PictureLines {
 public:
  explicit PictureLines(const PictureForm& form) : form_(form) {}

  const PictureForm& form() const { return form_; }
  /// A line that is cut where it is too long.
  void add(const std::string& text, Tone tone = Tone::plain);
  /// "label     text", continued below `text` where it is too long; nothing for an empty text.
  void field(const std::string& label, const std::string& text, Tone tone = Tone::plain);
  const std::vector<PictureLine>& lines() const { return lines_; }

 private:
  PictureForm form_;
  std::vector<PictureLine> lines_;
};

/// As shown(), and without line feeds and tabs: names in a status file may have any.
std::string shown_in_line(std::string_view text);

/// "[#######---]", of a share done.
std::string bar(double share, std::size_t columns, Characters characters);
/// Of the run: how far it is, loss and rate, then what costs time and memory, evaluation, checkpoint, findings.
void add_run(const WatchedRun& run, PictureLines& lines);
void add_sweep(const WatchedSweep& sweep, PictureLines& lines);
void add_share(const OutputView& watched, PictureLines& lines);

/// "loss 0.41", "1,830 images/s", "12 s left": what is known of them.
std::string loss_text(const WatchedRun& run);
std::string rate_text(const WatchedRun& run);
std::string left_text(double left_s);

}  // namespace multicard
