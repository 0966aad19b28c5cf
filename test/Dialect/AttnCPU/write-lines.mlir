// RUN: rapt-opt %s | rapt-opt | FileCheck %s
// RUN: rapt-opt %s --one-shot-bufferize="bufferize-function-boundaries allow-unknown-ops" | FileCheck %s --check-prefix=MEMORY

// CHECK-LABEL: @lines
// CHECK: attn_cpu.write_lines %{{.*}}, %{{.*}} into %{{.*}} at(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) : vector<8xf32> into tensor<?x32xf32>
// Lines are written to the caller's memory, in order, without a copy.
// MEMORY-LABEL: func.func @lines
// MEMORY-SAME: %[[A:.*]]: vector<8xf32>, %[[B:.*]]: vector<8xf32>, %[[DEST:.*]]: memref<{{.*}}>, %[[I:.*]]: index, %[[J:.*]]: index
// MEMORY-NOT: copy
// MEMORY: vector.transfer_write %[[A]], %[[DEST]][%[[I]], %[[J]]] {in_bounds = [true]}
// MEMORY-NEXT: vector.transfer_write %[[B]], %[[DEST]][%[[J]], %[[I]]] {in_bounds = [true]}
// MEMORY-NEXT: return
func.func @lines(%a: vector<8xf32>, %b: vector<8xf32>, %dest: tensor<?x32xf32>, %i: index, %j: index) -> tensor<?x32xf32> {
  %0 = attn_cpu.write_lines %a, %b into %dest at(%i, %j, %j, %i) : vector<8xf32> into tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}

// Elements that no line is written to are those of the destination, which is copied where it is read afterwards.
// MEMORY-LABEL: func.func @kept
// MEMORY: %[[COPY:.*]] = memref.alloc
// MEMORY: memref.copy %{{.*}}, %[[COPY]]
// MEMORY: vector.transfer_write %{{.*}}, %[[COPY]][
func.func @kept(%a: vector<8xf32>, %dest: tensor<32xf32>, %i: index) -> (tensor<32xf32>, f32) {
  %0 = attn_cpu.write_lines %a into %dest at(%i) : vector<8xf32> into tensor<32xf32>
  %1 = tensor.extract %dest[%i] : tensor<32xf32>
  return %0, %1 : tensor<32xf32>, f32
}
