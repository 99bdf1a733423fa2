#pragma once
/// \file Where `multicard eval` writes its scores, and what becomes of those that stand there.

#include <string>

#include "Commands.hpp"
#include "results/Columns.hpp"
#include "tasks/RunOptions.hpp"

namespace multicard {

/// The file after -o; else OUTPUT/eval.h5, or OUTPUT/eval_limitN.h5 where evaluate.limit leaves rows out.
std::string evaluation_file(const EvalArguments& arguments, const RunOptions& options);

/// Collective. To be called before the work. \throws UsageError where the file is anything but an evaluation, which
/// would be lost
void require_evaluation(const std::string& file, const Communicator& world);

/// Collective. Writes the file. An evaluation of the same weights, rows and settings that stands there is replaced, and
/// so is what -o names; another one is kept under the next free name (eval_1.h5). What was done is logged.
void write_evaluation(const std::string& file, const EvalArguments& arguments, const RunSummary& summary,
                      const Communicator& world);

}  // namespace multicard
