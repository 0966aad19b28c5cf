//===- main.cpp - rapt-reference: evaluates the imported stage ----------------===//
#include "lib/Reference/ParameterReader.h"
#include "lib/Reference/Run.h"
#include "lib/Support/IRText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;
using namespace rapt;
namespace cl = llvm::cl;
using cl::desc, cl::cat, cl::value_desc;

static cl::OptionCategory own("Options of rapt-reference");
static cl::opt<std::string> file(cl::Positional, cl::Required, desc("IR.mlir"), cat(own));
static cl::opt<std::string> entry("entry", desc("function to run, the module's first entry by default"), cat(own));
static cl::opt<std::string> precision("precision", desc("f32 or f64"), cl::init("f32"), cat(own));
static cl::list<std::string> inputs("input", desc("an argument"), value_desc("NAME=F.npy"), cat(own));
static cl::list<std::string> outputs("output", desc("a result"), value_desc("NAME=F.npy"), cat(own));
static cl::list<std::string> values("parameter", desc("an attn.parameter"), value_desc("NAME=F.npy"), cat(own));
static cl::opt<std::string> weights("weights", desc("model directory"), value_desc("DIR"), cat(own));
static cl::opt<uint64_t> seed("random-weights", desc("as docs/RandomWeights.md"), value_desc("SEED"), cat(own));
static cl::opt<int64_t> blocks("cache-blocks", desc("blocks of cache arguments"), cl::init(64), cat(own));

/// Tells the user, for exit status `status`: 1 the input is wrong, 2 usage.
static int fail(const std::string &message, int status) {
  return llvm::errs() << "rapt-reference: error: " << message << "\n", status;
}

static std::pair<std::string, std::string> nameAndFile(StringRef text) {
  return {text.split('=').first.str(), text.split('=').second.str()};
}

/// The parameters that the options ask for; `tensors` holds what they read.
static Expected<std::unique_ptr<reference::ParameterReader>>
openParameters(ModuleOp module, std::unique_ptr<artifact::TensorReader> &tensors) {
  auto given = std::make_unique<reference::NpyParameters>();
  for (StringRef text : values) {
    auto [name, path] = nameAndFile(text);
    Expected<NpyTensor> tensor = readNpy(path);
    if (!tensor)
      return tensor.error();
    given->tensors[name] = std::move(*tensor);
  }
  if (!seed.getNumOccurrences() && weights.empty())
    return std::unique_ptr<reference::ParameterReader>(std::move(given));
  auto opened = weights.empty() ? reference::makeRandomTensors(module, seed) : reference::openTensors(weights);
  if (!opened)
    return opened.error();
  tensors = std::move(*opened);
  return std::unique_ptr<reference::ParameterReader>(std::make_unique<reference::SourceParameters>(*tensors));
}

/// The module in `file`, or null after a message.
static OwningOpRef<ModuleOp> readModule(MLIRContext &context) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(file, &message);
  if (Status checked = text ? checkIRText(std::string_view(text->getBuffer())) : Error{message}; !checked)
    return fail((text ? file + ": " : "") + checked.error().message, 1), nullptr;
  llvm::SourceMgr sources;
  sources.AddNewSourceBuffer(std::move(text), llvm::SMLoc());
  SourceMgrDiagnosticHandler handler(sources, &context);
  return parseSourceFile<ModuleOp>(sources, &context);
}

int main(int argc, char **argv) {
  cl::HideUnrelatedOptions(own);
  if (!cl::ParseCommandLineOptions(argc, argv, "Evaluates attn IR of the stage `imported`, naively.\n", &llvm::errs()))
    return 2;
  reference::Request request{entry, precision == "f64", {}, {}, blocks, {}, file, weights};
  for (const auto *list : {&inputs, &outputs, &values})
    for (StringRef text : *list) {
      auto named = nameAndFile(text);
      if (named.first.empty() || named.second.empty())
        return fail("'" + text.str() + "' is not NAME=F.npy", 2);
      (list == &inputs ? request.inputs : list == &outputs ? request.outputs : request.parameters).push_back(named);
    }
  if (precision != "f32" && precision != "f64")
    return fail("--precision is f32 or f64", 2);
  if (Status status = reference::checkFiles(request); !status)
    return fail(status.error().message, 1);
  if (!weights.empty() + (seed.getNumOccurrences() > 0) + !values.empty() > 1)
    return fail("give one of --weights, --random-weights and --parameter", 2);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect, scf::SCFDialect,
                      tensor::TensorDialect>();
  OwningOpRef<ModuleOp> module = readModule(context);
  if (!module)
    return 1;
  std::unique_ptr<artifact::TensorReader> tensors;
  auto parameters = openParameters(*module, tensors);
  if (!parameters)
    return fail(parameters.error().message, 1);
  // Without a handler every error is one line.
  return failed(reference::runFiles(*module, **parameters, request));
}
