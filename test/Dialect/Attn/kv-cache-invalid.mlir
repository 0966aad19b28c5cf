// RUN: rapt-opt --split-input-file --verify-diagnostics %s

// expected-error@+1 {{kv_cache extents must be positive, found 0 x 4 x 16}}
func.func private @layers(!attn.kv_cache<0 x 4 x 16, block = 64, f32>)

// -----

// expected-error@+1 {{kv_cache block must be positive, found 0}}
func.func private @no_block(!attn.kv_cache<2 x 4 x 16, block = 0, f32>)

// -----

// expected-error@+1 {{kv_cache element type must be f32, bf16, f16 or i8, found 'i16'}}
func.func private @element(!attn.kv_cache<2 x 4 x 16, block = 64, i16>)

// -----

func.func @types(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x4x16xf32>, %v: tensor<?x3x16xf32>, %t: tensor<?xi32>,
                 %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_append' op needs keys and values [tokens, heads, channels] of the same tokens, heads and element type, found 'tensor<?x4x16xf32>' and 'tensor<?x3x16xf32>'}}
  %0 = attn.kv_append %cache[%i], %k, %v rows(%t, %t, %table)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x4x16xf32>, tensor<?x3x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @rank(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x64xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{needs keys and values [tokens, heads, channels] of the same tokens, heads and element type}}
  %0 = attn.kv_append %cache[%i], %k, %k rows(%t, %t, %table)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x64xf32>, tensor<?x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @heads(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %k: tensor<?x2x16xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{key 'tensor<?x2x16xf32>' does not fit '!attn.kv_cache<2 x 4 x 16, block = 64, f32>'}}
  %0 = attn.kv_append %cache[%i], %k, %k rows(%t, %t, %table)
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @view_rank(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op gives keys and values [rows, positions, heads, channels], found 'tensor<?x4x16xf32>' and 'tensor<?x4x16xf32>'}}
  %k, %v = attn.kv_view %cache[%i], %table : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x?xi32> -> tensor<?x4x16xf32>
  return
}

// -----

func.func @view_element(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{result 'tensor<?x?x4x16xbf16>' does not fit '!attn.kv_cache<2 x 4 x 16, block = 64, f32>'}}
  %k, %v = attn.kv_view %cache[%i], %table : !attn.kv_cache<2 x 4 x 16, block = 64, f32>, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>
  return
}

// -----

// expected-error@+1 {{kv_cache extents must be positive, found 1 x 4 x 0}}
func.func private @size_of_values(!attn.kv_cache<[1 x 4 x (16 x f32, 0 x f32)], block = 64>)

// -----

// expected-error@+1 {{kv_cache element type must be f32, bf16, f16 or i8, found 'f64'}}
func.func private @type_of_values(!attn.kv_cache<[1 x 4 x 16 x f32, 1 x 4 x (16 x f32, 16 x f64)], block = 64>)

// -----

// expected-error@+1 {{kv_cache needs at least one segment of layers}}
func.func private @no_segment(!attn.kv_cache<[], block = 64>)

// -----

// expected-error@+1 {{kv_cache has more layers than 64 bits hold}}
func.func private @too_many(!attn.kv_cache<[9223372036854775807 x 1 x 1 x f32, 1 x 1 x 2 x f32], block = 64>)

// -----

!mixed = !attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 1 x 2 x 16 x f32], block = 64>
func.func @size_of_value(%cache: !mixed, %i: index, %k: tensor<?x4x16xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_append' op value 'tensor<?x4x16xf32>' does not fit '!attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 1 x 2 x 16 x f32], block = 64>'}}
  %0 = attn.kv_append %cache[%i], %k, %k rows(%t, %t, %table)
    : !mixed, tensor<?x4x16xf32>, tensor<?x4x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

!mixed = !attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 1 x 2 x 16 x f32], block = 64>
func.func @no_such_segment(%cache: !mixed, %i: index, %k: tensor<?x2x16xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_append' op names segment 2 of '!attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 1 x 2 x 16 x f32], block = 64>', which has 2}}
  %0 = attn.kv_append %cache[%i] segment 2, %k, %k rows(%t, %t, %table)
    : !mixed, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

!mixed = !attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 1 x 2 x 16 x f32], block = 64>
func.func @other_segment(%cache: !mixed, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op result 'tensor<?x?x4x16xbf16>' does not fit}}
  %k, %v = attn.kv_view %cache[%i] segment 1, %table : !mixed, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>, tensor<?x?x4x8xf32>
  return
}

// -----

!mixed = !attn.kv_cache<[2 x 4 x (16 x bf16, 8 x f32), 1 x 2 x 16 x f32], block = 64>
func.func @type_of_view(%cache: !mixed, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op result 'tensor<?x?x4x8xbf16>' does not fit}}
  %k, %v = attn.kv_view %cache[%i], %table : !mixed, tensor<?x?xi32> -> tensor<?x?x4x16xbf16>, tensor<?x?x4x8xbf16>
  return
}

// -----

func.func @values_beside(%cache: !attn.kv_cache<2 x 4 x 16, block = 64, f32>, %values: tensor<?x8xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op has memory of values beside '!attn.kv_cache<2 x 4 x 16, block = 64, f32>', which holds them}}
  %k, %v = attn.kv_view %cache values %values[%i], %table
    : !attn.kv_cache<2 x 4 x 16, block = 64, f32> values tensor<?x8xf32>, tensor<?x?xi32> -> tensor<?x?x4x16xf32>
  return
}

// -----

func.func @segment_of_memory(%cache: tensor<?x8xf32>, %i: index, %k: tensor<?x2x16xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_append' op names segment 1 of memory, which is of one}}
  %0 = attn.kv_append %cache[%i] segment 1, %k, %k rows(%t, %t, %table) {layout = #attn.cache_rows<positions = 8, keys = 16, values = 16>}
    : tensor<?x8xf32>, tensor<?x2x16xf32>, tensor<?x2x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @offsets(%cache: tensor<?x256xi8>) {
  // expected-error@+1 {{'attn.cache_parts' op needs a number of bytes of a block and an offset of each part, found 'tensor<?x256xi8>' and 1 offsets of 2 parts}}
  %0:2 = attn.cache_parts %cache at [0] : tensor<?x256xi8> -> tensor<?x32xf32>, tensor<?x32xf32>
  return
}

// -----

func.func @dynamic_part(%cache: tensor<?x256xi8>) {
  // expected-error@+1 {{'attn.cache_parts' op needs parts [blocks, ...] of static extents, found 'tensor<?x?xf32>'}}
  %0 = attn.cache_parts %cache at [0] : tensor<?x256xi8> -> tensor<?x?xf32>
  return
}

// -----

func.func @overlap(%cache: tensor<?x256xi8>) {
  // expected-error@+1 {{'attn.cache_parts' op needs parts at multiples of 64 one behind another in a block of 256 bytes, found 'tensor<?x32xbf16>' at 64}}
  %0:2 = attn.cache_parts %cache at [0, 64] : tensor<?x256xi8> -> tensor<?x32xf32>, tensor<?x32xbf16>
  return
}

// -----

func.func @beyond(%cache: tensor<?x256xi8>, %part: tensor<?x64xf32>) -> tensor<?x256xi8> {
  // expected-error@+1 {{'attn.cache_join' op needs parts at multiples of 64 one behind another in a block of 256 bytes, found 'tensor<?x64xf32>' at 64}}
  %0 = attn.cache_join %part into %cache at [64] : tensor<?x64xf32> into tensor<?x256xi8>
  return %0 : tensor<?x256xi8>
}

// -----

// expected-error@+1 {{attribute 'attn.cache' of argument 0 must be the type of a cache, found i8}}
func.func private @type_of_argument(tensor<?x256xi8> {attn.cache = i8})

// -----

func.func @no_layout(%cache: tensor<?x1x2x2x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op works on memory, 'tensor<?x1x2x2x8x16xf32>', without saying its layout}}
  %k, %v = attn.kv_view %cache[%i], %table : tensor<?x1x2x2x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x2x16xf32>
  return
}

// -----

func.func @layout_of_no_memory(%cache: !attn.kv_cache<1 x 2 x 16, block = 8, f32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op has a layout, but '!attn.kv_cache<1 x 2 x 16, block = 8, f32>' is no memory}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn.cache_rows<positions = 8, keys = 16, values = 16>}
    : !attn.kv_cache<1 x 2 x 16, block = 8, f32>, tensor<?x?xi32> -> tensor<?x?x2x16xf32>
  return
}

// -----

// The same number of elements, laid out for blocks of 16 positions.
func.func @other_layout(%cache: tensor<?x1x2x2x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op has memory 'tensor<?x1x2x2x8x16xf32>', which does not lie as #attn.cache_rows<positions = 16, keys = 8, values = 8> says}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn.cache_rows<positions = 16, keys = 8, values = 8>}
    : tensor<?x1x2x2x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x2x8xf32>
  return
}

// -----

// Keys and values that differ do not share memory.
func.func @shared(%cache: tensor<?x1x2x2x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op has memory 'tensor<?x1x2x2x8x16xf32>', which does not lie as #attn.cache_rows<positions = 8, keys = 16, values = 8> says}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn.cache_rows<positions = 8, keys = 16, values = 8>}
    : tensor<?x1x2x2x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>
  return
}

// -----

func.func @apart(%keys: tensor<?x1x2x1x8x16xf32>, %values: tensor<?x1x2x1x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op has memory 'tensor<?x1x2x1x8x16xf32>' and 'tensor<?x1x2x1x8x16xf32>', which does not lie as #attn.cache_rows<positions = 8, keys = 16, values = 8> says}}
  %k, %v = attn.kv_view %keys values %values[%i], %table {layout = #attn.cache_rows<positions = 8, keys = 16, values = 8>}
    : tensor<?x1x2x1x8x16xf32> values tensor<?x1x2x1x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>
  return
}

// -----

func.func @channels(%cache: tensor<?x1x2x2x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_view' op has keys 'tensor<?x?x2x16xf32>' and values 'tensor<?x?x2x8xf32>', which do not fit 'tensor<?x1x2x2x8x16xf32>' in the layout #attn.cache_rows<positions = 8, keys = 16, values = 16>}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn.cache_rows<positions = 8, keys = 16, values = 16>}
    : tensor<?x1x2x2x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x2x16xf32>, tensor<?x?x2x8xf32>
  return
}

// -----

// expected-error@+1 {{expected positions and channels from 1 to 2^27, found 134217729, 16 and 16}}
#most = #attn.cache_rows<positions = 134217729, keys = 16, values = 16>

// -----

// A pool has as many heads as are written to it.
func.func @heads_of_memory(%cache: tensor<?x1x1x2x8x16xf32>, %i: index, %k: tensor<?x7x16xf32>, %t: tensor<?xi32>, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{'attn.kv_append' op has keys 'tensor<?x7x16xf32>' and values 'tensor<?x7x16xf32>', which do not fit 'tensor<?x1x1x2x8x16xf32>'}}
  %0 = attn.kv_append %cache[%i], %k, %k rows(%t, %t, %table) {layout = #attn.cache_rows<positions = 8, keys = 16, values = 16>}
    : tensor<?x1x1x2x8x16xf32>, tensor<?x7x16xf32>, tensor<?x7x16xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return
}

// -----

func.func @dynamic_heads(%cache: tensor<?x1x?x2x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{has memory 'tensor<?x1x?x2x8x16xf32>', which does not lie as}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn.cache_rows<positions = 8, keys = 16, values = 16>}
    : tensor<?x1x?x2x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x?x16xf32>
  return
}

// -----

func.func @other_element(%cache: tensor<?x1x2x2x8x16xf32>, %i: index, %table: tensor<?x?xi32>) {
  // expected-error@+1 {{result 'tensor<?x?x2x16xbf16>' does not fit 'tensor<?x1x2x2x8x16xf32>'}}
  %k, %v = attn.kv_view %cache[%i], %table {layout = #attn.cache_rows<positions = 8, keys = 16, values = 16>}
    : tensor<?x1x2x2x8x16xf32>, tensor<?x?xi32> -> tensor<?x?x2x16xbf16>
  return
}
