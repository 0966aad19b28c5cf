// Outputs are whole or absent, and failures tell file and numbers (fault class G).
#include "lib/Artifact/StagedFile.h"
#include "lib/Support/File.h"
#include "test/Unit/TemporaryFolder.h"
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rapt;
using namespace rapt::artifact;

namespace {
class StagedFileTest : public testing::Test {
protected:
  size_t entries() { return own.entries(); }
  const test::TemporaryFolder own;
  const std::string folder = own.path;
};
std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text)); }
} // namespace

TEST_F(StagedFileTest, AppearsOnCommitOnly) {
  const std::string path = folder + "/x";
  {
    auto file = StagedFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE((*file)->writeAt(0, bytes("lost")));
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  EXPECT_EQ(entries(), 0u);
  auto file = StagedFile::create(path);
  ASSERT_TRUE(file);
  ASSERT_TRUE((*file)->reserve(6));
  ASSERT_TRUE((*file)->writeAt(3, bytes("def")));
  ASSERT_TRUE((*file)->writeAt(0, bytes("abc")));
  ASSERT_TRUE((*file)->commit());
  EXPECT_EQ(*readFile(path, 100), "abcdef");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(StagedFileTest, ALinkIsReplacedNotFollowed) {
  std::filesystem::create_symlink(folder + "/elsewhere", folder + "/x");
  {
    auto other = StagedFile::create(folder + "/elsewhere");
    ASSERT_TRUE((*other)->commit());
  }
  auto file = StagedFile::create(folder + "/x");
  ASSERT_TRUE(file && (*file)->writeAt(0, bytes("new")) && (*file)->commit());
  EXPECT_FALSE(std::filesystem::is_symlink(folder + "/x"));
  EXPECT_EQ(std::filesystem::file_size(folder + "/elsewhere"), 0u);
}

TEST_F(StagedFileTest, ImpossiblePlacesAreNamed) {
  auto missing = StagedFile::create(folder + "/none/x");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message,
            folder + "/none/x: cannot write: directory " + folder + "/none: No such file or directory");
  auto isFolder = StagedFile::create(folder);
  ASSERT_FALSE(isFolder);
  EXPECT_EQ(isFolder.error().message, folder + ": cannot write: it is a directory");
}

TEST_F(StagedFileTest, SizeLimitIsToldWithBothNumbers) {
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit old, limit;
  getrlimit(RLIMIT_FSIZE, &old);
  limit = {4096, old.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string reserving, writing;
  {
    auto file = StagedFile::create(folder + "/x");
    Status status = (*file)->reserve(10000);
    reserving = status ? "" : status.error().message;
    std::string data(5000, 'x');
    status = (*file)->writeAt(0, bytes(data));
    writing = status ? "" : status.error().message;
  }
  setrlimit(RLIMIT_FSIZE, &old);
  const std::string expected = folder + "/x: cannot write: File too large: needs 10000 bytes, the limit on file sizes "
                                        "(ulimit -f) is 4096";
  EXPECT_EQ(reserving, expected);
  EXPECT_EQ(writing, expected);
  EXPECT_EQ(entries(), 0u);
}

TEST_F(StagedFileTest, HasNoNameWhileItIsWritten) {
  auto one = StagedFile::create(folder + "/x");
  ASSERT_TRUE(one && (*one)->writeAt(0, bytes("abc")));
  EXPECT_EQ(entries(), 0u); // killed now, it leaves nothing
  ASSERT_TRUE((*one)->commit());
  EXPECT_EQ(entries(), 1u);
  auto two = StagedFile::create(folder + "/x"); // a name that is taken
  ASSERT_TRUE(two && (*two)->writeAt(0, bytes("de")) && (*two)->commit());
  EXPECT_EQ(*readFile(folder + "/x", 100), "de");
  EXPECT_EQ(entries(), 1u);
}

TEST_F(StagedFileTest, IsLockedFromTheBeginning) {
  for (bool named : {false, true}) {
    auto file = TemporaryFile::create(folder, 0666, named);
    ASSERT_TRUE(file);
    // As another command opens it that cannot see this process: it must not take the file for a dead one's.
    const int other = open(("/proc/self/fd/" + std::to_string(file->descriptor())).c_str(), O_RDONLY);
    ASSERT_GE(other, 0);
    EXPECT_NE(flock(other, LOCK_EX | LOCK_NB), 0) << named;
    close(other);
  }
}

TEST_F(StagedFileTest, DiscardAllLeavesNothingWhereFilesNeedNames) {
  auto one = TemporaryFile::create(folder, 0666, /*named=*/true), two = TemporaryFile::create(folder, 0666, true);
  ASSERT_TRUE(one && two);
  EXPECT_EQ(entries(), 2u);
  TemporaryFile::discardAll();
  EXPECT_EQ(entries(), 0u);
}

TEST_F(StagedFileTest, NamedFilesArePublishedOrRemoved) {
  {
    auto lost = TemporaryFile::create(folder, 0666, true), kept = TemporaryFile::create(folder, 0666, true);
    ASSERT_TRUE(lost && kept && kept->publish(folder + "/x"));
  }
  EXPECT_TRUE(std::filesystem::exists(folder + "/x"));
  EXPECT_EQ(entries(), 1u);
}

TEST_F(StagedFileTest, WhatDeadProcessesLeftIsRemovedAndNothingElse) {
  const pid_t dead = fork();
  if (dead == 0)
    _exit(0);
  waitpid(dead, nullptr, 0);
  auto touch = [&](const std::string &name) { std::ofstream(folder + "/" + name) << name; };
  const std::string stale = ".rapt-" + std::to_string(dead);
  for (const std::string &name : {stale + "-0.tmp", stale + "-17.tmp"})
    touch(name);
  const std::string locked = stale + "-2.tmp";
  const std::vector<std::string> others = {".rapt-" + std::to_string(getpid()) + "-0.tmp", // alive
                                           locked, // of a process that this one cannot see
                                           stale + "-0.tmp.so",
                                           stale + ".tmp",
                                           stale + "-x.tmp",
                                           stale + "-.tmp",
                                           ".rapt-.tmp",
                                           "rapt-1-1.tmp",
                                           "x.so"};
  for (const std::string &name : others)
    touch(name);
  const int lock = open((folder + "/" + locked).c_str(), O_RDONLY);
  ASSERT_EQ(flock(lock, LOCK_EX), 0);
  ASSERT_TRUE(StagedFile::create(folder + "/y.so"));
  close(lock);
  for (const std::string &name : others)
    EXPECT_TRUE(std::filesystem::exists(folder + "/" + name)) << name;
  EXPECT_EQ(entries(), others.size());
}
