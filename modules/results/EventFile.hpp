#pragma once
/// \file Metrics as TensorBoard reads them.

#include "io/Bytes.hpp"
#include "results/MetricSink.hpp"

namespace multicard {

/// One new event file, FOLDER/events.out.tfevents.TIME.HOST.PID.0. Its first events say that a run starts at
/// `first_step`, which takes later points of older files in the folder out of TensorBoard, and what its deck is.
class EventFile final : public MetricSink {
 public:
  EventFile(const std::string& folder, std::int64_t first_step, const std::string& deck);

  void add(const std::string& name, std::int64_t step, double value) override;
  void flush() override;

  /// train_loss -> train/loss, learning_rate -> train/learning_rate, eval_accuracy -> eval/accuracy; what ends in _s
  /// (seconds, or a rate) goes to speed/: images_per_s -> speed/images_per_s.
  static std::string tag(const std::string& name);

 private:
  OutputFile file_;
  std::string pending_;  ///< whole records, not yet written
};

}  // namespace multicard
