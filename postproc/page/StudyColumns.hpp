#pragma once
/// \file The columns of the tables of runs, cells, options, tuning methods and evaluations, for all outputs.

#include <string>
#include <vector>

#include "postproc/page/Columns.hpp"
#include "postproc/reduce/RunReport.hpp"
#include "postproc/study/Collection.hpp"
#include "postproc/study/Methods.hpp"
#include "postproc/study/Study.hpp"

namespace multicard::post {

/// The axes of all studies, each once: every study's lines of CSV have all of them.
std::vector<std::string> axis_keys(const Collection& collection);

/// \name Columns of a study
/// `number` is the study's in its report, from 1; `axes` those of the report. The columns refer to `study`.
/// @{
Columns<RunReport> run_columns(const Study& study, std::size_t number = 1, const std::vector<std::string>& axes = {});
Columns<Cell> cell_columns(const Study& study, std::size_t number = 1, const std::vector<std::string>& axes = {});
/// Configuration and ranks, which tables of the page about cells begin with.
Columns<Cell> place_columns(const Study& study);
Columns<OptionEffect> option_columns(std::size_t number = 1);
Columns<MethodCell> method_columns(const Study& study);
/// Of the parts of a method's memory, which it must have.
Columns<MethodCell> method_memory_columns();
/// @}

/// \name Columns of what was counted on a simulated GPU
/// They refer to `all`.
/// @{
Columns<CountedMethod> counted_columns(const std::vector<CountedMethod>& all);
Columns<CountedMethod> counted_memory_columns();
/// @}

/// Of the classes of an evaluation.
Columns<ClassScore> class_columns();

/// The value of a setting by its deck path, or by the run's own attribute: the axes of one study are fixed in another.
std::string known_setting(const RunReport& run, const std::string& key);

/// The value of an axis as CSV has it in the columns axis.KEY: "not set" for null, in quotation marks what readers of
/// CSV take for a missing value (NA).
std::string axis_text(const std::string& value);

/// Seconds of each phase.
Value::Json phases_json(const Measured& measured);

}  // namespace multicard::post
