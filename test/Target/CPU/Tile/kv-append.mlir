// RUN: rapt-opt %s --attn-cpu-tile | FileCheck %s

// CHECK-DAG: #[[$LANE:.*]] = affine_map<(d0) -> (d0 mod 16)>
// CHECK-DAG: #[[$PANEL:.*]] = affine_map<(d0) -> ((d0 floordiv 32) * 64)>

// A task has one head's part of a block. Keys up to the first sixteen that are all new, and behind the last, one by one: the
// key is rounded, then of each channel the sixteen positions around its own are read, changed and written. Sixteen new ones
// are transposed. Values are rows.
// CHECK-LABEL: @halves
// CHECK-SAME: (%[[CACHE:[a-z0-9]+]]: {{.*}}, %{{.*}}: index, %[[K:[a-z0-9]+]]: tensor<?x4x64xf32>, %[[V:[a-z0-9]+]]: tensor<?x4x64xf32>
func.func @halves(%cache: tensor<?x2x4x2x128x32xf16>, %layer: index, %k: tensor<?x4x64xf32>, %v: tensor<?x4x64xf32>, %begin: tensor<?xi32>,
                  %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x2x4x2x128x32xf16> {
  // CHECK: scf.forall {{.*}} in (%{{.*}}, %{{.*}}, 4) shared_outs(%[[OUT:.*]] = %[[CACHE]])
  // CHECK: tensor.extract_slice %[[OUT]]{{.*}} : tensor<?x2x4x2x128x32xf16> to tensor<2x128x32xf16>
  // CHECK: scf.for %[[PLACE:[a-z0-9]+]] =
  // CHECK: %[[KEY:.*]] = scf.for {{.*}} -> (tensor<64xf16>)
  // CHECK: vector.transfer_read %[[K]]
  // CHECK: arith.truncf %{{.*}} : vector<32xf32> to vector<32xf16>
  // CHECK: %[[LANE:.*]] = affine.apply #[[$LANE]](%[[PLACE]])
  // CHECK: %[[WORD:.*]] = arith.index_cast %[[LANE]]
  // CHECK: %[[LANES:.*]] = vector.broadcast %[[WORD]]
  // CHECK: %[[MINE:.*]] = arith.cmpi eq, %{{.*}}, %[[LANES]] : vector<16xi32>
  // CHECK: affine.apply #[[$PANEL]](%[[PLACE]])
  // CHECK: %[[COLUMN:.*]] = affine.apply #{{.*}}(%[[PLACE]])
  // CHECK: scf.for %[[CHANNEL:[a-z0-9]+]] = {{.*}} iter_args(%[[BLOCK:.*]] = %{{.*}})
  // CHECK: %[[LINE:.*]] = affine.apply #{{.*}}(%[[CHANNEL]], %[[PLACE]])
  // CHECK: %[[AROUND:.*]] = vector.transfer_read %[[BLOCK]][%c0{{.*}}, %[[LINE]], %[[COLUMN]]]{{.*}} vector<16xf16>
  // CHECK: %[[ELEMENT:.*]] = tensor.extract %[[KEY]][%[[CHANNEL]]]
  // CHECK: %[[ALL:.*]] = vector.broadcast %[[ELEMENT]]
  // CHECK: %[[NEW:.*]] = arith.select %[[MINE]], %[[ALL]], %[[AROUND]]
  // CHECK: vector.transfer_write %[[NEW]], %[[BLOCK]][%c0{{.*}}, %[[LINE]], %[[COLUMN]]]
  // CHECK: scf.for {{.*}} step %c16
  // CHECK-COUNT-16: vector.transfer_read %[[K]]
  // CHECK: scf.for
  // CHECK: vector.transfer_read %[[K]]
  // CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xf16>
  // CHECK-NOT: transfer_read %[[K]]
  // CHECK: vector.transfer_read %[[V]]
  // CHECK: vector.transfer_write {{.*}} vector<32xf16>, tensor<2x128x32xf16>
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[OUT]]
  %0 = attn.kv_append %cache[%layer], %k, %v rows(%begin, %past, %table) {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>}
    : tensor<?x2x4x2x128x32xf16>, tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0 : tensor<?x2x4x2x128x32xf16>
}

// Two channels of a key are a word; of a value's words one half changes.
// CHECK-LABEL: @pairs
// CHECK-SAME: %{{.*}}: index, %[[K:[a-z0-9]+]]: tensor<?x4x64xf32>, %[[V:[a-z0-9]+]]: tensor<?x4x64xf32>
func.func @pairs(%cache: tensor<?x2x4x2x64x64xbf16>, %layer: index, %k: tensor<?x4x64xf32>, %v: tensor<?x4x64xf32>, %begin: tensor<?xi32>,
                 %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x2x4x2x64x64xbf16> {
  // CHECK: %[[KEY:.*]] = scf.for {{.*}} -> (tensor<32xi32>)
  // CHECK: vector.transfer_read %[[K]]
  // CHECK: vector.transfer_write {{.*}} vector<16xi32>, tensor<32xi32>
  // CHECK: %[[AROUND:.*]] = vector.bitcast %{{.*}} : vector<32xbf16> to vector<16xi32>
  // CHECK: tensor.extract %[[KEY]]
  // CHECK: %[[NEW:.*]] = arith.select %{{.*}}, %{{.*}}, %[[AROUND]] : vector<16xi1>, vector<16xi32>
  // CHECK: vector.bitcast %[[NEW]] : vector<16xi32> to vector<32xbf16>
  // CHECK: vector.transfer_read %[[V]]
  // CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : vector<32xi32>
  // CHECK: vector.transfer_write {{.*}} vector<64xbf16>, tensor<2x64x64xbf16>
  %0 = attn.kv_append %cache[%layer], %k, %v rows(%begin, %past, %table) {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>}
    : tensor<?x2x4x2x64x64xbf16>, tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0 : tensor<?x2x4x2x64x64xbf16>
}

// Codes: the scale of each key and value comes first, and what makes its codes is kept.
// CHECK-LABEL: @codes
func.func @codes(%cache: tensor<?x2x4x2x136x32xi8>, %layer: index, %k: tensor<?x4x64xf32>, %v: tensor<?x4x64xf32>, %begin: tensor<?xi32>,
                 %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> tensor<?x2x4x2x136x32xi8> {
  // CHECK: scf.for {{.*}} -> (tensor<2x136x32xi8>, tensor<2x64xf32>)
  // CHECK: %[[INVERSE:.*]] = tensor.extract %{{.*}} : tensor<2x64xf32>
  // CHECK: %[[INVERSES:.*]] = vector.broadcast %[[INVERSE]]
  // CHECK: arith.mulf %{{.*}}, %[[INVERSES]]
  // CHECK: math.roundeven
  // CHECK: vector.transfer_write {{.*}} vector<32xi8>, tensor<64xi8>
  // CHECK: arith.select {{.*}} : vector<16xi1>, vector<16xi8>
  %0 = attn.kv_append %cache[%layer], %k, %v rows(%begin, %past, %table) {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 64>}
    : tensor<?x2x4x2x136x32xi8>, tensor<?x4x64xf32>, tensor<?x4x64xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0 : tensor<?x2x4x2x136x32xi8>
}

// Keys and values in a pool each: codes of keys have their scale in their own pool, values none.
// CHECK-LABEL: @apart
// CHECK-SAME: (%[[KC:[a-z0-9]+]]: tensor<?x2x4x1x136x32xi8>, %[[VC:[a-z0-9]+]]: tensor<?x2x4x1x32x64xbf16>
func.func @apart(%keys: tensor<?x2x4x1x136x32xi8>, %values: tensor<?x2x4x1x32x64xbf16>, %layer: index, %k: tensor<?x4x64xf32>, %v: tensor<?x4x32xf32>, %begin: tensor<?xi32>,
                 %past: tensor<?xi32>, %table: tensor<?x?xi32>) -> (tensor<?x2x4x1x136x32xi8>, tensor<?x2x4x1x32x64xbf16>) {
  // CHECK: scf.forall {{.*}} in (%{{.*}}, %{{.*}}, 4) shared_outs(%[[KO:.*]] = %[[KC]], %[[VO:.*]] = %[[VC]])
  // CHECK: tensor.extract_slice %[[KO]]{{.*}} to tensor<1x136x32xi8>
  // CHECK: tensor.extract_slice %[[VO]]{{.*}} to tensor<1x32x64xbf16>
  // CHECK: %[[SCALED:.*]]:3 = scf.for {{.*}} -> (tensor<1x136x32xi8>, tensor<1x32x64xbf16>, tensor<2x64xf32>)
  // CHECK: vector.transfer_write {{.*}} vector<4xi8>, tensor<1x136x32xi8>
  // CHECK-NOT: vector<4xi8>, tensor<1x32x64xbf16>
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[SCALED]]#0) -> (tensor<1x136x32xi8>)
  // CHECK: scf.for {{.*}} iter_args(%{{.*}} = %[[SCALED]]#1) -> (tensor<1x32x64xbf16>)
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[KO]]
  // CHECK: tensor.parallel_insert_slice %{{.*}} into %[[VO]]
  %0, %1 = attn.kv_append %keys values %values[%layer], %k, %v rows(%begin, %past, %table) {layout = #attn_cpu.cache_panels<positions = 64, keys = 64, values = 32>}
    : tensor<?x2x4x1x136x32xi8> values tensor<?x2x4x1x32x64xbf16>, tensor<?x4x64xf32>, tensor<?x4x32xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
  return %0, %1 : tensor<?x2x4x1x136x32xi8>, tensor<?x2x4x1x32x64xbf16>
}
