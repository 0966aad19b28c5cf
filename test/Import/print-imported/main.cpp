//===- main.cpp - print-imported: what the importer makes of a model ----------===//
#include "lib/Import/Import.h"
#include "mlir/IR/AsmState.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/raw_ostream.h"

using namespace rapt;

int main(int argc, char **argv) {
  llvm::cl::opt<std::string> path(llvm::cl::Positional, llvm::cl::desc("MODEL"));
  llvm::cl::opt<bool> weights("weights",
                              llvm::cl::desc("read the headers of the weights, instead of the config alone"));
  llvm::cl::opt<bool> families("list-families", llvm::cl::desc("print the supported values of model_type"));
  llvm::cl::opt<bool> locations("locations", llvm::cl::desc("print the location of every op"));
  llvm::cl::list<std::string> ignored("ignore-config-key", llvm::cl::desc("a key of config.json to ignore"));
  ImportOptions options;
  llvm::cl::opt<int64_t, true> positions("max-seq-len", llvm::cl::location(options.maxSequenceLength));
  llvm::cl::opt<int64_t, true> batch("max-batch", llvm::cl::location(options.maxBatch));
  llvm::cl::opt<int64_t, true> tokens("max-tokens", llvm::cl::location(options.maxTokens));
  llvm::cl::opt<int64_t, true> block("cache-block", llvm::cl::location(options.cacheBlock));
  llvm::cl::ParseCommandLineOptions(argc, argv, "Prints the imported stage of a model.\n");

  if (families) {
    for (std::string_view name : listFamilies())
      llvm::outs() << name << "\n";
    return 0;
  }
  auto fail = [](const Error &error) {
    llvm::errs() << "error: " << error.message << "\n";
    return 1;
  };
  Expected<huggingface::ModelDescription> model = huggingface::ModelDescription::load(
      path, {.noWeights = !weights, .ignoreKeys = {ignored.begin(), ignored.end()}});
  if (!model)
    return fail(model.error());
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  context.getDiagEngine().registerHandler([](mlir::Diagnostic &diagnostic) {
    bool warning = diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning;
    llvm::errs() << (warning ? "warning: " : "error: ") << diagnostic << "\n";
  });
  Expected<mlir::OwningOpRef<mlir::ModuleOp>> module = importModel(context, *model, options);
  if (!module)
    return fail(module.error());
  for (const std::string &warning : model->warnings())
    llvm::errs() << "warning: " << warning << "\n";
  mlir::OpPrintingFlags flags;
  (*module)->print(llvm::outs(), locations ? flags.enableDebugInfo(true, /*prettyForm=*/true) : flags);
  llvm::outs() << "\n";
  return 0;
}
