// RUN: rapt-opt %s --attn-to-linalg --split-input-file | FileCheck %s

// Sequence after sequence writes its tokens' positions behind the cached ones; tokens of no sequence keep the 0.
// CHECK-LABEL: @positions
// CHECK-SAME: %[[TOKENS:.*]]: tensor<?xi32>, %[[BEGIN:.*]]: tensor<?xi32>, %[[PAST:.*]]: tensor<?xi32>
func.func @positions(%tokens: tensor<?xi32>, %begin: tensor<?xi32>, %past: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK: %[[ZEROS:.*]] = linalg.fill
  // CHECK: scf.for %[[ROW:.*]] = {{.*}} iter_args(%[[ALL:.*]] = %[[ZEROS]])
  // CHECK: tensor.extract %[[BEGIN]][%[[ROW]]]
  // CHECK: tensor.extract %[[PAST]][%[[ROW]]]
  // CHECK: scf.for %[[TOKEN:.*]] = {{.*}} iter_args(%[[DEST:.*]] = %[[ALL]])
  // CHECK: tensor.insert %{{.*}} into %[[DEST]][%[[TOKEN]]]
  %p = attn.positions %tokens, %begin, %past : tensor<?xi32>, tensor<?xi32>, tensor<?xi32>
  return %p : tensor<?xi32>
}

// -----

// Tokens of padding have the position 0 and are not counted.
// CHECK-LABEL: @counted
// CHECK-SAME: %[[TOKENS:.*]]: tensor<?xi32>, %[[BEGIN:.*]]: tensor<?xi32>
func.func @counted(%tokens: tensor<?xi32>, %begin: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK: %[[PADDING:.*]] = arith.constant 7 : i32
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : i32
  // CHECK: scf.for %[[TOKEN:.*]] = {{.*}} iter_args(%[[DEST:.*]] = %{{.*}}, %[[COUNT:.*]] = %[[ZERO]])
  // CHECK: %[[ID:.*]] = tensor.extract %[[TOKENS]][%[[TOKEN]]]
  // CHECK: %[[IS:.*]] = arith.cmpi eq, %[[ID]], %[[PADDING]]
  // CHECK: %[[NEXT:.*]] = arith.addi %[[COUNT]], %{{.*}}
  // CHECK: %[[POSITION:.*]] = arith.select %[[IS]], %[[ZERO]], %[[NEXT]]
  // CHECK: tensor.insert %[[POSITION]] into %[[DEST]][%[[TOKEN]]]
  // CHECK: arith.select %[[IS]], %[[COUNT]], %[[NEXT]]
  %p = attn.positions %tokens, %begin padding 7 : tensor<?xi32>, tensor<?xi32>
  return %p : tensor<?xi32>
}

// -----

// Without cached positions they count from 0.
// CHECK-LABEL: @no_past
// CHECK-SAME: %{{.*}}: tensor<?xi32>, %[[BEGIN:.*]]: tensor<?xi32>
func.func @no_past(%tokens: tensor<?xi32>, %begin: tensor<?xi32>) -> tensor<?xi32> {
  // CHECK-COUNT-2: tensor.extract %[[BEGIN]]
  // CHECK-NOT: tensor.extract
  // CHECK: %[[ZERO:.*]] = arith.constant 0 : index
  // CHECK: arith.subi %[[ZERO]], %{{.*}}
  %p = attn.positions %tokens, %begin : tensor<?xi32>, tensor<?xi32>
  return %p : tensor<?xi32>
}

// -----

// CHECK-DAG: #[[$TOKEN:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG: #[[$COLUMN:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG: #[[$BOTH:.*]] = affine_map<(d0, d1) -> (d0, d1)>

// One op makes both tables. Turns are frequencies over 2 pi in two floats each; whole ones are taken off before the cosine.
// CHECK-LABEL: @table
// CHECK-SAME: %[[P:.*]]: tensor<?xi32>
func.func @table(%p: tensor<?xi32>) -> (tensor<?x2xf32>, tensor<?x2xf32>) {
  // CHECK: %[[HIGH:.*]] = arith.constant dense<[0.159154937, 0.0795774683]> : tensor<2xf32>
  // CHECK: %[[LOW:.*]] = arith.constant dense<[6.42063824E-9, 3.21031912E-9]> : tensor<2xf32>
  // CHECK: %[[MAGNITUDE:.*]] = arith.constant 1.250000e+00
  // CHECK: linalg.generic {indexing_maps = [#[[$TOKEN]], #[[$COLUMN]], #[[$COLUMN]], #[[$BOTH]], #[[$BOTH]]], iterator_types = ["parallel", "parallel"]} ins(%[[P]], %[[HIGH]], %[[LOW]] :
  // CHECK: math.roundeven
  // CHECK: %[[COSINE:.*]] = math.cos
  // CHECK: arith.mulf %[[COSINE]], %[[MAGNITUDE]]
  // CHECK: %[[SINE:.*]] = math.sin
  // CHECK: arith.mulf %[[SINE]], %[[MAGNITUDE]]
  %c, %s = attn.rotary_table %p frequencies [1.0, 0.5] {magnitude = 1.25 : f32} : tensor<?xi32> -> tensor<?x2xf32>
  return %c, %s : tensor<?x2xf32>, tensor<?x2xf32>
}

// -----

// Even columns are sines, odd ones cosines; those beyond the frequencies, which a layout adds, are 0.
// CHECK-LABEL: @sinusoids
func.func @sinusoids(%p: tensor<?xi32>) -> tensor<?x32xf32> {
  // CHECK: %[[COLUMN:.*]] = linalg.index 1
  // CHECK: %[[ODD:.*]] = arith.cmpi ne
  // CHECK: %[[COUNTS:.*]] = arith.cmpi ult, %[[COLUMN]], %c2{{.*}} : index
  // CHECK-DAG: %[[COSINE:.*]] = math.cos
  // CHECK-DAG: %[[SINE:.*]] = math.sin
  // CHECK: %[[Y:.*]] = arith.select %[[ODD]], %[[COSINE]], %[[SINE]]
  // CHECK: arith.select %[[COUNTS]], %[[Y]]
  %y = attn.sinusoids %p frequencies [1.0, 0.5] : tensor<?xi32> -> tensor<?x32xf32>
  return %y : tensor<?x32xf32>
}

// -----

// Columns of the second half are cosines; positions begin at 2.
// CHECK-LABEL: @sinusoids_halves
func.func @sinusoids_halves(%p: tensor<?xi32>) -> tensor<?x4xf32> {
  // CHECK: %[[COLUMN:.*]] = linalg.index 1
  // CHECK: arith.addi %{{.*}}, %c2_i32
  // CHECK: %[[COSINES:.*]] = arith.cmpi uge, %[[COLUMN]], %c2{{.*}} : index
  // CHECK: arith.select %[[COSINES]]
  %y = attn.sinusoids %p frequencies [1.0, 0.5, 1.0, 0.5] halves first 2 : tensor<?xi32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}

// -----

// 20 of 22 channels rotate, of 3 of 8 heads; the partner is 10 channels away. Other elements pass: they look at pair 0.
// CHECK-LABEL: @halves
// CHECK-SAME: %[[X:.*]]: tensor<?x8x22xf32>, %[[C:.*]]: tensor<?x10xf32>, %[[S:.*]]: tensor<?x10xf32>
func.func @halves(%x: tensor<?x8x22xf32>, %c: tensor<?x10xf32>, %s: tensor<?x10xf32>) -> tensor<?x8x22xf32> {
  // CHECK: ^bb0(%[[OLD:.*]]: f32, %{{.*}}: f32):
  // CHECK-DAG: %[[TOKEN:.*]] = linalg.index 0
  // CHECK-DAG: %[[HEAD:.*]] = linalg.index 1
  // CHECK-DAG: %[[CHANNEL:.*]] = linalg.index 2
  // CHECK: %[[IN:.*]] = arith.cmpi ult, %[[CHANNEL]], %c20
  // CHECK: %[[ROTATED:.*]] = arith.cmpi ult, %[[HEAD]], %c3
  // CHECK: %[[ROTATES:.*]] = arith.andi %[[IN]], %[[ROTATED]]
  // CHECK: %[[PLACE:.*]] = arith.select %[[ROTATES]], %[[CHANNEL]], %c0
  // CHECK: %[[PAIR:.*]] = arith.remui %[[PLACE]], %c10
  // CHECK: tensor.extract %[[C]][%[[TOKEN]], %[[PAIR]]]
  // CHECK: tensor.extract %[[S]][%[[TOKEN]], %[[PAIR]]]
  // CHECK: tensor.extract %[[X]][%[[TOKEN]], %[[HEAD]], %{{.*}}]
  // CHECK: arith.select %[[ROTATES]], %{{.*}}, %[[OLD]]
  %y = attn.rope %x, %c, %s heads 3 : tensor<?x8x22xf32>, tensor<?x10xf32>
  return %y : tensor<?x8x22xf32>
}

// -----

// Near miss: neighbors are a pair, and no head passes.
// CHECK-LABEL: @interleaved
func.func @interleaved(%x: tensor<?x8x20xf32>, %c: tensor<?x10xf32>, %s: tensor<?x10xf32>) -> tensor<?x8x20xf32> {
  // CHECK-NOT: arith.andi
  // CHECK: arith.divui %[[PLACE:.*]], %c2
  // CHECK: arith.remui %[[PLACE]], %c2
  %y = attn.rope %x, %c, %s interleaved : tensor<?x8x20xf32>, tensor<?x10xf32>
  return %y : tensor<?x8x20xf32>
}
