#include "postproc/page/Html.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>

#include <fmt/format.h>

#include "base/Text.hpp"
#include "base/XmlText.hpp"

namespace multicard::post {

namespace {

/// All but RFC 3986's unreserved characters, and two that data: URLs may contain and CSV often does.
std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (std::isalnum(code) || c == '-' || c == '_' || c == '.' || c == '~' || c == ',' || c == ':')
      out += c;
    else
      out += fmt::format("%{:02X}", code);
  }
  return out;
}

std::string html_of(const HtmlCell& cell) {
  constexpr std::size_t kLong = 40;  // would make a tall, thin column
  if (cell.sort_value.empty())
    return fmt::format("<td{}>{}</td>", cell.text.size() > kLong ? " class=\"long\"" : "", escaped(cell.text));
  return fmt::format("<td class=\"n\" data-v=\"{}\">{}</td>", cell.sort_value, escaped(cell.text));
}

/// A header that may break within long names: after underscores, and before capitals as in cudaStreamSynchronize.
std::string breakable(const std::string& text) {
  constexpr std::size_t kLongName = 12;
  std::string out;
  for (const std::string& word : split(text, ' ')) {
    if (!out.empty()) out += ' ';
    for (std::size_t i = 0; i < word.size(); ++i) {
      const bool starts_part = i > 0 && (word[i - 1] == '_' || (std::isupper(static_cast<unsigned char>(word[i])) &&
                                                                std::islower(static_cast<unsigned char>(word[i - 1]))));
      if (starts_part && word.size() > kLongName) out += "<wbr>";
      out += escaped(std::string(1, word[i]));
    }
  }
  return out;
}

/// Columns are aligned by their first cell.
bool is_numeric(const HtmlTable& table, std::size_t column) {
  return !table.rows.empty() && !table.rows.front()[column].sort_value.empty();
}

}  // namespace

/// "nan" is what the script of the page sorts to the end in both directions.
HtmlCell::HtmlCell(std::string shown, double value)
    : text(std::move(shown)), sort_value(std::isfinite(value) ? fmt::format("{:.9g}", value) : "nan") {}

void fold_constant_columns(HtmlTable& table, const std::vector<std::string>& labels) {
  if (table.rows.size() < 2) return;
  std::vector<std::string> said;
  for (std::size_t column = table.head.size(); column-- > 0;) {
    const std::string label = table.head[column], text = table.rows.front()[column].text;
    const auto has_it = [&](const std::vector<HtmlCell>& row) { return row[column].text == text; };
    if (std::ranges::find(labels, label) == labels.end() || !std::ranges::all_of(table.rows, has_it)) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    table.head.erase(table.head.begin() + at);
    for (std::vector<HtmlCell>& row : table.rows)
      row.erase(row.begin() + at);
    if (!text.empty() && text != "–") said.insert(said.begin(), label + " " + text);
  }
  if (!said.empty()) table.caption += " The same in every row: " + join(said, ", ") + ".";
}

std::string table(const HtmlTable& table, Caption caption) {
  constexpr std::size_t kMany = 10;  // columns, which would not fit a window of 1440 px in full size
  std::string out;
  if (caption == Caption::shown) out += fmt::format("<p class=\"note\">{}</p>\n", escaped(table.caption));
  // The region can be scrolled by keyboard (tabindex) and has a name for screen readers.
  out += fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{0}\">"
      "<table data-table=\"{1}\"{2}>\n<thead><tr>",
      escaped(table.caption), escaped(table.id), table.head.size() > kMany ? " class=\"many\"" : "");
  for (std::size_t column = 0; column < table.head.size(); ++column)
    out += fmt::format("<th{}><button type=\"button\">{}</button></th>",
                       is_numeric(table, column) ? " class=\"n\"" : "", breakable(table.head[column]));
  out += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    out += table.faint_rows.contains(row) ? "<tr class=\"faint\">" : "<tr>";
    for (const HtmlCell& cell : table.rows[row])
      out += html_of(cell);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string subheading(const std::string& text) {
  return fmt::format("<h3>{}</h3>\n", escaped(text));
}

std::string paragraph(const std::string& text) {
  return fmt::format("<p>{}</p>\n", sentence(text));
}

std::string sentence(const std::string& text) {
  std::string out = escaped(text);
  for (std::size_t at = out.find(" %"); at != std::string::npos; at = out.find(" %", at))
    out.replace(at, 1, "\u00A0");  // no line break there
  return out;
}

std::string list(const std::vector<std::string>& sentences) {
  std::string out = "<ul>\n";
  for (const std::string& text : sentences)
    out += fmt::format("<li>{}</li>\n", sentence(text));
  return out + "</ul>\n";
}

std::string name_value_table(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::string out = "<dl>\n";
  for (const auto& [name, value] : rows)
    out += fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escaped(name), escaped(value));
  return out + "</dl>\n";
}

std::string transcript(const std::string& prompt, const std::vector<std::pair<std::string, std::string>>& answers) {
  return fmt::format("<div class=\"transcript\">\n<p>{}</p>\n{}</div>\n", escaped(prompt), name_value_table(answers));
}

std::string folded(const std::string& summary, const std::string& html, Printed printed) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n",
                     printed == Printed::open ? " class=\"printed\"" : "", escaped(summary), html);
}

std::string preformatted(const std::string& text) {
  return fmt::format("<pre tabindex=\"0\">{}</pre>\n", escaped(text));
}

std::string download(const std::string& label, const std::string& file_name, const std::string& mime,
                     const std::string& content) {
  return fmt::format("<a download=\"{}\" href=\"data:{};charset=utf-8,{}\">{}</a>", escaped(file_name), mime,
                     percent_encoded(content), escaped(label));
}

}  // namespace multicard::post
