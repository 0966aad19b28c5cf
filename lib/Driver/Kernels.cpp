//===- Kernels.cpp - Functions of MLIR text that an application calls directly -----===//
#include "lib/Driver/Kernels.h"
#include "dialect/Attn/AttnOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace rapt;

namespace {

/// One extent of one value.
using Extent = std::pair<void *, unsigned>;

/// The extents of a function that are equal whenever it runs.
llvm::EquivalenceClasses<Extent> equalExtents(func::FuncOp function) {
  llvm::EquivalenceClasses<Extent> equal;
  function.walk([&](attn::AttentionOp attention) {
    std::map<unsigned, Extent> iterated;
    auto maps = attention.getMaps().getAsValueRange<AffineMapAttr>();
    Value values[] = {attention.getQuery(), attention.getKey(), attention.getValue(), attention.getResult()};
    for (auto [value, map] : llvm::zip(values, maps))
      for (auto [i, expression] : llvm::enumerate(map.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(expression)) {
          Extent extent(value.getAsOpaquePointer(), i);
          auto [known, isNew] = iterated.try_emplace(dim.getPosition(), extent);
          equal.unionSets(known->second, extent);
        }
  });
  return equal;
}

/// Every argument and result has a name, and a type with memory.
bool isKernel(func::FuncOp function) {
  if (function.isDeclaration() || !function.isPublic())
    return false;
  for (unsigned i = 0; i < function.getNumArguments(); ++i)
    if (!function.getArgAttr(i, attn::AttnDialect::nameAttr) ||
        !isa<RankedTensorType>(function.getArgument(i).getType()))
      return false;
  for (unsigned i = 0; i < function.getNumResults(); ++i)
    if (!function.getResultAttr(i, attn::AttnDialect::nameAttr) || !isa<RankedTensorType>(function.getResultTypes()[i]))
      return false;
  return function.getNumResults() > 0;
}

void declareKernel(func::FuncOp function, OpBuilder &builder) {
  llvm::EquivalenceClasses<Extent> equal = equalExtents(function);
  std::map<Extent, std::string> names;
  auto nameExtents = [&](Value value) {
    SmallVector<Attribute> dims;
    for (auto [i, extent] : llvm::enumerate(cast<RankedTensorType>(value.getType()).getShape())) {
      if (!ShapedType::isDynamic(extent))
        continue;
      Extent own(value.getAsOpaquePointer(), i);
      auto leader = equal.findLeader(own);
      Extent key = leader == equal.member_end() ? own : *leader;
      auto [known, isNew] = names.try_emplace(key, function.getSymName().str() + ".d" + std::to_string(names.size()));
      if (isNew) {
        builder.setInsertionPoint(function);
        attn::DimOp::create(builder, function.getLoc(), known->second, 0, int64_t(1) << 24);
      }
      dims.push_back(builder.getStringAttr(known->second));
    }
    return builder.getArrayAttr(dims);
  };
  for (BlockArgument argument : function.getArguments())
    function.setArgAttr(argument.getArgNumber(), attn::AttnDialect::dimsAttr, nameExtents(argument));
  for (OpOperand &result : function.getBody().back().getTerminator()->getOpOperands())
    function.setResultAttr(result.getOperandNumber(), attn::AttnDialect::dimsAttr, nameExtents(result.get()));
  function->setAttr(attn::AttnDialect::entryAttr, builder.getUnitAttr());
}

/// The C type of a manifest's dtype; 16-bit floating-point values are their bits.
std::string cType(const std::string &dtype) {
  if (dtype == "f32")
    return "float";
  if (dtype == "bf16" || dtype == "f16")
    return "uint16_t";
  return dtype == "i64" ? "int64_t" : dtype == "i32" ? "int32_t" : "void";
}

/// An expression that is true where the code can run. It asks for those features that every GCC and Clang can name; the
/// others that code uses came to processors together with these.
std::string supportedExpression(const artifact::Manifest &manifest) {
  constexpr const char *known[] = {"sse3",     "ssse3",    "sse4.1",   "sse4.2",    "popcnt",  "avx",
                                   "avx2",     "fma",      "bmi",      "bmi2",      "avx512f", "avx512bw",
                                   "avx512cd", "avx512dq", "avx512vl", "avx512vnni"};
  std::string expression;
  if (manifest.arch == "x86_64")
    for (const char *feature : known)
      if (llvm::is_contained(manifest.features, feature))
        expression += std::string(expression.empty() ? "" : " && ") + "__builtin_cpu_supports(\"" + feature + "\")";
  return expression.empty() ? "1" : expression;
}

const std::string &text(const json::Value &value, const char *key) { return *value.find(key)->asString(); }

} // namespace

void driver::declareKernels(ModuleOp module) {
  for (Operation &op : *module.getBody())
    if (op.hasAttr(attn::AttnDialect::entryAttr))
      return;
  OpBuilder builder(module.getContext());
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (isKernel(function))
      declareKernel(function, builder);
}

std::string driver::kernelFunctions(const artifact::Manifest &manifest) {
  std::string code = "#include <stddef.h>\n";
  for (size_t i = 0; i < manifest.entries.size(); ++i) {
    const json::Value &entry = manifest.entries[i];
    std::string parameters, buffers, table = manifest.name + "_module.entries[" + std::to_string(i) + "]";
    for (const json::Value &buffer : *entry.find("buffers")->asArray()) {
      const std::string &kind = text(buffer, "kind");
      // Names come from the input: nothing but identifiers reaches the header.
      const std::string name = artifact::prefixOf(text(buffer, "name"));
      buffers += buffers.empty() ? "" : ", ";
      if (kind == "input" || kind == "output") {
        parameters += (kind == "input" ? "const " : "") + cType(text(buffer, "dtype")) + " *" + name + ", ";
        buffers += "(void *)" + name;
      } else {
        buffers += kind == "workspace" ? "scratch" : "NULL";
      }
    }
    std::string dims;
    for (const json::Value &dim : *entry.find("dims")->asArray())
      dims += (dims.empty() ? "" : ", ") + artifact::prefixOf(*dim.asString());
    std::string name = artifact::prefixOf(text(entry, "name"));
    code += "\n/* dims: {" + dims +
            "}. All memory is dense and aligned to 64 bytes. Returns 0, or what parallel_for returned. */\n";
    code += "static inline int32_t " + name + "(const rapt_env *env, " + parameters +
            "const int64_t *dims, void *scratch) {\n" + "  void *buffers[] = {" + buffers + "};\n  return " + table +
            ".run(env, buffers, dims);\n}\n";
    code += "/* Bytes of scratch memory, aligned to 64. */\nstatic inline int64_t " + name +
            "_scratch(const int64_t *dims, int64_t workers) { return " + table + ".workspace(dims, workers); }\n";
    code += "/* Whether this processor can run it. */\nstatic inline int " + name + "_supported(void) {\n  return " +
            supportedExpression(manifest) + ";\n}\n";
  }
  return code;
}
