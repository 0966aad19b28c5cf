// The packer against a naive implementation that follows the layouts' definitions element by element.
#include "DrawnSources.h"
#include "MemoryReader.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Artifact/SourceView.h"
#include "lib/Artifact/WeightPacker.h"
#include "lib/Support/File.h"
#include "test/Unit/TemporaryFolder.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <numeric>
#include <random>

using namespace rapt;
using namespace rapt::artifact;

namespace {

using test::TemporaryFolder;

std::vector<std::byte> randomValues(std::mt19937 &random, DType type, size_t count) {
  std::normal_distribution<float> normal(0.f, 0.1f);
  std::vector<float> values(count);
  for (float &value : values)
    value = random() % 16 ? normal(random) : 0.f;
  std::vector<std::byte> bytes(count * sizeOf(type));
  convert(reinterpret_cast<std::byte *>(values.data()), DType::F32, bytes.data(), type, count);
  return bytes;
}

int64_t roundUp(int64_t value, int64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

/// The logical index at padded position, or -1.
int64_t logicalAt(int64_t padded, int64_t extent, int64_t group) {
  if (group == 0)
    return padded < extent ? padded : -1;
  const int64_t size = roundUp(group, 32), inside = padded % size, logical = padded / size * group + inside;
  return inside < group && logical < extent ? logical : -1;
}

/// A tensor whose steps are made element by element.
struct Naive {
  Shape shape;
  std::vector<float> values;

  /// Calls body(index, position) for all elements.
  template <typename Body> static void forEach(const Shape &shape, Body body) {
    Shape index(shape.size(), 0);
    const int64_t count = std::accumulate(shape.begin(), shape.end(), int64_t(1), std::multiplies<>());
    for (int64_t n = 0; n < count; ++n) {
      body(index, n);
      for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];)
        index[i] = 0;
    }
  }
  int64_t at(const Shape &index) const {
    int64_t position = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      position = position * shape[i] + index[i];
    return position;
  }

  void apply(const Transform &transform) {
    Naive next{*shapeAfter(transform, shape), std::vector<float>(values.size())};
    forEach(next.shape, [&](const Shape &index, int64_t position) {
      Shape from = index;
      if (const auto *slice = std::get_if<Slice>(&transform))
        from[slice->dim] += slice->begin;
      if (const auto *transpose = std::get_if<Transpose>(&transform))
        for (size_t i = 0; i < index.size(); ++i)
          from[transpose->order[i]] = index[i];
      next.values[position] = values[std::holds_alternative<Reshape>(transform) ? position : at(from)];
      if (const auto *step = std::get_if<Scale>(&transform))
        next.values[position] *= step->factor;
      if (const auto *step = std::get_if<Add>(&transform))
        next.values[position] += step->summand;
      if (const auto *step = std::get_if<Cast>(&transform)) {
        std::byte narrow[4];
        convert(reinterpret_cast<std::byte *>(&next.values[position]), DType::F32, narrow, step->type, 1);
        convert(narrow, step->type, reinterpret_cast<std::byte *>(&next.values[position]), DType::F32, 1);
      }
    });
    *this = std::move(next);
  }
};

Naive valuesOf(const Source &source, MemoryReader &reader, const std::string &name) {
  const TensorInfo *info = reader.find(name);
  Naive part{info->shape, std::vector<float>(reader.bytesOf(name).size() / sizeOf(info->dtype))};
  convert(reader.bytesOf(name).data(), info->dtype, reinterpret_cast<std::byte *>(part.values.data()), DType::F32,
          part.values.size());
  for (const Transform &transform : source.transforms)
    part.apply(transform);
  return part;
}

/// One layer of the parameter in f32.
Naive layerOf(const Parameter &parameter, MemoryReader &reader, int64_t layer) {
  Naive whole{parameter.shape, {}};
  whole.values.resize(std::accumulate(whole.shape.begin(), whole.shape.end(), int64_t(1), std::multiplies<>()));
  const int64_t dim = parameter.join.dim;
  int64_t begin = 0;
  for (const Source &source : parameter.sources) {
    Naive part = valuesOf(source, reader, sourceName(source, parameter.layerNumber(layer)));
    if (parameter.join.kind == Join::Stack)
      part.shape.insert(part.shape.begin() + dim, 1);
    Naive::forEach(part.shape, [&](Shape index, int64_t position) {
      if (!index.empty())
        index[dim] += begin;
      whole.values[whole.at(index)] = part.values[position];
    });
    begin += part.shape.empty() ? 0 : part.shape[dim];
  }
  return whole;
}

void packNaively(const Parameter &parameter, MemoryReader &reader, std::vector<std::byte> &section) {
  const PackedExtents extents = packedExtents(parameter);
  const int64_t columns = parameter.shape.empty() ? 1 : parameter.shape.back();
  const int64_t k = parameter.layout.k, size = sizeOf(parameter.storage);
  for (int64_t layer = 0; layer < parameter.layers; ++layer) {
    const Naive whole = layerOf(parameter, reader, layer);
    const int64_t rows = int64_t(whole.values.size()) / columns;
    for (int64_t c = 0; c < extents.columns; ++c) {
      const int64_t column = logicalAt(c, columns, parameter.layout.columnGroup);
      if (column < 0)
        continue;
      for (int64_t r = 0; r < extents.rows; ++r) {
        const int64_t row = logicalAt(r, rows, parameter.layout.rowGroup);
        if (row < 0)
          continue;
        const int64_t at = parameter.layout.kind == Layout::RowMajor
                               ? r * extents.columns + c
                               : ((c / 32 * (extents.rows / k) + r / k) * 32 + c % 32) * k + r % k;
        convert(reinterpret_cast<const std::byte *>(&whole.values[row * columns + column]), DType::F32,
                section.data() + parameter.offset + layer * parameter.layerStride + at * size, parameter.storage, 1);
      }
    }
  }
}

/// Adds the tensors of one source that gives `shape`.
void addSource(std::mt19937 &random, Parameter &parameter, MemoryReader &reader, const Shape &shape,
               size_t mostSteps = 4) {
  Source source = drawSource(random, parameter.name + ".s" + std::to_string(parameter.sources.size()) + ".{layer}",
                             shape, random() % (mostSteps + 1), /*keepsValues=*/random() % 2);
  for (int64_t layer = 0; layer < parameter.layers; ++layer) {
    const TensorInfo info{DType(random() % 3), source.shape};
    const int64_t count = std::accumulate(source.shape.begin(), source.shape.end(), int64_t(1), std::multiplies<>());
    reader.add(sourceName(source, parameter.layerNumber(layer)), info, randomValues(random, info.dtype, count));
  }
  parameter.sources.push_back(source);
}

/// Adds sources that make the parameter's shape, joined along a random dim.
void addSources(std::mt19937 &random, Parameter &parameter, MemoryReader &reader) {
  Shape part = parameter.shape;
  if (part.empty() || random() % 3 == 0)
    return addSource(random, parameter, reader, part);
  const int64_t dim = parameter.join.dim = random() % part.size(), extent = part[dim];
  if (extent < 6 && random() % 2) {
    parameter.join.kind = Join::Stack;
    part.erase(part.begin() + dim);
    for (int64_t i = 0; i < extent; ++i)
      addSource(random, parameter, reader, part);
    return;
  }
  for (int64_t left = extent; left > 0; left -= part[dim]) {
    part[dim] = parameter.sources.size() == 3 ? left : 1 + random() % left;
    addSource(random, parameter, reader, part);
  }
}

Parameter randomParameter(std::mt19937 &random, int number, MemoryReader &reader, int64_t largest) {
  auto below = [&](int64_t n) { return int64_t(random() % n); };
  Parameter parameter;
  parameter.name = "p" + std::to_string(number);
  parameter.storage = DType(below(3));
  parameter.layers = 1 + below(3);
  parameter.firstLayer = below(2) * 7;
  if (below(3) == 0)
    for (int64_t layer = 0; layer < parameter.layers; ++layer)
      parameter.layerNumbers.push_back(3 * layer + int64_t(below(3)));
  const bool matrix = below(4) != 0;
  int64_t columns = 1 + below(largest), rows = 1 + below(largest);
  if (below(2)) {
    parameter.layout.columnGroup = 1 + below(100);
    columns = roundUp(columns, parameter.layout.columnGroup);
  }
  if (matrix && below(3) == 0) {
    parameter.layout.rowGroup = 1 + below(50);
    rows = roundUp(rows, parameter.layout.rowGroup);
  }
  parameter.shape = matrix ? Shape{rows, columns} : Shape{columns};
  if (matrix && below(3) != 0) {
    parameter.layout.kind = Layout::Panels;
    parameter.layout.k = parameter.storage != DType::F32 && below(2) ? 2 : 1;
  }
  addSources(random, parameter, reader);
  return parameter;
}

std::string fileOf(const TemporaryFolder &folder, PackedWeights &packed) {
  EXPECT_TRUE(packed.commit());
  auto text = readFile(folder.path + "/" + packed.fileName, uint64_t(1) << 32);
  EXPECT_TRUE(text);
  return *text;
}

void expectSame(const std::vector<Parameter> &parameters, MemoryReader &reader, unsigned threads) {
  TemporaryFolder folder;
  std::vector<Section> sections = {{"tokenizer.json", "{}"}, {"empty", ""}};
  auto packed = packWeights({&parameters, &reader, &sections, folder.path, "m", threads});
  ASSERT_TRUE(packed) << packed.error().message;
  const std::string file = fileOf(folder, *packed);
  std::vector<std::byte> expected(weightsBytes(parameters));
  for (const Parameter &parameter : parameters)
    packNaively(parameter, reader, expected);
  ASSERT_GE(file.size(), 4096 + expected.size());
  EXPECT_EQ(0, std::memcmp(file.data() + 4096, expected.data(), expected.size()));
}

} // namespace

TEST(Packing, RandomParametersAsDefined) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    MemoryReader reader;
    std::vector<Parameter> parameters;
    for (int i = 0; i < 6; ++i)
      parameters.push_back(randomParameter(random, i, reader, 90));
    EXPECT_EQ(assignOffsets(parameters), weightsBytes(parameters));
    expectSame(parameters, reader, 1 + seed % 3);
  }
}

/// Above the packer's window, so that panels and rows are cut, also in the middle of a panel row.
TEST(Packing, LargeParametersAreCutAnywhere) {
  for (unsigned seed = 0; seed < 4; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    MemoryReader reader;
    std::vector<Parameter> parameters;
    for (int i = 0; i < 4; ++i) {
      Parameter parameter;
      parameter.name = "p" + std::to_string(i);
      parameter.shape = {int64_t(500 + random() % 700), int64_t(900 + random() % 900)};
      parameter.storage = i % 2 ? DType::BF16 : DType::F32;
      parameter.layout.kind = i == 3 ? Layout::RowMajor : Layout::Panels;
      parameter.layout.k = i == 1 ? 2 : 1;
      addSource(random, parameter, reader, parameter.shape, /*mostSteps=*/1);
      parameters.push_back(parameter);
    }
    assignOffsets(parameters);
    for (Parameter &parameter : parameters)
      parameter.offset += 64;
    expectSame(parameters, reader, 2);
  }
}

TEST(Packing, BytesDoNotDependOnThreads) {
  std::mt19937 random(5);
  MemoryReader reader;
  std::vector<Parameter> parameters;
  for (int i = 0; i < 5; ++i)
    parameters.push_back(randomParameter(random, i, reader, 1200));
  assignOffsets(parameters);
  std::string first;
  for (unsigned threads : {1u, 2u, 7u}) {
    TemporaryFolder folder;
    std::vector<Section> sections;
    std::atomic<uint64_t> told = 0;
    auto packed = packWeights(
        {&parameters, &reader, &sections, folder.path, "m", threads, [&](uint64_t bytes) { told += bytes; }});
    ASSERT_TRUE(packed) << packed.error().message;
    EXPECT_EQ(told, weightsBytes(parameters));
    const std::string file = fileOf(folder, *packed);
    if (first.empty())
      first = file;
    EXPECT_TRUE(file == first);
  }
}

namespace {
/// One 2x3 matrix "w", whose faults the next tests make.
struct Small {
  MemoryReader reader;
  std::vector<Parameter> parameters{1};
  std::vector<Section> sections;
  TemporaryFolder folder;
  Small() {
    reader.add("w.0", {DType::F32, {2, 3}}, std::vector<std::byte>(24));
    parameters[0].name = "w";
    parameters[0].shape = {2, 3};
    parameters[0].sources = {{"w.{layer}", {2, 3}}};
    assignOffsets(parameters);
  }
  std::string failure() {
    auto packed = packWeights({&parameters, &reader, &sections, folder.path, "m", 1});
    EXPECT_EQ(folder.entries(), 0u);
    return packed ? "" : packed.error().message;
  }
};
} // namespace

TEST(Packing, ErrorsNameParameterTensorAndShapes) {
  EXPECT_EQ(Small().failure(), "");
  Small missing;
  missing.parameters[0].sources[0].name = "v.{layer}";
  EXPECT_EQ(missing.failure(), "parameter 'w': tensor 'v.0' is missing");
  Small shape;
  shape.reader.add("w.0", {DType::F32, {3, 2}}, std::vector<std::byte>(24));
  EXPECT_EQ(shape.failure(), "parameter 'w': tensor 'w.0' is [3, 2], expected [2, 3]");
  Small transposed;
  transposed.parameters[0].sources[0] = {"w.{layer}", {3, 2}, {Transpose{{1, 0}}}};
  EXPECT_EQ(transposed.failure(),
            "parameter 'w': tensor 'w.0' is [2, 3], expected [3, 2], which transpose<1, 0> makes [2, 3]");
  Small step;
  step.parameters[0].sources[0].transforms = {Slice{0, 1, 3}};
  EXPECT_EQ(step.failure(), "parameter 'w': source 'w.{layer}': slice<dim = 0, 1 to 3> does not fit [2, 3]");
  Small part;
  part.parameters[0].sources[0].shape = {2, 2};
  EXPECT_EQ(part.failure(), "parameter 'w': source 'w.{layer}' gives [2, 2], which is no part of [2, 3]");
  Small few;
  few.parameters[0].join.dim = 1;
  few.parameters[0].sources.assign(2, {"w.{layer}", {2, 1}});
  EXPECT_EQ(few.failure(), "parameter 'w': the sources have 2 along dim 1 of [2, 3]");
  few.parameters[0].join.dim = 2;
  EXPECT_EQ(few.failure(), "parameter 'w': sources are joined along dim 2 of [2, 3]");
  Small truncated;
  truncated.reader.bytesOf("w.0").resize(20);
  EXPECT_EQ(truncated.failure(), "tensor 'w.0': 20 bytes end before byte 24");
  Small overlap;
  overlap.parameters.push_back(overlap.parameters[0]);
  overlap.parameters[1].name = "again";
  EXPECT_EQ(overlap.failure(), "parameters 'w' and 'again' overlap at byte 0");
  Small huge;
  huge.parameters[0].sources[0].shape = huge.parameters[0].shape = {int64_t(1) << 40, int64_t(1) << 40};
  EXPECT_NE(huge.failure().find("needs more than 2^50 bytes"), std::string::npos);
}

TEST(Packing, ValuesBeyondF16AreToldNotClamped) {
  Small small;
  const float value = 70000;
  std::memcpy(small.reader.bytesOf("w.0").data() + 8, &value, 4);
  EXPECT_EQ(small.failure(), "");
  small.parameters[0].storage = DType::F16;
  EXPECT_EQ(small.failure(), "tensor 'w.0' holds a finite value too large for f16; compile with another --dtype");
}

TEST(Packing, StepsThatNoStridesExpressAreMade) {
  for (const std::vector<Transform> &steps :
       {std::vector<Transform>{Transpose{{1, 0}}, Reshape{{2, 3}}, Transpose{{1, 0}}},
        std::vector<Transform>{Transpose{{1, 0}}, Reshape{{6}}, Slice{0, 1, 5}, Reshape{{2, 2}}}}) {
    Small small;
    std::vector<float> values = {1, 2, 3, 4, 5, 6};
    std::memcpy(small.reader.bytesOf("w.0").data(), values.data(), 24);
    Source &source = small.parameters[0].sources[0] = {"w.{layer}", {2, 3}, steps};
    ASSERT_FALSE(SourceView::create(source)->isStrided()) << textOf(steps);
    small.parameters[0].shape = *shapeOf(source);
    assignOffsets(small.parameters);
    expectSame(small.parameters, small.reader, 1);
  }
}

TEST(Packing, ValuesAreScaledAndShiftedInOrder) {
  for (const std::vector<Transform> &steps : {std::vector<Transform>{Scale{3.f}, Add{1.f}}, {Add{1.f}, Scale{3.f}}}) {
    Small small;
    small.parameters[0].sources[0].transforms = steps;
    expectSame(small.parameters, small.reader, 1);
  }
}

TEST(Packing, StepsThatMakeValuesInfiniteAreTold) {
  Small small;
  const float value = 70000;
  std::memcpy(small.reader.bytesOf("w.0").data() + 8, &value, 4);
  small.parameters[0].sources[0].transforms = {Cast{DType::F16}};
  EXPECT_EQ(small.failure(), "tensor 'w.0' holds a finite value too large for cast<f16>");
  small.parameters[0].sources[0].transforms = {Scale{0.5f}, Cast{DType::F16}};
  EXPECT_EQ(small.failure(), "");
  small.parameters[0].sources[0].transforms = {Scale{1e35f}};
  EXPECT_EQ(small.failure(), "tensor 'w.0' holds a finite value too large for scale<1.00000004e+35>");
}

TEST(Packing, AWeightFileIsNeverOverwritten) {
  Small small;
  auto pack = [&] { return packWeights({&small.parameters, &small.reader, &small.sections, small.folder.path, "m"}); };
  auto first = pack();
  ASSERT_TRUE(first && first->commit());
  const std::string path = small.folder.path + "/" + first->fileName;
  const auto inode = [&] { return std::filesystem::last_write_time(path); };
  const auto written = inode();
  auto again = pack();
  ASSERT_TRUE(again && again->commit());
  EXPECT_EQ(again->fileName, first->fileName);
  EXPECT_EQ(inode(), written); // kept, not written again
  EXPECT_EQ(small.folder.entries(), 1u);

  // The same sections at other offsets, as another version of the packer writes them, are kept as well.
  auto header = readWeightHeader(path);
  ASSERT_TRUE(header);
  const std::string content = *readFile(path, 1 << 30);
  constexpr uint64_t moved = 4096;
  rapt_weights_header other = *header;
  for (uint32_t i = 0; i < other.section_count; ++i)
    other.sections[i].offset += moved;
  other.file_bytes += moved;
  std::string text(reinterpret_cast<const char *>(&other), sizeof other);
  text +=
      std::string(moved + header->sections[0].offset - text.size(), '\0') + content.substr(header->sections[0].offset);
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  auto beside = pack();
  ASSERT_TRUE(beside && beside->commit());
  EXPECT_EQ(*readFile(path, 1 << 30), text);

  std::filesystem::resize_file(path, 100);
  auto onto = pack();
  ASSERT_TRUE(onto);
  Status status = onto->commit();
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("exists and holds other bytes"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path), 100u);
}
