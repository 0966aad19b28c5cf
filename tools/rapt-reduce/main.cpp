//===- main.cpp - rapt-reduce: shrink a .mlir file that shows a fault -----------===//
#include "lib/Driver/IRFile.h"
#include "lib/Driver/Reduce.h"
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

/// Reduces a module by a test, and tells how far.
static LogicalResult reduceByTest(OwningOpRef<Operation *> &op, const std::string &test) {
  if (!isa<ModuleOp>(op.get()))
    return fail("--test reduces a module");
  OwningOpRef<ModuleOp> module = cast<ModuleOp>(op.release());
  auto reduced = rapt::driver::reduceModule(module, test);
  op = module.release().getOperation();
  if (!reduced)
    return fail(reduced.error().message);
  llvm::errs() << "rapt-reduce: " << reduced->after << " of " << reduced->before << " operations are left after "
               << reduced->tests
               << " tests: none can be left out, or replaced by an operand, an argument or a constant\n";
  return success();
}

/// Runs passes whose attempts may leave what a verifier refuses: what it says of them is no fault of the input.
static LogicalResult runSilently(PassManager &passes, Operation *op) {
  ScopedDiagnosticHandler silent(op->getContext(), [](Diagnostic &) { return success(); });
  return passes.run(op);
}

/// Does as upstream's function of the same options, but checks the text before it is parsed.
static LogicalResult reduce(int argc, char **argv, MLIRContext &context) {
  llvm::cl::opt<std::string> input(llvm::cl::Positional, llvm::cl::desc("<input file>"), llvm::cl::init("-"));
  llvm::cl::opt<std::string> result("o", llvm::cl::desc("where the reduced text goes"), llvm::cl::init("-"));
  llvm::cl::opt<bool> noModule("no-implicit-module", llvm::cl::desc("parse an operation that is no module"));
  llvm::cl::opt<std::string> test(
      "test", llvm::cl::desc("reduce while this program, which is given the file of a module, ends with another "
                             "status than 0; without it the passes below reduce"));
  registerReducerPasses();
  PassPipelineCLParser pipeline("", "Reduction passes to run");
  llvm::cl::ParseCommandLineOptions(argc, argv, "Rapt's reducer of test cases\n");
  if (rapt::Status checked = rapt::driver::listIRFiles(argc, argv, input, result).check(); !checked)
    return fail(checked.error().message);
  FailureOr<OwningOpRef<Operation *>> parsed = parse(input, !noModule, context);
  if (failed(parsed))
    return failure();
  if (test.empty() == !pipeline.hasAnyOccurrences())
    return fail("give either --test=PROGRAM or passes that reduce; --help lists them");
  Operation *op = parsed->get();
  PassManager passes(&context, op->getName().getStringRef());
  if (failed(pipeline.addToPipeline(passes, [](const Twine &reason) { return fail(reason.str()); })))
    return failure();
  rapt::Status written = rapt::driver::writeIRFile(result, [&](llvm::raw_ostream &stream) {
    if (!test.empty() && failed(reduceByTest(*parsed, test)))
      return failure();
    if (test.empty() && failed(runSilently(passes, op)))
      return fail("a pass failed; it does so where the test of --reduction-tree ends with 0 on the whole input");
    (*parsed)->print(stream);
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
