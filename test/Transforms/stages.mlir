// Each pass runs on the stages that it is made for, and says so on others.
// RUN: rapt-opt %s --attn-lower-entries --split-input-file --verify-diagnostics

// expected-error@+1 {{'attn-lower-entries' runs on the stage tiled, found imported}}
module attributes {attn.stage = "imported"} {
}

// -----

// A function knows its module's stage. A module without one is of any stage.
module {
  func.func @f() {
    return
  }
}

// RUN: not rapt-opt %S/Inputs/backend.mlir --pass-pipeline="builtin.module(func.func(attn-cpu-tile))" 2>&1 | FileCheck %s --check-prefix=FUNCTION
// FUNCTION: backend.mlir:2:3: error: 'attn-cpu-tile' runs on the stage laid-out, found backend
// RUN: not rapt-opt %S/Inputs/backend.mlir --attn-verify-canonical 2>&1 | FileCheck %s --check-prefix=CONTRACT
// CONTRACT: error: 'attn-verify-canonical' runs on the stage imported or canonical, found backend
