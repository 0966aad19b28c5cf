// What the system is told about a mapped weight file.
#include "lib/Runtime/Weights.h"
#include "test/Unit/TemporaryFolder.h"
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

using namespace rapt::runtime;

namespace {

constexpr uint64_t MiB = uint64_t(1) << 20, weightsBytes = 32 * MiB;

/// A part of the process's memory that is mapped in one way.
struct Mapping {
  uintptr_t begin, end;
  std::string flags; ///< of /proc/self/smaps, with a space around each
  bool has(const char *flag) const { return flags.find(std::string(" ") + flag + " ") != std::string::npos; }
};

/// The mappings that have a part of [data, data + weightsBytes).
std::vector<Mapping> mappingsOf(const void *data) {
  const auto from = reinterpret_cast<uintptr_t>(data);
  std::vector<Mapping> found;
  std::ifstream smaps("/proc/self/smaps");
  Mapping mapping{};
  for (std::string line; std::getline(smaps, line);) {
    char dash = 0;
    std::istringstream head(line);
    if (uintptr_t begin, end; head >> std::hex >> begin >> dash >> end && dash == '-')
      mapping = {begin, end, ""};
    else if (line.starts_with("VmFlags:") && mapping.begin < from + weightsBytes && mapping.end > from)
      found.push_back({mapping.begin, mapping.end, line.substr(8) + " "});
  }
  return found;
}

/// A weight file with nothing but zeros, which takes no disk, and the part of a manifest that goes with it.
class WeightsTest : public testing::Test {
protected:
  void SetUp() override {
    rapt_weights_header header{};
    header.magic = RAPT_WEIGHTS_MAGIC;
    header.version = 1;
    header.section_count = 1;
    strcpy(header.sections[0].name, "weights");
    header.sections[0].offset = RAPT_WEIGHTS_ALIGNMENT;
    header.sections[0].bytes = weightsBytes;
    header.file_bytes = RAPT_WEIGHTS_ALIGNMENT + weightsBytes;
    std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char *>(&header), sizeof header);
    ASSERT_EQ(truncate(path.c_str(), off_t(header.file_bytes)), 0);
    manifest.name = "model";
    manifest.weightsBytes = weightsBytes;
    manifest.tables = {table, {20 * MiB + 64, 2 * MiB}};
  }

  std::vector<Mapping> adopt(uint32_t flags = 0) {
    char message[256] = "";
    Report report(message, sizeof message);
    File file;
    EXPECT_EQ(file.open(path.c_str(), report), RAPT_OK) << message;
    Weights weights;
    EXPECT_EQ(weights.adopt(file, manifest, flags, "w", report), RAPT_OK) << message;
    begin = reinterpret_cast<uintptr_t>(weights.data()) + table.offset;
    return mappingsOf(weights.data());
  }

  const rapt::test::TemporaryFolder folder;
  const std::string path = folder.path + "/w.weights";
  const bool hasLargePages = access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0;
  const ManifestRange table{5 * MiB + 64, 9 * MiB + 192};
  Manifest manifest{};
  uintptr_t begin = 0; ///< of the table, in the mapping that was
};

/// Large pages that have nothing but rows of the table are not asked for. The second table has no such page.
TEST_F(WeightsTest, TablesThatAreReadByRows) {
  for (uint32_t flags : {0u, uint32_t(RAPT_POPULATE)}) {
    uint64_t bytes = 0;
    for (const Mapping &mapping : adopt(flags)) {
      EXPECT_EQ(mapping.has("hg"), hasLargePages && !mapping.has("rr")) << mapping.flags;
      EXPECT_EQ(mapping.has("nh"), hasLargePages && mapping.has("rr")) << mapping.flags;
      if (!mapping.has("rr"))
        continue;
      bytes += mapping.end - mapping.begin;
      EXPECT_GE(mapping.begin, begin);
      EXPECT_LE(mapping.end, begin + table.bytes);
    }
    EXPECT_GE(bytes, table.bytes - 4 * MiB);
  }
}

TEST_F(WeightsTest, MemoryThatIsReadWholeHasNoTables) {
  auto expectNone = [](const std::vector<Mapping> &mappings) {
    EXPECT_FALSE(mappings.empty());
    for (const Mapping &mapping : mappings)
      EXPECT_FALSE(mapping.has("rr") || mapping.has("nh")) << mapping.flags;
  };
  expectNone(adopt(RAPT_READ_WEIGHTS));
  manifest.gpus = "sm_80"; // which gets a copy
  expectNone(adopt());
  manifest.gpus.clear();
  manifest.tables.clear();
  expectNone(adopt());
}

} // namespace
