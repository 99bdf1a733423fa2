#pragma once
/// \file Tensor files of a checkpoint that several ranks write: each the tensors' pieces that it holds, the root also
/// the tensors that all ranks have. The file is the one that save_tensors() would write of the whole tensors.

#include <string>

#include "io/FileRanges.hpp"
#include "state/CheckpointParts.hpp"

namespace multicard {

/// Sizes, strides and type of a tensor, on the meta device.
at::Tensor shape_of(const at::Tensor& tensor);
/// Whether tensors of the file are written in pieces: the same on all ranks.
bool is_split(const CheckpointPart& part);
/// Of what the root would write, what another rank does: the split files, without the tensors that all ranks have.
CheckpointParts pieces_alone(const CheckpointParts& parts);

/// Makes a split file in `folder`, with its length. \throws DataError for a full disk and the like
void make_split_file(const std::string& folder, const CheckpointPart& part);
/// Writes this rank's bytes of a file that is there: its pieces, and where `is_root` the header and whole tensors. All
/// are on the CPU. \throws DataError for a full disk and the like, std::logic_error for a piece outside of its tensor
WrittenRanges write_split_file(const std::string& folder, const CheckpointPart& part, bool is_root);

}  // namespace multicard
