//===- main.cpp - rapt-opt: run passes on the text of any stage ---------------===//
#include "lib/InitAll.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  rapt::registerAllDialects(registry);
  rapt::registerAllPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "Rapt's pass driver\n", registry));
}
