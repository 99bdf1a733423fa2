#pragma once
/// \file Manual pages in the macros of man(7), from the same texts as help.

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "cli/CommandTree.hpp"

namespace multicard {

/// A term of a list, and what is said of it.
using ManItem = std::pair<std::string, std::string>;

struct ManSection {
  std::string title;
  std::vector<std::string> paragraphs;
  std::vector<ManItem> items;      ///< after the paragraphs
  std::vector<std::string> lines;  ///< commands, each on a line of its own, after the items
};

struct ManPage {
  std::string name;  ///< "multicard-run"
  int section = 1;   ///< of the manual
  std::string what;  ///< one line, for whatis(1)
  std::vector<ManSection> sections;
  std::vector<std::string> see_also;  ///< "multicard(1)"

  /// "multicard-run.1"
  std::string file_name() const;
};

/// The page as roff. \param version "multicard 0.1.0"
std::string roff(const ManPage& page, const std::string& version);

/// A page for `program` and one for each of its commands, which refer to each other and to `also`.
std::vector<ManPage> man_pages(const CommandHelp& program, const std::vector<std::string>& also);

/// Writes each page to a file of its name; makes the folder. \throws DataError where a file cannot be written
void write_pages(const std::vector<ManPage>& pages, const std::string& version, const std::filesystem::path& folder);

}  // namespace multicard
