// Blocks of every format in panels and in rows: what is read back is what the checkpoint has, whatever joins, slices,
// transposes and pads it.
#include "lib/Artifact/BlockWriter.h"
#include "MemoryReader.h"
#include <gtest/gtest.h>
#include <random>

using namespace rapt;
using namespace rapt::artifact;

namespace {

/// A checkpoint whose blocks are CodeBlocks as they are.
template <size_t index>
constexpr BlockSource sourceOf = {
    &blockFormats[index], sizeof(CodeBlock),
    [](const std::byte *stored, CodeBlock &block) { std::memcpy(&block, stored, sizeof block); }};

const BlockSource &sourceOfFormat(const BlockFormat &format) {
  static const auto all = []<size_t... i>(std::index_sequence<i...>) {
    return std::array{sourceOf<i>...};
  }(std::make_index_sequence<std::size(blockFormats)>());
  return all[size_t(&format - blockFormats)];
}

/// What a block of the format can hold; the rest is zero.
CodeBlock drawn(std::mt19937 &random, const BlockFormat &format) {
  CodeBlock block{};
  for (int64_t i = 0; i < format.block; ++i)
    block.codes[i] = uint8_t(random() & ((1u << format.bits) - 1));
  for (int64_t i = 0; i < format.groups() && format.groupScale != ByteScale::One; ++i)
    block.scales[i] = uint8_t(random());
  for (int64_t i = 0; i < format.groups() && format.hasOffsetBytes(); ++i)
    block.offsets[i] = uint8_t(random());
  block.scale = uint16_t(random() & (format.blockScale == BlockScale::Half ? 0xffff : 0xff));
  block.offset = format.hasOffsets() ? uint16_t(random()) : 0;
  return block;
}

bool isSame(const CodeBlock &a, const CodeBlock &b) { return std::memcmp(&a, &b, sizeof a) == 0; }

struct Blocks {
  int64_t rows, inRow;
  std::vector<CodeBlock> all;

  Blocks(std::mt19937 &random, MemoryReader &reader, const std::string &name, const BlockFormat &format, int64_t rows,
         int64_t inRow)
      : rows(rows), inRow(inRow) {
    for (int64_t i = 0; i < rows * inRow; ++i)
      all.push_back(drawn(random, format));
    const auto bytes = std::as_bytes(std::span(all));
    reader.add(name, {DType::F32, {rows, inRow * format.block}, &sourceOfFormat(format)}, {bytes.begin(), bytes.end()});
  }
  const CodeBlock &at(int64_t row, int64_t i) const { return all[size_t(row * inRow + i)]; }
};

Parameter parameterOf(const BlockFormat &format, Layout::Kind kind, Shape shape) {
  Parameter parameter;
  parameter.name = "w";
  parameter.quantization = {uint8_t(format.bits), format.block, false, &format};
  parameter.shape = std::move(shape);
  parameter.layout.kind = kind;
  parameter.layout.k = kind == Layout::Panels ? 4 : 1;
  return parameter;
}

/// All bytes of a layer, in windows of `window`; none where it fails, with the message.
std::vector<std::byte> written(const Parameter &parameter, const TensorReader &reader, uint64_t window,
                               std::string *message = nullptr) {
  Expected<BlockWriter> writer = BlockWriter::create(parameter, reader);
  if (!writer) {
    EXPECT_TRUE(message) << writer.error().message;
    if (message)
      *message = writer.error().message;
    return {};
  }
  std::vector<std::byte> bytes(packedExtents(parameter).bytes, std::byte(0xa5));
  Scratch scratch;
  for (uint64_t at = 0; at < bytes.size(); at += window) {
    const Status status =
        writer->write(0, at, std::span(bytes).subspan(at, std::min(window, bytes.size() - at)), scratch);
    EXPECT_TRUE(bool(status)) << (status ? "" : status.error().message);
  }
  return bytes;
}

class EachFormat : public testing::TestWithParam<size_t> {
protected:
  const BlockFormat &format = blockFormats[GetParam()];
  std::mt19937 random{uint32_t(17 + GetParam())};
  MemoryReader reader;

  CodeBlock blockAt(const std::vector<std::byte> &bytes, int64_t width, int64_t inLine, int64_t line, int64_t i) {
    const BlockLayout layout(format, width);
    return readBlock(layout, bytes.data() + (line / width * inLine + i) * layout.blockBytes(), line % width);
  }
};

INSTANTIATE_TEST_SUITE_P(Formats, EachFormat, testing::Range<size_t>(0, std::size(blockFormats)),
                         [](const auto &info) { return std::string(blockFormats[info.param].inFile); });

} // namespace

TEST_P(EachFormat, PanelsOfSeveralSources) {
  // 37 columns of one tensor and rows 5 to 16 of another, transposed: 48 columns in two panels.
  const Blocks first(random, reader, "a", format, 37, 3), second(random, reader, "b", format, 20, 3);
  const int64_t depth = 3 * format.block;
  Parameter parameter = parameterOf(format, Layout::Panels, {depth, 48});
  parameter.sources = {{"a", {37, depth}, {Transpose{{1, 0}}}},
                       {"b", {20, depth}, {Slice{0, 5, 16}, Transpose{{1, 0}}}}};
  parameter.join = {Join::Concat, 1};
  const std::vector<std::byte> whole = written(parameter, reader, uint64_t(1) << 30);
  ASSERT_EQ(whole.size(), size_t(2 * 3 * BlockLayout(format, 32).blockBytes()));
  for (int64_t column = 0; column < 64; ++column)
    for (int64_t i = 0; i < 3; ++i) {
      const CodeBlock expected = column < 37   ? first.at(column, i)
                                 : column < 48 ? second.at(column - 37 + 5, i)
                                               : CodeBlock{};
      EXPECT_TRUE(isSame(blockAt(whole, 32, 3, column, i), expected)) << column << " " << i;
    }
  for (uint64_t window : {64, 192, 4096})
    EXPECT_EQ(written(parameter, reader, window), whole) << window;
}

TEST_P(EachFormat, GroupsOfColumns) {
  // Heads of 20 columns, each padded to 32.
  const Blocks blocks(random, reader, "a", format, 40, 1);
  Parameter parameter = parameterOf(format, Layout::Panels, {format.block, 40});
  parameter.sources = {{"a", {40, format.block}, {Transpose{{1, 0}}}}};
  parameter.layout.columnGroup = 20;
  const std::vector<std::byte> whole = written(parameter, reader, uint64_t(1) << 30);
  ASSERT_EQ(whole.size(), size_t(2 * BlockLayout(format, 32).blockBytes()));
  for (int64_t column = 0; column < 64; ++column)
    EXPECT_TRUE(isSame(blockAt(whole, 32, 1, column, 0),
                       column % 32 < 20 ? blocks.at(column / 32 * 20 + column % 32, 0) : CodeBlock{}))
        << column;
}

TEST_P(EachFormat, Rows) {
  const Blocks blocks(random, reader, "a", format, 5, 2);
  Parameter parameter = parameterOf(format, Layout::RowMajor, {5, 2 * format.block});
  parameter.sources = {{"a", {5, 2 * format.block}}};
  const std::vector<std::byte> whole = written(parameter, reader, uint64_t(1) << 30);
  ASSERT_EQ(whole.size(), size_t(10 * BlockLayout(format, 1).blockBytes()));
  for (int64_t row = 0; row < 5; ++row)
    for (int64_t i = 0; i < 2; ++i)
      EXPECT_TRUE(isSame(blockAt(whole, 1, 2, row, i), blocks.at(row, i))) << row << " " << i;
  EXPECT_EQ(written(parameter, reader, 64), whole);
}

TEST_P(EachFormat, RowsThatBecomeSeveral) {
  // Rows of six blocks as three rows of two, of which those of the middle are 1, 4, 7 and so on; more than are read at
  // once.
  const Blocks blocks(random, reader, "a", format, 700, 6);
  Parameter parameter = parameterOf(format, Layout::RowMajor, {2100, 2 * format.block});
  parameter.sources = {{"a", {700, 6 * format.block}, {Reshape{{2100, 2 * format.block}}}}};
  const std::vector<std::byte> whole = written(parameter, reader, uint64_t(1) << 30);
  for (int64_t row = 0; row < 2100; ++row)
    for (int64_t i = 0; i < 2; ++i)
      ASSERT_TRUE(isSame(blockAt(whole, 1, 2, row, i), blocks.at(row / 3, row % 3 * 2 + i))) << row << " " << i;
  EXPECT_EQ(written(parameter, reader, 4096 + 64), whole);
}

TEST_P(EachFormat, PlanesHoldAllBits) {
  // Every byte of a unit's codes belongs to one plane, and planes have as many bits as codes.
  const BlockLayout layout(format, 1);
  int64_t bits = 0, at = 0;
  for (const std::optional<CodePlane> &plane : layout.planes())
    if (plane) {
      EXPECT_EQ(plane->shift, bits);
      EXPECT_EQ(plane->at, at);
      bits += plane->bits;
      at += BlockFormat::unit * plane->bits / 8;
    }
  EXPECT_EQ(bits, format.bits);
  EXPECT_EQ(at, layout.codeBytes());
  EXPECT_LE(format.block, CodeBlock::most);
  EXPECT_LE(format.groups(), CodeBlock::mostGroups);
  EXPECT_LE(format.mostNumber(), 255);
}

TEST(BlockWriter, RefusesWhatIsNotAlongBlocks) {
  const BlockFormat &format = *findBlockFormat("Q4_K");
  std::mt19937 random(3);
  MemoryReader reader;
  const Blocks blocks(random, reader, "a", format, 256, 2);
  auto fails = [&](const Parameter &parameter, const char *what) {
    std::string message;
    EXPECT_TRUE(written(parameter, reader, 64, &message).empty());
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  Parameter parameter = parameterOf(format, Layout::Panels, {256, 512});
  parameter.sources = {{"a", {256, 512}}};
  fails(parameter, "source 'a' gives [256, 512], not along its blocks");
  parameter = parameterOf(format, Layout::Panels, {128, 256});
  parameter.sources = {{"a", {256, 512}, {Slice{1, 128, 256}, Transpose{{1, 0}}}}};
  fails(parameter, "rows of 128 are no whole blocks of 256");
  parameter = parameterOf(format, Layout::RowMajor, {512, 256});
  parameter.sources = {{"a", {256, 512}, {Reshape{{256, 256, 2}}, Transpose{{0, 2, 1}}, Reshape{{512, 256}}}}};
  fails(parameter, "source 'a' gives [512, 256], not along its blocks");
  parameter = parameterOf(*findBlockFormat("Q5_K"), Layout::Panels, {512, 256});
  parameter.sources = {{"a", {256, 512}, {Transpose{{1, 0}}}}};
  fails(parameter, "tensor 'a' is no [256, 512] in blocks of Q5_K");
  parameter.sources = {{"b", {256, 512}, {Transpose{{1, 0}}}}};
  fails(parameter, "tensor 'b' is missing");
  parameter.sources = {{"a", {256, 512}, {Transpose{{1, 0}}}}};
  parameter.shape = {512, 300};
  fails(parameter, "its sources have 256 lines of blocks, expected 300");
}
