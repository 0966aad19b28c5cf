//===- OracleTest.cpp - The evaluator as a module of the runtime ----------------===//
#include "lib/Reference/Oracle.h"
#include "lib/Reference/Run.h"
#include "lib/Support/File.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Parser/Parser.h"
#include "rapt/rapt.hpp"
#include "test/Unit/Folders.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace mlir;
using namespace rapt;
using namespace rapt::reference;

namespace {

constexpr int64_t vocabulary = 97; // of the model

/// Numbers that differ from one another.
class Waves : public ParameterReader {
public:
  Expected<std::vector<double>> read(attn::ParameterOp parameter, int64_t layer) override {
    if (parameter.getSymName() == broken)
      return Error{"there is no " + broken};
    std::vector<double> values(size_t(parameter.getSliceType().getNumElements()));
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = double(float(std::sin(0.7 * double(i + 1) * double(parameter.getSymName().size() + size_t(layer)))));
    return values;
  }
  std::string broken;
};

class Oracles : public testing::Test {
protected:
  Oracles() {
    mlir.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect, scf::SCFDialect>();
    module = parse(*readFile(test::inSource("/test/Reference/Inputs/gpt2.mlir"), 1 << 20));
  }
  OwningOpRef<ModuleOp> parse(const std::string &text) { return parseSourceString<ModuleOp>(text, &mlir); }

  void open(bool inF64, const std::vector<artifact::Section> &files = {}) {
    auto made = Oracle::make(*module, parameters, inF64, files);
    ASSERT_TRUE(made) << made.error().message;
    oracle = std::move(*made);
    Outcome outcome = Module::open(oracle->artifact(), opened);
    ASSERT_TRUE(outcome) << outcome.message;
    outcome = Context::make(opened, sized<rapt_context_options>(), context);
    ASSERT_TRUE(outcome) << outcome.message;
    outcome = Sequence::make(context, sequence);
    ASSERT_TRUE(outcome) << outcome.message;
  }
  /// The logits behind each token.
  Outcome step(std::vector<int32_t> tokens, std::vector<float> &logits) {
    logits.resize(tokens.size() * vocabulary);
    rapt_chunk chunk = sequence.chunk(tokens);
    chunk.want = RAPT_LOGITS_ALL;
    chunk.output = logits.data();
    chunk.output_bytes = logits.size() * sizeof(float);
    return context.step(chunk);
  }
  /// Those of the function on arrays, without the runtime.
  template <typename S> std::vector<double> evaluated(const std::vector<int64_t> &tokens) {
    auto integers = [](std::vector<int64_t> shape, const std::vector<int64_t> &values) {
      auto bytes = std::as_bytes(std::span(values));
      return NpyTensor{NpyType::I64, std::move(shape), {bytes.begin(), bytes.end()}};
    };
    const auto count = int64_t(tokens.size());
    std::vector<int64_t> want(tokens.size());
    for (int64_t i = 0; i < count; ++i)
      want[size_t(i)] = i;
    const NamedTensors inputs{{"tokens", integers({count}, tokens)},
                              {"row_begin", integers({2}, {0, count})},
                              {"past", integers({1}, {0})},
                              {"block_table", integers({1, 2}, {0, 1})},
                              {"want", integers({count}, want)}};
    auto outputs = runEntry<S>(*module, module->lookupSymbol<func::FuncOp>("step"), parameters, inputs, {"logits"}, 2);
    std::vector<double> logits;
    if (succeeded(outputs))
      for (size_t i = 0; i < size_t(count * vocabulary); ++i) {
        S value;
        memcpy(&value, (*outputs)["logits"].data.data() + i * sizeof(S), sizeof(S));
        logits.push_back(double(value));
      }
    return logits;
  }
  template <typename S> void expectSequence() {
    const std::vector<int64_t> tokens{5, 96, 0, 33, 7, 7, 41};
    const std::vector<double> right = evaluated<S>(tokens);
    ASSERT_EQ(right.size(), tokens.size() * vocabulary);
    size_t at = 0;
    for (size_t count : {3, 1, 3}) {
      std::vector<float> logits;
      const Outcome outcome = step({tokens.begin() + long(at), tokens.begin() + long(at + count)}, logits);
      ASSERT_TRUE(outcome) << outcome.message;
      for (size_t i = 0; i < logits.size(); ++i)
        ASSERT_EQ(logits[i], float(right[at * vocabulary + i])) << at << " " << i;
      at += count;
    }
  }

  MLIRContext mlir;
  OwningOpRef<ModuleOp> module;
  Waves parameters;
  std::unique_ptr<Oracle> oracle;
  Module opened;
  Context context;
  Sequence sequence;
};

TEST_F(Oracles, GiveTheNumbersOfTheFunction) {
  open(/*inF64=*/false);
  expectSequence<float>();
}

TEST_F(Oracles, KeepCachesInF64) {
  open(/*inF64=*/true);
  expectSequence<double>();
}

TEST_F(Oracles, HoldFiles) {
  open(/*inF64=*/false, {{"a.json", "{}"}, {"b.txt", "text"}});
  size_t bytes = 0;
  const void *file = rapt_module_section(opened.get(), "b.txt", &bytes);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(std::string(static_cast<const char *>(file), bytes), "text");
}

TEST_F(Oracles, ToldOfErrors) {
  open(/*inF64=*/false);
  parameters.broken = "wpe";
  std::string told;
  ScopedDiagnosticHandler handler(&mlir, [&](Diagnostic &diagnostic) { told += diagnostic.str(); });
  std::vector<float> logits;
  EXPECT_FALSE(oracle->hasFailed());
  EXPECT_EQ(step({1}, logits).status, RAPT_BUG);
  EXPECT_TRUE(oracle->hasFailed());
  EXPECT_NE(told.find("there is no wpe"), std::string::npos) << told;
}

TEST_F(Oracles, AreOfModelsOnly) {
  auto refuse = [&](const std::string &text, const std::string &why) {
    auto other = parse(text);
    ASSERT_TRUE(other);
    auto made = Oracle::make(*other, parameters, false);
    ASSERT_FALSE(made);
    EXPECT_NE(made.error().message.find(why), std::string::npos) << made.error().message;
  };
  refuse("func.func @f() { return }", "the module is no model with 1 to 16 entries");
  const std::string model = "module attributes {attn.model = {}} { attn.dim @n min 1 max 8\n func.func @f(";
  const std::string rest = ") attributes {attn.entry} { return } }";
  refuse(model + "%x: f32 {attn.name = \"x\"}" + rest, "'f' cannot be an entry: 'x' is of type f32");
  refuse(model + "%x: tensor<f32>" + rest, "'f' cannot be an entry: an argument or result has no name");
  refuse(model + "%x: tensor<?xf32> {attn.name = \"x\"}" + rest, "buffer 'x' has an extent without a name");
  refuse(model + "%x: !attn.kv_cache<134217728 x 134217728 x 134217728, block = 64, f32> {attn.name = \"cache\"}" +
             rest,
         "a block of 'cache' is larger than any memory");
}

} // namespace
