// RUN: rapt-opt %s --attn-select-storage=cache-dtype=int8 | FileCheck %s --check-prefix=CODES
// RUN: rapt-opt %s --attn-select-storage=cache-dtype=f16 | FileCheck %s --check-prefix=HALF
// RUN: rapt-opt %s --attn-select-storage=cache-dtype=auto | FileCheck %s --check-prefix=FULL
// RUN: rapt-opt %s --attn-select-storage='dtype=bf16 cache-dtype=auto' | FileCheck %s --check-prefix=BRAIN
// RUN: rapt-opt %s --attn-select-storage=dtype=bf16 | FileCheck %s --check-prefix=KEPT
// RUN: not rapt-opt %s --attn-select-storage=cache-dtype=int4 2>&1 | FileCheck %s --check-prefix=WRONG
// RUN: echo 'func.func private @f()' | not rapt-opt --attn-select-storage=cache-dtype=bf16 2>&1 | FileCheck %s --check-prefix=NONE
// RUN: echo 'func.func private @f()' | rapt-opt --attn-select-storage=cache-dtype=auto | FileCheck %s --check-prefix=AUTO
// RUN: rapt-opt %s --attn-select-storage=cache-dtype=int8,f16 | FileCheck %s --check-prefix=PAIR
// RUN: not rapt-opt %s --attn-select-storage=cache-dtype=int8,auto 2>&1 | FileCheck %s --check-prefix=HALFWRONG
// WRONG: storage type of the cache must be auto, f32, bf16, f16 or int8, or two of them for keys and values, found 'int4'
// HALFWRONG: storage type of the cache must be auto, f32, bf16, f16 or int8, or two of them for keys and values, found 'int8,auto'
// NONE: there is no cache of keys and values to be stored as bf16
// AUTO: func.func private @f()

!cache = !attn.kv_cache<2 x 4 x 20, block = 64, f32>

// Matrices are not all of one 16-bit type, so the cache is f32, until they are.
// BRAIN: @w : tensor<20x80xbf16>
// BRAIN: func.func @step(%{{.*}}: !attn.kv_cache<2 x 4 x 20, block = 64, bf16>
// KEPT: func.func @step(%{{.*}}: !attn.kv_cache<2 x 4 x 20, block = 64, f32>
attn.parameter @w : tensor<20x80xbf16> from [#attn.source<"w">]
attn.parameter @m : tensor<20x80xf32> from [#attn.source<"m">]

// Every place has the type: arguments, results, loops, views, of which those of codes are f32.
// CODES: func.func @step(%{{.*}}: !attn.kv_cache<2 x 4 x 20, block = 64, i8>,
// CODES-SAME: -> !attn.kv_cache<2 x 4 x 20, block = 64, i8>
// HALF: func.func @step(%{{.*}}: !attn.kv_cache<2 x 4 x 20, block = 64, f16>,
// PAIR: func.func @step(%{{.*}}: !attn.kv_cache<[2 x 4 x (20 x i8, 20 x f16)], block = 64>,
// PAIR: attn.kv_view {{.*}} -> tensor<?x?x4x20xf32>, tensor<?x?x4x20xf16>
// FULL: func.func @step(%{{.*}}: !attn.kv_cache<2 x 4 x 20, block = 64, f32>,
func.func @step(%cache: !cache, %n: index, %k: tensor<?x4x20xf32>, %begin: tensor<?xi32>, %past: tensor<?xi32>, %table: tensor<?x?xi32>)
    -> !cache {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  // CODES: scf.for {{.*}} -> (!attn.kv_cache<2 x 4 x 20, block = 64, i8>)
  // HALF: scf.for {{.*}} -> (!attn.kv_cache<2 x 4 x 20, block = 64, f16>)
  %0 = scf.for %i = %c0 to %n step %c1 iter_args(%c = %cache) -> (!cache) {
    // CODES: attn.kv_append {{.*}} : !attn.kv_cache<2 x 4 x 20, block = 64, i8>, tensor<?x4x20xf32>
    %1 = attn.kv_append %c[%i], %k, %k rows(%begin, %past, %table)
      : !cache, tensor<?x4x20xf32>, tensor<?x4x20xf32>, tensor<?xi32>, tensor<?xi32>, tensor<?x?xi32>
    scf.yield %1 : !cache
  }
  // CODES: attn.kv_view {{.*}} -> tensor<?x?x4x20xf32>
  // HALF: attn.kv_view {{.*}} -> tensor<?x?x4x20xf16>
  %keys, %values = attn.kv_view %0[%c0], %table : !cache, tensor<?x?xi32> -> tensor<?x?x4x20xf32>
  return %0 : !cache
}
