// Results files, as multicard-post reads them. A checksum follows their end: with it damage is found before
// libhdf5 opens the file, without it (files that other programs wrote) the readers are on their own.
#include "fuzz/Child.hpp"
#include "fuzz/Target.hpp"
#include "io/Seal.hpp"
#include "results/ResultsReader.hpp"

namespace multicard::fuzz {

const std::vector<ExitCode> kDocumentedCodes{ExitCode::data};

void read(std::string_view input) {
  const std::string path = scratch_file("results.h5", input);
  check_seal(path);  // a sealed input that was changed ends here
  in_child([&] {
    const ResultsFile file = ResultsFile::open(path);
    file.provenance();
    for (const RunData& run : file.runs())
      for (const auto& [name, times] : run.times)
        require(times.values.size() == times.ranks * times.length, "a matrix has another number of values");
  });
}

}  // namespace multicard::fuzz
