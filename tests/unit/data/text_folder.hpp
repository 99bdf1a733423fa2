#pragma once
// A folder with texts and a model for `prepare text`.

#include <gtest/gtest.h>

#include "prepare/sets/TextPrepare.hpp"
#include "support/test_world.hpp"
#include "unit/data/test_tokenizer.hpp"

namespace multicard::test {

class TextFolder : public testing::Test {
 protected:
  TextFolder() {
    on_root([&] { write_byte_tokenizer(scratch_ / "model"); });
  }

  template <class Body>
  void on_root(Body&& body) const {
    if (world().is_root()) body();
    world().barrier();
  }
  std::string write(const std::string& name, const std::string& text) const {
    on_root([&] { write_text(scratch_ / name, text); });
    return scratch_ / name;
  }
  TextPrepareOptions options(const std::string& type, const std::string& input, const std::string& output) const {
    TextPrepareOptions options;
    options.type = dataset_type(type);
    options.inputs = {input};
    options.output = scratch_ / output;
    options.quiet = true;
    if (type != "tokens") options.tokenizer = scratch_ / "model";
    return options;
  }

  ScratchFolder scratch_;
};

}  // namespace multicard::test
