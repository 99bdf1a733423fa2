#pragma once
/// \file What this process has read and written through the HDF5 library.

#include <map>
#include <string>

#include "base/Measures.hpp"

namespace multicard {

/// By kind: read_independent, read_collective, write_independent and write_collective, those that had calls. Transfers
/// of a file that one process has opened are independent.
using TotalsByKind = std::map<std::string, FileTotals>;

/// Of the elements of datasets since the process began, over all threads. A call is one of H5Dread or H5Dwrite, in a
/// collective transfer also one without elements of this rank; its seconds are those of the thread, and in a collective
/// transfer include waiting for other ranks. Transfers that failed do not count; neither do attributes, groups, copies
/// of objects, opening and closing. Any thread, also while others read and write.
TotalsByKind hdf5_totals();

/// hdf5_totals() less what it was before.
TotalsByKind hdf5_totals_since(const TotalsByKind& before);

}  // namespace multicard
