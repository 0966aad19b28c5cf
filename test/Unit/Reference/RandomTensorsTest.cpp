//===- RandomTensorsTest.cpp - The purpose of a parameter, read off its uses ----===//
#include "lib/Formats/HuggingFace/RandomTensors.h"
#include "lib/Reference/ParameterReader.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::reference;

namespace {

constexpr const char *program = R"(
  attn.parameter @wte : tensor<50x12xf32> from [#attn.source<"wte.weight">]
  attn.parameter @c_attn layers 2 : tensor<2x768x12xf32> from [#attn.source<"h.{layer}.attn.c_attn.weight">]
  attn.parameter @head : tensor<12x50xf32> from [#attn.source<"lm_head.weight", transpose<1, 0>>]
  attn.parameter @q : tensor<24x12xf32> from [#attn.source<"q.weight">]
  attn.parameter @scaled : tensor<24x12xf32> from [#attn.source<"scaled.weight">]
  attn.parameter @k : tensor<24x12xf32> from [#attn.source<"k.weight">]
  attn.parameter @ln_f.weight : tensor<12xf32> from [#attn.source<"ln_f.weight">]
  attn.parameter @ln_f.bias : tensor<12xf32> from [#attn.source<"ln_f.bias">]
  func.func @heads(%x: tensor<?x12xf32>, %begin: tensor<?xi32>) -> (tensor<?x2x12xf32>, tensor<?x2x12xf32>) {
    %q = attn.parameter_slice @q : tensor<24x12xf32>
    %scaled = attn.parameter_slice @scaled : tensor<24x12xf32>
    %k = attn.parameter_slice @k : tensor<24x12xf32>
    %0 = attn.linear %x, %q transposed : tensor<?x12xf32>, tensor<24x12xf32> -> tensor<?x24xf32>
    %1 = attn.linear %x, %scaled transposed : tensor<?x12xf32>, tensor<24x12xf32> -> tensor<?x24xf32>
    %2 = attn.linear %x, %k transposed : tensor<?x12xf32>, tensor<24x12xf32> -> tensor<?x24xf32>
    %3 = attn.split_heads %0 : tensor<?x24xf32> -> tensor<?x2x12xf32>
    %4 = attn.split_heads %1 : tensor<?x24xf32> -> tensor<?x2x12xf32>
    %5 = attn.split_heads %2 : tensor<?x24xf32> -> tensor<?x2x12xf32>
    %one = arith.constant 1.0 : f32
    %half = arith.constant 0.5 : f32
    %6 = attn.attention %3, %5, %5, %one q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>)
      maps [affine_map<(b, h, g, m, n, k, v) -> (m, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, k)>,
            affine_map<(b, h, g, m, n, k, v) -> (n, h, v)>, affine_map<(b, h, g, m, n, k, v) -> (m, h, v)>]
      : tensor<?x2x12xf32>, tensor<?x2x12xf32>, tensor<?x2x12xf32> -> tensor<?x2x12xf32>
    %7 = attn.attention %4, %5, %5, %half q_begin(%begin : tensor<?xi32>) kv_begin(%begin : tensor<?xi32>)
      maps [affine_map<(b, h, g, m, n, k, v) -> (m, h, k)>, affine_map<(b, h, g, m, n, k, v) -> (n, h, k)>,
            affine_map<(b, h, g, m, n, k, v) -> (n, h, v)>, affine_map<(b, h, g, m, n, k, v) -> (m, h, v)>]
      : tensor<?x2x12xf32>, tensor<?x2x12xf32>, tensor<?x2x12xf32> -> tensor<?x2x12xf32>
    return %6, %7 : tensor<?x2x12xf32>, tensor<?x2x12xf32>
  }
  func.func @f(%ids: tensor<?xi32>, %x: tensor<?x768xf32>, %i: index) -> tensor<?x50xf32> {
    %wte = attn.parameter_slice @wte : tensor<50x12xf32>
    %w = attn.parameter_slice @c_attn[%i] : tensor<768x12xf32>
    %g = attn.parameter_slice @ln_f.weight : tensor<12xf32>
    %b = attn.parameter_slice @ln_f.bias : tensor<12xf32>
    %0 = attn.linear %x, %w : tensor<?x768xf32>, tensor<768x12xf32> -> tensor<?x12xf32>
    %1 = attn.layer_norm %0, %g, %b epsilon 1.0e-5 : tensor<?x12xf32>, tensor<12xf32>
    %2 = attn.linear %1, %wte transposed : tensor<?x12xf32>, tensor<50x12xf32> -> tensor<?x50xf32>
    %head = attn.parameter_slice @head : tensor<12x50xf32>
    %4 = attn.linear %1, %head : tensor<?x12xf32>, tensor<12x50xf32> -> tensor<?x50xf32>
    %3 = attn.embedding %ids, %wte : tensor<?xi32>, tensor<50x12xf32> -> tensor<?x12xf32>
    return %2 : tensor<?x50xf32>
  })";

TEST(RandomTensors, AreOfTheirPurpose) {
  using huggingface::Init;
  MLIRContext context;
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect>();
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(program, &context);
  ASSERT_TRUE(module);
  auto tensors = makeRandomTensors(*module, 7);
  ASSERT_TRUE(tensors) << tensors.error().message;
  const huggingface::TensorRequest requests[] = {{"wte.weight", {50, 12}, Init::embedding()},
                                                 {"h.0.attn.c_attn.weight", {768, 12}, Init::weight(768)},
                                                 {"h.1.attn.c_attn.weight", {768, 12}, Init::weight(768)},
                                                 {"q.weight", {24, 12}, Init::unscaledQuery(12, 12)},
                                                 {"scaled.weight", {24, 12}, Init::weight(12)},
                                                 {"k.weight", {24, 12}, Init::weight(12)},
                                                 {"ln_f.weight", {12}, Init::normWeight()},
                                                 {"ln_f.bias", {12}, Init::bias()},
                                                 {"lm_head.weight", {50, 12}, Init::weight(12)}};
  auto expected = huggingface::makeRandomTensors(7, artifact::DType::F32, requests);
  for (const huggingface::TensorRequest &request : requests) {
    ASSERT_TRUE((*tensors)->find(request.name)) << request.name;
    EXPECT_EQ((*tensors)->find(request.name)->shape, request.shape);
    std::vector<float> values(12), wanted(12);
    ASSERT_TRUE((*tensors)->read(request.name, 0, std::as_writable_bytes(std::span(values))));
    ASSERT_TRUE(expected->read(request.name, 0, std::as_writable_bytes(std::span(wanted))));
    EXPECT_EQ(values, wanted) << request.name;
  }
}

/// A tensor is as large as the checkpoint's, whatever part of it a parameter takes, in each layer.
TEST(RandomTensors, HaveTheShapesOfTheirSources) {
  MLIRContext context;
  context.loadDialect<attn::AttnDialect>();
  auto module = parseSourceString<ModuleOp>(R"(
    attn.parameter @w layers 2 : tensor<2x4x3xf32> from concat<dim = 0>
      [#attn.source<"{layer}.a" : 9x3, slice<dim = 0, 6 to 9>>, #attn.source<"{layer}.b" : 3, reshape<1x3>>])",
                                            &context);
  ASSERT_TRUE(module);
  auto tensors = makeRandomTensors(*module, 1);
  ASSERT_TRUE(tensors) << tensors.error().message;
  EXPECT_EQ((*tensors)->find("0.a")->shape, (std::vector<int64_t>{9, 3}));
  EXPECT_EQ((*tensors)->find("1.b")->shape, (std::vector<int64_t>{3}));
  auto values = SourceParameters(**tensors).read(*module->getOps<attn::ParameterOp>().begin(), 1);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->size(), 12u);
}

} // namespace
