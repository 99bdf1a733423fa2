#include "state/TensorFile.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <set>

#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <fmt/format.h>

#include "base/Error.hpp"
#include "device/StagedCopies.hpp"
#include "state/TensorProblems.hpp"

namespace multicard {
namespace {

struct DtypePair {
  const char* name;
  at::ScalarType type;
};

constexpr std::array<DtypePair, 10> kDtypes{{{"F64", at::kDouble},
                                             {"F32", at::kFloat},
                                             {"F16", at::kHalf},
                                             {"BF16", at::kBFloat16},
                                             {"I64", at::kLong},
                                             {"I32", at::kInt},
                                             {"I16", at::kShort},
                                             {"I8", at::kChar},
                                             {"U8", at::kByte},
                                             {"BOOL", at::kBool}}};

at::ScalarType scalar_type(const SafetensorsEntry& entry, const std::string& path) {
  if (const auto type = scalar_type_of(entry.dtype)) return *type;
  refuse_dtype(path, entry.name, entry.dtype);
}

constexpr ForeignKey kExtraTensors[] = {
    {"n_averaged", KeyUse::harmless, "how many models torch.optim.swa_utils.AveragedModel has averaged"},
};

/// What DataParallel, DDP and torch.compile put before every name of the model that they wrap; empty where it is not
/// before all of the file's names.
std::string wrapper_prefix(const std::vector<SafetensorsEntry>& entries) {
  // Wrappers nest: DDP around a compiled model gives "module._orig_mod." to all names.
  std::string prefix;
  while (!entries.empty()) {
    const auto all_begin = [&](const char* wrapper) {
      return std::all_of(entries.begin(), entries.end(), [&](const SafetensorsEntry& entry) {
        return find_key(kExtraTensors, entry.name) || entry.name.starts_with(prefix + wrapper);
      });
    };
    if (all_begin("module."))
      prefix += "module.";
    else if (all_begin("_orig_mod."))
      prefix += "_orig_mod.";
    else
      break;
  }
  return prefix;
}

void require_same_names(const NamedTensors& targets, const TensorFile& file, const std::string& prefix) {
  std::vector<std::string> missing, unknown;
  std::set<std::string> names;
  for (const NamedTensor& target : targets) {
    names.insert(prefix + target.name);
    // Old files of torch lack this count, which no arithmetic here depends on.
    if (!file.contains(prefix + target.name) && !target.name.ends_with("num_batches_tracked"))
      missing.push_back(target.name);
  }
  for (const SafetensorsEntry& entry : file.file().entries())
    if (!names.contains(entry.name) && !find_key(kExtraTensors, entry.name)) unknown.push_back(entry.name);
  refuse_missing(file.path(), missing);
  refuse_unknown(file.path(), unknown);
}

/// Integers in the place of numbers with fractions are codes of a quantised model.
void refuse_integers(const std::string& path, const SafetensorsEntry& entry, at::ScalarType target) {
  if (!at::isFloatingType(target) || at::isFloatingType(scalar_type(entry, path))) return;
  throw DataError(fmt::format("{}: tensor {} is of type {}", path, entry.name, entry.dtype),
                  "weights are numbers with fractions; those of quantised models are not read",
                  "Store it as F32, F16 or BF16.");
}

/// What stands before the targets' names in the file. \throws as check_matches()
std::string matching_prefix(const NamedTensors& targets, const TensorFile& file, const std::string& suggestion) {
  std::string prefix = wrapper_prefix(file.file().entries());
  require_same_names(targets, file, prefix);
  for (const NamedTensor& target : targets)
    if (const SafetensorsEntry* entry = file.file().find(prefix + target.name)) {
      refuse_shape(file.path(), target.name, entry->shape, target.tensor.sizes(), suggestion);
      refuse_integers(file.path(), *entry, target.tensor.scalar_type());
    }
  return prefix;
}

}  // namespace

std::span<const ForeignKey> extra_tensors() {
  return kExtraTensors;
}

std::optional<at::ScalarType> scalar_type_of(const std::string& safetensors_dtype) {
  for (const DtypePair& pair : kDtypes)
    if (safetensors_dtype == pair.name) return pair.type;
  return std::nullopt;
}

std::optional<std::string> safetensors_dtype(at::ScalarType type) {
  for (const DtypePair& pair : kDtypes)
    if (type == pair.type) return pair.name;
  return std::nullopt;
}

std::string dtype_in_files(at::ScalarType type, const std::string& name, const std::string& path) {
  if (const auto known = safetensors_dtype(type)) return *known;
  throw DataError("cannot write tensor " + name + " to " + path, std::string("its dtype is ") + c10::toString(type));
}

at::Tensor TensorFile::view(const std::string& name) const {
  const SafetensorsEntry& entry = file_.at(name);
  return view(entry, entry.bytes, entry.shape);
}

at::Tensor TensorFile::view(const std::string& name, std::int64_t first, std::int64_t count) const {
  const SafetensorsEntry& entry = file_.at(name);
  const std::size_t width = c10::elementSize(scalar_type(entry, path()));
  return view(entry,
              entry.bytes.subspan(static_cast<std::size_t>(first) * width, static_cast<std::size_t>(count) * width),
              {count});
}

at::Tensor TensorFile::view(const SafetensorsEntry& entry, std::span<const std::byte> bytes,
                            at::IntArrayRef shape) const {
  const auto options = at::TensorOptions().dtype(scalar_type(entry, path()));
  // The format asks for no alignment, and vector loads of a misaligned tensor would fault or be slow: those are copied.
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.data()) % options.dtype().itemsize() == 0;
  if (is_aligned && !bytes.empty())
    return at::from_blob(
        const_cast<std::byte*>(bytes.data()), shape, [keep = file_.mapping()](void*) {}, options);
  at::Tensor copy = at::empty(shape, options);
  if (!bytes.empty()) std::memcpy(copy.mutable_data_ptr(), bytes.data(), bytes.size());
  return copy;
}

NamedTensors TensorFile::load_all() const {
  NamedTensors tensors;
  for (const SafetensorsEntry& entry : file_.entries())
    tensors.push_back({entry.name, load(entry.name)});
  return tensors;
}

void save_tensors(const std::string& path, const NamedTensors& tensors,
                  const std::map<std::string, std::string>& metadata) {
  // The entries point into these, which copies (from a GPU, of other strides) would not outlive otherwise.
  std::vector<at::Tensor> kept;
  std::vector<SafetensorsEntry> entries;
  for (const NamedTensor& entry : tensors) {
    const at::Tensor& tensor = kept.emplace_back(entry.tensor.detach().to(at::kCPU).contiguous());
    const auto* bytes = static_cast<const std::byte*>(tensor.const_data_ptr());
    entries.push_back({entry.name,
                       dtype_in_files(tensor.scalar_type(), entry.name, path),
                       tensor.sizes().vec(),
                       {bytes, tensor.nbytes()}});
  }
  write_safetensors(path, entries, metadata);
}

void check_matches(const NamedTensors& targets, const TensorFile& file, const std::string& suggestion) {
  matching_prefix(targets, file, suggestion);
}

void copy_into(const NamedTensors& targets, const TensorFile& file, const std::string& suggestion) {
  // All names and shapes are compared before the first copy, so that a file that does not fit changes nothing.
  const std::string prefix = matching_prefix(targets, file, suggestion);
  StagedCopies copies;
  for (const NamedTensor& target : targets)
    if (file.contains(prefix + target.name)) copies.copy(target.tensor, file.view(prefix + target.name));
  copies.finish();
}

}  // namespace multicard
