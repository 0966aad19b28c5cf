// RUN: rapt-opt %s --split-input-file --verify-diagnostics

func.func @double(%x: tensor<?x64xf64>) {
  // expected-error@+1 {{operand #0 must be ranked tensor of 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<?x64xf64>'}}
  %0 = attn.activation relu %x : tensor<?x64xf64>
  return
}

// -----

func.func @weight(%x: tensor<?x64xf32>, %w: tensor<64x96xf64>) {
  // expected-error@+1 {{operand #1 must be ranked tensor of 32-bit float or bfloat16 type or 16-bit float or an element of a matrix}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf64> -> tensor<?x96xf32>
  return
}

// -----

func.func @result(%x: tensor<?x64xf32>, %w: tensor<64x96xf32>) {
  // expected-error@+1 {{result #0 must be ranked tensor of 32-bit float or bfloat16 type or 16-bit float values, but got 'tensor<?x96xi32>'}}
  %0 = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x96xf32> -> tensor<?x96xi32>
  return
}

// -----

// Ops that only move numbers do not round them.
func.func @split(%x: tensor<?x64xf32>) {
  // expected-error@+1 {{requires the same element type for all operands and results}}
  %0 = attn.split_heads %x : tensor<?x64xf32> -> tensor<?x2x32xbf16>
  return
}

// -----

func.func @merge(%x: tensor<?x2x32xf32>) {
  // expected-error@+1 {{cannot merge 'tensor<?x2x32xf32>' into 'tensor<?x64xbf16>'}}
  %0 = attn.merge_heads %x : tensor<?x2x32xf32> -> tensor<?x64xbf16>
  return
}

// -----

func.func @select(%x: tensor<?x64xf32>, %rows: tensor<?xi32>) {
  // expected-error@+2 {{failed to infer returned types}}
  // expected-error@+1 {{inferred type(s) 'tensor<?x64xf32>' are incompatible with return type(s) of operation 'tensor<?x64xf16>'}}
  %0 = attn.select_rows %x, %rows : tensor<?x64xf32>, tensor<?xi32> -> tensor<?x64xf16>
  return
}

// -----

func.func @column(%x: tensor<?x2xf32>) {
  // expected-error@+1 {{failed to verify that all of {input, result} have same element type}}
  %0 = attn.column %x[0] : tensor<?x2xf32> -> tensor<?xbf16>
  return
}

// -----

func.func @unpack(%x: tensor<?x4xf32>, %n: index) {
  // expected-error@+1 {{failed to verify that all of {input, result} have same element type}}
  %0 = attn.unpack_rows %x, %n : tensor<?x4xf32> -> tensor<?x?x4xbf16>
  return
}

// -----

func.func @concat(%x: tensor<?x32xf32>, %y: tensor<?x32xf16>) {
  // expected-error@+1 {{needs inputs of one element type, found 'tensor<?x32xf32>' and 'tensor<?x32xf16>'}}
  %0 = attn.concat %x, %y : tensor<?x32xf32>, tensor<?x32xf16>
  return
}

// -----

// The result of a look-up may be of any float type, its shape not.
func.func @embedding(%ids: tensor<?xi32>, %table: tensor<8x64xf32>) {
  // expected-error@+1 {{result 'tensor<?x32xbf16>' does not fit ids 'tensor<?xi32>' and table 'tensor<8x64xf32>'}}
  %0 = attn.embedding %ids, %table : tensor<?xi32>, tensor<8x64xf32> -> tensor<?x32xbf16>
  return
}

// -----

// Panels take f32, and those of pairs bf16 as well.
func.func @halves(%x: tensor<?x64xf16>, %w: tensor<3x32x64xbf16>) {
  // expected-error@+1 {{takes no rows 'tensor<?x64xf16>' with a weight in the layout #attn_cpu.panels<columns = 32, interleave = 2>}}
  %0 = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xf16>, tensor<3x32x64xbf16> -> tensor<?x96xf32>
  return
}

// -----

// Keys and values of the cache are appended as one type.
func.func @append(%c: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x4x16xf32>, %v: tensor<?x4x16xbf16>, %r: tensor<?xi32>, %t: tensor<?x?xi32>) {
  // expected-error@+1 {{needs keys and values [tokens, heads, channels] of the same tokens, heads and element type}}
  %0 = attn.kv_append %c[%i], %k, %v rows(%r, %r, %t)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x4x16xf32>, tensor<?x4x16xbf16>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}
