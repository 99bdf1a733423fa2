#include "postproc/draw/Gnuplot.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "support/test_world.hpp"

namespace multicard::post {
namespace {

TEST(Gnuplot, ReturnsWhatTheScriptPrints) {
  const Gnuplot gnuplot;
  ASSERT_TRUE(gnuplot.available()) << "the tests need gnuplot";

  EXPECT_EQ(gnuplot.run("set print '-'\nprint 6*7\n"), "42\n");
  EXPECT_THROW(gnuplot.run("this is no command\n"), EnvironmentError);
  EXPECT_FALSE(Gnuplot("gnuplot-that-is-not-installed").available());
}

TEST(Gnuplot, QuotedTextsAreNotCommands) {
  const test::ScratchFolder folder;
  const std::string trap = folder / "trap";
  const std::string text = "it's `touch " + trap + "` \"x\"\n'; system('touch " + trap + "') #";

  const std::string printed = Gnuplot().run("set print '-'\nprint " + quoted(text) + "\n");

  EXPECT_EQ(printed, "it's `touch " + trap + "` \"x\" '; system('touch " + trap + "') #\n");
  EXPECT_FALSE(std::filesystem::exists(trap));
}

}  // namespace
}  // namespace multicard::post
