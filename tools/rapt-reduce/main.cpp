//===- main.cpp - rapt-reduce: shrink a .mlir file that shows a fault -----------===//
#include "lib/Driver/IRFile.h"
#include "lib/InitAll.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Reducer/Passes.h"
#include "mlir/Tools/ParseUtilities.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/SourceMgr.h"

using namespace mlir;

static LogicalResult fail(const std::string &message) {
  llvm::errs() << "rapt-reduce: error: " << message << "\n";
  return failure();
}

/// Parses a file whose text has been checked.
static FailureOr<OwningOpRef<Operation *>> parse(StringRef input, bool insertModule, MLIRContext &context) {
  auto buffer = rapt::driver::openIRFile(input);
  if (!buffer)
    return fail(buffer.error().message);
  auto sources = std::make_shared<llvm::SourceMgr>();
  sources->AddNewSourceBuffer(std::move(*buffer), llvm::SMLoc());
  OwningOpRef<Operation *> op = parseSourceFileForTool(sources, ParserConfig(&context), insertModule);
  if (!op)
    return failure();
  return op;
}

/// Does as upstream's function of the same options, but checks the text before it is parsed.
static LogicalResult reduce(int argc, char **argv, MLIRContext &context) {
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> result("o", llvm::cl::desc("where the reduced text goes"), llvm::cl::init("-"));
  llvm::cl::opt<bool> noModule("no-implicit-module", llvm::cl::desc("parse an operation that is no module"));
  registerReducerPasses();
  PassPipelineCLParser pipeline("", "Reduction passes to run");
  llvm::cl::ParseCommandLineOptions(argc, argv, "Rapt's reducer of test cases\n");
  if (rapt::Status checked = rapt::driver::listIRFiles(argc, argv, input, result).check(); !checked)
    return fail(checked.error().message);
  FailureOr<OwningOpRef<Operation *>> parsed = parse(input, !noModule, context);
  if (failed(parsed))
    return failure();
  Operation *op = parsed->get();
  PassManager passes(&context, op->getName().getStringRef());
  if (failed(pipeline.addToPipeline(passes, [](const Twine &reason) { return fail(reason.str()); })))
    return failure();
  rapt::Status written = rapt::driver::writeIRFile(result, [&](llvm::raw_ostream &stream) {
    if (failed(passes.run(op)))
      return failure();
    op->print(stream);
    return success();
  });
  return written ? success() : written.error().message.empty() ? failure() : fail(written.error().message);
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  rapt::introduceTool("rapt-reduce");
  DialectRegistry registry;
  rapt::registerAllDialects(registry);
  rapt::registerAllPasses();
  MLIRContext context(registry);
  return failed(reduce(argc, argv, context));
}
