// RUN: rapt-opt %s --attn-cpu-tile --split-input-file --verify-diagnostics

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule that is no #attn_cpu.attention_schedule, found #attn.attention_tiles<keys = 64, queries = 16>}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 64, queries = 16>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'queries' must be at most 4 numbers that fall from at most 16, or from multiples of 'matrix_rows' of at most 64, found [17, 1]}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [17, 1], task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'queries' must be at most 4 numbers that fall from at most 16, or from multiples of 'matrix_rows' of at most 64, found [1, 14]}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [1, 14], task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'task_queries' must be a multiple of each of 'queries' and at most 1024, found 210}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 4, 1], task_keys = 512, task_queries = 210, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'packed_keys' must be a multiple of 32 and at most 1024, found 40}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 40, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'keys' must be a multiple of 64 and at most 1024, found 96}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 96, packed_keys = 64, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'rest_keys' must be a multiple of 32 and at most 128, found 256}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], rest_keys = 256, task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'task_keys' must be a multiple of 32 and at most 65536, found 65568}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], task_keys = 65568, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule with 'rest_rows', which it needs only for packed queries}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, rest_rows = 256>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule without 'packed_keys', which it needs for keys that are not in a cache}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule without 'split_keys', which it needs for packed queries over a cache, and for keys that are not in a cache}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, splits = 4>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%cache: tensor<?x1x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x6x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x4x6x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
    // expected-error@+1 {{has a schedule whose 'split_keys' must be a multiple of 64 and at most 65536, found 96}}
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, rest_rows = 256, splits = 16, split_keys = 96, split_queries = 1, heads = 6>}
      : tensor<?x4x6x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x6x64xf32>
    return %o : tensor<?x4x6x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%cache: tensor<?x1x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x6x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x4x6x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
    // expected-error@+1 {{has a schedule whose 'splits' must be from 1 to 1024, found 1025}}
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, rest_rows = 256, splits = 1025, split_keys = 256, split_queries = 1, heads = 6>}
      : tensor<?x4x6x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x6x64xf32>
    return %o : tensor<?x4x6x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%cache: tensor<?x1x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x6x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x4x6x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
    // expected-error@+1 {{has a schedule whose 'heads' must be at most 16 and divide the 6 query heads of a group, found 4}}
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, rest_rows = 256, splits = 16, split_keys = 256, split_queries = 1, heads = 4>}
      : tensor<?x4x6x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x6x64xf32>
    return %o : tensor<?x4x6x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%cache: tensor<?x1x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x6x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x4x6x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
    // expected-error@+1 {{has a schedule whose 'heads' must be 1, as the heads of a group differ in more than their queries, found 2}}
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, rest_rows = 256, splits = 16, split_keys = 256, split_queries = 1, heads = 2>}
      : tensor<?x4x6x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x6x64xf32>
      mask {
      ^bb0(%b: index, %h: index, %i: index, %j: index):
        %0 = arith.cmpi ult, %h, %j : index
        attn.yield %0 : i1
      }
    return %o : tensor<?x4x6x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, g, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%cache: tensor<?x1x4x2x128x32xf32>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x4x6x64xf32>, %begin: tensor<?xi32>, %s: f32) -> tensor<?x4x6x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x128x32xf32>, tensor<?x?xi32> -> tensor<?x?x4x64xf32>
    // expected-error@+1 {{has a schedule with 'packed_keys', which it needs only for keys that are not in a cache}}
    %o = attn.attention %q, %keys, %values, %s q_begin(%begin : tensor<?xi32>) kv_length(%begin : tensor<?xi32>) maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14, rest_rows = 256, splits = 16, split_keys = 256, split_queries = 1, heads = 6>}
      : tensor<?x4x6x64xf32>, tensor<?x?x4x64xf32>, tensor<?x?x4x64xf32> -> tensor<?x4x6x64xf32>
    return %o : tensor<?x4x6x64xf32>
  }
}

// -----

// Queries of a tile cannot repeat where an extra operand has elements per query.
#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
#e = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, kv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @bias(%q: tensor<?x12x64xf32>, %e: tensor<?x?xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'queries' must end with 1, as an extra operand has elements of each query, found [14, 7]}}
    %o = attn.attention %q, %q, %q, %s extras(%e : tensor<?x?xf32>) maps [#q, #k, #v, #o, #e] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 7], task_keys = 512, task_queries = 252, wide_queries = 14>}
      : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
      score {
      ^bb0(%x: f32, %b: index, %h: index, %i: index, %j: index, %y: f32):
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'split_queries' must be from 1 to 1024, found 1025}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<heads = 1, kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], split_keys = 512, split_queries = 1025, split_tasks = 64, splits = 16, task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%q: tensor<?x12x64xf32>, %s: f32) -> tensor<?x12x64xf32> {
    // expected-error@+1 {{has a schedule whose 'split_tasks' must be from 1 to 65536, found 65537}}
    %o = attn.attention %q, %q, %q, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<heads = 1, kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], split_keys = 512, split_queries = 14, split_tasks = 65537, splits = 16, task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
    return %o : tensor<?x12x64xf32>
  }
}

// -----

#q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dqk)>
#k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dqk)>
#v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, kv, hkv, dv)>
#o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (b, q, hkv, dv)>
module attributes {attn.target = {vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  func.func @f(%cache: tensor<?x1x4x2x64x64xbf16>, %layer: index, %table: tensor<?x?xi32>, %q: tensor<?x?x4x64xf32>, %s: f32) -> tensor<?x?x4x64xf32> {
    %keys, %values = attn.kv_view %cache[%layer], %table {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>} : tensor<?x1x4x2x64x64xbf16>, tensor<?x?xi32> -> tensor<?x?x4x64xbf16>
    // expected-error@+1 {{has a schedule with 'splits', which it needs only for packed queries over a cache, and for keys that are not in a cache}}
    %o = attn.attention %q, %keys, %values, %s maps [#q, #k, #v, #o] {attn.schedule = #attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, queries = [14, 1], splits = 4, task_keys = 512, task_queries = 252, wide_queries = 14>} : tensor<?x?x4x64xf32>, tensor<?x?x4x64xbf16>, tensor<?x?x4x64xbf16> -> tensor<?x?x4x64xf32>
    return %o : tensor<?x?x4x64xf32>
  }
}
