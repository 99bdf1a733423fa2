#pragma once
/// \file What `multicard-post` without a command does: reports, tables and comparisons of results files.

#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "results/SettingKey.hpp"

namespace multicard::post {

struct ReportArguments {
  std::vector<std::string> files;
  std::string folder;
  std::string heat;    ///< two axes with a comma between them; empty: not given
  std::string counts;  ///< file of counted methods; empty: none
  std::string csv;     ///< runs, cells or options; empty: not given
  bool json = false, pdf = false, compare = false;
  bool is_full = false;             ///< nothing is filtered
  std::vector<std::string> others;  ///< to compare with `files`; empty: `files` are the two
};

/// Gives `app` the options, whose values go to `arguments`.
void describe(CLI::App& app, ReportArguments& arguments);
/// \param keys those of decks, by which settings are known. \throws Error
void run(const ReportArguments& arguments, const std::vector<SettingKey>& keys);

}  // namespace multicard::post
