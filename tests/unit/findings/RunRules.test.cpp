#include "findings/RunRules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "tasks/options/SettingKeys.hpp"

namespace multicard {
namespace {

Estimate slowness(double value) {
  return {value, Interval{0.97 * value, 1.03 * value}, Basis::steps, 40};
}

/// Two ranks on GPUs that compute nearly all the time. Each number is on the harmless side of its threshold.
RunFacts healthy() {
  RunFacts facts;
  facts.num_steps = 40;
  facts.ranks = {{slowness(0.99), 0.01, 0.02}, {slowness(1.01), 0.02, 0}};
  facts.data_wait = 0.02;
  facts.exposed = 0.04;
  facts.loading = {10, 30, 4e9, 10000};
  facts.all_reduce = {20, 4e6};
  facts.gpu_gaps = 0.05;
  facts.device_peak_bytes = 60e9;
  facts.device_bytes = 80e9;
  facts.rows_per_rank = facts.rows_at_once = 32;
  facts.num_updates = 4000;
  facts.num_skipped = 3;
  facts.settings = {{"task", "image"},
                    {"data.cache", "none"},
                    {"data.pipeline", "host"},
                    {"parallel.overlap", "true"},
                    {"parallel.strategy", "ddp-ds"},
                    {"parallel.gradient_dtype", "same"},
                    {"precision", "fp16"},
                    {"run.global_batch", "64"}};
  return facts;
}

RunFacts with(const std::function<void(RunFacts&)>& cause) {
  RunFacts facts = healthy();
  cause(facts);
  return facts;
}

/// A cause, and what must be found of it.
struct Cause {
  const char *id, *setting;
  std::function<void(RunFacts&)> inject;
  double share;
  std::vector<std::string> texts;  ///< in the sentence
};

const Cause kCauses[] = {
    {"oversubscribed",
     "",
     [](RunFacts& facts) { facts.ranks[1].core_wait = 0.312; },
     0.312,
     {"rank 1 waited for one 31.2 % of the time", "OMP_NUM_THREADS"}},
    {"straggler",
     "",
     [](RunFacts& facts) { facts.ranks[1].slowness = slowness(1.25); },
     0.2,
     {"Rank 1 takes 1.25 times as long", "wait 20.0 % of the time", "its node"}},
    {"throttled",
     "",
     [](RunFacts& facts) { facts.ranks[0].throttled = 0.45; },
     0.45,
     {"GPU of rank 0 for 45.0 % of the time"}},
    {"slow_storage",
     "data.cache",
     [](RunFacts& facts) {
       facts.data_wait = 0.4;
       facts.loading = {120, 30, 3e8, 10000};
     },
     0.4,
     {"wait 40.0 % of their time", "12 ms to read a row", "2.5 MB/s", "data.cache=ram"}},
    {"input_bound",
     "data.pipeline",
     [](RunFacts& facts) { facts.data_wait = 0.25; },
     0.25,
     {"wait 25.0 % of their time for data", "data.pipeline=device"}},
    {"launch_bound",
     "run.global_batch",
     [](RunFacts& facts) { facts.gpu_gaps = 0.6; },
     0.6,
     {"nothing to do for 60.0 % of the time", "run.global_batch"}},
    {"small_buckets",
     "parallel.bucket_mb",
     [](RunFacts& facts) {
       facts.exposed = 0.3;
       facts.all_reduce = {160, 10e3};
     },
     0.3,
     {"160 all-reduces a step of 10 kB", "30.0 % of the time", "parallel.bucket_mb=auto"}},
    {"exposed_communication",
     "parallel.gradient_dtype",
     [](RunFacts& facts) { facts.exposed = 0.3; },
     0.3,
     {"wait 30.0 % of the time", "parallel.gradient_dtype=bf16"}},
    {"slow_link",
     "",
     [](RunFacts& facts) {
       facts.exposed = 0.4;
       facts.links = {{0, 2, 3e6}, {1, 3, 4e6}, {2, 0, 110e6}, {3, 1, 100e6}};
     },
     0.4,
     {"wait 40.0 % of the time", "what rank 0 sends comes to rank 2 at 3 MB/s", "carry 110 MB/s"}},
    {"unused_memory",
     "model.activation_checkpointing",
     [](RunFacts& facts) {
       facts.device_peak_bytes = 20e9;
       facts.settings["model.activation_checkpointing"] = "true";
     },
     0.75,
     {"at most 20 GB of the 80 GB", "model.activation_checkpointing=false"}},
    {"skipped_updates",
     "precision",
     [](RunFacts& facts) { facts.num_skipped = 400; },
     0.1,
     {"400 of 4,000 updates (10.0 %)", "precision=bf16"}},
};

TEST(RunRules, AHealthyRunHasNoFindings) {
  const Findings found = findings_of(healthy());
  EXPECT_TRUE(found.empty()) << found.front().text;
}

TEST(RunRules, EachCauseHasItsFindingAlone) {
  for (const Cause& cause : kCauses) {
    const Findings found = findings_of(with(cause.inject));
    ASSERT_EQ(found.size(), 1U) << cause.id;
    EXPECT_EQ(found[0].id, cause.id);
    EXPECT_EQ(found[0].setting, cause.setting) << found[0].text;
    EXPECT_NEAR(found[0].evidence.all().at("share"), cause.share, 1e-12) << found[0].text;
    for (const std::string& text : cause.texts)
      EXPECT_NE(found[0].text.find(text), std::string::npos) << text << " is not in: " << found[0].text;
  }
}

TEST(RunRules, SettingsAreKeysOfDecks) {
  const std::vector<SettingKey> keys = known_setting_keys();
  for (const Cause& cause : kCauses) {
    const std::string setting = findings_of(with(cause.inject)).at(0).setting;
    const auto is_it = [&](const SettingKey& key) { return key.key == setting; };
    EXPECT_TRUE(setting.empty() || std::ranges::any_of(keys, is_it)) << setting;
  }
}

TEST(RunRules, NothingIsSaidOfFewSteps) {
  for (const Cause& cause : kCauses) {
    RunFacts facts = with(cause.inject);
    facts.num_steps = kLeastSteps - 1;
    EXPECT_TRUE(findings_of(facts).empty()) << cause.id;
    facts.num_steps = kLeastSteps;
    EXPECT_EQ(findings_of(facts).size(), 1U) << cause.id;
  }
}

TEST(RunRules, NothingIsSaidOfWhatIsUnknown) {
  RunFacts facts;
  facts.num_steps = 1000;
  EXPECT_TRUE(findings_of(facts).empty());
  facts.ranks.resize(4);
  facts.settings["model.activation_checkpointing"] = "true";
  EXPECT_TRUE(findings_of(facts).empty());
}

/// The ids of the findings, with a blank after each.
std::string ids_of(const std::function<void(RunFacts&)>& cause) {
  std::string ids;
  for (const Finding& finding : findings_of(with(cause)))
    ids += finding.id + " ";
  return ids;
}

TEST(RunRules, SharesFromATenthOnAreNoticed) {
  using Set = std::function<void(RunFacts&, double)>;
  const std::pair<const char*, Set> rules[] = {
      {"straggler ", [](RunFacts& facts, double share) { facts.ranks[0].slowness = slowness(1 / (1 - share)); }},
      {"throttled ", [](RunFacts& facts, double share) { facts.ranks[0].throttled = share; }},
      {"input_bound ", [](RunFacts& facts, double share) { facts.data_wait = share; }},
      {"exposed_communication ", [](RunFacts& facts, double share) { facts.exposed = share; }}};
  for (const auto& [id, set] : rules) {
    EXPECT_EQ(ids_of([&set = set](RunFacts& facts) { set(facts, 0.0999); }), "") << id;
    EXPECT_EQ(ids_of([&set = set](RunFacts& facts) { set(facts, 0.1001); }), id);
  }
}

TEST(RunRules, OtherThresholds) {
  EXPECT_EQ(ids_of([](RunFacts& facts) { facts.ranks[0].core_wait = 0.199; }), "");
  EXPECT_EQ(ids_of([](RunFacts& facts) { facts.ranks[0].core_wait = 0.2; }), "oversubscribed ");
  EXPECT_EQ(ids_of([](RunFacts& facts) { facts.gpu_gaps = 0.249; }), "");
  EXPECT_EQ(ids_of([](RunFacts& facts) { facts.gpu_gaps = 0.25; }), "launch_bound ");
  const auto buckets = [](double calls, double bytes) {
    return ids_of([&](RunFacts& facts) {
      facts.exposed = 0.2;
      facts.all_reduce = {calls, bytes};
    });
  };
  EXPECT_EQ(buckets(8, 249e3), "small_buckets ");
  EXPECT_EQ(buckets(8, 250e3), "exposed_communication ");
  EXPECT_EQ(buckets(7.9, 1e3), "exposed_communication ");  // a small model fills no larger ones
  const auto memory = [](double used, double at_once) {
    return ids_of([&](RunFacts& facts) {
      facts.device_peak_bytes = used * facts.device_bytes;
      facts.rows_at_once = at_once;
    });
  };
  EXPECT_EQ(memory(0.49, 16), "unused_memory ");
  EXPECT_EQ(memory(0.5, 16), "");
  EXPECT_EQ(memory(0.1, 32), "");  // nothing is slower for it
  const auto skipped = [](std::int64_t number, std::int64_t of) {
    return ids_of([&](RunFacts& facts) {
      facts.num_skipped = number;
      facts.num_updates = of;
    });
  };
  EXPECT_EQ(skipped(5, 100), "skipped_updates ");
  EXPECT_EQ(skipped(49, 1000), "");
  EXPECT_EQ(skipped(2, 10), "");  // of so few the share is chance
}

TEST(RunRules, AStragglerIsCertainAndHasNoOtherCause) {
  const auto slow = [](const RankFacts& rank) { return ids_of([&](RunFacts& facts) { facts.ranks[0] = rank; }); };
  EXPECT_EQ(slow({slowness(1.5), 0, 0}), "straggler ");
  EXPECT_EQ(slow({{1.5, Interval{0.98, 3}, Basis::steps, 10}, 0, 0}), "");
  EXPECT_EQ(slow({{1.5, std::nullopt, Basis::none, 5}, 0, 0}), "");
  EXPECT_EQ(slow({slowness(1.5), 0.2, 0}), "oversubscribed ");
  EXPECT_EQ(slow({slowness(1.5), 0, 0.2}), "throttled ");
  const Findings of_dp = findings_of(with([](RunFacts& facts) {
    facts.ranks[0].slowness = slowness(1.5);
    facts.settings["parallel.strategy"] = "dp";
  }));
  ASSERT_EQ(of_dp.size(), 1U);
  EXPECT_EQ(of_dp[0].setting, "parallel.strategy");
}

TEST(RunRules, RanksThatWaitForCoresSayNothingOfTheRest) {
  EXPECT_EQ(ids_of([](RunFacts& facts) {
              facts.ranks[0].core_wait = 0.4;
              facts.data_wait = facts.exposed = facts.gpu_gaps = 0.3;
            }),
            "oversubscribed ");
}

TEST(RunRules, WhatIsTriedDependsOnWhatIsSet) {
  const auto setting = [](const std::function<void(RunFacts&)>& cause) {
    return findings_of(with(cause)).at(0).setting;
  };
  const auto input = [&](const char* key, const char* value, const LoadingFacts& loading) {
    return setting([&](RunFacts& facts) {
      facts.data_wait = 0.5;
      facts.loading = loading;
      facts.settings[key] = value;
    });
  };
  const LoadingFacts reads{30, 10, 4e9, 1e6}, transforms{10, 30, 4e9, 1e6};
  EXPECT_EQ(input("data.workers", "0", reads), "data.workers");
  EXPECT_EQ(input("data.cache", "none", reads), "data.cache");
  EXPECT_EQ(input("data.cache", "ram", reads), "data.prefetch");
  EXPECT_EQ(input("data.pipeline", "device", transforms), "data.workers");
  EXPECT_EQ(input("task", "llm", transforms), "data.prefetch");
  const auto exchange = [&](const char* key, const char* value) {
    return setting([&](RunFacts& facts) {
      facts.exposed = 0.5;
      facts.settings[key] = value;
    });
  };
  EXPECT_EQ(exchange("parallel.strategy", "dp"), "parallel.strategy");
  EXPECT_EQ(exchange("parallel.overlap", "false"), "parallel.overlap");
  EXPECT_EQ(exchange("parallel.gradient_dtype", "bf16"), "run.global_batch");
  EXPECT_EQ(setting([](RunFacts& facts) {
              facts.exposed = 0.5;
              facts.device_bytes = kNone;  // CPUs of two nodes
              facts.links = {{0, 1, 60e6}, {1, 0, 100e6}};
            }),
            "parallel.gradient_dtype");
  EXPECT_EQ(setting([](RunFacts& facts) {
              facts.gpu_gaps = 0.5;
              facts.rows_at_once = 8;
            }),
            "run.micro_batch");
}

}  // namespace
}  // namespace multicard
