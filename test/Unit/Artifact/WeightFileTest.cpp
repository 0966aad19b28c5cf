// Ids as rapt/artifact.h defines them, and headers from outside.
#include "MemoryReader.h"
#include "lib/Artifact/WeightPacker.h"
#include "lib/Support/File.h"
#include "test/Unit/TemporaryFolder.h"
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>

using namespace rapt;
using namespace rapt::artifact;

namespace {
class WeightFileTest : public testing::Test {
protected:
  void SetUp() override {
    std::vector<std::byte> bytes(3000 * 1000 * 4);
    for (size_t i = 0; i < bytes.size(); ++i)
      bytes[i] = std::byte(i * i >> 8 & 0x3f);
    reader.add("w", {DType::F32, {3000, 1000}}, bytes);
    parameters.resize(1);
    parameters[0].name = "w";
    parameters[0].shape = {3000, 1000};
    parameters[0].sources = {{"w", {3000, 1000}}};
    assignOffsets(parameters);
  }
  PackedWeights pack() {
    auto packed = packWeights({&parameters, &reader, &sections, folder, "m"});
    EXPECT_TRUE(packed);
    EXPECT_TRUE(packed->commit());
    return std::move(*packed);
  }
  const test::TemporaryFolder own;
  const std::string folder = own.path;
  MemoryReader reader;
  std::vector<Parameter> parameters;
  std::vector<Section> sections{{"tokenizer.json", std::string(5 << 20, 't')}, {"empty", ""}};
};
} // namespace

TEST_F(WeightFileTest, ContentIdIsTheHashOfPieceDigests) {
  PackedWeights packed = pack();
  const std::string file = *readFile(folder + "/" + packed.fileName, 1 << 30);
  auto header = readWeightHeader(folder + "/" + packed.fileName);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->section_count, 3u);
  EXPECT_STREQ(header->sections[1].name, "tokenizer.json");
  std::string digests;
  for (uint32_t i = 0; i < header->section_count; ++i)
    for (uint64_t at = 0; at < header->sections[i].bytes; at += 4 << 20) {
      const uint64_t count = std::min<uint64_t>(4 << 20, header->sections[i].bytes - at);
      const Id id = hash(std::as_bytes(std::span(file)).subspan(header->sections[i].offset + at, count));
      digests.append(reinterpret_cast<const char *>(id.bytes.data()), 16);
    }
  EXPECT_EQ(hash(std::as_bytes(std::span(digests))), packed.contentId);
  EXPECT_EQ(packed.fileName, "m-" + packed.contentId.hex().substr(0, 8) + ".weights");
  EXPECT_EQ(file.size(), *predictFileBytes(parameters, sections));
  EXPECT_EQ(0, memcmp(header->content_id, packed.contentId.bytes.data(), 16));
  EXPECT_EQ(0, memcmp(header->interface_id, interfaceId(parameters, packed.weightsBytes).bytes.data(), 16));
}

TEST_F(WeightFileTest, LargeWeightsBeginAtALargePage) {
  auto bytesAheadOf = [](int64_t mebibytes) {
    Parameter parameter{.name = "w", .shape = {mebibytes << 8, 1 << 10}, .sources = {{"w", {mebibytes << 8, 1 << 10}}}};
    const std::vector<Parameter> one = {parameter};
    return *predictFileBytes(one, {}) - weightsBytes(one);
  };
  EXPECT_EQ(bytesAheadOf(63), 4096u);
  EXPECT_EQ(bytesAheadOf(64), uint64_t(2) << 20);
  // Every byte is where the header says, and the ids are those of the content alone.
  const std::vector<int64_t> shape = {64 << 8, 1 << 10};
  std::vector<std::byte> bytes(size_t(64) << 20);
  for (size_t i = 0; i < bytes.size(); i += 1021)
    bytes[i] = std::byte(i >> 4 & 0x3f);
  reader.add("w", {DType::F32, shape}, bytes);
  parameters[0].shape = shape;
  parameters[0].sources = {{"w", shape}};
  assignOffsets(parameters);
  const PackedWeights packed = pack();
  const std::string file = *readFile(folder + "/" + packed.fileName, 1 << 30);
  auto header = readWeightHeader(folder + "/" + packed.fileName);
  ASSERT_TRUE(header) << header.error().message;
  ASSERT_EQ(header->sections[0].offset, uint64_t(2) << 20);
  EXPECT_EQ(0, memcmp(file.data() + header->sections[0].offset, bytes.data(), bytes.size()));
  EXPECT_EQ(file.compare(header->sections[1].offset, 5 << 20, std::string(5 << 20, 't')), 0);
}

TEST_F(WeightFileTest, HashIsXxh3Canonical) {
  // The value of the empty input in the specification of XXH3-128.
  EXPECT_EQ(hash({}).hex(), "99aa06d3014798d86001c324468d497f");
}

TEST_F(WeightFileTest, InterfaceIdSeesEveryField) {
  const Id before = interfaceId(parameters, 64);
  auto differs = [&](auto change) {
    auto changed = parameters;
    change(changed[0]);
    return !(interfaceId(changed, 64) == before);
  };
  EXPECT_TRUE(differs([](Parameter &p) { p.name = "v"; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.storage = DType::F16; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.shape = {1000, 3000}; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.layers = 2; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.layout.kind = Layout::Panels; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.layout.columnGroup = 64; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.layout.rowGroup = 64; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.offset = 64; }));
  EXPECT_TRUE(differs([](Parameter &p) { p.layerStride = 64; }));
  EXPECT_FALSE(differs([](Parameter &p) { p.sources[0].name = "elsewhere"; }));
  EXPECT_FALSE(interfaceId(parameters, 128) == before);
}

TEST_F(WeightFileTest, ContentAndNotNamesMakeTheContentId) {
  const Id before = pack().contentId;
  parameters[0].name = "renamed";
  PackedWeights renamed = pack(); // replaces: same content, another interface
  EXPECT_EQ(renamed.contentId, before);
  sections[0].bytes[77] = 'x';
  EXPECT_FALSE(pack().contentId == before);
}

TEST_F(WeightFileTest, BrokenHeadersAreRefused) {
  PackedWeights packed = pack();
  const std::string path = folder + "/" + packed.fileName, good = *readFile(path, 1 << 30);
  auto failure = [&](auto change) {
    std::string bytes = good;
    change(bytes);
    std::ofstream(path, std::ios::binary) << bytes;
    auto header = readWeightHeader(path);
    return header ? std::string() : header.error().message.substr(path.size());
  };
  auto put = [](std::string &bytes, size_t at, uint64_t value) { std::memcpy(bytes.data() + at, &value, 8); };
  EXPECT_EQ(failure([](std::string &) {}), "");
  EXPECT_EQ(failure([](std::string &b) { b.resize(100); }),
            ": 100 bytes are too few for a weight file's header of 2616");
  EXPECT_EQ(failure([](std::string &b) { b[0] = 'x'; }), ": not a weight file of Rapt (no RAPTWGT at its start)");
  EXPECT_EQ(failure([](std::string &b) { b[8] = 2; }), ": weight file version 2, this Rapt reads version 1");
  EXPECT_EQ(failure([&](std::string &b) { b += "x"; }), ": the file has " + std::to_string(good.size() + 1) +
                                                            " bytes, its header says " + std::to_string(good.size()));
  EXPECT_EQ(failure([](std::string &b) { b[12] = 99; }), ": 99 sections, not 1 to 32");
  EXPECT_NE(failure([&](std::string &b) { put(b, 56 + 64, uint64_t(1) << 63); }), "");
  EXPECT_NE(failure([&](std::string &b) { put(b, 56 + 72, ~uint64_t(0)); }), "");
}
