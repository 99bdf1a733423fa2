#pragma once
/// \file What scripts/study_claim.sh measured: the cells of the study of a claim, before anything is computed of them.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace multicard::post {

/// One measurement.
struct ClaimCell {
  std::string claim;  ///< E1, simulation, E2, E3, or buckets
  std::string place, task, variant;
  int repeat = 0;
  bool is_lossy = false;                 ///< of E3: gradients are changed
  bool is_apart = false;                 ///< of E3: it stands alone, no later exchange adds to it
  bool is_control = false;               ///< of E3: it adds fp32 gradients in another order, nothing else
  std::string base;                      ///< of E2: the variant that it is compared with; may be empty
  std::map<std::string, double> values;  ///< without those that are null
};

/// What is claimed, and how cells are judged: changes as shares, -0.32 for 32 % less.
struct ClaimRules {
  double iteration_time = 0, memory_utilisation = 0, communication = 0;
  double loss = 0, bytes = 0;  ///< tolerances, as shares
};

/// The lines of one file, in their order.
struct ClaimFile {
  std::string path;
  ClaimRules rules;
  bool is_quick = false;
  std::string model, machine;
  int processors = 0, repeats = 0, communication_repeats = 0;
  double load = 0;                   ///< of the machine when it began: the mean number of waiting processes
  std::optional<double> seconds;     ///< that the last start took; none where it has not ended
  std::map<std::string, int> ranks;  ///< of each place
  std::vector<ClaimCell> cells;
  std::vector<std::pair<std::string, std::string>> left_out;  ///< what, and why
};

/// Whether a file looks like one.
bool is_claim_file(const std::string& path);

/// \throws DataError where a line is none of them, or no cell was measured
ClaimFile read_claim_file(const std::string& path);

}  // namespace multicard::post
