#include "postproc/study/Evaluation.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "base/Percent.hpp"
#include "base/Text.hpp"
#include "postproc/reduce/NumberText.hpp"
#include "postproc/study/Axes.hpp"
#include "postproc/study/Labels.hpp"

namespace multicard::post {

namespace {

const std::string& name_of(const EvaluationReport& report, std::int64_t number) {
  return report.classes[static_cast<std::size_t>(number)].name;
}

/// "3 of 50, 6.0 % (95 % interval 2.1 to 16.2 %)"
std::string exact_match_text(const LanguageScore& score) {
  return fmt::format("{} of {}, {} (95 % interval {} to {})", grouped(score.hits), grouped(score.questions),
                     percent(score.exact_match.value), percent(score.exact_match.interval->low),
                     percent(score.exact_match.interval->high));
}

/// Preference pairs have rewards instead of a perplexity.
std::string language_sentence(const EvaluationReport& report) {
  const LanguageScore& score = *report.language;
  const bool has_pairs = std::isfinite(score.reward_accuracy);
  const std::string measure = has_pairs ? fmt::format("reward margin {}, reward accuracy {}",
                                                      significant(score.reward_margin), percent(score.reward_accuracy))
                                        : "perplexity " + significant(score.perplexity);
  std::string out = fmt::format("Test loss {}, {} over {} ({}, {} of them targets)", significant(report.loss), measure,
                                counted(report.samples, has_pairs ? "pair" : "sequence"),
                                counted(score.tokens, "token"), grouped(score.targets));
  if (score.questions > 0) out += "; exact match " + exact_match_text(score);
  return out + ".";
}

}  // namespace

std::string score_sentence(const EvaluationReport& report) {
  if (report.language) return language_sentence(report);
  if (!report.accuracy.known()) return "No sample was evaluated.";
  std::string out =
      fmt::format("Accuracy {} (95 % interval {} over {})", alike(report.accuracy.value, report.accuracy.value, 4),
                  range_text(report.accuracy, 4), counted(report.samples, "sample"));
  // Of five classes or fewer all are among the first five.
  if (report.top5 == report.top5 && report.classes.size() > 5)
    out += fmt::format(", among the first five {}", significant(report.top5));
  if (report.loss == report.loss) out += fmt::format(", mean loss {}", significant(report.loss));
  return out + ".";
}

std::vector<ConfusionCount> mistakes(const EvaluationReport& report) {
  std::vector<ConfusionCount> out;
  std::ranges::copy_if(report.confusion, std::back_inserter(out),
                       [](const ConfusionCount& entry) { return entry.actual != entry.predicted; });
  // Ties stay in the order of the classes.
  std::ranges::stable_sort(out, [](const ConfusionCount& a, const ConfusionCount& b) { return a.count > b.count; });
  return out;
}

Finding confusion_finding(const EvaluationReport& report) {
  const std::vector<ConfusionCount> wrong = mistakes(report);
  if (wrong.empty()) return {"No class is taken for another", {}, "confusion"};
  const ConfusionCount& most = wrong.front();
  const std::int64_t samples = report.classes[static_cast<std::size_t>(most.actual)].samples;
  return {fmt::format("{} is taken for {} most often: {} of {}", name_of(report, most.actual),
                      name_of(report, most.predicted), grouped(most.count), grouped(samples)),
          {{"count", most.count}, {"samples", samples}},
          "confusion"};
}

std::string evaluation_name(const RunReport& run) {
  const std::string model = setting(run, "model"), weights = setting(run, "weights");
  std::vector<std::string> parts;
  if (!model.empty()) parts.push_back(short_value(last_name(model)));
  if (!weights.empty() && weights != model) parts.push_back(short_value(weights));
  return parts.empty() ? run.name : join(parts, ", ");
}

std::vector<std::pair<std::string, std::string>> evaluation_facts(const RunReport& run) {
  std::vector<std::pair<std::string, std::string>> facts;
  if (const EvaluationReport& report = *run.evaluation; report.language) {
    const LanguageScore& score = *report.language;
    facts = {{"test loss", significant(report.loss)}};
    if (std::isfinite(score.reward_accuracy)) {
      facts.emplace_back("reward margin", significant(score.reward_margin));
      facts.emplace_back("reward accuracy", percent(score.reward_accuracy));
      facts.emplace_back("pairs", grouped(report.samples));
    } else {
      facts.emplace_back("perplexity", significant(score.perplexity));
      facts.emplace_back("sequences", grouped(report.samples));
    }
    facts.emplace_back("tokens", grouped(score.tokens));
    facts.emplace_back("targets", grouped(score.targets));
    if (score.questions > 0) facts.emplace_back("exact match", exact_match_text(score));
  }
  for (const char* key : {"model", "weights", "weights_origin", "dataset", "precision", "device", "ranks"})
    if (const std::string value = short_value(setting(run, key)); !value.empty())
      facts.emplace_back(spaced(key), value);
  return facts;
}

}  // namespace multicard::post
