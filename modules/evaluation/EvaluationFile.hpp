#pragma once
/// \file Where `multicard eval` writes its scores, and what becomes of those that stand there.

#include <string>

#include "comm/Communicator.hpp"
#include "results/Columns.hpp"
#include "results/Provenance.hpp"
#include "tasks/options/RunOptions.hpp"

namespace multicard {

/// OUTPUT/eval.h5, or OUTPUT/eval_limitN.h5 where evaluate.limit leaves rows out.
std::string evaluation_file(const RunOptions& options);

/// Collective. To be called before the work. \throws UsageError where the file is anything but an evaluation, which
/// would be lost
void require_evaluation(const std::string& file, const Communicator& world);

/// What becomes of another evaluation where one is to be written.
enum class OtherEvaluation {
  keep,    ///< it gets the next free name: eval_1.h5
  replace  ///< the user has named the file
};

/// Collective. Writes the file. An evaluation of the same weights, rows and settings is replaced. What was done is
/// logged.
void write_evaluation(const std::string& file, OtherEvaluation other, const Provenance& provenance,
                      const RunSummary& summary, const Communicator& world);

}  // namespace multicard
