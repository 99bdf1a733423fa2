#include "nn/options/PreferenceOptions.hpp"

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "nn/options/ModelOptions.hpp"

namespace multicard {
namespace {

MethodOptions method_of(const std::string& method) {
  Section root(Deck::parse("method: " + method + "\n", "x.yaml"));
  Section section = root.section("method");
  const MethodOptions options = read_method_options(section, {});
  root.finish();
  return options;
}

std::string refusal(const std::string& method) {
  try {
    method_of(method);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(PreferenceOptions, HaveDefaultsThatFitTheMethod) {
  const MethodOptions full = method_of("{name: dpo}"), adapters = method_of("{name: lora-dpo, loss: ipo, beta: 0.3}");

  EXPECT_TRUE(full.is_preference());
  EXPECT_FALSE(full.has_adapters());
  EXPECT_EQ(full.preference.reference, Reference::copy);
  EXPECT_EQ(full.preference.beta, 0.1);
  EXPECT_FALSE(full.preference.averages_lengths());
  EXPECT_TRUE(adapters.has_adapters());
  EXPECT_EQ(adapters.preference.reference, Reference::adapters_off);
  EXPECT_EQ(adapters.preference.beta, 0.3);
  EXPECT_TRUE(adapters.preference.averages_lengths());
  EXPECT_FALSE(method_of("{name: lora-dpo, loss: ipo, length_average: false}").preference.averages_lengths());
  EXPECT_TRUE(method_of("{name: qlora-dpo}").weight_format().is_quantised());
  EXPECT_FALSE(method_of("{name: lora}").is_preference());
}

TEST(PreferenceOptions, AreRefusedWhereTheyDoNotFit) {
  EXPECT_EQ(refusal("{name: lora-dpo, loss: sigmiod}"),
            "deck x.yaml, method.loss: expected one of sigmoid | robust | ipo | hinge, got 'sigmiod'. Did you mean "
            "sigmoid?");
  const std::pair<const char*, const char*> cases[] = {
      {"{name: lora, beta: 0.2}", "method.beta: belongs to dpo"},
      {"{name: lora, length_average: true}", "method.length_average: belongs to dpo"},
      {"{name: dpo, reference: adapters-off}", "adapters-off needs adapters"},
      {"{name: dpo, rank: 4}", "belongs to adapters (method.name is dpo)"},
      {"{name: dpo, loss: hinge, label_smoothing: 0.1}", "is for the losses sigmoid and robust"},
      {"{name: dpo, loss: robust, label_smoothing: 0.5}", "must be below 0.5"},
      {"{name: dpo, beta: 0}", "method.beta"},
      {"{name: dpo, beta: .inf}", "method.beta"},
      {"{name: dpo, double_quant: false}", "belongs to qlora and qlora-dpo"}};
  for (const auto& [method, reason] : cases)
    EXPECT_NE(refusal(method).find(reason), std::string::npos) << method << ": " << refusal(method);
}

TEST(PreferenceOptions, MayStandWithTheirDefaultsInDecksOfAllMethods) {
  for (const char* method : {"full", "lora", "qlora", "dpo", "lora-dpo", "qlora-dpo"}) {
    Section root(Deck::parse("method: {name: " + std::string(method) + "}\n", "x.yaml"));
    Section section = root.section("method");
    read_method_options(section, {});
    const Deck whole = root.resolved();

    Section again(whole);
    Section of_whole = again.section("method");
    read_method_options(of_whole, {});
    EXPECT_NO_THROW(again.finish()) << method;
  }
}

TEST(TuningMethods, AreNamedByWhatTheyAre) {
  EXPECT_EQ(methods_where([](const MethodRow& row) { return row.base == MethodBase::nf4; }), "qlora and qlora-dpo");
  EXPECT_EQ(methods_where([](const MethodRow& row) { return row.objective == MethodObjective::preference; }),
            "dpo, lora-dpo and qlora-dpo");
  EXPECT_EQ(methods_where([](const MethodRow& row) { return row.name == TuningMethod::full; }), "full");
  EXPECT_NE(refusal("{name: lora, double_quant: false}").find("belongs to qlora and qlora-dpo"), std::string::npos);
  EXPECT_NE(refusal("{name: lora, group_size: 32}").find("belongs to qat and lora-qat"), std::string::npos);
}

}  // namespace
}  // namespace multicard
