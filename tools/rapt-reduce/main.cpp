//===- main.cpp - rapt-reduce: shrink a .mlir file that shows a fault -----------===//
#include "lib/InitAll.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  rapt::registerAllDialects(registry);
  rapt::registerAllPasses();
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}
