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
    from concat<dim = 1> [#attn.source<"h.{layer}.q" : 2x3, transpose<1, 0>>, #attn.source<"h.{layer}.k" : 1x3, transpose<1, 0>>] {first_layer = 4 : i64})");
  auto values = reader.read(parameter, 1);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(*values, (std::vector<double>{1, 4, 100, 2, 5, 101, 3, 6, 102}));
  auto missing = reader.read(parameter, 0);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "parameter 'w': there is no tensor 'h.4.q'");
}

TEST_F(Parameters, AreWhatTransformsMake) {
  tensors.add("w", {3, 2}, 1); // [[1 2] [3 4] [5 6]]
  tensors.add("c", {2, 2, 2}, 1);
  SourceParameters reader(tensors);
  auto read = [&](const char *text) {
    auto values = reader.read(parse(text), 0);
    return values ? *values : std::vector<double>{};
  };
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x2xf32> from [#attn.source<"w" : 3x2, slice<dim = 0, 1 to 3>>])"),
            (std::vector<double>{3, 4, 5, 6}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1x3xf32>
                    from [#attn.source<"w" : 3x2, slice<dim = 1, 1 to 2>, transpose<1, 0>>])"),
            (std::vector<double>{2, 4, 6}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x3xf32> from [#attn.source<"w" : 3x2, transpose<1, 0>>])"),
            (std::vector<double>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(
      read(R"(attn.parameter @w : tensor<3x2xf32> from [#attn.source<"w" : 3x2, transpose<1, 0>, reshape<3x2>>])"),
      (std::vector<double>{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x2x2xf32> from [#attn.source<"c", transpose<2, 0, 1>>])"),
            (std::vector<double>{1, 3, 5, 7, 2, 4, 6, 8}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<f32> from [#attn.source<"w" : 3x2, slice<dim = 0, 2 to 3>,
                    slice<dim = 1, 0 to 1>, reshape<[]>, scale<0.5>>])"),
            (std::vector<double>{2.5}));
}

TEST_F(Parameters, AreJoined) {
  tensors.add("a", {2}, 1);
  tensors.add("b", {2}, 10);
  tensors.add("m", {1, 2, 2}, 20);
  tensors.add("n", {1, 1, 2}, 30);
  SourceParameters reader(tensors);
  auto read = [&](const char *text) {
    auto values = reader.read(parse(text), 0);
    return values ? *values : std::vector<double>{};
  };
  EXPECT_EQ(
      read(R"(attn.parameter @w : tensor<4xf32> from concat<dim = 0> [#attn.source<"a" : 2>, #attn.source<"b" : 2>])"),
      (std::vector<double>{1, 2, 10, 11}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x2xf32> from stack<dim = 0> [#attn.source<"a">, #attn.source<"b">])"),
            (std::vector<double>{1, 2, 10, 11}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<2x2xf32> from stack<dim = 1> [#attn.source<"a">, #attn.source<"b">])"),
            (std::vector<double>{1, 10, 2, 11}));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1x3x2xf32>
                    from concat<dim = 1> [#attn.source<"m" : 1x2x2>, #attn.source<"n" : 1x1x2>])"),
            (std::vector<double>{20, 21, 22, 23, 30, 31}));
}

/// A scaled value is rounded to f32, a cast in its order of the chain, and the parameter's type rounds last.
TEST_F(Parameters, AreRoundedStepByStep) {
  tensors.add("a", {1}, 1.00390625f); // 1 + 2^-8
  SourceParameters reader(tensors);
  auto read = [&](const char *text) {
    auto values = reader.read(parse(text), 0);
    return values ? values->front() : std::nan("");
  };
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1xf32> from [#attn.source<"a", scale<0.1>>])"),
            double(1.00390625f * 0.1f));
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1xf32> from [#attn.source<"a", cast<bf16>, scale<3.0>>])"), 3.0);
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1xf32> from [#attn.source<"a", cast<bf16>, add<1.0>>])"), 2.0);
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1xf32> from [#attn.source<"a", scale<3.0>, cast<bf16>>])"), 3.015625);
  EXPECT_EQ(read(R"(attn.parameter @w : tensor<1xbf16> from [#attn.source<"a", scale<3.0>, cast<f16>>])"), 3.015625);
  auto large =
      reader.read(parse(R"(attn.parameter @w : tensor<1xf32> from [#attn.source<"a", scale<1.0e5>, cast<f16>>])"), 0);
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().message, "parameter 'w': tensor 'a' holds a finite value that a step of "
                                   "scale<1.000000e+05>, cast<f16> makes infinite");
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
  auto failure = [&](const char *text) {
    auto values = reader.read(parse(text), 0);
    return values ? "" : values.error().message;
  };
  EXPECT_EQ(failure(R"(attn.parameter @w : tensor<2x4xf32> from [#attn.source<"a">])"),
            "parameter 'w': tensor 'a' is [2, 3], expected [2, 4]");
  EXPECT_EQ(failure(R"(attn.parameter @w : tensor<6xf32> from [#attn.source<"a">])"),
            "parameter 'w': tensor 'a' is [2, 3], expected [6]");
  EXPECT_EQ(failure(R"(attn.parameter @w : tensor<2x3xf32> from [#attn.source<"a", transpose<1, 0>>])"),
            "parameter 'w': tensor 'a' is [2, 3], expected [3, 2], which transpose<1, 0> makes a part of [2, 3]");
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
