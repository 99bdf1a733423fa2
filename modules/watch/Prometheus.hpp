#pragma once
/// \file A status as metrics of Prometheus, in the text format that node_exporter's textfile collector reads.

#include <string>

#include "watch/WatchStatus.hpp"

namespace multicard {

/// The metrics of a status, each with the label `output` (the folder). What is not known has no line.
/// Format: prometheus.io, "Exposition formats"; names by its "Metric and label naming".
std::string prometheus_text(const WatchStatus& status, const std::string& output);
/// Whether a file begins as prometheus_text() does.
bool is_prometheus_file(const std::string& path);

}  // namespace multicard
