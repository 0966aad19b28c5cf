// RUN: rapt-opt %s --attn-gpu-tile --canonicalize --split-input-file | FileCheck %s

#tiles = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>>

// Tiles of rows follow each other. The last ones are as large as what is left; the epilogue reads the element's column of a vector and its row and column of a
// matrix, none behind the last.
// CHECK-DAG: #[[$ROWS:.*]] = affine_map<()[s0] -> (s0 ceildiv 16)>
// CHECK-DAG: #[[$LAST:.*]] = affine_map<()[s0] -> (s0 - 1)>
// CHECK-DAG: #[[$OF_ROWS:.*]] = affine_map<(d0)[s0] -> (-d0 + s0, 16)>
// CHECK-DAG: #[[$OF_COLUMNS:.*]] = affine_map<(d0) -> (-d0 + 80, 64)>
// CHECK-LABEL: func.func @epilogue
// CHECK-SAME: %[[X:.*]]: tensor<?x96xbf16>, %[[W:.*]]: tensor<96x80xbf16>, %[[B:.*]]: tensor<85xf16>, %[[R:.*]]: tensor<?x80xbf16>
// CHECK-DAG: %[[C79:.*]] = arith.constant 79 : index
// CHECK-DAG: %[[M:.*]] = tensor.dim %[[X]]
// CHECK-DAG: %[[TILES:.*]] = affine.apply #[[$ROWS]]()[%[[M]]]
// CHECK: scf.forall (%[[C:.*]], %[[T:.*]]) in (2, %[[TILES]]) shared_outs(%[[Y:.*]] = %{{.*}}) -> (tensor<?x80xbf16>)
// CHECK: %[[FROM:.*]] = arith.muli %[[T]], %c16
// CHECK: %[[END:.*]] = affine.apply #[[$LAST]]()[%[[M]]]
// CHECK: %[[HIGH:.*]] = affine.min #[[$OF_ROWS]](%[[FROM]])[%[[M]]]
// CHECK: %[[AT:.*]] = arith.muli %[[C]], %c64
// CHECK: %[[WIDTH:.*]] = affine.min #[[$OF_COLUMNS]](%[[AT]])
// CHECK: %[[XS:.*]] = tensor.extract_slice %[[X]][%[[FROM]], 0] [%[[HIGH]], 96] [1, 1]
// CHECK: %[[WS:.*]] = tensor.extract_slice %[[W]][0, %[[AT]]] [96, %[[WIDTH]]] [1, 1]
// CHECK: %[[YS:.*]] = tensor.extract_slice %[[Y]][%[[FROM]], %[[AT]]] [%[[HIGH]], %[[WIDTH]]] [1, 1]
// CHECK: attn_gpu.linear_tile %[[XS]], %[[WS]] outs(%[[YS]] : tensor<?x?xbf16>) tiles <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>
// CHECK: ^bb0(%[[SUM:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[ROW:.*]] = arith.addi %[[FROM]], %[[I]]
// CHECK: %[[THERE:.*]] = arith.minsi %[[ROW]], %[[END]]
// CHECK: %[[COLUMN:.*]] = arith.addi %[[AT]], %[[J]]
// CHECK: %[[IS:.*]] = arith.minsi %[[COLUMN]], %[[C79]]
// CHECK: tensor.extract %[[B]][%[[IS]]]
// CHECK: tensor.extract %[[R]][%[[THERE]], %[[IS]]]
// CHECK: attn_gpu.yield %{{.*}} : f32
// CHECK: tensor.parallel_insert_slice %{{.*}} into %[[Y]][%[[FROM]], %[[AT]]] [%[[HIGH]], %[[WIDTH]]] [1, 1]
// CHECK: {attn.op = 7 : i64}
func.func @epilogue(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>, %b: tensor<85xf16>, %r: tensor<?x80xbf16>) -> tensor<?x80xbf16> {
  %y = attn.linear %x, %w, (%b, %r) {attn_gpu.schedule = #tiles, attn.op = 7 : i64} : tensor<?x96xbf16>, tensor<96x80xbf16>, (tensor<85xf16>, tensor<?x80xbf16>) -> tensor<?x80xbf16> {
  ^bb0(%sum: f32, %bias: f32, %residual: f32):
    %0 = arith.addf %sum, %bias : f32
    %1 = arith.addf %0, %residual : f32
    attn.yield %1 : f32
  }
  return %y : tensor<?x80xbf16>
}

// -----

// Whole tiles need no bounds.
// CHECK-LABEL: func.func @whole
// CHECK: scf.forall {{.*}} in (2, 3)
// CHECK-NOT: affine.min
// CHECK: attn_gpu.linear_tile {{.*}} transposed outs(%{{.*}} : tensor<16x64xf32>) {{.*}} : tensor<16x96xbf16>, tensor<64x96xbf16> -> tensor<16x64xf32> epilogue
// CHECK-NOT: arith.minsi
#tiles = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>>
func.func @whole(%x: tensor<48x96xbf16>, %w: tensor<128x96xbf16>, %b: tensor<128xf32>) -> tensor<48x128xf32> {
  %y = attn.linear %x, %w, (%b) transposed {attn_gpu.schedule = #tiles} : tensor<48x96xbf16>, tensor<128x96xbf16>, (tensor<128xf32>) -> tensor<48x128xf32> {
  ^bb0(%sum: f32, %bias: f32):
    %0 = arith.addf %sum, %bias : f32
    attn.yield %0 : f32
  }
  return %y : tensor<48x128xf32>
}

// -----

// The number of rows chooses a grid.
// CHECK-LABEL: func.func @choose
// CHECK: %[[M:.*]] = tensor.dim
// CHECK: %[[FEW:.*]] = arith.cmpi sle, %[[M]], %c16
// CHECK: scf.if %[[FEW]]
// CHECK: attn_gpu.linear_tile {{.*}} tiles <rows = 16
// CHECK: %[[MANY:.*]] = arith.cmpi sge, %[[M]], %c300
// CHECK: scf.if %[[MANY]]
// CHECK: attn_gpu.linear_tile {{.*}} tiles <rows = 128
// CHECK: } else {
// CHECK: attn_gpu.linear_tile {{.*}} tiles <rows = 64
#tiles = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 2>>, few_rows = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>, many_rows = <tiles = <rows = 128, columns = 64, depth = 32, warps = 4, stages = 2>, least = 300>>
func.func @choose(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  %y = attn.linear %x, %w {attn_gpu.schedule = #tiles} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}

// -----

// Near misses: an op without the schedule, and a result without elements.
// CHECK-LABEL: func.func @neutral
// CHECK: attn.linear
func.func @neutral(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<?x80xbf16> {
  %y = attn.linear %x, %w : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  return %y : tensor<?x80xbf16>
}
// CHECK-LABEL: func.func @empty
// CHECK-NOT: scf.forall
#tiles = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>>
func.func @empty(%x: tensor<0x96xbf16>, %w: tensor<96x80xbf16>) -> tensor<0x80xbf16> {
  %y = attn.linear %x, %w {attn_gpu.schedule = #tiles} : tensor<0x96xbf16>, tensor<96x80xbf16> -> tensor<0x80xbf16>
  return %y : tensor<0x80xbf16>
}

// -----

// The schedule says how f32 are multiplied.
// CHECK-LABEL: @floats
// CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} outs({{.*}}matmul = fma>
// CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} outs({{.*}}matmul = tf32>
// CHECK: attn_gpu.linear_tile %{{.*}}, %{{.*}} outs({{.*}}matmul = tf32x3>
func.func @floats(%x: tensor<64x96xf32>, %w: tensor<96x64xbf16>) -> (tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>) {
  %0 = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 2, matmul = fma>>>} : tensor<64x96xf32>, tensor<96x64xbf16> -> tensor<64x64xf32>
  %1 = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 2, matmul = tf32>>>} : tensor<64x96xf32>, tensor<96x64xbf16> -> tensor<64x64xf32>
  %2 = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 2, matmul = tf32x3>>>} : tensor<64x96xf32>, tensor<96x64xbf16> -> tensor<64x64xf32>
  return %0, %1, %2 : tensor<64x64xf32>, tensor<64x64xf32>, tensor<64x64xf32>
}

// -----

// Groups of three rows of tiles follow each other, and in a group columns of tiles; the last group has what is left of the rows. Most rows come first.
// CHECK-DAG: #[[$DOWN:.*]] = affine_map<()[s0] -> (s0 ceildiv 128)>
// CHECK-LABEL: func.func @groups
// CHECK: %[[M:.*]] = tensor.dim
// CHECK: arith.cmpi sge, %[[M]], %c700
// CHECK: %[[DOWN:.*]] = affine.apply #[[$DOWN]]()[%[[M]]]
// CHECK: %[[TILES:.*]] = arith.muli %[[DOWN]], %c2
// CHECK: scf.forall (%[[NTH:.*]]) in (%[[TILES]])
// CHECK: %[[GROUP:.*]] = arith.divui %[[NTH]], %c6
// CHECK: %[[FIRST:.*]] = arith.muli %[[GROUP]], %c3
// CHECK: %[[IN:.*]] = arith.remui %[[NTH]], %c6
// CHECK: %[[LEFT:.*]] = arith.subi %[[DOWN]], %[[FIRST]]
// CHECK: %[[HEIGHT:.*]] = arith.minui %[[LEFT]], %c3
// CHECK: %[[BELOW:.*]] = arith.remui %[[IN]], %[[HEIGHT]]
// CHECK: %[[ROW:.*]] = arith.addi %[[FIRST]], %[[BELOW]]
// CHECK: %[[COLUMN:.*]] = arith.divui %[[IN]], %[[HEIGHT]]
// CHECK: arith.muli %[[ROW]], %c128
// CHECK: arith.muli %[[COLUMN]], %c256
// CHECK: attn_gpu.linear_tile {{.*}} tiles <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>
// CHECK: arith.cmpi sge, %[[M]], %c300
// CHECK: attn_gpu.linear_tile {{.*}} columns = 128
// CHECK: attn_gpu.linear_tile {{.*}} columns = 64
#tiles = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 2>>, many_rows = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma>, least = 300>, most_rows = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, least = 700, group = 3>>
func.func @groups(%x: tensor<?x96xbf16>, %w: tensor<96x512xbf16>) -> tensor<?x512xbf16> {
  %y = attn.linear %x, %w {attn_gpu.schedule = #tiles} : tensor<?x96xbf16>, tensor<96x512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// -----

// Tiles for most rows are taken where their rounds of thread blocks take less time than those of the smaller tiles.
// CHECK-LABEL: func.func @rounds
// CHECK: %[[LEAST:.*]] = arith.cmpi sge, %{{.*}}, %c700
// CHECK: %[[LARGE:.*]] = arith.muli %{{.*}}, %c2
// CHECK: %[[ROUNDS:.*]] = arith.ceildivui %[[LARGE]], %c132
// CHECK: %[[TIME:.*]] = arith.muli %[[ROUNDS]], %c2883584
// CHECK: %[[SMALL:.*]] = arith.muli %{{.*}}, %c4
// CHECK: %[[OTHERS:.*]] = arith.ceildivui %[[SMALL]], %c66
// CHECK: %[[THEIRS:.*]] = arith.muli %[[OTHERS]], %c1638400
// CHECK: %[[FASTER:.*]] = arith.cmpi ule, %[[TIME]], %[[THEIRS]]
// CHECK: %[[TAKEN:.*]] = arith.andi %[[LEAST]], %[[FASTER]]
// CHECK: scf.if %[[TAKEN]]
// CHECK: attn_gpu.linear_tile {{.*}} columns = 256
// CHECK: arith.cmpi sge, %{{.*}}, %c300
#tiles = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 32, warps = 4, stages = 2>>, many_rows = <tiles = <rows = 128, columns = 128, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 66>, least = 300>, most_rows = <tiles = <rows = 128, columns = 256, depth = 64, warps = 8, stages = 4, matmul = wgmma, blocks = 132>, least = 700, group = 3, share = 88>>
func.func @rounds(%x: tensor<?x96xbf16>, %w: tensor<96x512xbf16>) -> tensor<?x512xbf16> {
  %y = attn.linear %x, %w {attn_gpu.schedule = #tiles} : tensor<?x96xbf16>, tensor<96x512xbf16> -> tensor<?x512xbf16>
  return %y : tensor<?x512xbf16>
}

// A layer's last matmul is written to the layer's input, which the residuals show to have as many rows and which nothing reads any more.
// CHECK-LABEL: func.func @state
// CHECK: scf.for {{.*}} iter_args(%[[STATE:.*]] = %{{.*}})
// CHECK: %[[EMPTY:.*]] = tensor.empty
// CHECK: %[[INNER:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[EMPTY]])
// CHECK: %[[LAST:.*]] = scf.forall {{.*}} shared_outs(%{{.*}} = %[[STATE]])
// CHECK: scf.yield %[[LAST]]
func.func @state(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %n: index) -> tensor<?x64xbf16> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%state = %x) -> (tensor<?x64xbf16>) {
    %0 = attn.linear %state, %w, (%state) {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>} : tensor<?x64xbf16>, tensor<64x64xbf16>, (tensor<?x64xbf16>) -> tensor<?x64xbf16> {
    ^bb0(%sum: f32, %residual: f32):
      %s = arith.addf %sum, %residual : f32
      attn.yield %s : f32
    }
    %1 = attn.linear %0, %w, (%0) {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>} : tensor<?x64xbf16>, tensor<64x64xbf16>, (tensor<?x64xbf16>) -> tensor<?x64xbf16> {
    ^bb0(%sum: f32, %residual: f32):
      %s = arith.addf %sum, %residual : f32
      attn.yield %s : f32
    }
    scf.yield %1 : tensor<?x64xbf16>
  }
  return %y : tensor<?x64xbf16>
}

// Near misses: the matmul itself reads the state, and no residual tells its rows.
// CHECK-LABEL: func.func @others
// CHECK: scf.for
// CHECK: %[[EMPTY:.*]] = tensor.empty
// CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[EMPTY]])
// CHECK: scf.for
// CHECK: %[[FIRST:.*]] = tensor.empty
// CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[FIRST]])
// CHECK: %[[SECOND:.*]] = tensor.empty
// CHECK: scf.forall {{.*}} shared_outs(%{{.*}} = %[[SECOND]])
func.func @others(%x: tensor<?x64xbf16>, %w: tensor<64x64xbf16>, %n: index) -> (tensor<?x64xbf16>, tensor<?x64xbf16>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %y = scf.for %i = %c0 to %n step %c1 iter_args(%state = %x) -> (tensor<?x64xbf16>) {
    %0 = attn.linear %state, %w, (%state) {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>} : tensor<?x64xbf16>, tensor<64x64xbf16>, (tensor<?x64xbf16>) -> tensor<?x64xbf16> {
    ^bb0(%sum: f32, %residual: f32):
      %s = arith.addf %sum, %residual : f32
      attn.yield %s : f32
    }
    scf.yield %0 : tensor<?x64xbf16>
  }
  %z = scf.for %i = %c0 to %n step %c1 iter_args(%state = %x) -> (tensor<?x64xbf16>) {
    %0 = attn.linear %state, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>} : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
    %1 = attn.linear %0, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>} : tensor<?x64xbf16>, tensor<64x64xbf16> -> tensor<?x64xbf16>
    scf.yield %1 : tensor<?x64xbf16>
  }
  return %y, %z : tensor<?x64xbf16>, tensor<?x64xbf16>
}

// -----

// A rotation of the first heads is computed with their tiles: pairs of columns by the angles of their row, those of other heads stay.
// CHECK-LABEL: func.func @rotation
// CHECK-SAME: %[[X:.*]]: tensor<?x96xbf16>, %[[W:.*]]: tensor<96x80xbf16>, %[[C:.*]]: tensor<?x3xf32>, %[[S:.*]]: tensor<?x3xf32>
// CHECK: attn_gpu.linear_tile
// CHECK-SAME: pairs {
// CHECK: ^bb0(%[[A:.*]]: f32, %[[B:.*]]: f32, %[[I:.*]]: index, %[[J:.*]]: index):
// CHECK: %[[ROW:.*]] = arith.minsi
// CHECK: %[[COLUMN:.*]] = arith.minsi
// CHECK: %[[CHANNEL:.*]] = arith.remui %[[COLUMN]], %c8
// CHECK: %[[PAIR:.*]] = arith.divui %[[CHANNEL]], %c2
// CHECK: %[[FIRST:.*]] = arith.cmpi ult, %[[COLUMN]], %c56
// CHECK: %[[INSIDE:.*]] = arith.cmpi ult, %[[CHANNEL]], %c6
// CHECK: %[[IS:.*]] = arith.andi %[[FIRST]], %[[INSIDE]]
// CHECK: %[[AT:.*]] = arith.minui %[[PAIR]], %c2
// CHECK: %[[COSINE:.*]] = tensor.extract %[[C]][%[[ROW]], %[[AT]]]
// CHECK: %[[SINE:.*]] = tensor.extract %[[S]][%[[ROW]], %[[AT]]]
// CHECK: %[[AC:.*]] = arith.mulf %[[A]], %[[COSINE]]
// CHECK: %[[BS:.*]] = arith.mulf %[[B]], %[[SINE]]
// CHECK: %[[Y:.*]] = arith.subf %[[AC]], %[[BS]]
// CHECK: %[[BC:.*]] = arith.mulf %[[B]], %[[COSINE]]
// CHECK: %[[AS:.*]] = arith.mulf %[[A]], %[[SINE]]
// CHECK: %[[Z:.*]] = arith.addf %[[BC]], %[[AS]]
// CHECK: %[[Y1:.*]] = arith.select %[[IS]], %[[Y]], %[[A]]
// CHECK: %[[Z1:.*]] = arith.select %[[IS]], %[[Z]], %[[B]]
// CHECK: attn_gpu.yield %[[Y1]], %[[Z1]] : f32, f32
// CHECK: %[[HEADS:.*]] = attn.split_heads
// CHECK-NOT: attn.rope
// CHECK: return %[[HEADS]]
func.func @rotation(%x: tensor<?x96xbf16>, %w: tensor<96x80xbf16>, %c: tensor<?x3xf32>, %s: tensor<?x3xf32>) -> tensor<?x10x8xbf16> {
  %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 16, columns = 64, depth = 32, warps = 2, stages = 2>>, rotates = true>} : tensor<?x96xbf16>, tensor<96x80xbf16> -> tensor<?x80xbf16>
  %heads = attn.split_heads %y : tensor<?x80xbf16> -> tensor<?x10x8xbf16>
  %rotated = attn.rope %heads, %c, %s interleaved heads 7 : tensor<?x10x8xbf16>, tensor<?x3xf32>
  return %rotated : tensor<?x10x8xbf16>
}
