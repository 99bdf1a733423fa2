#pragma once
/// \file The lines a person sees while a run trains.

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include "base/Clock.hpp"
#include "base/LiveLine.hpp"

namespace multicard {

/// One moment of a run. Steps are counted over the whole run.
struct ProgressState {
  std::int64_t step = 0;  ///< completed steps
  std::int64_t num_steps = 0;
  std::int64_t epoch = 0;
  std::int64_t num_epochs = 0;
  double loss = 0;
  double learning_rate = 0;
  double rate = 0;  ///< units per second
  const char* unit = "img";
  double step_s = 0;              ///< mean of the recent steps
  double data_share = 0;          ///< of step_s
  double reduce_share = 0;        ///< of step_s: communication that is not overlapped
  std::int64_t memory_bytes = 0;  ///< of this rank: on its GPU, or of its process; 0: not known
};

/// "epoch 2/2  step 432/624  loss 0.612     208 img/s        59 s left  comm  1 %  mem 1.12 GB    307 ms  data  0 %
/// lr 0.071"; what matters least is left out where that is longer than `columns`.
std::string progress_line(const ProgressState& state, std::size_t columns = std::numeric_limits<std::size_t>::max());

/// Which of several runs a line is about: "[3/16] 0005", and with what distinguishes it from the others,
/// "[3/16] 0005  ranks 2  image_size 64". Empty where there is one.
struct RunLabel {
  std::string brief, whole;
};

/// The line after the label of its run, in at most `columns`; the whole label where it leaves room enough.
std::string labelled_line(const RunLabel& label, const ProgressState& state, std::size_t columns);

/// What a run writes while it trains.
enum class Verbosity {
  normal,
  quiet,    ///< nothing
  progress  ///< of one run of many, which its owner reports: a live line that is erased at the end. Where there is
            ///< none, a plain line every ten minutes
};

/// Writes progress lines to standard error from rank 0: on a terminal (see Terminal) one line that rewrites itself and
/// fits it, elsewhere a plain line every `log_every` steps, or as Verbosity says; MULTICARD_PROGRESS chooses otherwise.
class Progress {
 public:
  static constexpr double kRarely = 600;  ///< seconds

  /// \param rarely_s seconds between the plain lines of one run of many
  Progress(int rank, std::int64_t log_every, Verbosity verbosity, RunLabel label = {}, double rarely_s = kRarely);
  Verbosity verbosity() const { return verbosity_; }

  void step(const ProgressState& state);
  /// Ends the live line, so that other text can follow.
  void finish_line();

 private:
  void step_in_log(const ProgressState& state);

  Verbosity verbosity_;
  LiveLine line_;
  bool speaks_, live_;
  std::int64_t log_every_;
  RunLabel label_;
  double rarely_s_;
  TimePoint start_ = SteadyClock::now(), last_{};
};

}  // namespace multicard
