//===- DrawnSourcesTest.cpp - Packer and reference make the same of a source ----===//
//
// Both apply chains of transforms by code of their own: the packer by strided views, the
// reference step by step. Chains are drawn; weights are compared bit by bit.
//
//===----------------------------------------------------------------------===//
#include "test/Unit/Artifact/DrawnSources.h"
#include "lib/Artifact/Conversion.h"
#include "lib/Artifact/WeightPacker.h"
#include "lib/Reference/ParameterReader.h"
#include "lib/Support/Float16.h"
#include "mlir/Parser/Parser.h"
#include "test/Unit/Artifact/MemoryReader.h"
#include "test/Unit/TemporaryFolder.h"
#include "gtest/gtest.h"
#include <filesystem>
#include <numeric>

using namespace mlir;
using namespace rapt;
using namespace rapt::artifact;

namespace {

/// Any finite number of the type, subnormal ones and zeros of both signs among them; large ones stay below 1, so that
/// no step makes them infinite.
std::vector<std::byte> drawValues(std::mt19937 &random, DType type, int64_t count) {
  std::vector<std::byte> bytes(size_t(count) * sizeOf(type));
  for (int64_t i = 0; i < count; ++i) {
    const int exponent = random() % 8 == 0 ? -30 - int(random() % 120) : -int(random() % 16);
    const float value = std::ldexp(float(int32_t(random())) / 2147483648.0f, exponent);
    convert(reinterpret_cast<const std::byte *>(&value), DType::F32, &bytes[size_t(i) * sizeOf(type)], type, 1);
  }
  return bytes;
}

/// A parameter with shapes of rank 0 to 5, whose extents are 1, primes or small composites.
Parameter drawParameter(std::mt19937 &random, MemoryReader &reader) {
  constexpr int64_t extents[] = {1, 1, 2, 3, 4, 5, 6, 7, 11, 13};
  Parameter parameter;
  parameter.name = "w";
  parameter.storage = DType(random() % 3);
  parameter.layers = 1 + random() % 2;
  for (size_t rank = random() % 6; rank > 0; --rank)
    parameter.shape.push_back(extents[random() % std::size(extents)]);
  Shape part = parameter.shape;
  std::vector<Shape> parts;
  const bool isJoined = !part.empty() && random() % 2;
  parameter.join.dim = isJoined ? int64_t(random() % part.size()) : 0;
  parameter.join.kind = isJoined && random() % 2 ? Join::Stack : Join::Concat;
  if (parameter.join.kind == Join::Stack)
    part.erase(part.begin() + parameter.join.dim);
  for (int64_t left = isJoined ? parameter.shape[parameter.join.dim] : 1; left > 0;) {
    const int64_t own = isJoined && parameter.join.kind == Join::Concat ? 1 + int64_t(random() % left) : 1;
    if (isJoined && parameter.join.kind == Join::Concat)
      part[parameter.join.dim] = own;
    parts.push_back(part);
    left -= own;
  }
  for (const Shape &shape : parts) {
    const std::string name = "{layer}." + std::to_string(parameter.sources.size());
    parameter.sources.push_back(drawSource(random, name, shape, random() % 6, random() % 2));
    const Shape &stored = parameter.sources.back().shape;
    const int64_t count = std::accumulate(stored.begin(), stored.end(), int64_t(1), std::multiplies<>());
    for (int64_t layer = 0; layer < parameter.layers; ++layer) {
      const DType type = DType(random() % 3);
      reader.add(sourceName(parameter.sources.back(), layer), {type, stored}, drawValues(random, type, count));
    }
  }
  return parameter;
}

std::string dims(const Shape &shape, const char *none) {
  std::string text = textOf({Reshape{shape}});
  text = text.substr(8, text.size() - 9);
  return shape.empty() ? none : text;
}

/// The parameter as text.
std::string moduleOf(const Parameter &parameter) {
  Shape shape = parameter.shape;
  shape.insert(shape.begin(), parameter.layers);
  std::string text = "attn.parameter @w layers " + std::to_string(parameter.layers) + " : tensor<" + dims(shape, "") +
                     "x" + nameOf(parameter.storage) + "> from ";
  if (parameter.sources.size() > 1 || parameter.join.kind == Join::Stack)
    text += (parameter.join.kind == Join::Stack ? "stack" : "concat") + std::string("<dim = ") +
            std::to_string(parameter.join.dim) + "> ";
  for (const Source &source : parameter.sources) {
    text += (&source == parameter.sources.data() ? "[" : ", ") + std::string("#attn.source<\"") + source.name +
            "\" : " + dims(source.shape, "[]");
    for (const Transform &transform : source.transforms) {
      std::string step = textOf({transform});
      if (std::holds_alternative<Scale>(transform) && step.find('.') == std::string::npos)
        step.insert(step.size() - 1, ".0"); // text of the IR tells floats by their point
      text += ", " + step;
    }
    text += ">";
  }
  return text + "]";
}

/// The logical values of a layer in a weight file.
std::vector<double> valuesInFile(const Parameter &parameter, const std::string &file, int64_t layer) {
  const int64_t columns = parameter.shape.empty() ? 1 : parameter.shape.back(),
                width = packedExtents(parameter).columns;
  const int64_t rows = packedExtents(parameter).rows, size = sizeOf(parameter.storage);
  std::vector<double> values;
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column) {
      const char *at =
          file.data() + 4096 + parameter.offset + layer * parameter.layerStride + (row * width + column) * size;
      float value = 0;
      convert(reinterpret_cast<const std::byte *>(at), parameter.storage, reinterpret_cast<std::byte *>(&value),
              DType::F32, 1);
      values.push_back(value);
    }
  return values;
}

} // namespace

TEST(DrawnSources, ArePackedAsTheReferenceReadsThem) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect>();
  const test::TemporaryFolder folder;
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    MemoryReader reader;
    std::vector<Parameter> parameters = {drawParameter(random, reader)};
    const std::string text = moduleOf(parameters[0]);
    SCOPED_TRACE(std::to_string(seed) + ": " + text);
    assignOffsets(parameters);
    auto module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
    std::vector<Section> sections;
    auto packed = packWeights({&parameters, &reader, &sections, folder.path, "m", 1});
    ASSERT_TRUE(packed) << packed.error().message;
    std::string file(packed->fileBytes, '\0');
    ASSERT_EQ(pread(packed->descriptor(), file.data(), file.size(), 0), ssize_t(file.size()));
    reference::SourceParameters naive(reader);
    for (int64_t layer = 0; layer < parameters[0].layers; ++layer) {
      auto expected = naive.read(*module->getOps<attn::ParameterOp>().begin(), layer);
      ASSERT_TRUE(expected) << expected.error().message;
      const std::vector<double> values = valuesInFile(parameters[0], file, layer);
      ASSERT_EQ(values.size(), expected->size());
      ASSERT_EQ(std::memcmp(values.data(), expected->data(), values.size() * sizeof(double)), 0);
    }
  }
}
