// libcudnn.so.9: the graph interface keeps what it is given and finds one engine for every graph, whose workspace is
// FAKE_GPU_CUDNN_WORKSPACE bytes; batch normalisation is counted.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include <cudnn.h>

#include "Fake.hpp"

namespace {

struct Content;
using Shared = std::shared_ptr<Content>;

struct Attribute {
  cudnnBackendAttributeType_t type;
  std::int64_t count = 0;
  std::vector<char> bytes;
  std::vector<Shared> parts;
};

struct Content {
  cudnnBackendDescriptorType_t type;
  std::map<int, Attribute> attributes;
};

struct Handle {
  cudaStream_t stream = nullptr;
};

Handle* of(cudnnHandle_t handle) {
  return reinterpret_cast<Handle*>(handle);
}

Shared& of(cudnnBackendDescriptor_t one) {
  return *reinterpret_cast<Shared*>(one);
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_BOOLEAN:
    case CUDNN_TYPE_CHAR:
      return 1;
    case CUDNN_TYPE_INT64:
    case CUDNN_TYPE_DOUBLE:
    case CUDNN_TYPE_VOID_PTR:
    case CUDNN_TYPE_HANDLE:
    case CUDNN_TYPE_FRACTION:
      return 8;
    default:
      return 4;
  }
}

void put_number(const Shared& content, int key, std::int64_t value) {
  Attribute attribute{CUDNN_TYPE_INT64, 1, std::vector<char>(sizeof value), {}};
  std::memcpy(attribute.bytes.data(), &value, sizeof value);
  content->attributes[key] = attribute;
}

void put_part(const Shared& content, int key, const Shared& part) {
  content->attributes[key] = {CUDNN_TYPE_BACKEND_DESCRIPTOR, 1, {}, {part}};
}

const Attribute* attribute_of(const Shared& content, int key) {
  if (!content) return nullptr;
  const auto found = content->attributes.find(key);
  return found == content->attributes.end() ? nullptr : &found->second;
}

Shared part_of(const Shared& content, int key) {
  const Attribute* const found = attribute_of(content, key);
  return found && !found->parts.empty() ? found->parts[0] : nullptr;
}

std::string shape_of(const Shared& operation, int key) {
  const Attribute* const dims = attribute_of(part_of(operation, key), CUDNN_ATTR_TENSOR_DIMENSIONS);
  std::string text;
  for (std::int64_t i = 0; dims && i < dims->count; ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, dims->bytes.data() + i * 8, sizeof value);
    text += (i > 0 ? "x" : "") + std::to_string(value);
  }
  return text;
}

std::string name_of(const Shared& operation) {
  if (!operation) return "unknown";
  switch (operation->type) {
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
      return "forward x " + shape_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X) + " w " +
             shape_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
      return "backward data w " + shape_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W) + " dy " +
             shape_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY);
    case CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
      return "backward filter x " + shape_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_X) + " dy " +
             shape_of(operation, CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_DY);
    default:
      return "operation " + std::to_string(operation->type);
  }
}

Shared new_content(cudnnBackendDescriptorType_t type) {
  auto content = std::make_shared<Content>();
  content->type = type;
  return content;
}

/// What the heuristics find: one engine.
void find_engine(const Shared& heuristics) {
  const Shared engine = new_content(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  const Shared config = new_content(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  put_part(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, part_of(heuristics, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH));
  put_number(engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, 0);
  put_part(config, CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  put_number(config, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, 0);
  config->attributes[CUDNN_ATTR_ENGINECFG_SHARED_MEMORY_USED] = {CUDNN_TYPE_INT32, 1, std::vector<char>(4), {}};
  put_part(heuristics, CUDNN_ATTR_ENGINEHEUR_RESULTS, config);
}

cudnnStatus_t count_call(cudnnHandle_t handle, const char* name) {
  fake::launch(of(handle)->stream, fake::counter("convolution", name));
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

FAKE_API size_t cudnnGetVersion() {
  return CUDNN_VERSION;
}

FAKE_API size_t cudnnGetCudartVersion() {
  return CUDART_VERSION;
}

FAKE_API const char* cudnnGetErrorString(cudnnStatus_t) {
  return "a status of the fake cuDNN";
}

FAKE_API cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  *handle = reinterpret_cast<cudnnHandle_t>(new Handle);
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnDestroy(cudnnHandle_t handle) {
  delete of(handle);
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnSetStream(cudnnHandle_t handle, cudaStream_t stream) {
  of(handle)->stream = stream;
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnGetStream(cudnnHandle_t handle, cudaStream_t* stream) {
  *stream = of(handle)->stream;
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) {
  *out = reinterpret_cast<cudnnBackendDescriptor_t>(new Shared(new_content(type)));
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t one) {
  delete &of(one);
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t one, cudnnBackendAttributeName_t key,
                                                cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  Attribute attribute{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    const auto* const parts = static_cast<const cudnnBackendDescriptor_t*>(values);
    for (int64_t i = 0; i < count; ++i)
      attribute.parts.push_back(parts[i] ? of(parts[i]) : nullptr);
  } else {
    const auto* const first = static_cast<const char*>(values);
    attribute.bytes.assign(first, first + static_cast<std::size_t>(count) * size_of(type));
  }
  of(one)->attributes[key] = std::move(attribute);
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t one) {
  const Shared& content = of(one);
  if (content->type == CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR) find_engine(content);
  if (content->type == CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR)
    put_number(content, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, 1);
  if (content->type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR)
    put_number(content, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, fake::environment("FAKE_GPU_CUDNN_WORKSPACE", 0));
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t one, cudnnBackendAttributeName_t key,
                                                cudnnBackendAttributeType_t type, int64_t requested, int64_t* count,
                                                void* values) {
  const Attribute* const found = attribute_of(of(one), key);
  if (count) *count = found ? found->count : 0;
  if (!found || !values) return CUDNN_STATUS_SUCCESS;
  const auto number = static_cast<std::size_t>(std::min(requested, found->count));
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    auto* const parts = static_cast<cudnnBackendDescriptor_t*>(values);
    for (std::size_t i = 0; i < number; ++i)
      of(parts[i]) = found->parts[i];
  } else {
    std::memcpy(values, found->bytes.data(), number * size_of(type));
  }
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan,
                                           cudnnBackendDescriptor_t) {
  const Shared config = part_of(of(plan), CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  const Shared engine = part_of(config, CUDNN_ATTR_ENGINECFG_ENGINE);
  const Shared graph = part_of(engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  return count_call(handle, name_of(part_of(graph, CUDNN_ATTR_OPERATIONGRAPH_OPS)).c_str());
}

// Descriptors of the older interface, which batch normalisation uses: nothing looks into them.
#define FAKE_DESCRIPTOR(what)                                                                   \
  FAKE_API cudnnStatus_t cudnnCreate##what##Descriptor(cudnn##what##Descriptor_t* out) {        \
    *out = reinterpret_cast<cudnn##what##Descriptor_t>(new char);                               \
    return CUDNN_STATUS_SUCCESS;                                                                \
  }                                                                                             \
  FAKE_API cudnnStatus_t cudnnDestroy##what##Descriptor(cudnn##what##Descriptor_t descriptor) { \
    delete reinterpret_cast<char*>(descriptor);                                                 \
    return CUDNN_STATUS_SUCCESS;                                                                \
  }
FAKE_DESCRIPTOR(Tensor)
FAKE_DESCRIPTOR(Filter)
FAKE_DESCRIPTOR(Activation)

FAKE_API cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t, cudnnDataType_t, int, const int[],
                                                  const int[]) {
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnGetBatchNormalizationForwardTrainingExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnActivationDescriptor_t, size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnGetBatchNormalizationTrainingExReserveSpaceSize(cudnnHandle_t, cudnnBatchNormMode_t,
                                                                            cudnnBatchNormOps_t,
                                                                            const cudnnActivationDescriptor_t,
                                                                            const cudnnTensorDescriptor_t,
                                                                            size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnGetBatchNormalizationBackwardExWorkspaceSize(
    cudnnHandle_t, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t,
    const cudnnTensorDescriptor_t, const cudnnTensorDescriptor_t, const cudnnActivationDescriptor_t, size_t* bytes) {
  *bytes = 0;
  return CUDNN_STATUS_SUCCESS;
}

FAKE_API cudnnStatus_t cudnnBatchNormalizationForwardTrainingEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t, const void*, const void*, double, void*, void*,
    double, void*, void*, const cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  return count_call(handle, "batch norm forward");
}

FAKE_API cudnnStatus_t cudnnBatchNormalizationForwardInference(cudnnHandle_t handle, cudnnBatchNormMode_t, const void*,
                                                               const void*, const cudnnTensorDescriptor_t, const void*,
                                                               const cudnnTensorDescriptor_t, void*,
                                                               const cudnnTensorDescriptor_t, const void*, const void*,
                                                               const void*, const void*, double) {
  return count_call(handle, "batch norm inference");
}

FAKE_API cudnnStatus_t cudnnBatchNormalizationBackwardEx(
    cudnnHandle_t handle, cudnnBatchNormMode_t, cudnnBatchNormOps_t, const void*, const void*, const void*, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, const void*,
    const cudnnTensorDescriptor_t, const void*, const cudnnTensorDescriptor_t, void*, const cudnnTensorDescriptor_t,
    void*, const cudnnTensorDescriptor_t, const void*, const void*, void*, void*, double, const void*, const void*,
    const cudnnActivationDescriptor_t, void*, size_t, void*, size_t) {
  return count_call(handle, "batch norm backward");
}
