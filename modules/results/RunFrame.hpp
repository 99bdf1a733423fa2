#pragma once
/// \file What one process writes of a results file: everything but the ranks' rows; for modules/results only.

#include <map>
#include <string>

#include "io/Hdf5.hpp"
#include "results/Columns.hpp"
#include "results/Provenance.hpp"
#include "results/RankColumns.hpp"

namespace multicard {

std::string run_path(const std::string& run);

/// The root's attributes and /provenance.
void write_file_frame(Hdf5File& file, const Provenance& provenance);

/// /runs/<run> with its attributes, metrics, segments and tables, and datasets of the layout's shapes for the ranks'
/// rows. A run that has begun no step has no datasets. \param tables of the ranks, by path, in addition to those of the
/// summary
void write_run_frame(Hdf5File& file, const RunSummary& summary, const RunLayout& layout,
                     const std::map<std::string, Table>& tables);

/// A group of tables with attributes of its own, in addition to the runs.
void write_group(Hdf5File& file, const std::string& path, const std::map<std::string, std::string>& attributes,
                 const std::map<std::string, Table>& tables);

}  // namespace multicard
