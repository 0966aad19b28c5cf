//===- main.cpp - rapt-opt: run passes on the text of any stage ---------------===//
#include "lib/InitAll.h"
#include "mlir/Dialect/Linalg/TransformOps/DialectExtension.h"
#include "mlir/Dialect/Transform/Transforms/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  rapt::registerAllDialects(registry);
  rapt::registerAllPasses();
  // Schedules written as transform scripts, which try tilings before a pass has them.
  mlir::linalg::registerTransformDialectExtension(registry);
  mlir::transform::registerTransformPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Rapt's pass driver\n", registry));
}
