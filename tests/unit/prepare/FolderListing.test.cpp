// What stands in a folder of pictures and is not taken is counted and named.
#include "prepare/images/FolderListing.hpp"

#include <filesystem>

#include <gtest/gtest.h>

#include "support/test_world.hpp"
#include "unit/data/expect_data_error.hpp"
#include "unit/data/test_files.hpp"

namespace multicard {
namespace {

using namespace test;

/// Nothing here reads them.
void write_files(const ScratchFolder& scratch, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::filesystem::path path = scratch / name;
    std::filesystem::create_directories(path.parent_path());
    write_bytes(path.string(), {'x'});
  }
}

TEST(FolderListing, SaysNothingOfPicturesAndNotes) {
  const ScratchFolder scratch;
  write_files(scratch, {"README", "labels.csv", "b/2.JPG", "b/1.png", "b/notes.txt", "b/Thumbs.db", "a/1.jpeg"});

  const FolderListing listing(scratch.path().string());

  EXPECT_EQ(listing.classes(), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(listing.pictures(), (std::vector<std::string>{"a/1.jpeg", "b/1.png", "b/2.JPG"}));
  EXPECT_EQ(listing.left_out(), "");
}

TEST(FolderListing, CountsOtherFormatsByTheirEnding) {
  const ScratchFolder scratch;
  write_files(scratch,
              {"a/1.png", "a/1.webp", "a/2.WEBP", "a/3.webp", "a/4.webp", "a/5.jfif", "a/noending", "a/7.xyz"});

  const std::string text = FolderListing(scratch.path().string()).left_out();

  EXPECT_EQ(text, "7 files of " + scratch.path().string() +
                      " are left out:"
                      "\n  1 *.jfif: a/5.jfif (rename them to .jpg)"
                      "\n  4 *.webp: a/1.webp, a/2.WEBP, a/3.webp and 1 more (convert them to PNG or JPEG)"
                      "\n  2 with names that do not end in .jpg, .jpeg or .png: a/7.xyz, a/noending");
}

TEST(FolderListing, CountsPicturesThatStandInNoClassFolder) {
  const ScratchFolder scratch;
  write_files(scratch, {"a/1.png", "a/more/2.png", "a/more/deep/3.tif", "a/more/deep/notes.txt", "stray.jpg",
                        "a/.4.png", ".hidden/5.png", ".git/index"});

  const std::string text = FolderListing(scratch.path().string()).left_out();

  EXPECT_EQ(text, "5 files of " + scratch.path().string() +
                      " are left out:"
                      "\n  1 among the folders of classes: stray.jpg"
                      "\n  2 in folders inside the folders of classes: a/more/2.png, a/more/deep/3.tif"
                      "\n  2 with names that start with a dot, or in such folders: .hidden/5.png, a/.4.png");
}

TEST(FolderListing, TakesLinksToNothingForWhatTheyAreCalled) {
  const ScratchFolder scratch;
  write_files(scratch, {"a/1.png"});
  std::filesystem::create_symlink("/gone/2.png", scratch / "a/2.png");
  std::filesystem::create_symlink("3.png", scratch / "a/3.png");  // leads to itself
  EXPECT_EQ(FolderListing(scratch.path().string()).pictures(),
            (std::vector<std::string>{"a/1.png", "a/2.png", "a/3.png"}));

  std::filesystem::create_symlink("/gone/lock", scratch / ".lock");
  EXPECT_NO_THROW(FolderListing(scratch.path().string()));
  std::filesystem::create_symlink("/gone/b", scratch / "b");

  expect_data_error([&] { FolderListing(scratch.path().string()); }, "/b is a link to nothing");
}

TEST(FolderListing, TakesLinksToFoldersAsClasses) {
  const ScratchFolder scratch, elsewhere;
  write_files(scratch, {"a/1.png"});
  write_files(elsewhere, {"1.png"});
  std::filesystem::create_directory_symlink(elsewhere.path(), scratch / "b");

  EXPECT_EQ(FolderListing(scratch.path().string()).pictures(), (std::vector<std::string>{"a/1.png", "b/1.png"}));
}

TEST(FolderListing, SaysWhatAClassWithoutPicturesHolds) {
  const ScratchFolder scratch;
  write_files(scratch, {"a/1.png", "b/1.webp", "b/2.webp"});
  expect_data_error([&] { FolderListing(scratch.path().string()); }, "what it holds is left out: 2 files *.webp");

  write_files(scratch, {"b/cat/1.png"});

  expect_data_error([&] { FolderListing(scratch.path().string()); },
                    "name the one that holds the classes: --dir " + scratch.path().string() + "/b.");
}

}  // namespace
}  // namespace multicard
