// RUN: rapt-opt %s --attn-cpu-tile --split-input-file | FileCheck %s

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// A grid over blocks of rows and panels, tiles of 6 rows, of 4, of 2, then single rows, as the schedule says; the bias in one generic.
// Where 2 rows would be left after tiles of 6, two tiles of 4 take the place of the last.
// CHECK-LABEL: @bias
func.func @bias(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf32>, %b: tensor<64xf32>) -> tensor<?x64xf32> {
  // CHECK: scf.forall (%{{.*}}, %{{.*}}) in (%{{.*}}, 2) shared_outs
  // CHECK: %[[TWO:.*]] = arith.cmpi eq, %{{.*}}, %c2
  // CHECK: arith.select %[[TWO]]
  // CHECK: scf.for
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x64xf32>, tensor<64x32xf32>)
  // CHECK: linalg.generic
  // CHECK: arith.addf
  // CHECK: scf.for
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<4x64xf32>, tensor<64x32xf32>)
  // CHECK: scf.for
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<2x64xf32>
  // CHECK: scf.for
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<1x64xf32>, tensor<64x32xf32>)
  %y = attn.linear %x, %w, (%b) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf32>, (tensor<64xf32>) -> tensor<?x64xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// A residual that nothing reads afterwards is the destination: no tensor is made for the result.
// CHECK-LABEL: @in_place
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<?x32xf32>
func.func @in_place(%r: tensor<?x32xf32>, %x: tensor<?x64xf32>, %w: tensor<1x64x32xf32>) -> tensor<?x32xf32> {
  // CHECK: shared_outs(%{{.*}} = %[[R]])
  %y = attn.linear %x, %w, (%r) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<1x64x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.addf %sum, %old : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x32xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: the residual is read again, so it must stay.
// CHECK-LABEL: @read_again
// CHECK-SAME: %[[R:[a-z0-9]+]]: tensor<?x32xf32>
func.func @read_again(%r: tensor<?x32xf32>, %x: tensor<?x64xf32>, %w: tensor<1x64x32xf32>) -> (tensor<?x32xf32>, tensor<?x32xf32>) {
  // CHECK: %[[E:.*]] = tensor.empty
  // CHECK: shared_outs(%{{.*}} = %[[E]])
  %y = attn.linear %x, %w, (%r) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<1x64x32xf32>, (tensor<?x32xf32>) -> tensor<?x32xf32> {
  ^bb0(%sum: f32, %old: f32):
    %0 = arith.addf %sum, %old : f32
    attn.yield %0 : f32
  }
  return %y, %r : tensor<?x32xf32>, tensor<?x32xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Rows of 2 KiB would fall on one another in the cache: the rows that a matmul reads are a line longer. An output has not.
module attributes {attn.schedule = #attn_cpu.module_schedule<rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// CHECK-LABEL: @rows_apart
func.func @rows_apart(%x: tensor<?x64xf32>, %w: tensor<16x64x32xf32>, %v: tensor<16x512x32xf32>) -> tensor<?x512xf32> {
  // CHECK: %[[WIDE:.*]] = tensor.empty(%{{.*}}) : tensor<?x528xf32>
  // CHECK: %[[ROWS:.*]] = tensor.extract_slice %[[WIDE]][0, 0] [%{{.*}}, 512] [1, 1] : tensor<?x528xf32> to tensor<?x512xf32>
  // CHECK: shared_outs(%{{.*}} = %[[ROWS]])
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<16x64x32xf32> -> tensor<?x512xf32>
  // CHECK: %[[OUT:.*]] = tensor.empty(%{{.*}}) : tensor<?x512xf32>
  // CHECK: shared_outs(%{{.*}} = %[[OUT]])
  %z = attn.linear %y, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x512xf32>, tensor<16x512x32xf32> -> tensor<?x512xf32>
  return %z : tensor<?x512xf32>
}
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: rows of 1,920 bytes.
module attributes {attn.schedule = #attn_cpu.module_schedule<rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// CHECK-LABEL: @rows_close
func.func @rows_close(%x: tensor<?x64xf32>, %w: tensor<15x64x32xf32>, %v: tensor<1x480x32xf32>) -> tensor<?x32xf32> {
  // CHECK: tensor.empty(%{{.*}}) : tensor<?x480xf32>
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<15x64x32xf32> -> tensor<?x480xf32>
  %z = attn.linear %y, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x480xf32>, tensor<1x480x32xf32> -> tensor<?x32xf32>
  return %z : tensor<?x32xf32>
}
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>
#attention = #attn_cpu.attention_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, keys = 64, packed_keys = 32, queries = [6, 1], task_keys = 128, task_queries = 12, wide_queries = 6>
#head = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q, dqk)>
#key = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, kv, dqk)>
#value = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, kv, dv)>
#result = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (hkv, q, dv)>
#table = affine_map<(b, hkv, g, q, kv, dqk, dv) -> ()>

// Near miss: a table that scores look up has its rows one behind another, as it is read as one row.
module attributes {attn.schedule = #attn_cpu.module_schedule<rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// CHECK-LABEL: @table
func.func @table(%x: tensor<?x64xf32>, %w: tensor<16x64x32xf32>, %q: tensor<1x?x32xf32>) -> tensor<1x?x32xf32> {
  // CHECK: %[[OWN:.*]] = tensor.empty(%{{.*}}) : tensor<?x512xf32>
  // CHECK: shared_outs(%{{.*}} = %[[OWN]])
  %t = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<16x64x32xf32> -> tensor<?x512xf32>
  %scale = arith.constant 1.0 : f32
  %o = attn.attention %q, %q, %q, %scale extras(%t : tensor<?x512xf32>) maps [#head, #key, #value, #result, #table] {attn.schedule = #attention} : tensor<1x?x32xf32>, tensor<1x?x32xf32>, tensor<1x?x32xf32> -> tensor<1x?x32xf32> score {
  ^bb0(%s: f32, %b: index, %h: index, %i: index, %j: index, %own: tensor<?x512xf32>):
    %e = attn.lookup %own[%i, %j] : tensor<?x512xf32> -> f32
    %r = arith.addf %s, %e : f32
    attn.yield %r : f32
  }
  return %o : tensor<1x?x32xf32>
}
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Rows of the caller whose distance is a multiple of 2 KiB lie on the same lines of a cache: they are copied into rows
// that are a line apart.
module attributes {attn.schedule = #attn_cpu.module_schedule<rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// CHECK-LABEL: @aliasing
func.func @aliasing(%x: tensor<?x512xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x512x32xf32> {attn.name = "w"})
    -> (tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  // CHECK: tensor.empty({{.*}}) : tensor<?x528xf32>
  // CHECK: tensor.extract_slice {{.*}} : tensor<?x528xf32> to tensor<?x512xf32>
  // CHECK: %[[APART:.*]] = scf.forall
  // CHECK: %[[ROW:.*]] = tensor.extract_slice %arg0{{.*}} : tensor<?x512xf32> to tensor<512xf32>
  // CHECK: tensor.parallel_insert_slice %[[ROW]]
  // CHECK: scf.forall
  // CHECK: tensor.extract_slice %[[APART]]
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x512xf32>, tensor<1x512x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: 480 columns do not alias.
module attributes {attn.schedule = #attn_cpu.module_schedule<rows = <alias_bytes = 2048, apart_bytes = 64>>} {
// CHECK-LABEL: @apart
func.func @apart(%x: tensor<?x480xf32> {attn.name = "x", attn.dims = ["rows"]}, %w: tensor<1x480x32xf32> {attn.name = "w"})
    -> (tensor<?x32xf32> {attn.name = "y", attn.dims = ["rows"]}) attributes {attn.entry} {
  // CHECK: scf.forall (
  // CHECK-NOT: scf.forall (
  // CHECK: return
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x480xf32>, tensor<1x480x32xf32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, rows = [6, 4, 2, 1], task_rows = 12, widen_rows = 9>

// 16 bits: from `widen_rows` on tiles of 6 read a panel that was widened for all of them; fewer rows read it as it is.
// CHECK-LABEL: @pairs
func.func @pairs(%x: tensor<?x35xf32>, %w: tensor<2x18x64xbf16>) -> tensor<?x64xf32> {
  // CHECK: %[[MANY:.*]] = arith.cmpi uge, %{{.*}}, %c9
  // CHECK: arith.select %[[MANY]]
  // CHECK: %[[TRIPS:.*]] = arith.minsi %{{.*}}, %c1
  // CHECK: scf.for %{{.*}} = %c0{{.*}} to %[[TRIPS]]
  // CHECK: %[[WIDE:.*]] = scf.for {{.*}} to %c18{{.*}} -> (tensor<36x32xf32>)
  // CHECK: vector.transfer_read {{.*}} vector<64xbf16>
  // CHECK: arith.shli
  // CHECK: arith.andi
  // CHECK: %[[PANEL:.*]] = tensor.extract_slice %[[WIDE]][0, 0] [35, 32]
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}}, %[[PANEL]] : tensor<6x35xf32>, tensor<35x32xf32>)
  // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<2x35xf32>, tensor<18x64xbf16>, tensor<2x32xf32>
  // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<1x35xf32>, tensor<18x64xbf16>, tensor<1x32xf32>
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x35xf32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// CHECK-LABEL: @half
func.func @half(%x: tensor<?x64xf32>, %w: tensor<2x64x32xf16>) -> tensor<?x64xf32> {
  // CHECK: %[[WIDE:.*]] = scf.for {{.*}} -> (tensor<64x32xf32>)
  // CHECK: linalg.matmul {{.*}}ins({{.*}} : tensor<6x64xf32>, tensor<64x32xf32>)
  // CHECK: linalg.matmul {{.*}}ins({{.*}} : tensor<2x64xf32>, tensor<64x32xf16>)
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<2x64x32xf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, rows = [6, 4, 2, 1], task_rows = 12>

// Rows that are rounded, a panel at a time, are multiplied with panels as they are.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @rounded
  func.func @rounded(%x: tensor<?x35xf32>, %w: tensor<2x18x64xbf16>) -> tensor<?x64xf32> {
    // CHECK: vector.transfer_read {{.*}} vector<32xf32>
    // CHECK: arith.truncf {{.*}} vector<32xf32> to vector<32xbf16>
    %r = attn_cpu.cast_rows %x : tensor<?x35xf32> -> tensor<?x64xbf16>
    // CHECK-NOT: linalg.matmul
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<6x36xbf16>, tensor<18x64xbf16>
    %y = attn.linear %r, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6, vnni_rows = 5>, rows = [6, 4, 2, 1], task_rows = 12, widen_rows = 9>

// Near miss: without bf16 dot-product instructions, rows of bf16 are widened once; the matmuls are those of rows in f32.
// CHECK-LABEL: @widened_rows
func.func @widened_rows(%r: tensor<?x64xbf16>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
  // CHECK: %[[ROWS:.*]] = scf.forall {{.*}} -> (tensor<?x64xf32>)
  // CHECK: arith.extf {{.*}} vector<32xbf16> to vector<32xf32>
  // CHECK: scf.forall (
  // CHECK: tensor.extract_slice %[[ROWS]]
  // CHECK: linalg.matmul {{.*}} tensor<6x64xf32>, tensor<64x32xf32>
  // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<2x64xf32>, tensor<32x64xbf16>
  %y = attn.linear %r, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 32, matrix_rows = 16, rows = 14, vnni_rows = 13>, rows = [32, 16, 4, 1], task_rows = 64>

// With AMX, tiles have 32 and 16 rows. The rest of at least 16 rows is a tile of 16 that overlaps the one before: a row
// of their matmuls each. Fewer rows are tiles of 4 and single rows.
module attributes {attn.target = {amx_bf16, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @tiles
  func.func @tiles(%r: tensor<?x64xbf16>, %w: tensor<2x32x64xbf16>) -> tensor<?x64xf32> {
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<32x64xbf16>
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<16x64xbf16>
    // CHECK: %[[FITS:.*]] = arith.divui %{{.*}}, %c16
    // CHECK: arith.minsi %{{.*}}, %[[FITS]]
    // CHECK: %[[LAST:.*]] = attn_cpu.vnni_matmul {{.*}} tensor<16x64xbf16>
    // CHECK: tensor.extract_slice %[[LAST]][%{{.*}}, 0] [1, 32]
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<4x64xbf16>
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<1x64xbf16>
    %y = attn.linear %r, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x64xbf16>, tensor<2x32x64xbf16> -> tensor<?x64xf32>
    return %y : tensor<?x64xf32>
  }
}

// -----

// A row of a tied table: elements of pairs.
// CHECK-LABEL: @gather
func.func @gather(%ids: tensor<?xi32>, %w: tensor<2x18x64xbf16>) -> tensor<?x64xf32> {
  // CHECK: scf.for %[[COLUMN:.*]] = %c0{{.*}} to %c36
  // CHECK: %[[PAIR:.*]] = affine.apply #{{.*}}(%[[COLUMN]])
  // CHECK: %[[PLACE:.*]] = affine.apply #{{.*}}(%[[COLUMN]], %{{.*}})
  // CHECK: tensor.extract %arg1[%{{.*}}, %[[PAIR]], %[[PLACE]]]
  // CHECK: arith.extf
  %0 = attn.embedding %ids, %w {layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?xi32>, tensor<2x18x64xbf16> -> tensor<?x64xf32>
  return %0 : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<depth = 512, finish = [4, 1], kernel = <columns = 16, rows = 6>, many_rows = 7, panels = 4, rows = [6, 4, 2, 1], task_rows = 12, tasks = 5>

// 210 rows of 3,072 columns do not stay in a cache: k blocks of 512, for up to four panels, with partial accumulators,
// those of a panel after those of another;
// epilogues come after the last part. Few rows, and fewer than eight tasks, leave a task for each panel.
// CHECK-LABEL: @deep
func.func @deep(%x: tensor<?x3072xf32>, %w: tensor<24x3072x32xf32>, %b: tensor<768xf32>) -> tensor<?x768xf32> {
  // CHECK: %[[MANY:.*]] = arith.cmpi uge, %{{.*}}, %c7
  // CHECK: %[[SHARED:.*]] = affine.min #map{{[0-9]*}}()[
  // CHECK: %[[SOME:.*]] = affine.max #map{{[0-9]*}}()[%[[SHARED]]]
  // CHECK: %[[TOGETHER:.*]] = arith.select %[[MANY]], %[[SOME]], %c1
  // CHECK: scf.forall
  // CHECK: %[[ROOM:.*]] = tensor.empty() : tensor<48x32xf32>
  // CHECK: scf.for {{.*}} to %c3072{{.*}} step %c512{{.*}} -> (tensor<48x32xf32>)
  // CHECK: tensor.extract_slice %{{.*}} : tensor<24x3072x32xf32> to tensor<512x32xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x512xf32>, tensor<512x32xf32>)
  // CHECK-NOT: linalg.generic
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<4x512xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<2x512xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<1x512xf32>
  // CHECK: linalg.generic
  // CHECK: arith.addf
  %y = attn.linear %x, %w, (%b) {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x3072xf32>, tensor<24x3072x32xf32>, (tensor<768xf32>) -> tensor<?x768xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x768xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<depth = 512, finish = [4, 1], kernel = <columns = 16, rows = 6>, many_rows = 7, pack_rows = 12, panels = 4, rows = [12, 6, 4, 1], task_rows = 24, tasks = 5>

// Rows are packed by tiles of 12 first, squares of 8 x 8 at a time, those beyond the last row as copies of it. Tiles of the matmul lie within one of them: their
// rows are the columns of [k, m].
// CHECK-LABEL: func.func @packed(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3072xf32>
func.func @packed(%x: tensor<?x3072xf32>, %w: tensor<2x3072x32xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[TILES:.*]] = tensor.empty(%{{.*}}) : tensor<?x3072x12xf32>
  // CHECK: %[[PACKED:.*]] = scf.forall
  // CHECK: scf.for {{.*}} to %c3072{{.*}} step %c32
  // CHECK: %[[ROW:.*]] = arith.minui
  // CHECK: vector.transfer_read %[[X]][%[[ROW]], %{{.*}}]
  // CHECK: vector.shuffle
  // CHECK: attn_cpu.write_lines {{.*}} : vector<8xf32> into tensor<3072x12xf32>
  // CHECK: vector.extract_strided_slice {{.*}} : vector<8xf32> to vector<4xf32>
  // CHECK: attn_cpu.write_lines {{.*}} : vector<4xf32> into tensor<3072x12xf32>
  // CHECK: scf.forall
  // CHECK: tensor.extract_slice %[[PACKED]][%{{.*}}, %{{.*}}, 0] [1, 512, 12] [1, 1, 1] : tensor<?x3072x12xf32> to tensor<512x12xf32>
  // CHECK: linalg.matmul indexing_maps = [{{.*}}] {{.*}}ins(%{{.*}} : tensor<512x12xf32>, tensor<512x32xf32>) outs(%{{.*}} : tensor<12x32xf32>)
  // CHECK: tensor.extract_slice %[[PACKED]][%{{.*}}, %{{.*}}, %{{.*}}] [1, 512, 6] [1, 1, 1] : tensor<?x3072x12xf32> to tensor<512x6xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<512x6xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<512x4xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<512x1xf32>
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x3072xf32>, tensor<2x3072x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<depth = 512, finish = [4, 1], kernel = <columns = 16, rows = 6, wide_rows = 1>, many_rows = 7, pack_rows = 6, panels = 4, row_panels = 2, rows = [6, 1], task_rows = 12, tasks = 5>

// A single row that reads panels side by side is read where it is: no tile is packed.
// CHECK-LABEL: func.func @packed_but_one(
// CHECK-SAME: %[[X:[a-z0-9]+]]: tensor<?x3072xf32>
func.func @packed_but_one(%x: tensor<?x3072xf32>, %w: tensor<2x3072x32xf32>) -> tensor<?x64xf32> {
  // CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[ROWS:.*]], %c1
  // CHECK: arith.select %[[ONE]], %c0{{.*}}, %[[ROWS]]
  // CHECK: tensor.empty(%{{.*}}) : tensor<?x3072x6xf32>
  // CHECK: tensor.extract_slice %[[X]][%{{.*}}, 0] [1, 3072] [1, 1]
  // CHECK: attn_cpu.panel_matmul
  %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x3072xf32>, tensor<2x3072x32xf32> -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6>, rows = [6, 4, 2, 1], task_rows = 12>

// Near misses: k has no equal parts of whole lines, or is small enough.
// CHECK-LABEL: @not_deep
func.func @not_deep(%x: tensor<?x1552xf32>, %v: tensor<2x1552x32xf32>, %z: tensor<?x1504xf32>, %w: tensor<2x1504x32xf32>)
    -> (tensor<?x64xf32>, tensor<?x64xf32>) {
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x1552xf32>
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x1504xf32>
  %a = attn.linear %x, %v {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x1552xf32>, tensor<2x1552x32xf32> -> tensor<?x64xf32>
  %c = attn.linear %z, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x1504xf32>, tensor<2x1504x32xf32> -> tensor<?x64xf32>
  return %a, %c : tensor<?x64xf32>, tensor<?x64xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<depth = 512, finish = [4, 1], kernel = <columns = 16, rows = 6>, many_rows = 7, panels = 4, rows = [6, 4, 2, 1], task_rows = 12, tasks = 5>

// A task has two rotated heads of 64 columns, or one with few rows. They are rotated in the result's buffer.
// CHECK-LABEL: @deep_heads
func.func @deep_heads(%x: tensor<?x2048xf32>, %w: tensor<10x2048x32xf32>, %c: tensor<?x32xf32>, %s: tensor<?x32xf32>) -> tensor<?x320xf32> {
  // CHECK: arith.select %{{.*}}, %{{.*}}, %c1
  // CHECK: scf.forall
  // CHECK: tensor.empty() : tensor<48x32xf32>
  // CHECK: scf.for {{.*}} to %c2048{{.*}} step %c512
  // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x512xf32>, tensor<512x32xf32>)
  // CHECK: vector.transfer_read %arg2
  // CHECK: vector.transfer_read %arg3
  // CHECK: math.fma
  // CHECK: scf.forall.in_parallel
  // CHECK-NOT: math.fma
  // CHECK: return
  %0 = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x2048xf32>, tensor<10x2048x32xf32> -> tensor<?x320xf32>
  %1 = attn.split_heads %0 : tensor<?x320xf32> -> tensor<?x5x64xf32>
  %2 = attn.rope %1, %c, %s heads 3 : tensor<?x5x64xf32>, tensor<?x32xf32>
  %y = attn.merge_heads %2 : tensor<?x5x64xf32> -> tensor<?x320xf32>
  return %y : tensor<?x320xf32>
}

// -----

#linear = #attn_cpu.linear_schedule<depth = 512, finish = [4, 1], kernel = <columns = 32, rows = 14, vnni_rows = 13>, many_rows = 7, panels = 4, rows = [6, 4, 2, 1], task_rows = 12, tasks = 5, widen_rows = 9>
#linear1 = #attn_cpu.linear_schedule<depth = 1024, finish = [4, 1], kernel = <columns = 32, rows = 14, vnni_rows = 13>, many_rows = 7, panels = 4, rows = [6, 4, 2, 1], task_rows = 12, tasks = 5>

// Parts of panels of 16 bits are widened for tiles of 14 rows; the rows of the input decide how deep they are.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @deep_pairs
  func.func @deep_pairs(%x: tensor<?x3072xf32>, %r: tensor<?x3072xbf16>, %w: tensor<8x1536x64xbf16>)
      -> (tensor<?x256xf32>, tensor<?x256xf32>) {
    // CHECK: scf.for {{.*}} to %c3072{{.*}} step %c512
    // CHECK: tensor.extract_slice %arg2{{.*}} : tensor<8x1536x64xbf16> to tensor<256x64xbf16>
    // CHECK: scf.for {{.*}} -> (tensor<512x32xf32>)
    // CHECK: linalg.matmul {{.*}}ins(%{{.*}} : tensor<6x512xf32>, tensor<512x32xf32>)
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<4x512xf32>, tensor<256x64xbf16>
    %y = attn.linear %x, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x3072xf32>, tensor<8x1536x64xbf16> -> tensor<?x256xf32>
    // CHECK: scf.for {{.*}} to %c3072{{.*}} step %c1024
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<6x1024xbf16>, tensor<512x64xbf16>
    %z = attn.linear %r, %w {attn.schedule = #linear1, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x3072xbf16>, tensor<8x1536x64xbf16> -> tensor<?x256xf32>
    return %y, %z : tensor<?x256xf32>, tensor<?x256xf32>
  }
}

// -----

#linear = #attn_cpu.linear_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, rows = [6, 4, 2, 1], task_rows = 12>

// Near miss: 2,048 columns of bf16 stay.
module attributes {attn.target = {bf16_dot, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
  // CHECK-LABEL: @not_deep_pairs
  func.func @not_deep_pairs(%r: tensor<?x2048xbf16>, %w: tensor<8x1024x64xbf16>) -> tensor<?x256xf32> {
    // CHECK: attn_cpu.vnni_matmul {{.*}} tensor<6x2048xbf16>, tensor<1024x64xbf16>
    %y = attn.linear %r, %w {attn.schedule = #linear, layout = #attn_cpu.panels<columns = 32, interleave = 2>} : tensor<?x2048xbf16>, tensor<8x1024x64xbf16> -> tensor<?x256xf32>
    return %y : tensor<?x256xf32>
  }
}

// -----

#streams = #attn_cpu.linear_schedule<kernel = <columns = 16, rows = 6, wide_rows = 3>, row_panels = 3, rows = [6, 1], task_rows = 6, tasks = 2>

// A task of a single row takes up to three panels, which it reads side by side, as long as two tasks are left: 3 of the 7 here. A task's last one or two panels are read alone. With more rows a task has a panel, and it takes the other branch, a loop of one iteration or none, too.
// CHECK-LABEL: @side_by_side
func.func @side_by_side(%x: tensor<?x64xf32>, %w: tensor<7x64x32xf32>, %b: tensor<224xf32>) -> tensor<?x224xf32> {
  // CHECK: %[[ROW:.*]] = arith.cmpi eq, %{{.*}}, %c1
  // CHECK: %[[TOGETHER:.*]] = arith.select %[[ROW]], %{{.*}}, %c1
  // CHECK: arith.ceildivui %c7{{.*}}, %[[TOGETHER]]
  // CHECK: scf.forall
  // CHECK: %[[TRIPS:.*]] = arith.select %[[ROW]], %c1{{.*}}, %c0
  // CHECK: scf.for {{.*}} to %[[TRIPS]]
  // CHECK: scf.for {{.*}} step %c3
  // CHECK: attn_cpu.panel_matmul {{.*}} tensor<1x64xf32>, tensor<3x64x32xf32>, tensor<1x96xf32> -> tensor<1x96xf32>
  // CHECK: scf.for {{.*}} step %c1
  // CHECK: attn_cpu.panel_matmul {{.*}} tensor<1x64xf32>, tensor<1x64x32xf32>, tensor<1x32xf32> -> tensor<1x32xf32>
  // CHECK: linalg.generic
  // CHECK: arith.addf
  // CHECK: %[[OTHER:.*]] = arith.select %[[ROW]], %c0{{.*}}, %c1
  // CHECK: scf.for {{.*}} to %[[OTHER]]
  // CHECK: linalg.matmul {{.*}} tensor<6x64xf32>
  %y = attn.linear %x, %w, (%b) {attn.schedule = #streams, layout = #attn_cpu.panels<columns = 32, interleave = 1>} : tensor<?x64xf32>, tensor<7x64x32xf32>, (tensor<224xf32>) -> tensor<?x224xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<?x224xf32>
}
