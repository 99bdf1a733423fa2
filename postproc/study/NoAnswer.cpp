#include "postproc/study/NoAnswer.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "base/Text.hpp"

namespace multicard::post {

namespace {

std::vector<const RunReport*> runs_of(const Study& study, const std::vector<std::size_t>& configurations) {
  std::vector<const RunReport*> runs;
  for (const std::size_t configuration : configurations)
    for (const Cell* cell : study.cells_of(configuration))
      for (const std::size_t run : cell->runs)
        runs.push_back(&study.runs[run]);
  return runs;
}

/// The most frequent problem, of equals the first by name, and of how many runs it is.
std::pair<std::string, std::size_t> main_problem(const std::vector<const RunReport*>& runs) {
  std::map<std::string, std::size_t> problems;
  for (const RunReport* run : runs)
    if (run->status == "failed") ++problems[problem_of(run->error)];
  const auto most = std::ranges::max_element(problems, {}, [](const auto& entry) { return entry.second; });
  return *most;
}

std::size_t number_with(const std::vector<const RunReport*>& runs, const char* status) {
  return static_cast<std::size_t>(
      std::ranges::count_if(runs, [&](const RunReport* run) { return run->status == status; }));
}

/// Of runs none of which failed.
std::string without_failures(const std::vector<const RunReport*>& runs, std::int64_t steps) {
  const std::string number = counted(static_cast<long>(steps), "step");
  const std::size_t stopped = number_with(runs, "stopped");
  if (stopped == 1 && runs.size() == 1) return fmt::format("The run did not complete: it stopped after {}.", number);
  if (stopped == runs.size())
    return fmt::format("No run completed: {} runs stopped after at most {}.", stopped, number);
  if (stopped > 0) return "No complete run has measured steps; the others stopped.";
  if (steps == 0) return "Nothing was measured: there are no steps.";
  return fmt::format("Nothing was measured: {} {}, left out as warm-up (skip_steps).",
                     runs.size() == 1 ? "the run has" : "no run has more than", number);
}

}  // namespace

std::string problem_of(const std::string& error) {
  std::string problem = error.substr(0, error.find(" ("));
  for (const char* spelling : {"-nan", "nan", "-inf", "inf"}) {
    const std::string ending = std::string(" is ") + spelling;
    if (problem.ends_with(ending))
      return problem.replace(problem.size() - ending.size(), ending.size(), " is not finite");
  }
  return problem.empty() ? "the results file does not say why" : problem;
}

Finding no_answer_finding(const Study& study, const std::vector<std::size_t>& configurations) {
  const std::vector<const RunReport*> runs = runs_of(study, configurations);
  const std::size_t failed = number_with(runs, "failed");
  std::int64_t steps = 0;
  for (const RunReport* run : runs)
    steps = std::max(steps, run->num_steps);
  Finding out{{}, {{"runs", runs.size()}, {"failed", failed}, {"steps", steps}}, "none"};
  if (failed == 0) {
    out.text = without_failures(runs, steps);
    return out;
  }
  const auto [problem, number] = main_problem(runs);
  out.evidence.add({"with_this_error", number});
  const auto all = static_cast<long>(runs.size());
  const char* const done = number_with(runs, "complete") == 0 ? "completed" : "completed with measured steps";
  if (all == 1)
    out.text = fmt::format("The run failed: {}.", problem);
  else if (number == runs.size())
    out.text = fmt::format("All {} failed: {}.", counted(all, "run"), problem);
  else
    out.text = fmt::format("None of {} {}: {} ({} of them).", counted(all, "run"), done, problem, number);
  return out;
}

}  // namespace multicard::post
