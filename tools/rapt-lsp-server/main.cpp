//===- main.cpp - rapt-lsp-server: language server for .mlir files ---------------===//
#include "lib/InitAll.h"
#include "lib/Support/BugReport.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/PrettyStackTrace.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  llvm::setBugReportMsg(rapt::kBugReport);
  mlir::DialectRegistry registry;
  rapt::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
