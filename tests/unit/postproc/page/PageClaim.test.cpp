#include "postproc/page/PageClaim.hpp"

#include <filesystem>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/RegularFile.hpp"
#include "io/Bytes.hpp"
#include "postproc/figures/ClaimFigures.hpp"
#include "postproc/study/ClaimAnswer.hpp"
#include "support/test_world.hpp"

namespace multicard::post {

namespace {

using testing::HasSubstr;

constexpr const char* kHeader =
    R"({"claim": "study", "grid": {"claimed": {"iteration_time": -0.32, "memory_utilisation": 0.27, )"
    R"("communication": -0.41}, "acceptance": {"loss": 0.01, "bytes": 0.03}, "repeats": 2, )"
    R"("places": [{"name": "one node", "ranks": [2]}, {"name": "far", "ranks": [2, 2]}]}, )"
    R"("quick": true, "model": "tiny", "machine": "a", "processors": 2, "load": 0.5})";

std::string cell(const std::string& claim, const std::string& variant, int repeat, const std::string& values,
                 const std::string& facts = "") {
  return fmt::format(
      "{{\"claim\": \"{}\", \"place\": \"{}\", \"task\": \"image\", \"variant\": \"{}\", \"repeat\": {}{}, "
      "\"values\": {{{}}}}}\n",
      claim, claim == "E2" ? "CPU" : "one node", variant, repeat, facts, values);
}

std::string together(const std::string& variant, int repeat, double seconds) {
  return cell("E1", variant, repeat, fmt::format(R"("together_s": {}, "image_s": 0.1, "text_s": 0.4)", seconds));
}

std::string exchange(const std::string& variant, int repeat, double step_s, double loss,
                     const std::string& facts = "") {
  return cell("E3", variant, repeat,
              fmt::format(R"("counted_bytes": 100, "link_bytes": 101, "step_s": {}, "null_s": 0.1, "inside_s": 0.3, )"
                          R"("loss": {})",
                          step_s, loss),
              facts);
}

class PageClaim : public testing::Test {
 protected:
  ClaimFile file_of(const std::string& lines) {
    const std::string path = folder_ / "claim.jsonl";
    write_file(path, kHeader + std::string("\n") + lines);
    return read_claim_file(path);
  }

  test::ScratchFolder folder_;
};

TEST_F(PageClaim, TheTitleIsComputedFromTheRatiosOfEachRepeat) {
  // The ratios 0.9 and 1.0: their median is 0.95, their geometric mean sqrt(0.9), of which Student's interval is.
  const ClaimFile file =
      file_of(together("tuned", 0, 10) + together("share", 0, 9) + together("tuned", 1, 20) + together("share", 1, 20));

  const Finding title = claim_headline(file);

  EXPECT_THAT(title.text, HasSubstr("Against the tuned baseline sharing changes the iteration time by −5.0 % ["));
  EXPECT_THAT(title.text, HasSubstr("] on one node; claimed is −32.0 %"));
  EXPECT_NEAR(title.evidence.all().at("change_1"), -0.05, 1e-12);
}

TEST_F(PageClaim, WithoutAShareTheTitleSaysSo) {
  EXPECT_EQ(claim_headline(file_of(together("tuned", 0, 10))).text, "No share was measured against the tuned baseline");
}

TEST_F(PageClaim, AClaimIsReachedWhereTheWholeIntervalDoes) {
  const auto ratio = [](double low, double high) {
    return Estimate{(low + high) / 2, Interval{low, high}, Basis::repeats, 5};
  };

  EXPECT_EQ(verdict_of(ratio(0.5, 0.67), -0.32), Verdict::reached);
  EXPECT_EQ(verdict_of(ratio(0.5, 0.7), -0.32), Verdict::open);
  EXPECT_EQ(verdict_of(ratio(0.7, 1.2), -0.32), Verdict::missed);
  EXPECT_EQ(verdict_of(ratio(1.3, 1.5), 0.27), Verdict::reached);
  EXPECT_EQ(verdict_of(ratio(0.9, 1.2), 0.27), Verdict::missed);
  EXPECT_EQ(verdict_of({0.5, {}, Basis::none, 1}, -0.32), Verdict::open);
}

TEST_F(PageClaim, UtilisationIsMeanBytesOverCapacityInPointsAndRelative) {
  const std::string base = R"("mean_bytes": 10, "capacity_bytes": 100, "rate_per_s": 4)",
                    more = R"("mean_bytes": 15, "capacity_bytes": 100, "rate_per_s": 2)";

  const std::vector<MemoryUse> uses =
      memory_uses(file_of(cell("E2", "default", 0, base) + cell("E2", "auto", 0, more, R"(, "base": "default")")));

  ASSERT_EQ(uses.size(), 2);
  EXPECT_DOUBLE_EQ(uses[1].utilisation.value, 0.15);
  EXPECT_DOUBLE_EQ(uses[1].points.value, 0.05);
  EXPECT_DOUBLE_EQ(uses[1].relative.value, 1.5);
  EXPECT_DOUBLE_EQ(uses[1].rate_ratio.value, 0.5);
  EXPECT_FALSE(uses[0].relative.known());
}

TEST_F(PageClaim, ALossyExchangeCountsOnlyWhereItsLossIsThatOfFp32) {
  const std::string lossy = R"(, "lossy": true)";
  const ClaimFile file = file_of(exchange("fp32", 0, 0.3, 2.0) + exchange("bf16", 0, 0.2, 2.01, lossy) +
                                 exchange("coarse", 0, 0.15, 2.1, lossy));

  const std::vector<CommunicationCost> best = best_exchanges(file);

  ASSERT_EQ(best.size(), 1);
  EXPECT_EQ(best[0].variant, "bf16");
  EXPECT_NEAR(best[0].exposed_ratio.value, 0.5, 1e-12);
  EXPECT_NEAR(communication_costs(file)[2].worst_loss, 0.05, 1e-12);
  EXPECT_THAT(texts_of(claim_findings(file)), testing::Contains(HasSubstr("1 of 2 lossy exchanges")));
}

TEST_F(PageClaim, WhatIsNoFurtherOffThanTheControlIsNeitherAcceptedNorRefused) {
  const std::string lossy = R"(, "lossy": true)", control = R"(, "apart": true, "control": true)";
  const ClaimFile file =
      file_of(exchange("fp32", 0, 0.3, 2.0) + exchange("overlap", 0, 0.25, 2.0) + exchange("bf16", 0, 0.2, 2.3, lossy) +
              exchange("coarse", 0, 0.15, 3.0, lossy) + exchange("order", 0, 0.1, 2.4, control));

  const std::vector<CommunicationCost> best = best_exchanges(file), all = communication_costs(file);

  ASSERT_EQ(best.size(), 1);
  EXPECT_EQ(best[0].variant, "overlap");
  EXPECT_EQ(all[2].parity, Parity::within_control);
  EXPECT_EQ(all[3].parity, Parity::refused);
  EXPECT_THAT(
      texts_of(claim_findings(file)),
      testing::Contains(HasSubstr("0 of 2 lossy exchanges end within 1.0 % of the loss of fp32 with every seed; "
                                  "1 more by no more than fp32 differs from itself")));
}

TEST_F(PageClaim, ThePageHasEveryCellAndSaysWhatIsWrongWithIt) {
  const ClaimFile file = file_of(together("tuned", 0, 10) + together("share", 0, 30) + exchange("fp32", 0, 0.3, 2.0) +
                                 exchange("bf16", 0, 0.05, 2.0) +
                                 "{\"claim\": \"left out\", \"what\": \"E3 + x\", \"reason\": \"no key\"}\n");

  const std::string path = write_claim_report(file, folder_ / "report", Gnuplot("no-such-program"), {});
  write_claim_report(file, folder_ / "report", Gnuplot("no-such-program"), {});  // over an earlier one

  const std::string page = read_file(path);
  EXPECT_THAT(page, HasSubstr("sharing changes the iteration time by +200 % on one node"));
  EXPECT_THAT(page, HasSubstr("<table data-table=\"iteration-changes\">"));
  EXPECT_THAT(page, HasSubstr("−125 %"));  // less than nothing is exposed
  EXPECT_THAT(page, HasSubstr("A quick run"));
  EXPECT_THAT(page, HasSubstr("More ranks than the 2 processors: times of far"));
  EXPECT_THAT(page, HasSubstr("left out: E3 + x"));
  EXPECT_THAT(read_file(folder_ / "report/claim.md"), HasSubstr("| one node | share | tuned | +200 % |"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "report/communication-costs.csv"));
  EXPECT_EQ(figures_of(file).front().id, "claim");
}

TEST_F(PageClaim, WhatIsNoClaimIsRefused) {
  const std::string no_values = R"({"claim": "E1", "place": "one node", "task": "both", "variant": "x", "repeat": 0})";

  for (const std::string& lines : {std::string(), std::string("oops\n"), no_values})
    EXPECT_THROW(file_of(lines), DataError) << lines;
}

}  // namespace

}  // namespace multicard::post
