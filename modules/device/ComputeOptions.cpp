#include "device/ComputeOptions.hpp"

namespace multicard {

ComputeOptions read_compute_options(Section& run) {
  ComputeOptions options;
  options.device = run.choice("device", options.device, kDeviceWords);
  options.deterministic = run.get("deterministic", options.deterministic);
  return options;
}

DeckKeys compute_keys() {
  using enum KeyTasks;
  using enum KeyEffect;
  return {
      {"precision",
       any,
       speed,
       "precision",
       "arithmetic of convolutions and matrix products",
       {.fallback = "`fp32`; of task llm that of `model.dtype`", .on_resume = OnResume::same}},
      {"run.device", any, speed, "device", "`auto` takes a GPU where there is one"},
      {"run.deterministic", any, speed, "deterministic", "repeatable bit for bit on the same ranks, slower"},
      {"parallel.share_gpu", any, speed, "share gpu", "allow several ranks on one GPU"},
  };
}

}  // namespace multicard
