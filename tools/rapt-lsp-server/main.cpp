//===- main.cpp - rapt-lsp-server: language server for .mlir files ---------------===//
#include "lib/InitAll.h"
#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/InitLLVM.h"

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  rapt::introduceTool("rapt-lsp-server");
  mlir::DialectRegistry registry;
  rapt::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
