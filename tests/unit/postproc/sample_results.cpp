// sample_results FOLDER: writes synthetic results files whose reports are worth a look.

#include <cstdio>
#include <exception>
#include <string>

#include "SyntheticStudy.hpp"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: sample_results FOLDER\n");
    return 2;
  }
  const std::string folder = argv[1];
  try {
    multicard::test::write_sweep(folder + "/sweep/results.h5");
    multicard::test::write_large_sweep(folder + "/large/results.h5");
    multicard::test::SyntheticRun many;
    many.ranks = 64;
    many.global_batch = 1024;
    many.slow_rank = 17;
    multicard::test::write_run(folder + "/many/results.h5", many);
    multicard::test::SyntheticRun plain;
    plain.num_steps = 312;
    plain.skip_steps = 0;
    multicard::test::write_run(folder + "/run/results.h5", plain);
    multicard::test::write_image_study(folder + "/study");
    multicard::test::write_evaluation(folder + "/eval/results.h5", 10);
    multicard::test::write_evaluation(folder + "/eval100/results.h5", 100);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
