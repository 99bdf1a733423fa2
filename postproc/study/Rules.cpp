#include "postproc/study/Rules.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "postproc/study/Advice.hpp"
#include "postproc/study/Answer.hpp"
#include "postproc/study/DataSets.hpp"
#include "postproc/study/Learning.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/ProfileSummary.hpp"
#include "postproc/study/StudyFindings.hpp"

namespace multicard::post {

namespace {

bool always(const Study&) {
  return true;
}

template <StudyKind... kinds>
bool is(const Study& study) {
  return ((study.kind == kinds) || ...);
}

/// Whether every run that was measured has enough steps to choose by.
bool is_long_enough(const Study& study) {
  constexpr std::int64_t kLeastSteps = 3;
  return std::ranges::all_of(study.cells, [&](const Cell& cell) {
    return std::ranges::all_of(cell.measured,
                               [&](std::size_t run) { return study.runs[run].num_measured >= kLeastSteps; });
  });
}

/// Findings of one kind: when they are looked for, how much they matter, and what finds them (empty ones are dropped).
struct Rule {
  bool (*applies)(const Study&);
  Severity severity;
  Findings (*find)(const Study&);
};

/// A rule with one finding at most.
template <Finding (*find)(const Study&)>
Findings one(const Study& study) {
  return {find(study)};
}

using enum StudyKind;
constexpr Rule kAnswers[] = {{is<one_work>, Severity::result, answer},
                             {is<methods>, Severity::result, one<best_methods_finding>},
                             {is<methods>, Severity::result, memory_limit_findings},
                             {is<data_sets, works>, Severity::result, one<winners_finding>},
                             {is<data_sets, works>, Severity::detail, answers_by_work},
                             {is<data_sets>, Severity::detail, data_set_findings},
                             {always, Severity::detail, one<repeats_finding>},
                             {always, Severity::detail, one<failures_finding>},
                             {always, Severity::notice, one<early_stops_finding>}};

constexpr Rule kAdvice[] = {{is_long_enough, Severity::detail, option_advice},
                            {always, Severity::detail, learning_advice},
                            {is_long_enough, Severity::detail, one<ranks_advice>}};

Findings findings_by(std::span<const Rule> rules, const Study& study) {
  Findings out;
  for (const Rule& rule : rules) {
    if (!rule.applies(study)) continue;
    for (Finding& finding : rule.find(study)) {
      if (finding.empty()) continue;
      finding.severity = rule.severity;
      out.push_back(std::move(finding));
    }
  }
  return out;
}

}  // namespace

Findings answers_of(const Study& study) {
  Findings answers = findings_by(kAnswers, study);
  // Who profiles asks first where the time goes; a training was to reach something all the same.
  const auto where = std::ranges::find(answers, "bottleneck", &Finding::id);
  if (where != answers.end() && answers.front().id != "training" && !cell_profiles(study).empty())
    std::rotate(answers.begin(), where, where + 1);
  return answers;
}

Findings advice_of(const Study& study) {
  return findings_by(kAdvice, study);
}

}  // namespace multicard::post
