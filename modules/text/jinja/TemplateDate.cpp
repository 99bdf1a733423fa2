#include "text/jinja/TemplateDate.hpp"

#include <array>
#include <charconv>
#include <chrono>
#include <ctime>
#include <string_view>

#include <fmt/format.h>

#include "base/Error.hpp"

namespace multicard {

TemplateDate TemplateDate::parse(const std::string& text) {
  TemplateDate date;
  if (text.empty()) return date;
  const auto number = [&](std::size_t begin, std::size_t length, int& value) {
    const char* const end = text.data() + begin + length;
    const auto read = std::from_chars(text.data() + begin, end, value);
    return read.ec == std::errc() && read.ptr == end && value >= 0;
  };
  const bool is_written_so = text.size() == 10 && text[4] == '-' && text[7] == '-' && number(0, 4, date.year_) &&
                             number(5, 2, date.month_) && number(8, 2, date.day_);
  const std::chrono::year_month_day day{std::chrono::year(date.year_),
                                        std::chrono::month(static_cast<unsigned>(date.month_)),
                                        std::chrono::day(static_cast<unsigned>(date.day_))};
  if (!is_written_so || !day.ok() || date.year_ < 1)
    throw UsageError(fmt::format("--date {} is not a date", text), "",
                     "Write it as YYYY-MM-DD, for example 2026-01-31.");
  return date;
}

std::optional<std::string> TemplateDate::field(char letter, Padding padding) const {
  constexpr std::string_view kFields = "aAbhBdemyYHIMSpjuwUWFTxXR%";
  if (letter == 'f') return "000000";  // Python's microseconds
  if (letter == '\0' || kFields.find(letter) == std::string_view::npos) return std::nullopt;
  // Names of days and months are English, because the program never calls setlocale(). "%-d" is an extension of glibc
  // that Python hands on and Llama's templates rely on.
  std::tm midnight{};
  midnight.tm_year = year_ - 1900;
  midnight.tm_mon = month_ - 1;
  midnight.tm_mday = day_;
  timegm(&midnight);  // finds the day of the week and of the year
  const std::string format = padding == Padding::yes ? std::string{'%', letter} : std::string{'%', '-', letter};
  std::array<char, 64> buffer{};
  const std::size_t length = std::strftime(buffer.data(), buffer.size(), format.c_str(), &midnight);
  return std::string(buffer.data(), length);
}

}  // namespace multicard
