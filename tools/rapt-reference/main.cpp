//===- main.cpp - rapt-reference: evaluates the imported stage ----------------===//
#include "dialect/AttnCPU/AttnCPU.h"
#include "lib/Driver/Batch.h"
#include "lib/Driver/Diagnostics.h"
#include "lib/Driver/ModelTensors.h"
#include "lib/Reference/Options.h"
#include "lib/Reference/ParameterReader.h"
#include "lib/Support/BugReport.h"
#include "lib/Support/File.h"
#include "lib/Support/IRText.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Support/FileUtilities.h"
#include "tools/rapt-reference/RuntimeRun.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/PrettyStackTrace.h"

using namespace mlir;
using namespace rapt;

int rapt::reference::fail(const std::string &message, int status) {
  return llvm::errs() << "rapt-reference: error: " << message << "\n", status;
}
using rapt::reference::fail;

/// The parameters that the options ask for; `tensors` holds what they read.
static Expected<std::unique_ptr<reference::ParameterReader>>
openParameters(ModuleOp module, const reference::Options &options, std::unique_ptr<artifact::TensorReader> &tensors) {
  auto given = std::make_unique<reference::NpyParameters>();
  for (const auto &[name, path] : options.request.parameters) {
    RAPT_ASSIGN_OR_RETURN(given->tensors[name], readNpy(path));
  }
  if (!options.seed && options.request.weights.empty())
    return std::unique_ptr<reference::ParameterReader>(std::move(given));
  RAPT_ASSIGN_OR_RETURN(tensors, options.seed ? reference::makeRandomTensors(module, *options.seed)
                                              : driver::openTensors(options.request.weights));
  return std::unique_ptr<reference::ParameterReader>(std::make_unique<reference::SourceParameters>(*tensors));
}

/// The module in `file`, or null after a message.
static OwningOpRef<ModuleOp> readModule(MLIRContext &context, driver::Diagnostics &diagnostics,
                                        const std::string &file) {
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> text = openInputFile(file, &message);
  if (Status checked = text ? checkIRText(std::string_view(text->getBuffer())) : Error{message}; !checked)
    return fail((text ? file + ": " : "") + checked.error().message, 1), nullptr;
  const std::string name = text->getBufferIdentifier().str();
  auto source = std::make_shared<driver::Source>(name, name, text->getBuffer().str());
  diagnostics.setSource(source);
  return parseSourceString<ModuleOp>(source->text, ParserConfig(&context), source->location);
}

/// Runs a command in `context`, which has the dialects.
static int run(MLIRContext &context, const std::vector<std::string> &arguments, bool isInBatch) {
  std::vector<const char *> words{"rapt-reference"};
  for (const std::string &argument : arguments)
    words.push_back(argument.c_str());
  auto options = reference::parseOptions(int(words.size()), words.data());
  if (!options)
    return fail(options.error().message, 2);
  if (options->batch && isInBatch)
    return fail("a batch within a batch", 2);
  if (options->batch)
    return driver::runBatch("rapt-reference", driver::BatchPlace::Here,
                            [&](const auto &line) { return run(context, line, /*isInBatch=*/true); });
  if (options->help || options->version) {
    const Status written =
        writeStandardOutput(options->help ? reference::helpText() : "rapt-reference " RAPT_VERSION "\n");
    return written ? 0 : fail(written.error().message, 1);
  }
  if (Status status = reference::checkFiles(options->request); !status)
    return fail(status.error().message, 1);
  driver::Diagnostics diagnostics(context, /*verbose=*/false, "rapt-reference");
  OwningOpRef<ModuleOp> module = readModule(context, diagnostics, options->request.ir);
  if (!module)
    return 1;
  std::unique_ptr<artifact::TensorReader> tensors;
  auto parameters = openParameters(*module, *options, tensors);
  if (!parameters)
    return fail(parameters.error().message, 1);
  if (options->tokens || reference::isOfRuntime(*module, options->request))
    return reference::runOnRuntime(*module, **parameters, *options);
  return failed(reference::runFiles(*module, **parameters, options->request));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(rapt::kBugReport);
  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<attn::AttnDialect, arith::ArithDialect, func::FuncDialect, linalg::LinalgDialect,
                      math::MathDialect, scf::SCFDialect, tensor::TensorDialect>();
  DialectRegistry layouts; // of weights
  layouts.insert<attn_cpu::AttnCPUDialect>();
  context.appendDialectRegistry(layouts);
  return run(context, {argv + 1, argv + argc}, /*isInBatch=*/false);
}
