#include "tasks/ResumeCompatibility.hpp"

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

namespace {

constexpr const char* kFixedKeys[] = {
    "task",
    "model.name",
    "model.width",
    "model.classes",
    "model.dropout",
    "model.weights",
    "model.freeze",
    "model.freeze_batch_norm",
    "model.path",
    "model.dtype",
    "model.random_weights",
    "model.trainable_dtype",
    "model.adapter",
    "method",
    "precision",
    "parallel.sync_batch_norm",
    "optimizer.name",
    "optimizer.learning_rate",
    "optimizer.momentum",
    "optimizer.weight_decay",
    "optimizer.betas",
    "optimizer.eps",
    "optimizer.nesterov",
    "optimizer.clip_norm",
    "optimizer.label_smoothing",
    "optimizer.decay_norms",
    "schedule.name",
    "schedule.warmup_steps",
    "schedule.total_steps",
    "schedule.min_factor",
    "schedule.step_size",
    "schedule.gamma",
    "run.seed",
    "run.global_batch",
    "run.batch_per_rank",
    "run.ema_decay",
    "data.train",
    "data.image_size",
    "data.shuffle",
    "data.normalize",
    "data.limit",
    "data.drop_last",
    "data.augment",
    "data.packing",
    "data.max_length",
    "data.overlong",
};

}  // namespace

void check_resume_compatibility(const Deck& before, const Deck& now) {
  for (const char* key : kFixedKeys) {
    const std::string old_value = before.get_text(key), new_value = now.get_text(key);
    if (old_value != new_value)
      throw UsageError(fmt::format("{} has changed from {} to {}", key, old_value.empty() ? "nothing" : old_value,
                                   new_value.empty() ? "nothing" : new_value),
                       "the run in run.output began with the former and can only be resumed with it",
                       "Put it back, set another run.output, or run.resume=never to start over.");
  }
}

}  // namespace multicard
