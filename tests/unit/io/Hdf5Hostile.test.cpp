// Files as no writer of multicard makes them, written through libhdf5 itself.

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "base/Error.hpp"
#include "io/Hdf5.hpp"
#include "support/test_world.hpp"

namespace multicard {
namespace {

using test::ScratchFolder;
using test::world;

/// A file made by rank 0; closed, for all, at the end of `fill`.
template <class Fill>
std::string make(const ScratchFolder& scratch, Fill&& fill) {
  const std::string path = scratch / "x.h5";
  if (world().is_root()) {
    const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
    H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_LATEST);
    H5Pset_fclose_degree(access, H5F_CLOSE_STRONG);
    const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
    fill(file);
    H5Fclose(file);
    H5Pclose(access);
  }
  world().barrier();
  return path;
}

hid_t make_group(hid_t file, const char* path) {
  return H5Gcreate2(file, path, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
}

void make_dataset(hid_t file, const char* path, const std::vector<hsize_t>& dims, hid_t properties = H5P_DEFAULT) {
  const hid_t space = H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr);
  H5Dcreate2(file, path, H5T_STD_I64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
}

/// What opening the file, and `then`, end with: "" or the text of a DataError.
template <class Then>
std::string error_of(const std::string& path, Then&& then) {
  try {
    const Hdf5File file = Hdf5File::open_read(path, world());
    then(file);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data) << error.what();
    return error.what();
  }
  return "";
}
std::string error_of(const std::string& path) {
  return error_of(path, [](const Hdf5File&) {});
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Hdf5Hostile, LinksAreNotFollowed) {
  const ScratchFolder scratch;
  const std::string secret = scratch / "secret.h5";
  if (world().is_root()) Hdf5File::create(secret).write_values<double>("/x", {1, 2});

  const std::string external = error_of(make(
      scratch, [&](hid_t file) { H5Lcreate_external(secret.c_str(), "/x", file, "/x", H5P_DEFAULT, H5P_DEFAULT); }));
  const std::string soft = error_of(make(scratch, [](hid_t file) {
    make_group(file, "/g");
    H5Lcreate_soft("/g/b", file, "/g/a", H5P_DEFAULT, H5P_DEFAULT);
    H5Lcreate_soft("/g/a", file, "/g/b", H5P_DEFAULT, H5P_DEFAULT);
  }));

  EXPECT_TRUE(contains(external, "x.h5: /x is a link to another file (links are not followed)")) << external;
  EXPECT_TRUE(contains(soft, "x.h5: /g/a is a soft link (links are not followed)")) << soft;
}

TEST(Hdf5Hostile, AnObjectStandsInOneGroup) {
  const ScratchFolder scratch;

  for (const char* target : {"/", "/g", "/g/h"}) {
    const std::string circle = error_of(make(scratch, [&](hid_t file) {
      make_group(file, "/g");
      make_group(file, "/g/h");
      H5Lcreate_hard(file, target, file, "/g/h/again", H5P_DEFAULT, H5P_DEFAULT);
    }));
    EXPECT_TRUE(contains(circle, "another name in the file")) << target << ": " << circle;
  }
  const std::string dataset = error_of(make(scratch, [](hid_t file) {
    make_dataset(file, "/x", {2});
    H5Lcreate_hard(file, "/x", file, "/y", H5P_DEFAULT, H5P_DEFAULT);
  }));
  EXPECT_TRUE(contains(dataset, "/y cannot be read (the same object has another name in the file)")) << dataset;
}

TEST(Hdf5Hostile, GroupsAreNotNestedWithoutEnd) {
  const ScratchFolder scratch;

  const std::string error = error_of(make(scratch, [](hid_t file) {
    std::string path;
    for (int level = 0; level < 200; ++level)
      make_group(file, (path += "/g").c_str());
  }));

  EXPECT_TRUE(contains(error, "groups are nested more than 16 deep")) << error;
}

TEST(Hdf5Hostile, ANamedTypeIsNoDataset) {
  const ScratchFolder scratch;

  const std::string error = error_of(make(scratch, [](hid_t file) {
    H5Tcommit2(file, "/x", H5Tcopy(H5T_STD_I64LE), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  }));

  EXPECT_TRUE(contains(error, "/x cannot be read (it is neither a group nor a dataset)")) << error;
}

TEST(Hdf5Hostile, CompressionThatIsNotThereIsNamed) {
  const ScratchFolder scratch;
  constexpr H5Z_filter_t kLzf = 32000;

  const std::string error = error_of(make(scratch,
                                          [](hid_t file) {
                                            const hsize_t chunk = 4;
                                            const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                                            H5Pset_chunk(properties, 1, &chunk);
                                            H5Pset_filter(properties, kLzf, H5Z_FLAG_OPTIONAL, 0, nullptr);
                                            make_dataset(file, "/x", {4}, properties);
                                          }),
                                     [](const Hdf5File& file) { file.read_values<std::int64_t>("/x"); });

  EXPECT_TRUE(contains(error, "/x cannot be read (it is compressed by the HDF5 filter 32000")) << error;
  EXPECT_TRUE(contains(error, "HDF5_PLUGIN_PATH")) << error;
}

TEST(Hdf5Hostile, ElementsStandInTheFileItself) {
  const ScratchFolder scratch;
  const auto read = [](const Hdf5File& file) { file.read_values<std::int64_t>("/x"); };

  const std::string external = error_of(make(scratch,
                                             [](hid_t file) {
                                               const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                                               H5Pset_external(properties, "/etc/hostname", 0, 32);
                                               make_dataset(file, "/x", {4}, properties);
                                             }),
                                        read);
  const std::string virtually = error_of(make(scratch,
                                              [](hid_t file) {
                                                const hsize_t extent = 4;
                                                const hid_t space = H5Screate_simple(1, &extent, nullptr);
                                                const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
                                                H5Pset_virtual(properties, space, "other.h5", "/x", space);
                                                make_dataset(file, "/x", {4}, properties);
                                              }),
                                         read);

  EXPECT_TRUE(contains(external, "/x cannot be read (its elements are stored in other files)")) << external;
  EXPECT_TRUE(contains(virtually, "/x cannot be read (its elements are stored in other files)")) << virtually;
}

TEST(Hdf5Hostile, MoreElementsThanTheFileHasRoomForAreNotRead) {
  const ScratchFolder scratch;
  const auto read = [](const Hdf5File& file) { file.read_values<std::int64_t>("/x"); };
  const auto chunked = [](const std::vector<hsize_t>& chunk) {
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    return properties;
  };

  // The space of a contiguous dataset is given out when it is first written.
  const std::string contiguous =
      error_of(make(scratch, [](hid_t file) { make_dataset(file, "/x", {hsize_t{1} << 40}); }), read);
  const std::string in_chunks =
      error_of(make(scratch, [&](hid_t file) { make_dataset(file, "/x", {hsize_t{1} << 40}, chunked({16})); }), read);
  const std::string overflowing =
      error_of(make(scratch,
                    [&](hid_t file) {
                      make_dataset(file, "/x", {hsize_t{1} << 32, hsize_t{1} << 32}, chunked({16, 16}));
                    }),
               read);

  for (const std::string& error : {contiguous, in_chunks, overflowing})
    EXPECT_TRUE(contains(error, "/x is damaged (it has more elements than the file has room for)")) << error;
}

TEST(Hdf5Hostile, AttributesOfOtherKindsAreRefused) {
  const ScratchFolder scratch;
  const std::string path = make(scratch, [](hid_t file) {
    const hid_t none = H5Screate(H5S_NULL), one = H5Screate(H5S_SCALAR);
    H5Acreate2(file, "none", H5T_STD_I64LE, none, H5P_DEFAULT, H5P_DEFAULT);
    H5Acreate2(file, "reference", H5T_STD_REF_OBJ, one, H5P_DEFAULT, H5P_DEFAULT);
    make_group(file, "/x");
  });

  EXPECT_TRUE(contains(error_of(path, [](const Hdf5File& file) { file.attribute<std::int64_t>("/", "none"); }),
                       "has an unexpected type"));
  EXPECT_TRUE(contains(error_of(path, [](const Hdf5File& file) { file.read_attribute("/", "reference"); }),
                       "neither text nor number"));
  EXPECT_NE(error_of(path, [](const Hdf5File& file) { file.open_dataset("/x"); }), "");
}

}  // namespace
}  // namespace multicard
