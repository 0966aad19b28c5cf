// RUN: rapt-opt %s --attn-define-arithmetic --split-input-file --verify-diagnostics

func.func @division(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{'arith.divsi' op is on 'tensor<4xi32>'; its results are defined for scalars only}}
  %y = arith.divsi %x, %x : tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

func.func @shift(%x: vector<4xindex>) -> vector<4xindex> {
  // expected-error@+1 {{'arith.shrui' op is on 'vector<4xindex>'; its results are defined for scalars only}}
  %y = arith.shrui %x, %x : vector<4xindex>
  return %y : vector<4xindex>
}

// -----

func.func @cast(%x: vector<4xf32>) -> vector<4xi32> {
  // expected-error@+1 {{'arith.fptosi' op is on 'vector<4xf32>'; its results are defined for scalars only}}
  %y = arith.fptosi %x : vector<4xf32> to vector<4xi32>
  return %y : vector<4xi32>
}

// -----

// Near miss: sums of vectors have results.
func.func @sum(%x: vector<4xi32>) -> vector<4xi32> {
  %y = arith.addi %x, %x : vector<4xi32>
  return %y : vector<4xi32>
}
