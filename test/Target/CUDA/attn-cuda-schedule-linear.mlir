// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file --remarks-filter=fusion -o %t 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: rapt-opt %s --attn-cuda-schedule --split-input-file | FileCheck %s

// A number of rows that is not known has tiles for few rows, too, whose warps split k. The result is too narrow for large tiles.
// CHECK: #[[$DYNAMIC:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, few_rows = <tiles = <rows = 16, columns = 16, depth = 128, warps = 4, stages = 5, parts = 4>>>
// CHECK-LABEL: func.func @dynamic
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$DYNAMIC]]}
func.func @dynamic(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>) -> tensor<?x24xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  return %y : tensor<?x24xf32>
}

// -----

// Large tiles are used from the number of rows on of which there are 128: 33 columns of tiles need 4 rows of them.
// CHECK: #[[$WIDE:.*]] = #attn_gpu.linear_schedule<common = <{{.*}}>, few_rows = <{{.*}}>, many_rows = <tiles = <rows = 128, columns = 128, depth = 32, warps = 8, stages = 4>, least = 512>>
// CHECK-LABEL: func.func @wide
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$WIDE]]}
func.func @wide(%x: tensor<?x40xbf16>, %w: tensor<40x4097xbf16>) -> tensor<?x4097xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x4097xbf16> -> tensor<?x4097xf32>
  return %y : tensor<?x4097xf32>
}

// -----

// A known number of rows has one kind of tiles.
// CHECK-DAG: #[[$LARGE:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 128, columns = 128, depth = 32, warps = 8, stages = 4>>>
// CHECK-DAG: #[[$MIDDLE:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>
// CHECK-LABEL: func.func @known
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$MIDDLE]]}
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$LARGE]]}
func.func @known(%x: tensor<511x40xbf16>, %y: tensor<512x40xbf16>, %w: tensor<40x4096xbf16>) -> (tensor<511x4096xf32>, tensor<512x4096xf32>) {
  %0 = attn.linear %x, %w : tensor<511x40xbf16>, tensor<40x4096xbf16> -> tensor<511x4096xf32>
  %1 = attn.linear %y, %w : tensor<512x40xbf16>, tensor<40x4096xbf16> -> tensor<512x4096xf32>
  return %0, %1 : tensor<511x4096xf32>, tensor<512x4096xf32>
}

// -----

// CHECK: #[[$FEW:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 16, depth = 128, warps = 4, stages = 5, parts = 4>>>
// CHECK-LABEL: func.func @few
// CHECK: attn.linear {{.*}} transposed {attn_gpu.schedule = #[[$FEW]]}
func.func @few(%x: tensor<16x40xf16>, %w: tensor<24x40xf16>) -> tensor<16x24xf16> {
  %y = attn.linear %x, %w transposed : tensor<16x40xf16>, tensor<24x40xf16> -> tensor<16x24xf16>
  return %y : tensor<16x24xf16>
}

// -----

// CHECK: #[[$MANY:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>
// CHECK-LABEL: func.func @many
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$MANY]]}
func.func @many(%x: tensor<17x40xf16>, %w: tensor<40x24xf16>) -> tensor<17x24xf16> {
  %y = attn.linear %x, %w : tensor<17x40xf16>, tensor<40x24xf16> -> tensor<17x24xf16>
  return %y : tensor<17x24xf16>
}

// -----

// f32, and operands of two types, have multiply-adds.
// CHECK: #[[$ADDS:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 3, matmul = fma>>, few_rows = <tiles = <rows = 16, columns = 32, depth = 128, warps = 4, stages = 4, matmul = fma, parts = 4>>, many_rows = <tiles = <rows = 128, columns = 128, depth = 32, warps = 8, stages = 2, matmul = fma>, least = 512>>
// CHECK-LABEL: func.func @full
// CHECK-COUNT-3: attn.linear {{.*}} {attn_gpu.schedule = #[[$ADDS]]}
func.func @full(%x: tensor<?x40xf32>, %y: tensor<?x40xbf16>, %v: tensor<40x4096xf32>, %w: tensor<40x4096xbf16>) {
  %0 = attn.linear %x, %v : tensor<?x40xf32>, tensor<40x4096xf32> -> tensor<?x4096xf32>
  %1 = attn.linear %x, %w : tensor<?x40xf32>, tensor<40x4096xbf16> -> tensor<?x4096xf32>
  %2 = attn.linear %y, %v : tensor<?x40xbf16>, tensor<40x4096xf32> -> tensor<?x4096xf32>
  return
}

// -----

// With tf32 they are on tensor cores; bf16 are multiplied as they are.
// CHECK-DAG: #[[$TF32:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 3, matmul = tf32x3>>>
// CHECK-DAG: #[[$BF16:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>
// CHECK-LABEL: func.func @tf32
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$TF32]]}
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$BF16]]}
module attributes {attn.target = {target = "cuda", tf32_terms = 2 : i64}} {
  func.func @tf32(%x: tensor<64x40xf32>, %v: tensor<40x24xf32>, %y: tensor<64x40xbf16>, %w: tensor<40x24xbf16>) {
    %0 = attn.linear %x, %v : tensor<64x40xf32>, tensor<40x24xf32> -> tensor<64x24xf32>
    %1 = attn.linear %y, %w : tensor<64x40xbf16>, tensor<40x24xbf16> -> tensor<64x24xf32>
    return
  }
}

// -----

// More rows are multiplied by wgmma on sm_90a, on tiles of 128x64, many on tiles of 128x128 and, where there are 128 of them, of 128x256. A number of columns for which these need no more rows has no others.
// CHECK-DAG: #[[$MOST:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 128, columns = 64, depth = 64, warps = 8, stages = 8, matmul = wgmma, blocks = 132>, group = 8>, few_rows = <{{.*}}>, many_rows = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 6, matmul = wgmma, blocks = 132>, least = 512, group = 12>, most_rows = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, least = 1024, group = 16, share = 88>>
// CHECK-DAG: #[[$WIDE:.*]] = #attn_gpu.linear_schedule<common = <{{.*}}>, few_rows = <{{.*}}>, many_rows = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, least = 128, group = 16>>
// CHECK-DAG: #[[$KNOWN:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 6, matmul = wgmma, blocks = 132>, group = 12>>
// CHECK-DAG: #[[$DEPTH:.*]] = #attn_gpu.linear_schedule<common = <{{.*}}>, few_rows = <{{.*}}>, many_rows = <tiles = <rows = 128, columns = 128, depth = 32, warps = 8, stages = 4>, least = 512>>
// CHECK-LABEL: func.func @warpgroups
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$MOST]]}
// CHECK: attn.linear {{.*}} transposed {attn_gpu.schedule = #[[$WIDE]]}
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$KNOWN]]}
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$DEPTH]]}
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
// CHECK-DAG: #[[$SMALLER:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 6, matmul = wgmma, blocks = 132>, group = 12>>
// CHECK-DAG: #[[$LARGER:.*]] = #attn_gpu.linear_schedule<common = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, group = 16>>
// CHECK-LABEL: func.func @rounds
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$SMALLER]]}
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$LARGER]]}
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
// CHECK: #[[$ROTATES:.*]] = #attn_gpu.linear_schedule<{{.*}}, rotates = true>
// CHECK-LABEL: func.func @rotates
// CHECK: attn.linear {{.*}} {attn_gpu.schedule = #[[$ROTATES]]}
// REMARK: remark: [Passed] fuse-rotation | Category:fusion | Fused="the tiles of the matmul that makes the heads rotate them"
func.func @rotates(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x3x8xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated : tensor<?x3x8xf32>
}

// -----

// CHECK-NOT: rotates = true
// CHECK-LABEL: func.func @halves
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="a thread has no two channels half a head apart"
func.func @halves(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> tensor<?x3x8xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated : tensor<?x3x8xf32>
}

// -----

// CHECK-NOT: rotates = true
// CHECK-LABEL: func.func @read
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="the heads are read before they are rotated"
func.func @read(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>) -> (tensor<?x3x8xf32>, tensor<?x24xf32>) {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated, %y : tensor<?x3x8xf32>, tensor<?x24xf32>
}

// -----

// CHECK-NOT: rotates = true
// CHECK-LABEL: func.func @odd
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="its heads are of no known even number of channels"
func.func @odd(%x: tensor<?x40xbf16>, %w: tensor<40x21xbf16>, %c: tensor<?x3xf32>, %s: tensor<?x3xf32>) -> tensor<?x3x7xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x21xbf16> -> tensor<?x21xf32>
  %heads = attn.split_heads %y : tensor<?x21xf32> -> tensor<?x3x7xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x7xf32>, tensor<?x3xf32>
  return %rotated : tensor<?x3x7xf32>
}

// -----

// CHECK-NOT: rotates = true
// CHECK-LABEL: func.func @later
// REMARK: remark: [Missed] fuse-rotation | Category:fusion | Reason="its angles are computed after the matmul"
func.func @later(%x: tensor<?x40xbf16>, %w: tensor<40x24xbf16>, %p: tensor<?xi32>) -> tensor<?x3x8xf32> {
  %y = attn.linear %x, %w : tensor<?x40xbf16>, tensor<40x24xbf16> -> tensor<?x24xf32>
  %c, %s = attn.rotary_table %p frequencies [1.0, 0.1, 0.01, 0.001] : tensor<?xi32> -> tensor<?x4xf32>
  %heads = attn.split_heads %y : tensor<?x24xf32> -> tensor<?x3x8xf32>
  %rotated = attn.rope %heads, %c, %s interleaved : tensor<?x3x8xf32>, tensor<?x4xf32>
  return %rotated : tensor<?x3x8xf32>
}
