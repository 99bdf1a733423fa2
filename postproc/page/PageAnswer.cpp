#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "postproc/page/Html.hpp"
#include "postproc/page/PageParts.hpp"
#include "postproc/page/PageTables.hpp"
#include "postproc/study/Evaluation.hpp"
#include "postproc/study/Ranking.hpp"
#include "postproc/study/ShareAnswer.hpp"

namespace multicard::post {

namespace {

/// The study whose answer is the title: the one with the most runs, of equals the first.
std::size_t largest_study(const Collection& collection) {
  const auto most = std::ranges::max_element(collection.studies, {}, [](const Study& of) { return of.runs.size(); });
  return static_cast<std::size_t>(most - collection.studies.begin());
}

/// Whether a shared job paid; empty without one, or of several files.
Finding share_of(const Collection& collection) {
  return collection.sources.size() == 1 ? share_finding(collection.sources.front().allocation) : Finding{};
}

std::string without_stop(std::string text) {
  if (text.ends_with('.')) text.pop_back();
  return text;
}

/// "Image size on 1, 2 ranks: 5 configurations, of which 4 completed"
Finding title_of(const Study& study) {
  Finding out{study.title(), {}, "subject"};
  const std::size_t all = study.configurations.size();
  if (all == 1) {
    const auto unfinished = [](const Cell& cell) { return cell.status != CellStatus::complete; };
    const auto number = std::ranges::count_if(study.cells, unfinished);
    if (number == 0 || study.cells.size() == 1) return out;
    out.evidence.add({{"cells", study.cells.size()}, {"unfinished", number}});
    out.text += fmt::format(", of which {} did not complete", number);
    return out;
  }
  std::size_t completed = 0;
  for (std::size_t i = 0; i < all; ++i)
    if (largest(study, i)) ++completed;
  out.evidence.add({{"configurations", all}, {"completed", completed}});
  out.text += ": " + counted(static_cast<long>(all), "configuration");
  if (completed < all) out.text += fmt::format(", of which {} completed", completed);
  return out;
}

/// Kinds of figures that show an answer at a glance, the ones that show most of it first.
constexpr std::array<std::string_view, 12> kKeyFigures{"allocation", "methods-limits", "data_sets",  "overview",
                                                       "speedup",    "options",        "heat",       "comparison",
                                                       "calls",      "eval",           "train_loss", "phases"};

/// All answers of a study but the first where that is the title.
std::string answers_of(const Study& study, bool first_is_title) {
  Findings answers = study.answers;
  if (first_is_title) answers.erase(answers.begin());
  // A table says what these sentences are for on the terminal.
  if (study.kind == StudyKind::methods)
    std::erase_if(answers, [](const Finding& finding) { return finding.id.starts_with("methods-"); });
  const std::vector<std::string> texts = texts_of(answers);
  std::string limits = study.kind == StudyKind::methods ? method_limits_html(study) : std::string();
  if (texts.empty()) return limits;
  return limits + (study.kind == StudyKind::works ? list(texts) : paragraph(join(texts, " ")));
}

}  // namespace

Finding headline(const Collection& collection) {
  if (collection.studies.empty()) {
    const RunReport& run = collection.evaluated.front();
    return {without_stop(score_sentence(*run.evaluation)), {}, "headline"};
  }
  if (const Finding share = share_of(collection); !share.empty())
    return {without_stop(share.text), share.evidence, "headline"};
  const Finding& answer = collection.studies[largest_study(collection)].answers.front();
  Finding out{without_stop(answer.text), answer.evidence, "headline"};
  if (const std::size_t number = collection.studies.size(); number > 1) {
    out.text += fmt::format(" (the largest of {} studies)", number);
    out.evidence.add({"studies", number});
  }
  return out;
}

Finding subject(const Collection& collection) {
  const std::size_t number = collection.studies.size();
  if (number == 0) return {"Evaluation of " + evaluation_name(collection.evaluated.front()), {}, "subject"};
  if (number == 1) return title_of(collection.studies.front());
  std::vector<std::string> titles;
  for (const Study& study : collection.studies)
    titles.push_back(study.title());
  return {fmt::format("{} studies: {}", number, join(titles, "; ")), {{"studies", number}}, "subject"};
}

const Figure* key_figure(const Collection& collection, const PageFigures& figures) {
  if (collection.studies.empty()) return nullptr;
  const std::size_t index = largest_study(collection);
  const std::string& study = collection.studies[index].id;
  const auto first_of = [&](std::string_view kind) -> const Figure* {
    for (const Figure& figure : figures.of_studies[index]) {
      const std::string_view id = std::string_view(figure.id).substr(study.empty() ? 0 : study.size() + 1);
      if (id.starts_with(kind) && !figure.svg_on_page.empty()) return &figure;
    }
    return nullptr;
  };
  // A title about the phases of a step is shown by them.
  const Findings& answers = collection.studies[index].answers;
  if (!answers.empty() && answers.front().id == "bottleneck")
    if (const Figure* const phases = first_of("phases")) return phases;
  for (const std::string_view kind : kKeyFigures)
    if (const Figure* const figure = first_of(kind)) return figure;
  return nullptr;
}

std::string answer_html(const Collection& collection, const PageFigures& figures) {
  std::string out;
  if (collection.sources.size() > 1)
    for (const Source& source : collection.sources)
      if (const Finding share = share_finding(source.allocation); !share.empty()) out += paragraph(share.text);
  const bool is_share = !share_of(collection).empty();
  const std::size_t largest =
      is_share || collection.studies.empty() ? collection.studies.size() : largest_study(collection);
  out += each_study(collection, [&](std::size_t i) { return answers_of(collection.studies[i], i == largest); });
  const bool is_title = collection.studies.empty();
  for (std::size_t i = is_title ? 1 : 0; i < collection.evaluated.size(); ++i)
    out += paragraph(fmt::format("{}: {}", evaluation_name(collection.evaluated[i]),
                                 score_sentence(*collection.evaluated[i].evaluation)));
  const Figure* const key = key_figure(collection, figures);
  const std::string figure = key ? figure_html(*key, {}, key->subtitle) : std::string();
  if (figure.empty() && out.empty()) return {};  // the title is all of it
  const bool has_methods =
      std::ranges::any_of(collection.studies, [](const Study& study) { return study.kind == StudyKind::methods; });
  return fmt::format("<div class=\"figures\">\n{}<div class=\"answer{}\">\n{}</div>\n</div>\n", figure,
                     has_methods ? " wide" : "", out);
}

}  // namespace multicard::post
