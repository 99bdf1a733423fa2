#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <sys/wait.h>

#include "SyntheticStudy.hpp"
#include "base/Utf8.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string output;  ///< standard output alone
};

/// Runs the program that was built with these arguments, which the shell reads; what it complains of goes to a file.
Outcome run(const std::string& arguments, const std::string& complaints = "/dev/null") {
  const char* build = std::getenv("MULTICARD_BUILD");
  const std::string command =
      std::string(build ? build : ".") + "/bin/multicard-post " + arguments + " 2>" + complaints;
  Outcome outcome;
  std::FILE* pipe = popen(command.c_str(), "r");
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    outcome.output.append(buffer.data(), got);
  outcome.exit_code = WEXITSTATUS(pclose(pipe));
  return outcome;
}

class Program : public testing::Test {
 protected:
  void SetUp() override { test::write_run(file_, {}); }

  test::ScratchFolder folder_;
  std::string file_ = folder_ / "in/results.h5";
};

TEST_F(Program, WritesNextToTheFirstFileAndNamesTheReport) {
  const Outcome outcome = run(file_);

  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_NE(outcome.output.find("report  " + (folder_ / "in/report.html")), std::string::npos) << outcome.output;
  for (const char* name : {"report.html", "runs.csv", "summary.json", "phases.svg"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / ("in/" + std::string(name)))) << name;
}

TEST_F(Program, WritesWhereItIsTold) {
  EXPECT_EQ(run(file_ + " -o " + (folder_ / "out")).exit_code, 0);

  EXPECT_TRUE(std::filesystem::exists(folder_ / "out/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/report.html"));
}

TEST_F(Program, AddsWhatWasCountedOnASimulatedGpu) {
  const std::string counts = folder_ / "counts.csv";
  std::ofstream(counts)
      << "method,model,checkpointing,tokens,kernels,matrix_products,flops,host_to_device_bytes,device_to_device_bytes,"
         "all_reduce_bytes,peak_bytes,weights_bytes,adapters_bytes,gradients_bytes,optimizer_bytes,reference_bytes\n"
         "lora,shape,1,2048,90,10,1e12,16,0,8,100,50,10,10,20,0\n";

  EXPECT_EQ(run(file_ + " --counts " + counts).exit_code, 0);
  std::ifstream page(folder_ / "in/report.html");
  const std::string html{std::istreambuf_iterator<char>(page), {}};
  EXPECT_NE(html.find("Counted on a simulated GPU, not timed"), std::string::npos);
  EXPECT_EQ(nlohmann::json::parse(run(file_ + " --json --counts " + counts).output)["counted"][0]["launches"], 100);
  EXPECT_EQ(run(file_ + " --counts " + (folder_ / "none.csv")).exit_code, 4);
}

TEST_F(Program, TheReportOfAnEvaluationLeavesThatOfTheRunAlone) {
  test::write_language_evaluation(folder_ / "in/eval.h5");

  const Outcome outcome = run(folder_ / "in/eval.h5");

  EXPECT_NE(outcome.output.find("report  " + (folder_ / "in/eval_report/report.html")), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/summary.json"));
}

TEST_F(Program, PrintsCsvOrJsonAloneAndWritesNothing) {
  const Outcome csv = run("--csv " + file_);
  const Outcome json = run(file_ + " --json");

  EXPECT_EQ(csv.output.substr(0, 9), "file,run,");
  EXPECT_EQ(nlohmann::json::parse(json.output)["format"], "multicard-summary");
  EXPECT_EQ(run("--csv=cells " + file_).output.substr(0, 20), "study,configuration,");
  EXPECT_EQ(run(file_ + " " + file_ + " --csv").output, csv.output);  // a run counts once
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/report.html"));
}

TEST_F(Program, ReportsByItsExitCodeWhatIsWrong) {
  EXPECT_EQ(run("").exit_code, 2);
  EXPECT_EQ(run("--no-such-option " + file_).exit_code, 2);
  EXPECT_EQ(run("--csv --json " + file_).exit_code, 2);
  EXPECT_EQ(run("--csv=nonsense " + file_).exit_code, 2);
  EXPECT_EQ(run("--heat precision " + file_).exit_code, 2);
  EXPECT_EQ(run("--heat precision,ranks " + file_).exit_code, 2);
  EXPECT_EQ(run(folder_ / "missing.h5").exit_code, 4);
  EXPECT_EQ(run(test::source_path("LICENSE").string()).exit_code, 4);
  EXPECT_EQ(run("--help").exit_code, 0);
  EXPECT_EQ(run("--version").output.substr(0, 15), "multicard-post ");
  EXPECT_EQ(run("-V").output, run("--version").output);
}

/// All that a report writes, by the name of the file.
std::map<std::string, std::string> written_in(const std::filesystem::path& folder) {
  std::map<std::string, std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    std::ifstream file(entry.path(), std::ios::binary);
    texts[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  return texts;
}

bool has_control_character(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r') || c == 0x7f;
  });
}

TEST_F(Program, ShowsHostileTextsWithoutHarm) {
  const std::string huge(3'000'000, 'y'), wild = "\x1b[31m\a<b>\xff\xc3\"'`,\n" + std::string("\xed\xa0\x80");
  const std::string file = folder_ / "hostile/results.h5", second = folder_ / "second.h5";
  test::SyntheticRun wild_run;
  wild_run.name = "run" + wild.substr(0, 9);
  wild_run.settings = {{"precision", wild},
                       {"ranks_are", huge},
                       {"layout" + wild.substr(0, 4), "x"},
                       {"deck", "a: " + wild},
                       {"x.ranks", "many"}};
  test::write_run(file, wild_run);
  wild_run.settings["precision"] = huge;
  wild_run.settings["x.ranks"] = "few";
  wild_run.settings["global_batch"] = "99999999999999999999";
  wild_run.status = "failed" + wild;
  wild_run.error = huge + wild;
  test::write_run(second, wild_run);
  const std::string both = file + " " + second;

  std::map<std::string, std::string> texts{{"--json", run("--json " + both).output}};
  for (const char* table : {"--csv=runs", "--csv=cells", "--csv=options"})
    texts[table] = run(std::string(table) + " " + both).output;
  const Outcome report = run(both);
  texts["terminal"] = report.output;
  texts.merge(written_in(folder_ / "hostile"));

  EXPECT_EQ(report.exit_code, 0);
  EXPECT_GT(texts.size(), 9U);
  for (const auto& [name, text] : texts) {
    if (name == "results.h5") continue;
    EXPECT_TRUE(is_valid_utf8(text)) << name;
    EXPECT_FALSE(has_control_character(text)) << name;
    EXPECT_LT(text.size(), 1'000'000U) << name;
    EXPECT_FALSE(text.empty()) << name;
  }
  EXPECT_FALSE(nlohmann::json::parse(texts["--json"]).empty());
}

TEST_F(Program, GivesLongSettingsWholeInJsonAndShortInTables) {
  const std::string half(3000, 'y'), file = folder_ / "long/results.h5", second = folder_ / "second.h5";
  test::SyntheticRun long_run;
  long_run.settings = {{"layout", half + "1" + half}};
  test::write_run(file, long_run);
  long_run.settings = {{"layout", half + "2" + half}};
  test::write_run(second, long_run);

  const std::string json = run("--json " + file + " " + second).output;
  const std::string table = run(file + " " + second).output;

  EXPECT_NE(json.find(half + "1" + half), std::string::npos);
  EXPECT_NE(json.find(half + "2" + half), std::string::npos);
  EXPECT_EQ(table.find(half), std::string::npos);
}

TEST_F(Program, ShowsArgumentsThatItDoesNotKnowWithoutHarm) {
  const std::string complaints = folder_ / "complaints";

  const Outcome outcome = run("--wild$(printf '\\033')[31m " + file_, complaints);

  std::ifstream file(complaints, std::ios::binary);
  const std::string said{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(said.find("--wild\\x1b[31m"), std::string::npos) << said;
  EXPECT_FALSE(has_control_character(said));
}

TEST_F(Program, NeedsNoGnuplotToReport) {
  // An empty PATH for the program alone: the shell has found it by its path.
  const std::string build = std::getenv("MULTICARD_BUILD");
  const std::string command = "PATH= " + build + "/bin/multicard-post " + file_ + " >/dev/null 2>&1";

  EXPECT_EQ(WEXITSTATUS(std::system(command.c_str())), 0);
  EXPECT_TRUE(std::filesystem::exists(folder_ / "in/report.html"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "in/phases.svg"));
}

}  // namespace
}  // namespace multicard::post
