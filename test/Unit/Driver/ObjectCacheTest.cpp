// The object cache: what was stored is found, damage is told and mended, nothing of other users is taken, the least
// recently used goes first, and any number of processes share a folder.
#include "lib/Driver/ObjectCache.h"
#include "test/Unit/TemporaryFolder.h"
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace rapt::driver;
namespace fs = std::filesystem;

namespace {

std::string read(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// In place: the file's owner and mode stay.
void write(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

std::string keyOf(unsigned number) {
  const std::string digits = std::to_string(number);
  return std::string(64 - digits.size(), 'a') + digits;
}

class ObjectCacheTest : public testing::Test {
protected:
  /// One compilation's use of the folder.
  std::unique_ptr<ObjectCache> use(uint64_t mostBytes = ObjectCache::kMostBytes) {
    return std::make_unique<ObjectCache>(
        path, [this](const std::string &text) { warnings.push_back(text); }, mostBytes);
  }
  std::string entry(unsigned number) { return use()->pathOf(keyOf(number)); }
  std::string takeWarning() {
    EXPECT_EQ(warnings.size(), 1u);
    const std::string text = warnings.empty() ? "" : warnings.front();
    warnings.clear();
    return text;
  }
  size_t countEntries() {
    size_t count = 0;
    for (const fs::directory_entry &file : fs::directory_iterator(path))
      count += file.path().filename().string().starts_with("llvmcache-");
    return count;
  }
  /// An entry is not found, with one warning.
  void expectRefused(const std::string &why) {
    EXPECT_FALSE(use()->find(keyOf(1))) << why;
    EXPECT_EQ(takeWarning(), "the object cache entry " + entry(1) + " " + why + "; the object is made again");
  }
  /// Stored again, it is found.
  void expectMended(const std::string &why) {
    expectRefused(why);
    use()->store(keyOf(1), object);
    EXPECT_EQ(use()->find(keyOf(1)), object);
    EXPECT_TRUE(warnings.empty());
  }
  /// Neither reads nor writes, with one warning.
  void expectUnused(const std::string &why) {
    auto cache = use();
    EXPECT_FALSE(cache->find(keyOf(1))) << why;
    cache->store(keyOf(2), object);
    EXPECT_FALSE(cache->find(keyOf(2))) << why;
    EXPECT_EQ(takeWarning(), "the object cache " + path + " " + why + "; it is not used");
  }

  const std::string object = "the bytes of an object, and a zero: " + std::string(1, '\0');
  const rapt::test::TemporaryFolder own;
  const std::string folder = own.path;
  std::string path = folder + "/objects";
  std::vector<std::string> warnings;
};

} // namespace

TEST_F(ObjectCacheTest, FindsWhatWasStored) {
  path = folder + "/missing/objects";
  auto cache = use();
  EXPECT_FALSE(cache->find(keyOf(1)));
  cache->store(keyOf(1), object);
  cache->store(keyOf(2), "");
  EXPECT_EQ(cache->find(keyOf(1)), object);
  EXPECT_EQ(use()->find(keyOf(1)), object);
  EXPECT_EQ(use()->find(keyOf(2)), "");
  EXPECT_FALSE(use()->find(keyOf(3)));
  EXPECT_TRUE(warnings.empty());
  struct stat status;
  for (const std::string &made : {folder + "/missing", path}) {
    ASSERT_EQ(stat(made.c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0700u) << made;
  }
  ASSERT_EQ(stat(entry(1).c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(ObjectCacheTest, IsOffWithoutAFolder) {
  path = "";
  auto cache = use();
  EXPECT_FALSE(cache->isOn());
  cache->store(keyOf(1), object);
  EXPECT_FALSE(cache->find(keyOf(1)));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ObjectCacheTest, EveryDamagedByteIsSeen) {
  use()->store(keyOf(1), object);
  const std::string whole = read(entry(1));
  ASSERT_EQ(whole.size(), 112 + object.size()); // magic, size, key and checksum before it
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ (1 << at % 8));
    write(entry(1), damaged);
    expectRefused("is damaged: its checksum is another");
  }
  expectMended("is damaged: its checksum is another");
}

TEST_F(ObjectCacheTest, EveryOtherLengthIsSeen) {
  use()->store(keyOf(1), object);
  const std::string whole = read(entry(1));
  for (size_t length = 0; length < whole.size(); ++length) {
    write(entry(1), whole.substr(0, length));
    expectRefused(length < 112 ? "is damaged: it has " + std::to_string(length) + " bytes"
                               : "is damaged: its checksum is another");
  }
  write(entry(1), whole + "x");
  expectMended("is damaged: its checksum is another");
  fs::resize_file(entry(1), uint64_t(1) << 40); // it is not read into memory
  expectMended("is damaged: it has 1099511627776 bytes");
}

TEST_F(ObjectCacheTest, AnotherKeysEntryIsSeen) {
  use()->store(keyOf(2), object);
  fs::rename(entry(2), entry(1));
  expectMended("is damaged: its checksum is another");
}

TEST_F(ObjectCacheTest, LinksAreNotFollowed) {
  use()->store(keyOf(1), object);
  fs::rename(entry(1), folder + "/elsewhere");
  fs::create_symlink(folder + "/elsewhere", entry(1));
  expectMended("is a symbolic link");
  EXPECT_FALSE(fs::is_symlink(entry(1)));
  EXPECT_TRUE(fs::exists(folder + "/elsewhere"));
  fs::remove(entry(1));
  ASSERT_EQ(mkfifo(entry(1).c_str(), 0600), 0); // it does not wait for a writer
  expectMended("is no regular file");
}

TEST_F(ObjectCacheTest, EntriesThatOthersMayWriteAreNotTaken) {
  for (const mode_t mode : {0620, 0602, 0666}) {
    use()->store(keyOf(1), object);
    ASSERT_EQ(chmod(entry(1).c_str(), mode), 0);
    expectMended("may be written by other users");
  }
  if (geteuid() == 0) {
    ASSERT_EQ(chown(entry(1).c_str(), 65534, 65534), 0);
    expectMended("belongs to another user");
  }
}

TEST_F(ObjectCacheTest, FoldersThatOthersMayWriteAreNotUsed) {
  use()->store(keyOf(1), object);
  for (const mode_t mode : {0770, 0702, 0777, 01777}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    expectUnused("may be written by other users");
  }
  ASSERT_EQ(chmod(path.c_str(), 0755), 0); // they may read
  EXPECT_EQ(use()->find(keyOf(1)), object);
  if (geteuid() == 0) {
    ASSERT_EQ(chown(path.c_str(), 65534, 65534), 0);
    expectUnused("belongs to another user");
  }
}

TEST_F(ObjectCacheTest, PlacesWhereNoFolderCanBe) {
  std::ofstream(folder + "/file") << "a file";
  path = folder + "/file";
  expectUnused("cannot be opened: Not a directory");
  path = folder + "/file/objects";
  expectUnused("cannot be made: Not a directory");
  path = folder + "/" + std::string(300, 'x');
  expectUnused("cannot be made: File name too long");
  fs::create_symlink(folder + "/nowhere", folder + "/link");
  path = folder + "/link";
  expectUnused("cannot be opened: No such file or directory");
  path = "/proc/objects";
  expectUnused("cannot be made: No such file or directory");
}

TEST_F(ObjectCacheTest, AReadOnlyFolderIsRead) {
  use()->store(keyOf(1), object);
  ASSERT_EQ(chmod(path.c_str(), 0500), 0);
  const pid_t child = fork();
  if (child == 0) { // root may write anywhere: somebody else is asked, whose folder it is
    if (geteuid() == 0 && (chmod(folder.c_str(), 0755) != 0 || chown(path.c_str(), 65534, 65534) != 0 ||
                           chown(entry(1).c_str(), 65534, 65534) != 0 || setresuid(65534, 65534, 65534) != 0))
      _exit(2);
    auto cache = use();
    const bool isFound = cache->find(keyOf(1)) == object && warnings.empty();
    cache->store(keyOf(2), object);
    cache->store(keyOf(3), object);
    _exit(isFound &&
                  takeWarning() == "the object cache " + path + " cannot be written: Permission denied; it is not used"
              ? 0
              : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  chmod(path.c_str(), 0700);
}

TEST_F(ObjectCacheTest, WithoutSpaceNothingIsLeft) {
  use()->store(keyOf(1), object);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit old, limit;
  getrlimit(RLIMIT_FSIZE, &old);
  for (const rlim_t space : {0, 50, 112, 120}) {
    limit = {space, old.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
    use()->store(keyOf(2), object);
    setrlimit(RLIMIT_FSIZE, &old);
    EXPECT_EQ(takeWarning(), "the object cache " + path + " cannot be written: File too large; it is not used");
    EXPECT_FALSE(use()->find(keyOf(2)));
    EXPECT_EQ(countEntries(), 1u);
  }
}

TEST_F(ObjectCacheTest, LargeObjectsAreNotKept) {
  use()->store(keyOf(1), object);
  use()->store(keyOf(2), std::string(ObjectCache::kMostObjectBytes + 1, 'x'));
  EXPECT_FALSE(use()->find(keyOf(2)));
  EXPECT_EQ(countEntries(), 1u);
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ObjectCacheTest, TheLeastRecentlyUsedGoFirst) {
  const uint64_t size = 112 + object.size();
  for (unsigned number = 0; number < 8; ++number) {
    use()->store(keyOf(number), object);
    const timespec times[2] = {{1000 + number, 0}, {1000 + number, 0}};
    ASSERT_EQ(utimensat(AT_FDCWD, entry(number).c_str(), times, 0), 0);
  }
  EXPECT_EQ(use()->find(keyOf(2)), object); // now it is the last
  use(4 * size)->store(keyOf(8), object);
  EXPECT_EQ(countEntries(), 4u);
  for (unsigned number : {2, 6, 7, 8})
    EXPECT_TRUE(fs::exists(entry(number))) << number;
  use(4 * size - 1)->store(keyOf(8), object);
  EXPECT_EQ(countEntries(), 3u);
  EXPECT_FALSE(fs::exists(entry(6)));
  EXPECT_TRUE(warnings.empty());
}

TEST_F(ObjectCacheTest, OtherFilesStay) {
  use()->store(keyOf(1), object);
  std::ofstream(path + "/mine") << std::string(1000, 'x');
  use(1)->store(keyOf(2), object);
  EXPECT_EQ(countEntries(), 0u);
  EXPECT_TRUE(fs::exists(path + "/mine"));
}

TEST_F(ObjectCacheTest, ProcessesShareIt) {
  const auto objectOf = [](unsigned number) { return std::string(5000 + number, char('a' + number)); };
  std::vector<pid_t> children;
  for (unsigned child = 0; child < 4; ++child) {
    children.push_back(fork());
    if (children.back() != 0)
      continue;
    bool isRight = true;
    for (unsigned round = 0; round < 200; ++round) {
      const unsigned number = (round * 7 + child) % 20;
      auto cache = use(10 * 5200); // entries go all the time
      if (std::optional<std::string> found = cache->find(keyOf(number)))
        isRight &= *found == objectOf(number);
      else
        cache->store(keyOf(number), objectOf(number));
    }
    _exit(isRight && warnings.empty() ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  EXPECT_LE(countEntries(), 10u);
  for (const fs::directory_entry &file : fs::directory_iterator(path))
    EXPECT_TRUE(file.path().filename().string().starts_with("llvmcache")) << file.path(); // no temporary file
}

TEST(ObjectCacheShare, FollowsFromKeyAndSeed) {
  unsigned drawn = 0, common = 0;
  for (unsigned number = 0; number < 20000; ++number) {
    EXPECT_TRUE(isDrawn(keyOf(number), 1, 7));
    EXPECT_FALSE(isDrawn(keyOf(number), 0, 7));
    const bool isOne = isDrawn(keyOf(number), 20, 7);
    EXPECT_EQ(isOne, isDrawn(keyOf(number), 20, 7));
    drawn += isOne;
    common += isOne && isDrawn(keyOf(number), 20, 8);
  }
  EXPECT_NEAR(drawn, 1000, 150); // five standard deviations
  EXPECT_NEAR(common, 50, 36);
}
