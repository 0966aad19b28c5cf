// RUN: rapt-opt %s | rapt-opt | FileCheck %s

// A schedule has integers, lists of them, and schedules of what the op becomes; names are in order, and text has each schedule once.
// CHECK: #[[NONE:.*]] = #attn.schedule<>
// CHECK: #[[SOME:.*]] = #attn.schedule<kernel = <columns = 32, rows = 14>, rows = [14, 8, 1], task_rows = 210>
// CHECK: module attributes {attn.schedule = #[[NONE]]}
// CHECK-COUNT-2: attn.activation relu {{.*}} {attn.schedule = #[[SOME]]}
module attributes {attn.schedule = #attn.schedule<>} {
  func.func @f(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
    %y = attn.activation relu %x {attn.schedule = #attn.schedule<task_rows = 210, rows = [14, 8, 1], kernel = <rows = [14], columns = 32>>} : tensor<?x64xf32>
    %z = attn.activation relu %y {attn.schedule = #attn.schedule<rows = [14, 8, 1], task_rows = 210, kernel = <columns = 32, rows = 14>>} : tensor<?x64xf32>
    return %z : tensor<?x64xf32>
  }
}
