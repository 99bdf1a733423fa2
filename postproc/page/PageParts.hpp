#pragma once
/// \file The parts of report.html, each below its own heading.

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "postproc/page/Page.hpp"

namespace multicard::post {

/// \name Over all studies; where there are several, each part below the title of its study
/// @{
/// The figure that shows the answer, and what is to be said besides the title.
std::string answer_html(const Collection& collection, const PageFigures& figures);
/// Empty when no study varied anything.
std::string advice_html(const Collection& collection);
/// What slows single runs down; empty where nothing does.
std::string findings_html(const Collection& collection);
/// What tuning changed; empty when nothing was tuned, or not measured before.
std::string before_after_html(const Collection& collection);
/// The commands that repeat what was measured, each once; empty where none was recorded.
std::string commands_html(const Collection& collection);
/// Axes, ranks, repeats, steps, hardware: first what all studies have in common.
std::string setup_html(const Collection& collection);
std::string step_html(const Collection& collection, const PageFigures& figures);
std::string memory_html(const Collection& collection, const PageFigures& figures);
std::string ranks_html(const Collection& collection, const PageFigures& figures);
/// Empty where no run has a profile.
std::string profiles_html(const Collection& collection);
std::string runs_html(const Collection& collection);
/// @}

/// The figure that shows the answer; null where there is none. The page shows it once, above all others.
const Figure* key_figure(const Collection& collection, const PageFigures& figures);

/// A figure with its data, below these texts of it; those that the page says elsewhere are empty. Its alternative text
/// has its title in any case.
std::string figure_html(const Figure& figure, const std::string& title, const std::string& subtitle);

/// \name Of pages whose first figure shows the answer, below the page's title instead of its own
/// @{
/// Empty where it was not drawn.
std::string answer_figure_html(const std::vector<Figure>& figures);
/// The others side by side; empty where none was drawn.
std::string other_figures_html(const std::vector<Figure>& figures);
/// @}

/// `part` of each study, below the study's title where there are several.
std::string each_study(const Collection& collection, const std::function<std::string(std::size_t)>& part);

/// The figures but `key`, and the tables, of one study, by topic.
std::string study_html(const Study& study, const std::vector<Figure>& figures, const Figure* key);

/// Accuracy, classes and confusion of each evaluation.
std::string evaluations_html(const Collection& collection, const PageFigures& figures);

std::string provenance_html(const Collection& collection);

}  // namespace multicard::post
