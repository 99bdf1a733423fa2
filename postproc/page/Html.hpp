#pragma once
/// \file Pieces of HTML. Every text given is escaped here, never by the caller.

#include <cstddef>
#include <set>
#include <string>
#include <vector>

namespace multicard::post {

/// A cell of a table: what is shown and, for numbers, what is sorted by.
struct HtmlCell {
  HtmlCell(std::string shown) : text(std::move(shown)) {}
  HtmlCell(const char* shown) : text(shown) {}
  HtmlCell(std::string shown, double value);

  std::string text;
  std::string sort_value;  ///< of a number; also aligns to the right
};

struct HtmlTable {
  std::string id;  ///< data-table in the page: what programs find it by, whatever its caption says
  std::string caption;
  std::vector<std::string> head;
  std::vector<std::vector<HtmlCell>> rows;
  std::set<std::size_t> faint_rows = {};  ///< numbers of those that matter less
};

/// Takes those of the named columns out that have one value in all of several rows: the caption says it, unless it is
/// empty or unknown. Every other column needs the width.
void fold_constant_columns(HtmlTable& table, const std::vector<std::string>& labels);

/// Whether a table's caption stands above it, or is its name for screen readers alone.
enum class Caption { shown, name };

/// A table that scrolls horizontally and is sorted by a click on a column's header.
std::string table(const HtmlTable& table, Caption caption = Caption::shown);

/// Text with no line break between a number and its per cent sign.
std::string sentence(const std::string& text);

/// <ul> of sentences.
std::string list(const std::vector<std::string>& sentences);

/// <h3>text</h3>
std::string subheading(const std::string& text);

/// <p>text</p>
std::string paragraph(const std::string& text);

/// Two columns of names and values, not sortable.
std::string name_value_table(const std::vector<std::pair<std::string, std::string>>& rows);

/// A prompt, and below it names and answers, with their line breaks.
std::string transcript(const std::string& prompt, const std::vector<std::pair<std::string, std::string>>& answers);

/// Whether a page opens a folded part when it is printed.
enum class Printed { open, closed };

/// A collapsed section.
std::string folded(const std::string& summary, const std::string& html, Printed printed = Printed::closed);

/// <pre> of the text.
std::string preformatted(const std::string& text);

/// A link that saves `content` under `file_name`; the content is embedded in the page.
std::string download(const std::string& label, const std::string& file_name, const std::string& mime,
                     const std::string& content);

}  // namespace multicard::post
