// RUN: rapt-opt %s --verify-diagnostics --split-input-file

// expected-error@+1 {{has the layout #attn_cpu.packed<shape = [64, 48], interleave = 1>, in which no layer is 'tensor<64x48xf32>'}}
attn.parameter @w : tensor<64x48xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 48], interleave = 1>}

// -----

// The columns of a group fill panels of their own.
// expected-error@+1 {{in which no layer is 'tensor<4x35x32xf32>'}}
attn.parameter @w : tensor<4x35x32xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [35, 99] column_group = 33, interleave = 1>}

// -----

// The element type tells the interleave factor.
// expected-error@+1 {{interleave = 2>, in which no layer is 'tensor<2x32x64xf32>'}}
attn.parameter @w : tensor<2x32x64xf32> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 48], interleave = 2>}

// -----

// expected-error@+1 {{interleave = 4>, in which no layer is 'tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>>'}}
attn.parameter @w : tensor<2x64x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 4>}

// -----

// expected-error@+1 {{in which no layer is 'tensor<2x64x32x!attn.quantized<u8 group 32 axis 1>>'}}
attn.parameter @w : tensor<2x64x32x!attn.quantized<u8 group 32 axis 1>> from [#attn.source<"w">] {layout = #attn_cpu.packed<shape = [64, 64], interleave = 4>}

// -----

// expected-error@+1 {{expected a matrix with extents from 1 to 2^40, found [64]}}
#packed = #attn_cpu.packed<shape = [64], interleave = 1>

// -----

// expected-error@+1 {{expected a matrix with extents from 1 to 2^40, found [64, 9223372036854775807]}}
#packed = #attn_cpu.packed<shape = [64, 9223372036854775807], interleave = 1>

// -----

// expected-error@+1 {{expected groups that make up the rows and columns of [64, 48], found groups of 60 and 0}}
#packed = #attn_cpu.packed<shape = [64, 48] row_group = 60, interleave = 1>

// -----

// expected-error@+1 {{expected groups that make up the rows and columns of [64, 48], found groups of 0 and 32}}
#packed = #attn_cpu.packed<shape = [64, 48] column_group = 32, interleave = 1>

// -----

// expected-error@+1 {{expected the interleave factor 1, 2, 4 or 8, found 3}}
#packed = #attn_cpu.packed<shape = [64, 48], interleave = 3>

// -----

// expected-error@+1 {{expected positions and channels from 1 to 2^27, found 0, 16 and 16}}
#none = #attn_cpu.cache_panels<positions = 0, keys = 16, values = 16>

// -----

// Where keys and values of a head are packed, the lines of both are as many as the padded channels of one.
func.func @other_lines(%cache: tensor<?x1x2x2x32x32xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{has memory 'tensor<?x1x2x2x32x32xf32>', which does not lie as #attn_cpu.cache_panels<positions = 48, keys = 16, values = 16> says}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn_cpu.cache_panels<positions = 48, keys = 16, values = 16>}
    : tensor<?x1x2x2x32x32xf32>, tensor<?x?xi32> -> tensor<?x?x2x32xf32>
  return
}
