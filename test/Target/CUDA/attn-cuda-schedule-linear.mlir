// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file | FileCheck %s

// A number of rows that is not known has tiles for few rows, too, whose warps split k. The result is too narrow for large tiles.
// CHECK: #[[$DYNAMIC:.*]] = #attn.schedule<few_rows = <columns = 16, depth = 128, parts = 4, rows = 16, stages = 5, warps = 4>, tensor_cores = <columns = 64, depth = 64, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @dynamic
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$DYNAMIC]]}
func.func @dynamic(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>) -> tensor<?x24xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// -----

// Large tiles are used from the number of rows on of which there are 128: 33 columns of tiles need 4 rows of them.
// CHECK: #[[$WIDE:.*]] = #attn.schedule<few_rows = <{{.*}}>, many_rows = <columns = 128, depth = 32, least = 512, rows = 128, stages = 4, warps = 8>, tensor_cores = <{{.*}}>>
// CHECK-LABEL: func.func @wide
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$WIDE]]}
func.func @wide(%x: tensor<?x40xbf16>, %w: tensor<40x4097xbf16>) -> tensor<?x4097xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x4097xbf16> -> tensor<?x4097xf32>
  return %y : tensor<?x4097xf32>
}

// -----

// A known number of rows has one kind of tiles.
// CHECK-DAG: #[[$LARGE:.*]] = #attn.schedule<tensor_cores = <columns = 128, depth = 32, rows = 128, stages = 4, warps = 8>>
// CHECK-DAG: #[[$MIDDLE:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 64, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @known
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$MIDDLE]]}
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$LARGE]]}
func.func @known(%x: tensor<511x40xbf16>, %y: tensor<512x40xbf16>, %w: tensor<40x4096xbf16>) -> (tensor<511x4096xf32>, tensor<512x4096xf32>) {
  %0 = attn.linear %x, %w : tensor<511x40xbf16>, tensor<40x4096xbf16> -> tensor<511x4096xf32>
  %1 = attn.linear %y, %w : tensor<512x40xbf16>, tensor<40x4096xbf16> -> tensor<512x4096xf32>
  return %0, %1 : tensor<511x4096xf32>, tensor<512x4096xf32>
}

// -----

// CHECK: #[[$FEW:.*]] = #attn.schedule<tensor_cores = <columns = 16, depth = 128, parts = 4, rows = 16, stages = 5, warps = 4>>
// CHECK-LABEL: func.func @few
// CHECK: attn.linear {{.*}} transposed {attn.schedule = #[[$FEW]]}
func.func @few(%x: tensor<16x40xf16>, %w: tensor<24x40xf16>) -> tensor<16x24xf16> {
  %y = attn.linear %x, %w transposed : tensor<16x40xf16>, tensor<24x40xf16> -> tensor<16x24xf16>
  return %y : tensor<16x24xf16>
}

// -----

// CHECK: #[[$MANY:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 64, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @many
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$MANY]]}
func.func @many(%x: tensor<17x40xf16>, %w: tensor<40x24xf16>) -> tensor<17x24xf16> {
  %y = attn.linear %x, %w : tensor<17x40xf16>, tensor<40x24xf16> -> tensor<17x24xf16>
  return %y : tensor<17x24xf16>
}

// -----

// f32, and operands of two types, have multiply-adds.
// CHECK: #[[$ADDS:.*]] = #attn.schedule<few_rows = <columns = 32, depth = 128, parts = 4, rows = 16, stages = 4, warps = 4>, many_rows = <columns = 128, depth = 32, least = 512, rows = 128, stages = 2, warps = 8>, multiply_adds = <columns = 64, depth = 32, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @full
// CHECK-COUNT-3: attn.linear {{.*}} {attn.schedule = #[[$ADDS]]}
func.func @full(%x: tensor<?x40xf32>, %y: tensor<?x40xbf16>, %v: tensor<40x4096xf32>, %w: tensor<40x4096xbf16>) {
  %0 = attn.linear %x, %v : tensor<?x40xf32>, tensor<40x4096xf32> -> tensor<?x4096xf32>
  %1 = attn.linear %x, %w : tensor<?x40xf32>, tensor<40x4096xbf16> -> tensor<?x4096xf32>
  %2 = attn.linear %y, %v : tensor<?x40xbf16>, tensor<40x4096xf32> -> tensor<?x4096xf32>
  return
}

// -----

// With tf32 they are on tensor cores; bf16 are multiplied as they are.
// CHECK-DAG: #[[$TF32:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 32, rows = 64, stages = 3, tf32 = 2, warps = 4>>
// CHECK-DAG: #[[$BF16:.*]] = #attn.schedule<tensor_cores = <columns = 64, depth = 64, rows = 64, stages = 3, warps = 4>>
// CHECK-LABEL: func.func @tf32
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$TF32]]}
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$BF16]]}
module attributes {attn.target = {target = "cuda", tf32_terms = 2 : i64}} {
  func.func @tf32(%x: tensor<64x40xf32>, %v: tensor<40x24xf32>, %y: tensor<64x40xbf16>, %w: tensor<40x24xbf16>) {
    %0 = attn.linear %x, %v : tensor<64x40xf32>, tensor<40x24xf32> -> tensor<64x24xf32>
    %1 = attn.linear %y, %w : tensor<64x40xbf16>, tensor<40x24xbf16> -> tensor<64x24xf32>
    return
  }
}

// -----

// More rows are multiplied by wgmma on sm_90a, on tiles of 128x64, many on tiles of 128x128 and, where there are 128 of them, of 128x256. A number of columns for which these need no more rows has no others.
// CHECK-DAG: #[[$MOST:.*]] = #attn.schedule<few_rows = <{{.*}}>, many_rows = <blocks = 132, columns = 128, depth = 64, group = 12, least = 512, rows = 128, stages = 6, warps = 8, wgmma = 1>, most_rows = <blocks = 132, columns = 256, depth = 64, group = 16, least = 1024, rows = 128, share = 88, stages = 4, warps = 8, wgmma = 1>, tensor_cores = <blocks = 132, columns = 64, depth = 64, group = 8, rows = 128, stages = 8, warps = 8, wgmma = 1>>
// CHECK-DAG: #[[$WIDE:.*]] = #attn.schedule<few_rows = <{{.*}}>, many_rows = <blocks = 132, columns = 256, depth = 64, group = 16, least = 128, rows = 128, stages = 4, warps = 8, wgmma = 1>, tensor_cores = <{{.*}}>>
// CHECK-DAG: #[[$KNOWN:.*]] = #attn.schedule<tensor_cores = <blocks = 132, columns = 128, depth = 64, group = 12, rows = 128, stages = 6, warps = 8, wgmma = 1>>
// CHECK-DAG: #[[$DEPTH:.*]] = #attn.schedule<few_rows = <{{.*}}>, many_rows = <columns = 128, depth = 32, least = 512, rows = 128, stages = 4, warps = 8>, tensor_cores = <{{.*}}>>
// CHECK-LABEL: func.func @warpgroups
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$MOST]]}
// CHECK: attn.linear {{.*}} transposed {attn.schedule = #[[$WIDE]]}
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$KNOWN]]}
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$DEPTH]]}
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact}} {
  func.func @warpgroups(%x: tensor<?x40xbf16>, %w: tensor<40x4096xbf16>, %t: tensor<50257x40xbf16>, %k: tensor<600x40xbf16>, %d: tensor<?x?xf16>, %v: tensor<?x4096xf16>) {
    %0 = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x4096xbf16> -> tensor<?x4096xf32>
    %1 = attn.linear %x, %t transposed : tensor<?x40xbf16>, tensor<50257x40xbf16> -> tensor<?x50257xf32>
    %2 = attn.linear %k, %w : tensor<600x40xbf16>, tensor<40x4096xbf16> -> tensor<600x4096xf32>
    // Where k ends is not known.
    %3 = attn.linear %d, %v : tensor<?x?xf16>, tensor<?x4096xf16> -> tensor<?x4096xf32>
    return
  }
}

// -----

// 176 tiles of 128x256 are two rounds of 132 blocks, and 352 of 128x128 three rounds of half the time. One round of the larger is as good as two of the smaller.
// CHECK-DAG: #[[$SMALLER:.*]] = #attn.schedule<tensor_cores = <blocks = 132, columns = 128, depth = 64, group = 12, rows = 128, stages = 6, warps = 8, wgmma = 1>>
// CHECK-DAG: #[[$LARGER:.*]] = #attn.schedule<tensor_cores = <blocks = 132, columns = 256, depth = 64, group = 16, rows = 128, stages = 4, warps = 8, wgmma = 1>>
// CHECK-LABEL: func.func @rounds
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$SMALLER]]}
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$LARGER]]}
module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact}} {
  func.func @rounds(%x: tensor<1024x40xbf16>, %w: tensor<40x5632xbf16>, %y: tensor<2048x40xbf16>, %v: tensor<40x2048xbf16>) {
    %0 = attn.linear %x, %w : tensor<1024x40xbf16>, tensor<40x5632xbf16> -> tensor<1024x5632xf32>
    %1 = attn.linear %y, %v : tensor<2048x40xbf16>, tensor<40x2048xbf16> -> tensor<2048x2048xf32>
    return
  }
}

// -----

// Near misses have no schedule, and say why: a layout of the CPU, with rows of a type that tensor cores take, quantized numbers, and no terms to add.
// CHECK: func.func @panels
// CHECK-NOT: #schedule
// REMARK: [[#@LINE+2]]:8: remark: {{.*}} Reason="its neutral decomposition is compiled, since its weight is in a layout of another target"
func.func @panels(%x: tensor<?x64xbf16>, %w: tensor<8x32x64xbf16>) -> tensor<?x256xf32> {
  %y = attn.linear %x, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<8x32x64xbf16> -> tensor<?x256xf32>
  return %y : tensor<?x256xf32>
}
// REMARK: [[#@LINE+2]]:8: remark: {{.*}} Reason="its neutral decomposition is compiled, since tensor cores take a quantized weight in panels of the weight file"
func.func @quantized(%x: tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, %w: tensor<96x64x!attn.quantized<u4 group 32 axis 1>>) -> tensor<?x96xf32> {
  %y = attn.linear %x, %w transposed : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<96x64x!attn.quantized<u4 group 32 axis 1>> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}
// REMARK: [[#@LINE+2]]:8: remark: {{.*}} Reason="its neutral decomposition is compiled, since its sums have no terms"
func.func @empty(%x: tensor<?x0xf32>, %w: tensor<0x96xf32>) -> tensor<?x96xf32> {
  %y = attn.linear %x, %w : tensor<?x0xf32>, tensor<0x96xf32> -> tensor<?x96xf32>
  return %y : tensor<?x96xf32>
}

// -----

// Tiles rotate heads whose channels are rotated together beside each other. Halves of a head stay for a kernel of their own, and heads that another op reads.
// CHECK: #[[$ROTATES:.*]] = #attn.schedule<{{.*}}rotates = 1, tensor_cores
// CHECK-LABEL: func.func @rotates
// CHECK: attn.linear {{.*}} {attn.schedule = #[[$ROTATES]]}
// REMARK: remark: [Passed] fuse-rotation | Category:fusion | Fused="the tiles of the matmul that makes the heads rotate them"
func.func @rotates(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x3x8xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated : tensor<?x3x8xf32>
}

// -----

// CHECK-NOT: rotates = 1
// CHECK-LABEL: func.func @halves
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="a thread has no two channels half a head apart"
func.func @halves(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x3x8xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated : tensor<?x3x8xf32>
}

// -----

// CHECK-NOT: rotates = 1
// CHECK-LABEL: func.func @read
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="the heads are read before they are rotated"
func.func @read(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> (tensor<?x3x8xf32>, tensor<?x24xf32>) {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated, %y : tensor<?x3x8xf32>, tensor<?x24xf32>
}

// -----

// CHECK-NOT: rotates = 1
// CHECK-LABEL: func.func @odd
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="its heads are of no known even number of channels"
func.func @odd(%x: tensor<?x40xbf16>, %w: tensor<40x21xbf16>, %c: tensor<?x3xf32>, %s: tensor<?x3xf32>) -> tensor<?x3x7xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x21xbf16> -> tensor<?x21xf32>
  %heads = attn.split_heads %y : tensor<?x21xf32> -> tensor<?x3x7xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x7xf32>, tensor<?x3xf32>
  return %rotated : tensor<?x3x7xf32>
}

// -----

// CHECK-NOT: rotates = 1
// CHECK-LABEL: func.func @later
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="its angles are computed after the matmul"
func.func @later(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %p: tensor<?xi32>) -> tensor<?x3x8xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %c, %s = attn.rotary_table %p frequencies [1.0, 0.1, 0.01, 0.001] : tensor<?xi32> -> tensor<?x4xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated : tensor<?x3x8xf32>
}
