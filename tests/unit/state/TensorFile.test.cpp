#include "state/TensorFile.hpp"

#include <fstream>

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

class TensorFiles : public testing::Test {
 protected:
  test::ScratchFolder folder_;
  std::string path_ = folder_ / "tensors.safetensors";

  std::string message_of(const NamedTensors& targets) {
    try {
      copy_into(targets, TensorFile(path_));
    } catch (const DataError& error) {
      return error.what();
    }
    return "";
  }
};

/// Whatever its place in the file: other writers align no tensor.
TEST_F(TensorFiles, GiveBackAPartOfATensor) {
  const at::Tensor values = at::randn({5, 3});
  for (const std::string name : {"x", "xy", "xyz", "wxyz"}) {
    const std::string header = "{\"" + name + R"(":{"dtype":"F32","shape":[5,3],"data_offsets":[0,60]}})";
    std::ofstream file(path_, std::ios::binary);
    const std::uint64_t size = header.size();
    file.write(reinterpret_cast<const char*>(&size), sizeof size) << header;
    file.write(static_cast<const char*>(values.const_data_ptr()), 60);
    file.close();

    const at::Tensor part = TensorFile(path_).view(name, 4, 7);

    EXPECT_TRUE(at::equal(part, values.view({-1}).narrow(0, 4, 7))) << name;
  }
}

TEST_F(TensorFiles, GiveBackWhatWasSaved) {
  const at::Tensor x = at::randn({3, 2, 4, 5});
  NamedTensors saved{{"nhwc", x.contiguous(at::MemoryFormat::ChannelsLast)},
                     {"scalar", at::ones({}, at::kLong) * 7},
                     {"none", at::empty({0, 3})},
                     {"bytes", at::ones({3}, at::kByte)}};
  for (const at::ScalarType type : {at::kDouble, at::kHalf, at::kBFloat16, at::kInt, at::kBool})
    saved.push_back({c10::toString(type), at::ones({2, 3}, type)});

  save_tensors(path_, saved, {{"format", "pt"}, {"epoch", "3"}});

  const TensorFile file(path_);
  for (const NamedTensor& entry : saved) {
    const at::Tensor loaded = file.load(entry.name);
    EXPECT_EQ(loaded.scalar_type(), entry.tensor.scalar_type()) << entry.name;
    EXPECT_TRUE(at::equal(loaded, entry.tensor)) << entry.name;
  }
  EXPECT_EQ(file.load_all().size(), saved.size());
  EXPECT_EQ(file.file().metadata().at("epoch"), "3");
}

TEST_F(TensorFiles, KeepTheirMemoryBeyondTheFile) {
  save_tensors(path_, {{"x", at::ones({1000})}});

  const at::Tensor x = TensorFile(path_).view("x");

  EXPECT_EQ(x.sum().item<double>(), 1000.0);
}

TEST_F(TensorFiles, FillTargetsOfAnotherDtypeAndLayout) {
  const at::Tensor x = at::randn({4, 3, 3, 3});
  save_tensors(path_, {{"x", x}});
  const at::Tensor target = at::zeros(x.sizes(), at::TensorOptions().dtype(at::kDouble))
                                .contiguous(at::MemoryFormat::ChannelsLast)
                                .requires_grad_(true);
  const at::Tensor counter = at::ones({}, at::kLong);

  copy_into({{"x", target}, {"bn.num_batches_tracked", counter}}, TensorFile(path_));

  EXPECT_TRUE(at::equal(target, x.to(at::kDouble)));
  EXPECT_TRUE(target.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_TRUE(target.requires_grad());
  EXPECT_EQ(counter.item<std::int64_t>(), 1);
}

TEST_F(TensorFiles, RefuseToFillWhatDoesNotFit) {
  save_tensors(path_, {{"weight", at::ones({2, 3})}, {"bias", at::ones({2})}});
  const at::Tensor weight = at::zeros({2, 3}), bias = at::zeros({4}), good = at::zeros({2}), extra = at::zeros({1});

  const std::string shape = message_of({{"weight", weight}, {"bias", bias}});
  const std::string missing = message_of({{"weight", weight}, {"bias", good}, {"scale", extra}});
  const std::string unknown = message_of({{"weight", weight}});

  for (const std::string part : {"bias", "[2]", "[4]", "tensors.safetensors"})
    EXPECT_NE(shape.find(part), std::string::npos) << shape;
  EXPECT_NE(missing.find("scale"), std::string::npos) << missing;
  EXPECT_NE(unknown.find("bias"), std::string::npos) << unknown;
  EXPECT_EQ(weight.sum().item<double>(), 0.0) << "a refused file must not change anything";
}

TEST_F(TensorFiles, RefuseIntegersForWeights) {
  save_tensors(path_, {{"weight", at::ones({2}, at::kChar)}});
  EXPECT_NE(message_of({{"weight", at::zeros({2})}}).find("weight is of type I8"), std::string::npos);
  copy_into({{"weight", at::zeros({2}, at::kLong)}}, TensorFile(path_));  // a counter
}

TEST_F(TensorFiles, RefuseDtypesWithoutCounterpart) {
  EXPECT_THROW(save_tensors(path_, {{"complex", at::ones({2}, at::kComplexFloat)}}), DataError);
}

TEST(TensorFile, IsReadWithTheNamesOfWrappedModels) {
  const test::ScratchFolder scratch;
  for (const std::string prefix : {"module.", "_orig_mod.", "module._orig_mod."}) {
    save_tensors(scratch / "w.safetensors", {{prefix + "a", at::ones({2})}, {prefix + "b", at::ones({3})}}, {});
    const NamedTensors targets{{"a", at::zeros({2})}, {"b", at::zeros({3})}};
    copy_into(targets, TensorFile(scratch / "w.safetensors"));
    EXPECT_TRUE(targets[1].tensor.equal(at::ones({3}))) << prefix;
  }
  save_tensors(scratch / "w.safetensors", {{"module.a", at::ones({2})}, {"b", at::ones({3})}}, {});
  EXPECT_THROW(copy_into({{"a", at::zeros({2})}, {"b", at::zeros({3})}}, TensorFile(scratch / "w.safetensors")),
               DataError);
}

}  // namespace
}  // namespace multicard
