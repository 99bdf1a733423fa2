// Results files as no writer of multicard makes them.

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "example_run.hpp"
#include "results/ResultsReader.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::example_provenance;
using test::example_record;
using test::example_summary;
using test::ScratchFolder;

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// A run that no writer makes, next to a whole one: what reading it ends with.
template <class Fill>
std::string error_of_run(const ScratchFolder& scratch, std::int64_t ranks, Fill&& fill) {
  write_results(scratch / "x.h5", Communicator::null(), example_provenance(), example_summary(), example_record(0));
  Hdf5File file = Hdf5File::open_update(scratch / "x.h5");
  file.create_group("/runs/odd/steps");
  for (const char* name : {"status", "error"})
    file.write_attribute("/runs/odd", name, "");
  file.write_attribute("/runs/odd", "ranks", ranks);
  for (const char* name : {"first_step", "skip_steps"})
    file.write_attribute("/runs/odd/steps", name, 0);
  fill(file);
  file.close();
  try {
    ResultsFile::open(scratch / "x.h5").run("odd");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data) << error.what();
    return error.what();
  }
  return "";
}

TEST(ResultsDamage, ImpossibleRunsAreRefused) {
  const ScratchFolder scratch;
  const auto add_step = [](Hdf5File& file, ElementType type, const Extents& dims) {
    file.create_dataset("/runs/odd/steps/step", type, dims, Fill::zero);
    file.write_attribute("/runs/odd/steps/step", "clock", "host");
  };
  const auto times = [&](Hdf5File& file) { add_step(file, ElementType::float64, {1, 3}); };
  const auto counts = [&](Hdf5File& file) { add_step(file, ElementType::int64, {1, 3}); };
  const auto endless = [&](Hdf5File& file) { add_step(file, ElementType::float64, {0, std::uint64_t{1} << 40}); };
  const auto uneven = [&](Hdf5File& file) {
    times(file);
    file.write_values<double>("/runs/odd/answers/a", {1, 2});
    file.write_texts("/runs/odd/answers/b", {"one"});
  };
  const auto before_the_first = [&](Hdf5File& file) {
    times(file);
    file.write_attribute("/runs/odd/steps", "first_step", -5);
  };

  EXPECT_EQ(error_of_run(scratch, 1, times), "");
  EXPECT_TRUE(contains(error_of_run(scratch, -1, times), "/runs/odd is damaged (it has -1 ranks)"));
  EXPECT_TRUE(contains(error_of_run(scratch, std::int64_t{1} << 40, times), "/runs/odd is damaged (it has 1099"));
  EXPECT_TRUE(contains(error_of_run(scratch, 0, endless), "steps/step is damaged (the run has no ranks)"));
  EXPECT_TRUE(contains(error_of_run(scratch, 1, counts), "steps/step is damaged (it holds no times)"));
  EXPECT_TRUE(contains(error_of_run(scratch, 1, uneven), "/answers is damaged (its columns differ in length)"));
  EXPECT_TRUE(contains(error_of_run(scratch, 1, before_the_first), "/steps is damaged (its first step is -5)"));
}

TEST(ResultsDamage, AMetricWithoutValuesIsNone) {
  const ScratchFolder scratch;
  RunSummary summary = example_summary();
  summary.metrics["train_loss"] = {};
  write_results(scratch / "x.h5", Communicator::null(), example_provenance(), summary, example_record(0));

  EXPECT_FALSE(ResultsFile::open(scratch / "x.h5").run("main").summary.metrics.contains("train_loss"));
}

}  // namespace
}  // namespace multicard
