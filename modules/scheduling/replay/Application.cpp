#include "scheduling/replay/Application.hpp"

#include <array>
#include <filesystem>
#include <limits>
#include <optional>
#include <string_view>

#include "base/Error.hpp"

namespace multicard {

namespace {

/// What the traces do not say of the applications that were published.
struct Published {
  std::string_view name;
  int num_epochs;
  int largest_local;  ///< 0: the largest of placements.csv
};

constexpr std::array<Published, 6> kPublished = {{{"bert", 2, 0},
                                                  {"cifar10", 100, 0},
                                                  {"deepspeech2", 80, 0},
                                                  {"imagenet", 90, 0},
                                                  {"ncf", 10, 0},
                                                  {"yolov3", 50, 8}}};

const Published& published(const std::string& name, const std::string& folder) {
  for (const Published& application : kPublished)
    if (application.name == name) return application;
  throw DataError(folder + " is none of the published applications", "how many epochs the others train is not known",
                  "Use layout: multicard for your own tables.");
}

}  // namespace

Application::Application(const std::string& folder)
    : name_(std::filesystem::path(folder).filename().string()),
      times_(folder),
      convergence_(folder, published(name_, folder).num_epochs) {
  limits_.first = convergence_.smallest_batch();
  limits_.largest = convergence_.largest_batch();
  limits_.smallest_local = times_.smallest_batch();
  const int known = published(name_, folder).largest_local;
  limits_.largest_local = known > 0 ? known : times_.largest_batch();
}

double Application::update_seconds(const GpuPlacement& placement, const LocalBatch& batch) const {
  const std::optional<StepTime> time = times_.at(placement, batch.rows);
  if (!time) return std::numeric_limits<double>::infinity();
  // The step as measured synchronises once; micro-batches that only accumulate do not.
  return time->step + (time->step - time->sync) * batch.accumulation;
}

double Application::update_gain(int batch, int epoch) const {
  return convergence_.noise(batch, epoch).gain(static_cast<double>(batch) / limits_.first);
}

}  // namespace multicard
