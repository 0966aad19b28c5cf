// RUN: rapt-opt %s --verify-diagnostics --split-input-file

func.func @too_few_indices(%a: vector<8xf32>, %dest: tensor<4x32xf32>, %i: index) {
  // expected-error@+1 {{needs lines, and for each an index of every dim of the destination; found 1 lines and 1 indices of 'tensor<4x32xf32>'}}
  %0 = attn_cpu.write_lines %a into %dest at(%i) : vector<8xf32> into tensor<4x32xf32>
  return
}

// -----

func.func @two_types(%a: vector<8xf32>, %b: vector<4xf32>, %dest: tensor<32xf32>, %i: index) {
  // expected-error@+1 {{needs lines of one type}}
  %0 = "attn_cpu.write_lines"(%a, %b, %dest, %i, %i) <{operandSegmentSizes = array<i32: 2, 1, 2>}> : (vector<8xf32>, vector<4xf32>, tensor<32xf32>, index, index) -> tensor<32xf32>
  return
}

// -----

func.func @longer_than_a_line(%a: vector<8xf32>, %dest: tensor<32x4xf32>, %i: index) {
  // expected-error@+1 {{needs lines that fit the destination, found 'vector<8xf32>' and 'tensor<32x4xf32>'}}
  %0 = attn_cpu.write_lines %a into %dest at(%i, %i) : vector<8xf32> into tensor<32x4xf32>
  return
}

// -----

func.func @of_another_type(%a: vector<8xf32>, %dest: tensor<32xbf16>, %i: index) {
  // expected-error@+1 {{needs lines that fit the destination, found 'vector<8xf32>' and 'tensor<32xbf16>'}}
  %0 = attn_cpu.write_lines %a into %dest at(%i) : vector<8xf32> into tensor<32xbf16>
  return
}
