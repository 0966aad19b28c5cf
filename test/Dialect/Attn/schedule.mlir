// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// Members come in any order. Text names each schedule once, and writes out those within another.
// CHECK-DAG: #[[LINALG:.*]] = #attn.linalg_tiles<columns = 256, rows = 16>
// CHECK-DAG: #[[TILES:.*]] = #attn.attention_tiles<keys = 64, queries = 16>
// CHECK-DAG: #[[PART:.*]] = #attn.append_tiles<positions = 4>
// CHECK: module attributes {attn.schedule = #[[LINALG]]}
// CHECK-COUNT-2: attn.activation relu {{.*}} {attn.schedule = #[[TILES]]}
// CHECK: attn.activation relu {{.*}} {attn.schedule = #[[PART]]}
module attributes {attn.schedule = #attn.linalg_tiles<rows = 16, columns = 256>} {
  func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    %y = attn.activation relu %x {attn.schedule = #attn.attention_tiles<queries = 16, keys = 64>} : tensor<?x64xf32>
    %z = attn.activation relu %y {attn.schedule = #attn.attention_tiles<keys = 64, queries = 16>} : tensor<?x64xf32>
    %u = attn.activation relu %z {attn.schedule = #attn.append_tiles<positions = 4>} : tensor<?x64xf32>
    return %u : tensor<?x64xf32>
  }
}
