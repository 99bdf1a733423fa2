#include "cli/ManPage.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/Error.hpp"
#include "base/ReplaceFile.hpp"
#include "base/Text.hpp"
#include "cli/HelpText.hpp"

namespace multicard {

namespace {

/// What roff has for characters that it would show as others, which a shell does not know when they are copied.
const char* roff_of(char c) {
  switch (c) {
    case '\\':
      return "\\e";
    case '-':
      return "\\-";
    case '\'':
      return "\\(aq";
    case '`':
      return "\\(ga";
    case '^':
      return "\\(ha";
    case '~':
      return "\\(ti";
    case '\n':
      return "\n\\&";
    default:
      return nullptr;
  }
}

/// Text as roff takes it for itself; a full stop at the beginning of a line would be a request.
std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    if (const char* const special = roff_of(c))
      out += special;
    else
      out += c;
  return out.starts_with('.') ? "\\&" + out : out;
}

std::string in_capitals(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::toupper(c); });
  return text;
}

std::string roff(const ManSection& section) {
  std::string out = fmt::format(".SH {}\n", escaped(in_capitals(section.title)));
  for (std::size_t i = 0; i < section.paragraphs.size(); ++i)
    out += (i > 0 ? ".PP\n" : "") + escaped(section.paragraphs[i]) + "\n";
  for (const auto& [term, text] : section.items)
    out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", escaped(term), escaped(text));
  if (section.lines.empty()) return out;
  out += section.paragraphs.empty() && section.items.empty() ? ".nf\n" : ".PP\n.nf\n";
  for (const std::string& line : section.lines)
    out += escaped(line) + "\n";
  return out + ".fi\n";
}

ManSection list_of(const std::string& title, const std::vector<OptionHelp>& options) {
  ManSection section{title, {}, {}, {}};
  for (const OptionHelp& option : options)
    section.items.emplace_back(option.usage(), text_with_default(option));
  return section;
}

std::string page_name(const CommandHelp& command) {
  return join(split(command.path, ' '), "-");
}

ManPage page_of(const CommandHelp& command, std::vector<std::string> see_also) {
  ManPage page;
  page.name = page_name(command);
  page.what = command.text.substr(0, command.text.find_last_not_of('.') + 1);
  page.see_also = std::move(see_also);
  page.sections.push_back({"synopsis", {}, {}, {command.usage()}});
  page.sections.push_back({"description", {sentence(command.text)}, {}, {}});
  if (!command.note.empty()) page.sections.back().paragraphs.push_back(command.note);
  ManSection commands{"commands", {}, {}, {}};
  for (const CommandHelp& sub : command.commands)
    commands.items.emplace_back(sub.name(), fmt::format("{}; see {}(1)", sub.text, page_name(sub)));
  if (!commands.items.empty()) page.sections.push_back(commands);
  if (!command.words.empty()) page.sections.push_back(list_of("arguments", command.words));
  if (!command.options.empty()) page.sections.push_back(list_of("options", command.options));
  if (!command.examples.empty()) page.sections.push_back({"examples", {}, {}, command.examples});
  return page;
}

}  // namespace

std::string ManPage::file_name() const {
  return fmt::format("{}.{}", name, section);
}

std::string roff(const ManPage& page, const std::string& version) {
  std::string out = fmt::format(".TH {} {} \"\" \"{}\" \"{}\"\n", escaped(in_capitals(page.name)), page.section,
                                escaped(version), page.section == 1 ? "User commands" : "File formats");
  out += fmt::format(".SH NAME\n{} \\- {}\n", escaped(page.name), escaped(page.what));
  for (const ManSection& section : page.sections)
    out += roff(section);
  std::vector<std::string> others;
  for (const std::string& other : page.see_also)
    if (!other.starts_with(page.name + "(")) others.push_back(escaped(other));
  return others.empty() ? out : out + ".SH SEE ALSO\n" + join(others, ",\n") + "\n";
}

std::vector<ManPage> man_pages(const CommandHelp& program, const std::vector<std::string>& also) {
  std::vector<std::string> see_also;
  for (const CommandHelp* command : all_commands(program))
    see_also.push_back(page_name(*command) + "(1)");
  see_also.insert(see_also.end(), also.begin(), also.end());
  std::vector<ManPage> pages;
  for (const CommandHelp* command : all_commands(program))
    pages.push_back(page_of(*command, see_also));
  return pages;
}

namespace {

constexpr std::string_view kBegin = ".TH MULTICARD";  ///< of the pages of both programs

/// Replaces a page by renaming. \throws DataError also where another's file has its name
void write_page(const std::filesystem::path& path, const std::string& text) {
  std::string begin(kBegin.size(), '\0');
  if (std::ifstream file(path);
      file && !(file.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == kBegin))
    throw DataError(fmt::format("{} was not written by multicard", path.string()), "a manual page would be there",
                    "Name another folder.");
  const std::filesystem::path part = path.parent_path() / fmt::format(".{}.part", path.filename().string());
  replace_file(path.string(), part.string(), text);
}

}  // namespace

void write_pages(const std::vector<ManPage>& pages, const std::string& version, const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) throw DataError(fmt::format("the folder {} cannot be created", folder.string()), failed.message());
  for (const ManPage& page : pages)
    write_page(folder / page.file_name(), roff(page, version));
}

}  // namespace multicard
