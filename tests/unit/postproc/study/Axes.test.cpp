#include "postproc/study/Axes.hpp"

#include <random>
#include <set>
#include <tuple>

#include <gtest/gtest.h>

#include "postproc/page/Page.hpp"
#include "runs_in_memory.hpp"

namespace multicard::post {
namespace {

using Settings = std::map<std::string, std::string>;

/// A key that sweeps vary, with values.
struct Choice {
  const char* key;
  std::vector<std::string> values;
};

const std::vector<Choice>& choices() {
  static const std::vector<Choice> kChoices{{"parallel.strategy", {"dp", "ddp", "ddp-ds"}},
                                            {"precision", {"fp32", "bf16"}},
                                            {"data.image_size", {"100", "200", "300"}},
                                            {"data.layout", {"nchw", "nhwc"}},
                                            {"data.workers", {"auto", "2"}},
                                            {"run.micro_batch", {"auto", "8", "16"}},
                                            {"run.global_batch", {"32", "64"}},
                                            {"parallel.backend", {"auto", "mpi"}},
                                            {"parallel.bucket_mb", {"auto", "4"}},
                                            {"run.device", {"auto", "cpu"}},
                                            {"optimizer.learning_rate", {"0.05", "0.1"}}};
  return kChoices;
}

/// A sweep as the program would record it.
struct MadeSweep {
  std::map<std::string, std::vector<std::string>> axes;  ///< by key
  std::vector<RunReport> runs;
  std::size_t num_cells = 0, num_completed = 0;  ///< of the latter, configurations with a completed run
};

class Maker {
 public:
  explicit Maker(unsigned seed) : random_(seed) {}

  MadeSweep make() {
    MadeSweep sweep;
    std::vector<Choice> axes;
    for (const Choice& choice : choices())
      if (axes.size() < 3 && below(4) == 0) axes.push_back(choice);
    const std::vector<int> ranks = below(2) ? std::vector<int>{1, 2} : std::vector<int>{1, 2, 4};
    const int repeats = 1 + below(3);
    std::vector<Settings> variants{{}};
    for (const Choice& axis : axes) {
      sweep.axes[axis.key] = axis.values;
      std::vector<Settings> longer;
      for (const Settings& variant : variants)
        for (const std::string& value : axis.values) {
          longer.push_back(variant);
          longer.back()[axis.key] = value;
        }
      variants = longer;
    }
    for (const Settings& variant : variants) {
      bool any = false;
      for (const int count : ranks)
        for (int repeat = 0; repeat < repeats; ++repeat) {
          sweep.runs.push_back(run(variant, count, repeat));
          any = any || sweep.runs.back().status == "complete";
        }
      sweep.num_completed += any ? 1 : 0;
    }
    sweep.num_cells = variants.size() * ranks.size();
    return sweep;
  }

 private:
  int below(int end) { return static_cast<int>(random_() % static_cast<unsigned>(end)); }

  /// Attributes and deck of a run; what it resolves differs by ranks, and from run to run.
  RunReport run(const Settings& variant, int ranks, int repeat) {
    Settings attributes = variant;
    const std::string batch = variant.contains("run.global_batch") ? variant.at("run.global_batch") : "64";
    const bool is_failed = below(8) == 0;
    RunReport run = run_of({}, ranks, 50 * ranks + below(20), repeat);
    run.deck = "parallel:\n  strategy: ddp\nrun:\n  global_batch: " + batch + "\n";
    for (const auto& [key, value] : variant)
      run.deck += key.substr(0, key.find('.')) + ":\n  " + key.substr(key.find('.') + 1) + ": " + value + "\n";
    if (is_failed) {
      run.status = "failed";
      run.rate = {};
    } else {
      attributes.insert({{"micro_batch", std::to_string(64 / ranks)},
                         {"threads", std::to_string(1 + below(3))},
                         {"backend", ranks == 1 ? "null" : "mpi"},
                         {"device", ranks == 1 ? "cpu (2 threads)" : "cpu (1 thread)"},
                         {"global_batch", batch},
                         {"max_length", std::to_string(200 + below(9))},
                         {"peak_flops_per_s", std::to_string(1 + below(2))},
                         {"sequences", std::to_string(below(5))},
                         {"scaling", "strong"}});
    }
    for (const auto& [key, value] : attributes)
      run.settings[key] = value;
    return run;
  }

  std::mt19937 random_;
};

TEST(Axes, AreThoseOfTheSweepWhateverRunsResolve) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MadeSweep sweep = Maker(seed).make();
    const Study study = study_of(sweep.runs);
    SCOPED_TRACE(testing::Message() << "seed " << seed);

    std::map<std::string, std::set<std::string>> expected, found;
    for (const auto& [key, values] : sweep.axes)
      expected[key] = {values.begin(), values.end()};
    for (const Axis& axis : study.axes)
      found[axis.key] = {axis.values.begin(), axis.values.end()};
    ASSERT_EQ(found, expected);
    ASSERT_EQ(study.cells.size(), sweep.num_cells) << "cells that differ by ranks alone are one configuration";
    ASSERT_EQ(study.cells.size() / study.rank_counts.size(), study.configurations.size());
    for (const Cell& cell : study.cells)
      ASSERT_EQ(cell.runs.size(), sweep.runs.size() / sweep.num_cells);
  }
}

TEST(Axes, TheSubjectCountsWhatCompleted) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    const MadeSweep sweep = Maker(seed).make();
    const Study study = study_of(sweep.runs);
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    if (study.configurations.size() == 1) continue;

    const Finding title = subject(collection_of(study));

    EXPECT_EQ(title.evidence.all().at("configurations"), static_cast<double>(study.configurations.size()));
    EXPECT_EQ(title.evidence.all().at("completed"), static_cast<double>(sweep.num_completed));
    EXPECT_EQ(title.text.find("of which") == std::string::npos, sweep.num_completed == study.configurations.size());
  }
}

TEST(Axes, SingleRunsGivenTogetherDifferByTheirDecks) {
  RunReport slow = run_of({{"strategy", "ddp"}, {"micro_batch", "64"}}, 1, 100);
  RunReport fast = run_of({{"strategy", "ddp"}, {"micro_batch", "8"}}, 1, 110);
  slow.deck = "optimizer:\n  learning_rate: 0.05\nrun:\n  micro_batch: null\n  output: a\n";
  fast.deck = "optimizer:\n  learning_rate: 0.1\nrun:\n  micro_batch: null\n  output: b\n";

  const Study study = study_of({slow, fast});

  ASSERT_EQ(study.axes.size(), 1u);
  EXPECT_EQ(study.axes[0].key, "optimizer.learning_rate");
  EXPECT_EQ(study.configurations[1].label, "learning rate 0.1");
}

TEST(Axes, AKeyThatSomeDeckLacksIsNone) {
  RunReport lora = run_of({{"method", "lora"}}, 1, 100), full = run_of({{"method", "full"}}, 1, 110);
  lora.deck = "method:\n  name: lora\n  rank: 8\n";
  full.deck = "method:\n  name: full\n";

  EXPECT_EQ(study_of({lora, full}).configurations.size(), 2u);
  EXPECT_EQ(study_of({lora, full}).axes.size(), 1u);
}

TEST(Axes, SweepsOfOtherBasesAreNoRepeatsOfEachOther) {
  std::vector<RunReport> runs;
  for (const char* batch : {"null", "16"})
    for (const char* strategy : {"dp", "ddp"}) {
      runs.push_back(run_of({{"parallel.strategy", strategy}}, 2, 100));
      runs.back().deck = std::string("parallel:\n  strategy: ") + strategy + "\nrun:\n  micro_batch: " + batch + "\n";
    }

  const Study study = study_of(runs);

  EXPECT_EQ(study.axes.size(), 2u);
  EXPECT_EQ(study.configurations.size(), 4u);
}

TEST(Axes, SweepsOfOtherValuesAndOtherBatchesAreComparedByBoth) {
  std::vector<RunReport> runs;
  for (const auto& [source, batch, bucket] :
       {std::tuple{0, "32", "1"}, {0, "32", "2"}, {1, "64", "4"}, {1, "64", "8"}}) {
    runs.push_back(run_of({{"parallel.bucket_mb", bucket}}, 2, 100));
    runs.back().source = static_cast<std::size_t>(source);
    runs.back().deck = std::string("parallel:\n  bucket_mb: ") + bucket + "\nrun:\n  global_batch: " + batch + "\n";
  }

  const std::vector<Source> sources(2, Source{"results.h5", {}, {}, {}, known_setting_keys()});
  const Study study = make_study(sources, runs, KeyTable(sources));

  EXPECT_EQ(study.axes.size(), 2u);
  EXPECT_EQ(study.comparable().size(), 2u) << "rates of different batches are not compared";
}

TEST(Axes, SettingsOfEvaluationsAreNone) {
  RunReport all = run_of({}, 1, 100), few = run_of({}, 1, 110);
  all.deck = "evaluate:\n  limit: null\n";
  few.deck = "evaluate:\n  limit: 16\n";

  EXPECT_TRUE(study_of({all, few}).axes.empty());
}

TEST(Axes, TasksOfASharedJobAreNamedByIt) {
  RunReport small = run_of({{"share_task", "small"}, {"strategy", "ddp"}}, 1, 100);
  RunReport third = run_of({{"share_task", "third"}, {"strategy", "ddp"}}, 2, 100);
  small.deck = "data:\n  image_size: 32\n";
  third.deck = "data:\n  image_size: 64\n";

  const Study study = study_of({small, third});

  ASSERT_EQ(study.axes.size(), 1u);
  EXPECT_EQ(study.configurations[1].full_label(), "third");
  EXPECT_EQ(study.comparable().size(), 2u);
}

}  // namespace
}  // namespace multicard::post
