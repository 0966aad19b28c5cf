//===- ParameterReaderTest.cpp - How attn.parameter gets its values ------------===//
#include "lib/Reference/ParameterReader.h"
#include "lib/Reference/Value.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"
#include <cstring>
#include <map>

using namespace mlir;
using namespace rapt;
using namespace rapt::reference;

namespace {

/// Tensors in memory; f32 values are counted up from `first`.
struct FakeTensors : artifact::TensorReader {
  std::map<std::string, artifact::TensorInfo, std::less<>> infos;
  std::map<std::string, std::vector<std::byte>, std::less<>> data;

  void add(const std::string &name, std::vector<int64_t> shape, float first) {
    size_t count = 1;
    for (int64_t size : shape)
      count *= size_t(size);
    std::vector<std::byte> bytes(count * 4);
    for (size_t i = 0; i < count; ++i) {
      float value = first + float(i);
      memcpy(&bytes[i * 4], &value, 4);
    }
    infos[name] = {artifact::DType::F32, std::move(shape)};
    data[name] = std::move(bytes);
  }
  const artifact::TensorInfo *find(std::string_view name) const override {
    auto found = infos.find(name);
    return found == infos.end() ? nullptr : &found->second;
  }
  Status read(std::string_view name, uint64_t offset, std::span<std::byte> out) const override {
    memcpy(out.data(), data.find(name)->second.data() + offset, out.size());
    return {};
  }
};

class Parameters : public testing::Test {
protected:
  Parameters() { context.loadDialect<attn::AttnDialect>(); }

  attn::ParameterOp parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    return *module->getOps<attn::ParameterOp>().begin();
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  FakeTensors tensors;
};

TEST_F(Parameters, AreConcatenatedAndTransposed) {
  tensors.add("h.5.q", {2, 3}, 1);   // [[1 2 3] [4 5 6]]
  tensors.add("h.5.k", {1, 3}, 100); // transposed: a column 100 101 102
  SourceParameters reader(tensors);
  auto parameter = parse(R"(attn.parameter @w layers 2 : tensor<2x3x3xf32>
    from [#attn.source<"h.{layer}.q", transpose = true>, #attn.source<"h.{layer}.k", transpose = true>] {first_layer = 4 : i64})");
  auto values = reader.read(parameter, 1);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, (std::vector<double>{1, 4, 100, 2, 5, 101, 3, 6, 102}));
  auto missing = reader.read(parameter, 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "parameter 'w': there is no tensor 'h.4.q'");
}

TEST_F(Parameters, AreRowsOfATensor) {
  tensors.add("w", {3, 2}, 1); // [[1 2] [3 4] [5 6]]
  tensors.add("b", {4}, 10);
  SourceParameters reader(tensors);
  auto read = [&](const char *text) {
    auto values = reader.read(parse(text), 0);
    return values ? *values : std::vector<double>{};
  };
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x2xf32> from [#attn.source<"w" rows(1, 3)>])"),
            (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x2xf32> from [#attn.source<"w" rows(0, 2), transpose = true>])"),
            (std::vector<double>{1, 3, 2, 4}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2xf32> from [#attn.source<"b" rows(2, 4)>])"),
            (std::vector<double>{12, 13}));
  auto beyond = reader.read(parse(R"(attn.parameter @w : tensor<2x2xf32> from [#attn.source<"w" rows(2, 4)>])"), 0);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().message, "parameter 'w': tensor 'w' of shape [3, 2] has no rows up to 4");
}

TEST_F(Parameters, OfRankOneAreConcatenated) {
  tensors.add("a", {2}, 1);
  tensors.add("b", {3}, 10);
  SourceParameters reader(tensors);
  auto values =
      reader.read(parse(R"(attn.parameter @w : tensor<5xf32> from [#attn.source<"a">, #attn.source<"b">])"), 0);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, (std::vector<double>{1, 2, 10, 11, 12}));
}

TEST_F(Parameters, AreRoundedToTheirType) {
  tensors.add("a", {2}, 1.00390625f); // 1 + 2^-8: halfway between two bf16, the even one is 1
  SourceParameters reader(tensors);
  auto values = reader.read(parse(R"(attn.parameter @w : tensor<2xbf16> from [#attn.source<"a">])"), 0);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, (std::vector<double>{1, 2}));
}

TEST_F(Parameters, MustFit) {
  tensors.add("a", {2, 3}, 1);
  SourceParameters reader(tensors);
  auto wide = reader.read(parse(R"(attn.parameter @w : tensor<2x4xf32> from [#attn.source<"a">])"), 0);
  ASSERT_FALSE(wide);
  EXPECT_EQ(wide.error().message, "parameter 'w': its sources have 3 columns, but its type needs 4");
  for (const char *text : {R"(attn.parameter @w : tensor<3x3xf32> from [#attn.source<"a">])",
                           R"(attn.parameter @w : tensor<2x5xf32> from [#attn.source<"a">, #attn.source<"a">])",
                           R"(attn.parameter @w : tensor<6xf32> from [#attn.source<"a">])"}) {
    auto values = reader.read(parse(text), 0);
    ASSERT_FALSE(values) << text;
    EXPECT_NE(values.error().message.find("tensor 'a' of shape [2, 3] does not fit columns"), std::string::npos)
        << values.error().message;
  }
}

TEST(RoundTo, IsExactToNearestEven) {
  MLIRContext context;
  Builder builder(&context);
  EXPECT_EQ(roundTo(builder.getF32Type(), 0.1), 0.1);
  EXPECT_EQ(roundTo(builder.getF32Type(), 0.1, /*exact=*/true), double(0.1f));
  EXPECT_EQ(roundTo(builder.getF16Type(), 65520.0), std::numeric_limits<double>::infinity());
  // Just above a tie of bf16, by less than f32 can tell: rounding twice would fall to even.
  EXPECT_EQ(roundTo(builder.getBF16Type(), 1.00390625 + 1e-12), 1.0078125);
}

TEST(SignExtend, TakesTheLowBits) {
  EXPECT_EQ(signExtend(0x80, 8), -128);
  EXPECT_EQ(signExtend(0x17f, 8), 127);
  EXPECT_EQ(signExtend(1, 1), -1);
  EXPECT_EQ(signExtend(INT64_MIN, 64), INT64_MIN);
}

} // namespace
