#include "postproc/reduce/ProvenanceFilter.hpp"

#include <cstdlib>
#include <optional>
#include <string>

#include <gtest/gtest.h>

namespace multicard::post {
namespace {

/// HOME while it lives.
class Home {
 public:
  explicit Home(const char* home) {
    if (const char* before = std::getenv("HOME")) before_ = before;
    setenv("HOME", home, 1);
  }
  ~Home() {
    if (before_)
      setenv("HOME", before_->c_str(), 1);
    else
      unsetenv("HOME");
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

 private:
  std::optional<std::string> before_;
};

std::string filtered(const std::string& text) {
  ProvenanceFilter filter;
  return filter.filtered(text);
}

/// Tokens are put together here, so that no scanner takes this file for a leak.
std::string token(const std::string& prefix) {
  return prefix + "A1B2C3D4E5F6G7H8I9J0k1l2m3n4o5p6q7";
}

TEST(ProvenanceFilter, HomeFoldersBecomeATilde) {
  EXPECT_EQ(filtered("/home/jane/results.h5"), "~/results.h5");
  EXPECT_EQ(filtered("run DECK data.train=/home/jane/x*.h5"), "run DECK data.train=~/x*.h5");
  EXPECT_EQ(filtered("/root/out"), "~/out");
  EXPECT_EQ(filtered("cd /root"), "cd ~");
  EXPECT_EQ(filtered("/nfs/home/jane/x"), "~/x");
  EXPECT_EQ(filtered("/Users/jane"), "~");
  EXPECT_EQ(filtered("-O2 -I/home/jane/include -isystem /home/jane/lib"), "-O2 -I~/include -isystem ~/lib");
  EXPECT_EQ(filtered("file:///home/jane/x"), "file:~/x");
  EXPECT_EQ(filtered("@/home/jane/args +/home/jane/x"), "@~/args +~/x");
  EXPECT_EQ(filtered("../../home/jane/x"), "~/x");
  EXPECT_EQ(filtered("in /home/jane. Then /home/jane.doe/x"), "in ~. Then ~2/x");
}

TEST(ProvenanceFilter, OtherPathsStay) {
  for (const char* text : {"/tmp/root/x", "/rootfs", "/home", "/home/", "data/home/kitchen.h5", "/opt/homes/x",
                           "results/strong/results.h5", "1/2 of 3/4", "https://example.org/home/page"})
    EXPECT_EQ(filtered(text), text);
}

TEST(ProvenanceFilter, TheHomeOfThisProcessIsOneWhereverItIs) {
  const Home home("/cluster/users/jane");
  EXPECT_EQ(filtered("/cluster/users/jane/out /cluster/users/janet/out"), "~/out /cluster/users/janet/out");
}

TEST(ProvenanceFilter, DifferentHomeFoldersAndAddressesStayDifferent) {
  ProvenanceFilter filter;
  EXPECT_EQ(filter.filtered("/home/jane/m /home/joe/m"), "~/m ~2/m");
  EXPECT_EQ(filter.filtered("/home/joe/m"), "~2/m");
  EXPECT_EQ(filter.filtered("10.0.0.1 10.0.0.2 10.0.0.1"), "[address] [address 2] [address]");
}

TEST(ProvenanceFilter, AddressesAreHidden) {
  EXPECT_EQ(filtered("1380843520.0;tcp://192.0.2.2:60127;tcp6://[fd00::2]:34841"),
            "1380843520.0;tcp://[address]:60127;tcp6://[[address 2]]:34841");
  EXPECT_EQ(filtered("fe80::1ff:fe23:4567:890a%eth0"), "[address]%eth0");
  EXPECT_EQ(filtered("2001:db8:0:0:0:0:0:1"), "[address]");
  EXPECT_EQ(filtered("10.1.2.3/24"), "[address]/24");
  EXPECT_EQ(filtered("fe80::1: refused"), "[address]: refused");
  EXPECT_EQ(filtered("::ffff:192.0.2.7 and ::ffff:192.168.1.7."), "[address] and [address 2].");
  EXPECT_EQ(filtered("peer:2001:db8::1"), "peer:[address]");
}

TEST(ProvenanceFilter, PrivateAddressesAreHiddenWithinWordsToo) {
  EXPECT_EQ(filtered("10.0.0.1-10.0.0.9"), "[address]-[address 2]");
  EXPECT_EQ(filtered("node-10.0.0.5 host_192.168.1.7 ip172.31.0.1"), "node-[address] host_[address 2] ip[address 3]");
  for (const char* text : {"hdf5-172.15.0.1", "x-172.32.0.1", "v11.0.0.1", "1.10.0.0.1"})
    EXPECT_EQ(filtered(text), text);
}

TEST(ProvenanceFilter, WhatLooksLikeAnAddressStays) {
  for (const char* text :
       {"2026-11-27T19:20:25Z", "v1.2.3.4", "hdf5-1.14.4.3", "1.2.3", "256.1.1.1", "1.2.3.4.5", "std::vector<int>",
        "c10::add", "at::", "0.01, 0.02", "cuda:0", "a::b_c", "x[1::2]", "x[:, ::2]", "CUDA_VERSION=12.4.0.41"})
    EXPECT_EQ(filtered(text), text);
  ProvenanceFilter filter;
  EXPECT_EQ(filter.filtered_version("1.14.4.3"), "1.14.4.3");
}

TEST(ProvenanceFilter, TokensAreHidden) {
  for (const char* prefix : {"hf_", "ghp_", "github_pat_", "glpat-", "xoxb-", "sk-"})
    EXPECT_EQ(filtered("x " + token(prefix) + " y"), "x [hidden] y") << prefix;
  EXPECT_EQ(filtered("x AKI" + std::string("A1B2C3D4E5F6G7H8I y")), "x [hidden] y");
  EXPECT_EQ(filtered(token("shf_")), token("shf_"));
}

TEST(ProvenanceFilter, NamesThatBeginAsTokensStay) {
  for (const char* text : {"hf_model", "models/hf_llama_3_2_1b_instruct", "ghs_results_of_the_first_long_run_2026",
                           "hf_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "task-A1B2C3D4E5F6G7H8I9J0K1L2M3", "ASIA",
                           "ASIA_population_by_country_2020", "sk-learn-baseline-of-the-first-long-run-2026"})
    EXPECT_EQ(filtered(text), text);
}

TEST(ProvenanceFilter, DifferentSecretsStayDifferent) {
  ProvenanceFilter filter;
  EXPECT_EQ(filter.filtered("token=abc token=def token='abc'"), "token=[hidden] token=[hidden 2] token=[hidden]");
  EXPECT_EQ(filter.filtered("--password def x"), "--password [hidden 2] x");
  EXPECT_EQ(filter.filtered("token=[hidden 2] x"), "token=[hidden 2] x");  // filtered before
}

TEST(ProvenanceFilter, ValuesOfKeysThatNameSecretsAreHidden) {
  EXPECT_EQ(filtered("HF_TOKEN=abc run DECK"), "HF_TOKEN=[hidden] run DECK");
  EXPECT_EQ(filtered("hub.token='a b' x=1"), "hub.token=[hidden] x=1");
  EXPECT_EQ(filtered("--password abc --steps 3"), "--password [hidden] --steps 3");
  EXPECT_EQ(filtered("hub:\n  token: abc def\n  steps: 3\n"), "hub:\n  token: [hidden]\n  steps: 3\n");
  EXPECT_EQ(filtered("https://jane:abc@host/x"), "https://[hidden]@host/x");
  EXPECT_EQ(filtered(R"({"token": "abc", "steps": 3})"), R"({"token": [hidden], "steps": 3})");
  EXPECT_EQ(filtered("hub: {name: x, token: abc}"), "hub: {name: x, token: [hidden]}");
  EXPECT_EQ(filtered("{token: abc, steps: 3}"), "{token: [hidden], steps: 3}");
  EXPECT_EQ(filtered("token = abc def"), "token = [hidden] def");
  EXPECT_EQ(filtered("if token == x"), "if token == x");
}

TEST(ProvenanceFilter, KeysOfLanguageModelsAreNoSecrets) {
  for (const char* text :
       {"max_tokens=128", "tokenizer=llama", "token_budget=7", "expected: token", "a token is", "data.tokens: 5"})
    EXPECT_EQ(filtered(text), text);
  EXPECT_FALSE(names_secret("pad_token"));
  EXPECT_FALSE(names_secret("trained_tokens"));
  EXPECT_TRUE(names_secret("AWS_SECRET_ACCESS_KEY"));
}

Source source_with_secrets() {
  Source source;
  source.path = "/home/jane/results.h5";
  source.attributes = {{"command_line", "run /home/jane/deck.yaml"}, {"version", "0.1.0.1"}};
  source.provenance = {{"hdf5", "1.14.4.3"}, {"hosts", "10.0.0.1"}};
  source.environment = {{"SLURM_LAUNCH_NODE_IPADDR", "10.0.0.1"}, {"NCCL_TOKEN", "abc"}, {"CUDA_VERSION", "12.4.0.41"}};
  source.hosts = {"10.0.0.1"};
  return source;
}

TEST(ProvenanceFilter, ASourceKeepsItsVersions) {
  ProvenanceFilter filter;

  const Source source = filter.filtered(source_with_secrets());

  EXPECT_EQ(source.path, "~/results.h5");
  EXPECT_EQ(source.attributes.at("command_line"), "run ~/deck.yaml");
  EXPECT_EQ(source.attributes.at("version"), "0.1.0.1");
  EXPECT_EQ(source.provenance.at("hdf5"), "1.14.4.3");
  EXPECT_EQ(source.provenance.at("hosts"), "[address]");
  EXPECT_EQ(source.environment.at("SLURM_LAUNCH_NODE_IPADDR"), "[address]");
  EXPECT_EQ(source.environment.at("NCCL_TOKEN"), "[hidden]");
  EXPECT_EQ(source.environment.at("CUDA_VERSION"), "12.4.0.41");
  EXPECT_EQ(source.hosts.front(), "[address]");
}

TEST(ProvenanceFilter, ARunHasItsDeckAndErrorFiltered) {
  ProvenanceFilter filter;
  RunData run;
  run.summary.text = {{"deck", "data:\n  train: /home/jane/x.h5\n"}, {"model", "/home/jane/llama"}};
  run.summary.error = "/home/jane/x.h5 is damaged";

  const RunData out = filter.filtered(run);

  EXPECT_EQ(out.summary.text.at("deck"), "data:\n  train: ~/x.h5\n");
  EXPECT_EQ(out.summary.text.at("model"), "~/llama");
  EXPECT_EQ(out.summary.error, "~/x.h5 is damaged");
}

TEST(ProvenanceFilter, OnRequestNothingIsFiltered) {
  ProvenanceFilter filter(Privacy::full);

  const Source source = filter.filtered(source_with_secrets());

  EXPECT_EQ(source.path, "/home/jane/results.h5");
  EXPECT_EQ(source.environment.at("NCCL_TOKEN"), "abc");
  EXPECT_EQ(filter.filtered("10.0.0.1"), "10.0.0.1");
}

}  // namespace
}  // namespace multicard::post
