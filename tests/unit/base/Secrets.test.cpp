#include "base/Secrets.hpp"

#include <cstdlib>

#include <gtest/gtest.h>

#include "base/Error.hpp"
#include "base/System.hpp"
#include "base/Text.hpp"

namespace multicard {
namespace {

TEST(Secrets, AreToldByTheNamesOfTheirVariables) {
  for (const char* name :
       {"SLURM_JWT", "HF_TOKEN", "hf_token", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "MYSQL_PASSWORD", "DB_PASSWD",
        "SSH_PASSPHRASE", "GOOGLE_CREDENTIALS", "OMPI_MCA_orte_precondition_transports"})
    EXPECT_TRUE(speaks_of_secrets(name)) << name;
  for (const char* name : {"SLURM_JOB_ID", "OMP_NUM_THREADS", "TOKENIZERS_PARALLELISM", "TOKENIZER", "HOME"})
    EXPECT_FALSE(speaks_of_secrets(name)) << name;
}

TEST(Secrets, LeaveTheTextsThatAreStored) {
  setenv("MULTICARD_TEST_TOKEN", "abc-123-xyz", 1);
  setenv("MULTICARD_TEST_NAME", "of abc-123-xyz", 1);
  setenv("MULTICARD_TEST_SHORT_KEY", "a", 1);

  const auto found = environment_with({"MULTICARD_TEST_"});

  EXPECT_EQ(without_secrets("run deck x=/abc-123-xyz/abc-123-xyz"),
            "run deck x=/${MULTICARD_TEST_TOKEN}/${MULTICARD_TEST_TOKEN}");
  EXPECT_FALSE(found.contains("MULTICARD_TEST_TOKEN") || found.contains("MULTICARD_TEST_SHORT_KEY"));
  EXPECT_EQ(found.at("MULTICARD_TEST_NAME"), "of ${MULTICARD_TEST_TOKEN}");
  EXPECT_THROW(expand_path("/x/${MULTICARD_TEST_TOKEN}"), UsageError);
}

TEST(Secrets, PathsHaveNoControlCharacters) {
  EXPECT_THROW(expand_path(std::string("o/i\0mg", 6)), UsageError);
  EXPECT_THROW(expand_path("o\n"), UsageError);
  EXPECT_EQ(expand_path("o/\xc3\xa9"), "o/\xc3\xa9");
}

}  // namespace
}  // namespace multicard
