// status.json of a run, a sweep or a share, as `multicard watch` reads and shows it.
#include "base/Utf8.hpp"
#include "fuzz/Target.hpp"
#include "watch/Picture.hpp"
#include "watch/Prometheus.hpp"
#include "watch/WatchStatus.hpp"
#include "watch/WatchedOutput.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

namespace {

/// What watch makes of a file that may be anybody's: it waits, or shows lines that fit.
void show(std::string_view input) {
  scratch_file("status.json", input);
  WatchedOutput output(scratch_folder());
  constexpr double kNow = 1.8e9;
  output.look(kNow);
  constexpr std::size_t kColumns = 60;
  for (const Characters characters : {Characters::ascii, Characters::braille})
    for (const PictureLine& line : picture_of(output.known(), {kColumns, characters, 4, kNow}))
      require(num_characters(line.text) <= kColumns && line.text.find_first_of("\n\t") == std::string::npos,
              "a line is wider than the terminal, or several");
  require(line_of(output.known()).find('\n') == std::string::npos, "a line of a log is several");
}

}  // namespace

void read(std::string_view input) {
  show(input);
  const WatchStatus status = read_status_text(input, "status.json");
  const std::string text = status_text(status);
  require(status_text(read_status_text(text, "status.json")) == text,
          "a status that is written is read as another one");
  prometheus_text(status, "out");
}

}  // namespace multicard::fuzz
