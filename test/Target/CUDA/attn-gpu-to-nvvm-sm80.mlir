// RUN: rapt-opt %s --pass-pipeline='builtin.module(gpu.module(attn-gpu-to-nvvm,canonicalize,cse))' | FileCheck %s

!tile = !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>>
!a = !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>
!b = !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
!codes = !attn_gpu.tile<16x64xi16, #attn_gpu.swizzle<128>>
!bytes = !attn_gpu.fragment<16x16xi16, #attn_gpu.mma<a>>
!sums = !attn_gpu.tile<16x64xbf16, #attn_gpu.swizzle<128>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>

gpu.module @sm_80 [#nvvm.target<chip = "sm_80", features = "+ptx80">] {
  // CHECK: llvm.mlir.global external @attn_gpu_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>

  // Numbers of threads and blocks are special registers.
  // CHECK-LABEL: llvm.func @numbers
  llvm.func @numbers(%to: !llvm.ptr) {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.tid.x"() : () -> i32
    %thread = gpu.thread_id x
    // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ntid.x"()
    %threads = gpu.block_dim x
    // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.ctaid.y"()
    %block = gpu.block_id y
    // CHECK: llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.z"()
    %blocks = gpu.grid_dim z
    %0 = arith.addi %thread, %threads : index
    %1 = arith.addi %block, %blocks : index
    %2 = arith.addi %0, %1 : index
    %3 = arith.index_castui %2 : index to i32
    llvm.store %3, %to : i32, !llvm.ptr
    llvm.return
  }

  // The chunk of 16 bytes that a lane reads is combined with its row; what is known is part of the address' constant.
  // CHECK-LABEL: llvm.func @matrices
  llvm.func @matrices() {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c80 = arith.constant 80 : index
    %f0 = arith.constant 0.0 : f32
    %t = attn_gpu.shared %c0 : !tile
    // CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_gpu_shared
    // CHECK: %[[CHUNK:.*]] = arith.xori %{{.*}}, %c32_i32 : i32
    // CHECK: %[[OFFSET:.*]] = arith.addi %{{.*}}, %[[CHUNK]] : i32
    // CHECK: %[[LANE:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
    // CHECK: %[[AT:.*]] = llvm.getelementptr %[[LANE]][10240]
    // CHECK: %[[A:.*]] = nvvm.ldmatrix %[[AT]] {{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK: %[[A0:.*]] = llvm.extractvalue %[[A]][0]
    %a = attn_gpu.load_matrix %t[%c16, %c80] : !tile -> !a
    // CHECK: %[[K:.*]] = nvvm.ldmatrix %{{.*}}layout = #nvvm.mma_layout<row>, num = 4 : i32
    // CHECK: %[[K0:.*]] = llvm.extractvalue %[[K]][0]
    // CHECK: %[[K1:.*]] = llvm.extractvalue %[[K]][1]
    %keys = attn_gpu.load_matrix %t[%c0, %c0] transpose : !tile -> !b
    // CHECK: nvvm.ldmatrix %{{.*}}layout = #nvvm.mma_layout<col>, num = 4 : i32
    %values = attn_gpu.load_matrix %t[%c0, %c0] : !tile -> !b
    %zero = attn_gpu.fill %f0 : !acc
    // CHECK: nvvm.mma.sync A[%[[A0]], %{{.*}}] B[%[[K0]], %[[K1]]] C[%[[ZERO:.*]], %[[ZERO]], %[[ZERO]], %[[ZERO]]] {{.*}}multiplicandAPtxType = #nvvm.mma_type<bf16>
    // CHECK: nvvm.mma.sync
    %s = attn_gpu.mma %a, %keys, %zero : !a, !b -> !acc
    // CHECK-COUNT-2: nvvm.mma.sync
    %u = attn_gpu.mma %a, %values, %s : !a, !b -> !acc
    // CHECK-NOT: nvvm.stmatrix
    // CHECK-COUNT-4: llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<3>
    attn_gpu.store_matrix %u, %t[%c0, %c0] : !acc, !tile
    llvm.return
  }

  // Bytes beyond the bounds of rows and columns are not read.
  // CHECK-LABEL: llvm.func @copies
  // CHECK-SAME: %[[SOURCE:.*]]: !llvm.ptr<1>, %[[N:.*]]: i32
  llvm.func @copies(%p: !llvm.ptr<1>, %n: i32) {
    %c0 = arith.constant 0 : index
    %rows = arith.index_cast %n : i32 to index
    %x = nvvm.read.ptx.sreg.tid.x : i32
    %thread = arith.index_cast %x : i32 to index
    %t = attn_gpu.shared %c0 : !tile
    // CHECK: %[[LEFT:.*]] = arith.minsi %{{.*}}, %c8 : index
    // CHECK: %[[ELEMENTS:.*]] = arith.index_cast %[[LEFT]] : index to i32
    // CHECK: %[[BYTES:.*]] = arith.muli %[[ELEMENTS]], %c2_i32 : i32
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %{{.*}}, %{{.*}} : index
    // CHECK: %[[SIZE:.*]] = arith.select %[[INSIDE]], %[[BYTES]], %c0_i32 : i32
    // CHECK: nvvm.cp.async.shared.global %{{.*}}, %{{.*}}, 16, cache = cg, %[[SIZE]]
    // CHECK-COUNT-7: nvvm.cp.async.shared.global
    attn_gpu.copy_rows %p bounds(%rows, %rows) to %t thread %thread of 128 : !tile {
    ^bb0(%at: index):
      %first = arith.muli %at, %rows : index
      attn_gpu.yield %first : index
    }
    // Few threads copy in a loop.
    // CHECK: scf.for
    // CHECK-COUNT-2: nvvm.cp.async.shared.global
    attn_gpu.copy_rows %p bounds(%rows, %rows) to %t thread %thread of 16 : !tile {
    ^bb0(%at: index):
      %first = arith.muli %at, %rows : index
      attn_gpu.yield %first : index
    }
    // Element by element there is a loop, in which elements beyond the bounds are 0.
    // CHECK-NOT: nvvm.cp.async.shared.global
    // CHECK: scf.for
    // CHECK: %[[ELEMENT:.*]] = scf.if
    // CHECK: llvm.load %{{.*}} : !llvm.ptr<1> -> bf16
    // CHECK: llvm.store %[[ELEMENT]], %{{.*}} : bf16, !llvm.ptr<3>
    attn_gpu.copy_rows %p bounds(%rows, %rows) to %t thread %thread of 128 elements : !tile {
    ^bb0(%at: index):
      %first = arith.muli %at, %rows : index
      attn_gpu.yield %first : index
    }
    %b = attn_gpu.shared %c0 : !attn_gpu.mbarrier
    // CHECK: nvvm.cp.async.mbarrier.arrive %{{.*}} {noinc = true}
    attn_gpu.copy_arrive %b
    llvm.return
  }

  // A part of a tile that begins at a row and a box of columns.
  // CHECK-LABEL: llvm.func @parts
  llvm.func @parts(%i: i32) {
    %c0 = arith.constant 0 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %row = arith.index_cast %i : i32 to index
    %t = attn_gpu.shared %c0 : !tile
    // CHECK: %[[BY:.*]] = llvm.getelementptr %{{.*}}[9216]
    %p = attn_gpu.subtile %t[%c8, %c64] : !tile -> !attn_gpu.tile<8x64xbf16, #attn_gpu.swizzle<128>, pitch = 64>
    // CHECK: arith.muli %{{.*}}, %c128_i32 : i32
    %q = attn_gpu.subtile %t[%row, %row] : !tile -> !attn_gpu.tile<16x64xbf16, #attn_gpu.swizzle<128>, pitch = 64>
    // CHECK: nvvm.ldmatrix %{{.*}}num = 2 : i32
    %b = attn_gpu.load_matrix %p[%c0, %c0] transpose : !attn_gpu.tile<8x64xbf16, #attn_gpu.swizzle<128>, pitch = 64> -> !attn_gpu.fragment<16x8xbf16, #attn_gpu.mma<b>>
    %a = attn_gpu.load_matrix %q[%c0, %c0] : !attn_gpu.tile<16x64xbf16, #attn_gpu.swizzle<128>, pitch = 64> -> !a
    llvm.return
  }

  // The region is there once for each of a thread's elements, with their rows and columns.
  // CHECK-LABEL: llvm.func @elements
  // CHECK-SAME: %[[SOURCE:.*]]: !llvm.ptr<1>, %[[X:.*]]: f32
  llvm.func @elements(%p: !llvm.ptr<1>, %x: f32) {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    // CHECK-COUNT-4: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<1> -> vector<2xf32>
    %f = attn_gpu.load_fragment %p[%c0, %c0] stride %c64 of f32 : !acc
    %v = attn_gpu.fill %x : !row
    // CHECK-COUNT-8: arith.cmpi sle
    // CHECK-NOT: arith.cmpi sle
    %e = attn_gpu.map(%f, %v : !acc, !row) -> !acc {
    ^bb0(%y: f32, %max: f32, %i: index, %j: index):
      %isSeen = arith.cmpi sle, %j, %i : index
      %kept = arith.select %isSeen, %y, %max : f32
      attn_gpu.yield %kept : f32
    }
    // The lanes that share a row come last, then what the maximum starts from.
    // CHECK-COUNT-6: arith.maxnumf
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c1_i32, %c31_i32
    // CHECK: arith.maxnumf
    // CHECK: nvvm.shfl.sync bfly %{{.*}}, %{{.*}}, %c2_i32, %c31_i32
    // CHECK: arith.maxnumf
    // CHECK-COUNT-2: nvvm.shfl.sync
    // CHECK: arith.maxnumf %{{.*}}, %[[X]] fastmath<nnan>
    // CHECK: arith.maxnumf %{{.*}}, %[[X]] fastmath<nnan>
    %m = attn_gpu.reduce_rows max %e init %v : !acc -> !row
    // CHECK: arith.addf %[[X]],
    // CHECK-NOT: nvvm.shfl.sync
    // CHECK: llvm.store
    %l = attn_gpu.reduce_rows add %e init %v partial : !acc -> !row
    %o = attn_gpu.map(%e, %m, %l : !acc, !row, !row) -> !acc {
    ^bb0(%y: f32, %max: f32, %sum: f32, %i: index, %j: index):
      %less = arith.subf %y, %max : f32
      %z = arith.mulf %less, %sum : f32
      attn_gpu.yield %z : f32
    }
    attn_gpu.store_fragment %o, %p[%c0, %c0] stride %c64 of f32 : !acc
    llvm.return
  }

  // Columns of a map's own are unknown in other maps.
  // CHECK-LABEL: llvm.func @own_columns
  llvm.func @own_columns(%p: !llvm.ptr<1>, %x: f32) {
    %f = attn_gpu.fill %x : !acc
    // CHECK: %[[COLUMN:.*]] = llvm.inline_asm has_side_effects {{.*}}"mov.b32 $0, $1;", "=r,r" %[[SHARED:.*]] : (i32) -> i32
    // CHECK: arith.sitofp %[[COLUMN]]
    // CHECK: arith.index_cast %[[SHARED]]
    %e = attn_gpu.map own_columns(%f : !acc) -> !acc {
    ^bb0(%y: f32, %i: index, %j: index):
      %number = arith.index_cast %j : index to i32
      %z = arith.sitofp %number : i32 to f32
      attn_gpu.yield %z : f32
    }
    %c0 = arith.constant 0 : index
    attn_gpu.store_fragment %e, %p[%c0, %c0] stride %c0 of f32 : !acc
    llvm.return
  }

  // Rows and columns beyond the bounds are neither read nor written.
  // CHECK-LABEL: llvm.func @bounds
  llvm.func @bounds(%p: !llvm.ptr<1>, %n: i32) {
    %c0 = arith.constant 0 : index
    %bound = arith.index_cast %n : i32 to index
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt
    // CHECK: scf.if %[[INSIDE]] -> (bf16, bf16, bf16, bf16)
    // CHECK-COUNT-2: llvm.load %{{.*}} {alignment = 4 : i64} : !llvm.ptr<1> -> vector<2xbf16>
    %a = attn_gpu.load_fragment %p[%c0, %c0] stride %bound bounds(%bound) of bf16 : !a
    // CHECK: scf.if
    // CHECK: scf.if
    // CHECK: llvm.load %{{.*}} {alignment = 2 : i64} : !llvm.ptr<1> -> bf16
    // CHECK: arith.extf
    %f = attn_gpu.load_fragment %p[%c0, %c0] stride %bound bounds(%bound, %bound) of bf16 : !acc
    %b = attn_gpu.load_fragment %p[%c0, %c0] stride %bound of bf16 : !b
    // CHECK: nvvm.mma.sync
    %s = attn_gpu.mma %a, %b, %f : !a, !b -> !acc
    // CHECK: scf.if
    // CHECK: nvvm.convert.f32x2.to.bf16x2
    // CHECK: llvm.store %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
    attn_gpu.store_fragment %s, %p[%c0, %c0] stride %bound bounds(%bound) of bf16 : !acc
    // CHECK: scf.if
    // CHECK: scf.if
    // CHECK: arith.truncf %{{.*}} : f32 to f16
    // CHECK: llvm.store %{{.*}} {alignment = 2 : i64} : f16, !llvm.ptr<1>
    attn_gpu.store_fragment %s, %p[%c0, %c0] stride %bound bounds(%bound, %bound) of f16 : !acc
    llvm.return
  }

  // A loop carries registers. Probabilities become an operand by rounding pairs, no data moves.
  // CHECK-LABEL: llvm.func @carried
  llvm.func @carried(%p: !llvm.ptr<1>, %x: f32, %n: i32) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    %count = arith.index_cast %n : i32 to index
    %zero = attn_gpu.fill %x : !acc
    %rows = attn_gpu.fill %x : !row
    // CHECK: %[[LOOP:.*]]:10 = scf.for {{.*}} -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32)
    %s:2 = scf.for %i = %c0 to %count step %c1 iter_args(%f = %zero, %v = %rows) -> (!acc, !row) {
      %twice = attn_gpu.map(%f, %v : !acc, !row) -> !acc {
      ^bb0(%y: f32, %r: f32, %row: index, %column: index):
        %z = arith.addf %y, %r : f32
        attn_gpu.yield %z : f32
      }
      // CHECK: nvvm.shfl.sync
      %next = attn_gpu.reduce_lanes add %v : !row
      scf.yield %twice, %next : !acc, !row
    }
    // CHECK: nvvm.convert.f32x2.to.f16x2 %[[LOOP]]#1, %[[LOOP]]#0 {rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
    // CHECK-COUNT-3: nvvm.convert.f32x2.to.f16x2
    %a = attn_gpu.pack %s#0 : !acc -> !attn_gpu.fragment<16x16xf16, #attn_gpu.mma<a>>
    %b = attn_gpu.load_fragment %p[%c0, %c0] stride %c64 of f16 : !attn_gpu.fragment<16x8xf16, #attn_gpu.mma<b>>
    %z = attn_gpu.fill %x : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    // CHECK: nvvm.mma.sync {{.*}} : (vector<2xf16>, vector<2xf16>, f32)
    %o = attn_gpu.mma %a, %b, %z : !attn_gpu.fragment<16x16xf16, #attn_gpu.mma<a>>, !attn_gpu.fragment<16x8xf16, #attn_gpu.mma<b>> -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    llvm.return
  }

  // CHECK-LABEL: llvm.func @math
  llvm.func @math(%x: f32, %p: !llvm.ptr<1>) {
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
    %0 = math.exp2 %x fastmath<afn> : f32
    // CHECK: arith.mulf %{{.*}}, %cst
    // CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f"
    %1 = math.exp %0 fastmath<afn> : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
    %2 = math.log2 %1 fastmath<afn> : f32
    // CHECK: llvm.inline_asm asm_dialect = att "tanh.approx.f32 $0, $1;", "=f,f"
    %3 = math.tanh %2 fastmath<afn> : f32
    // CHECK: llvm.call_intrinsic "llvm.nvvm.div.approx.ftz.f"
    %4 = arith.divf %3, %x fastmath<afn> : f32
    // Others stay what they are.
    // CHECK: math.exp2
    // CHECK: arith.divf
    %5 = math.exp2 %4 : f32
    %6 = arith.divf %5, %x : f32
    // tanh is a polynomial near 0, and a function of 2^x elsewhere.
    // CHECK: %[[FAR:.*]] = arith.subf
    // CHECK: %[[NEAR:.*]] = arith.cmpf olt
    // CHECK: %[[SIZE:.*]] = arith.select %[[NEAR]], %{{.*}}, %[[FAR]]
    // CHECK: math.copysign %[[SIZE]]
    // CHECK-NOT: math.tanh
    %7 = math.tanh %6 : f32
    // A division by a constant is a multiplication, corrected by what is left; infinity has no rest.
    // CHECK: %[[Q:.*]] = arith.mulf
    // CHECK: %[[REST:.*]] = math.fma %{{.*}}, %[[Q]]
    // CHECK: %[[ROUNDED:.*]] = math.fma %[[REST]], %{{.*}}, %[[Q]]
    // CHECK: %[[SIGNED:.*]] = math.copysign %[[ROUNDED]], %[[Q]]
    // CHECK: arith.select %{{.*}}, %[[Q]], %[[SIGNED]]
    %c30 = arith.constant 30.0 : f32
    %8 = arith.divf %7, %c30 : f32
    // One by a constant whose quotient could lose bits is not.
    // CHECK: arith.divf
    %c_large = arith.constant 1.0e+05 : f32
    %9 = arith.divf %8, %c_large : f32
    llvm.store %9, %p : f32, !llvm.ptr<1>
    llvm.return
  }

  // Values of 64 threads, which are two parts: each thread stores its own, and adds two for each of its part's columns.
  // CHECK-LABEL: llvm.func @sum_warps
  llvm.func @sum_warps(%f: f32, %p: !llvm.ptr<1>) {
    // CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_gpu_shared
    // CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
    // CHECK: %[[OWN:.*]] = arith.muli %[[THREAD]], %c4_i32
    // CHECK: llvm.getelementptr %[[SHARED]][%[[OWN]]]
    // CHECK-COUNT-8: llvm.store {{.*}} : f32, !llvm.ptr<3>
    // CHECK: nvvm.barrier
    // CHECK: %[[PART:.*]] = arith.shrui %[[THREAD]], %c5_i32
    // CHECK: %[[ATOM:.*]] = arith.andi %[[PART]], %c1_i32
    // CHECK: %[[LANE:.*]] = arith.andi %[[THREAD]], %c31_i32
    // CHECK: arith.muli %[[ATOM]], %c1024_i32
    // CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[SHARED]]
    // CHECK: %[[A:.*]] = llvm.load %[[PLACE]]
    // CHECK: %[[OTHER:.*]] = llvm.getelementptr %[[PLACE]][128]
    // CHECK: %[[B:.*]] = llvm.load %[[OTHER]]
    // CHECK: arith.addf %[[A]], %[[B]]
    // CHECK-COUNT-6: llvm.load {{.*}} : !llvm.ptr<3> -> f32
    // CHECK-NOT: llvm.load {{.*}} : !llvm.ptr<3> -> f32
    %c0 = arith.constant 0 : index
    %acc = attn_gpu.fill %f : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
    %sums = attn_gpu.sum_warps(%acc : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>) parts 2 threads 64 scratch %c0 -> !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    attn_gpu.store_rows %sums, %p[%c0] bounds(%c0, %c0) of f32 : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>> {
    ^bb0(%row: index):
      attn_gpu.yield %row : index
    }
    llvm.return
  }

  // Rows that are there, two columns at once or one at a time. A constant bound that all columns are within needs no comparison.
  // CHECK-LABEL: llvm.func @store_rows
  llvm.func @store_rows(%p: !llvm.ptr<1>, %f: f32, %m: i32) {
    %rows = arith.index_cast %m : i32 to index
    %c0 = arith.constant 0 : index
    %c7 = arith.constant 7 : index
    %c8 = arith.constant 8 : index
    %acc = attn_gpu.fill %f : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>>
    // CHECK: %[[FIRST:.*]] = arith.cmpi slt, %[[ROW:.*]], %{{.*}} : index
    // CHECK: scf.if %[[FIRST]] {
    // CHECK: arith.muli %[[ROW]]
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
    // CHECK: scf.if
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 4 : i64} : vector<2xbf16>, !llvm.ptr<1>
    attn_gpu.store_rows %acc, %p[%c0] bounds(%rows, %c8) of bf16 : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>> {
    ^bb0(%row: index):
      %offset = arith.muli %row, %rows : index
      attn_gpu.yield %offset : index
    }
    // CHECK: scf.if
    // CHECK: arith.cmpi slt, %{{.*}}, %c7 : index
    // CHECK: scf.if
    // CHECK: arith.truncf
    // CHECK: llvm.store %{{.*}}, %{{.*}} {alignment = 2 : i64} : bf16, !llvm.ptr<1>
    attn_gpu.store_rows %acc, %p[%c0] bounds(%rows, %c7) of bf16 elements : !attn_gpu.fragment<16x8xf32, #attn_gpu.mma<acc>> {
    ^bb0(%row: index):
      %offset = arith.muli %row, %rows : index
      attn_gpu.yield %offset : index
    }
    llvm.return
  }

  // All threads exchange a pair with their neighbor: one of an odd number gives its first pair, and has four from 6 columns behind its own on. Rows and columns that are there are stored.
  // CHECK-LABEL: llvm.func @store_fours
  llvm.func @store_fours(%p: !llvm.ptr<1>, %f: f32, %m: i32) {
    %c0 = arith.constant 0 : index
    %c12 = arith.constant 12 : index
    %rows = arith.index_cast %m : i32 to index
    %acc = attn_gpu.fill %f : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>>
    // CHECK: %[[ODD:.*]] = arith.cmpi eq, %{{.*}}, %c1_i32 : i32
    // CHECK: %[[PAIR:.*]] = llvm.bitcast %{{.*}} : vector<2xbf16> to i32
    // CHECK: %[[GIVEN:.*]] = arith.select %[[ODD]]
    // CHECK: %[[TAKEN:.*]] = nvvm.shfl.sync bfly %{{.*}}, %[[GIVEN]], %c1_i32, %c31_i32
    // CHECK: %[[LOW:.*]] = arith.select %[[ODD]], %[[TAKEN]], %[[PAIR]]
    // CHECK: llvm.insertelement %[[LOW]]
    // CHECK: %[[HIGH:.*]] = arith.select %[[ODD]], %[[PAIR]], %[[TAKEN]]
    // CHECK: %[[FOUR:.*]] = llvm.insertelement %[[HIGH]]
    // CHECK: %[[BEHIND:.*]] = arith.select %[[ODD]], %c6_i32, %c0_i32
    // CHECK: %[[COLUMN:.*]] = arith.addi
    // CHECK: scf.if
    // CHECK: %[[INSIDE:.*]] = arith.cmpi slt, %[[COLUMN]], %c12
    // CHECK: scf.if %[[INSIDE]]
    // CHECK: llvm.store %[[FOUR]], %{{.*}} {alignment = 8 : i64} : vector<2xi32>, !llvm.ptr<1>
    // CHECK: nvvm.shfl.sync
    attn_gpu.store_rows %acc, %p[%c0] bounds(%rows, %c12) of bf16 fours : !attn_gpu.fragment<16x16xf32, #attn_gpu.mma<acc>> {
    ^bb0(%row: index):
      attn_gpu.yield %row : index
    }
    llvm.return
  }

  // A lane takes every 32nd number. The ends of 32 bits stand for all that is beyond them.
  // CHECK-LABEL: llvm.func @range
  llvm.func @range(%n: i32) -> i64 {
    %count = arith.index_cast %n : i32 to index
    // CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
    // CHECK: %[[FIRST:.*]] = arith.index_cast %[[LANE]] : i32 to index
    // CHECK: scf.for %[[I:.*]] = %[[FIRST]] to %{{.*}} step %c32
    // CHECK: arith.minsi %{{.*}}, %[[I]] : index
    // CHECK: arith.maxsi %{{.*}}, %[[I]] : index
    // CHECK: %[[LOW:.*]] = nvvm.redux.sync min
    // CHECK: %[[IS_END:.*]] = arith.cmpi eq, %[[LOW]], %c-2147483648_i32
    // CHECK: arith.select %[[IS_END]], %c-9223372036854775808
    // CHECK: %[[HIGH:.*]] = nvvm.redux.sync max
    // CHECK: %[[IS_END:.*]] = arith.cmpi eq, %[[HIGH]], %c2147483647_i32
    // CHECK: arith.select %[[IS_END]], %c9223372036854775807
    %low, %high = attn_gpu.range %count {
    ^bb0(%i: index):
      attn_gpu.yield %i : index
    }
    %sum = arith.addi %low, %high : index
    %result = arith.index_cast %sum : index to i64
    llvm.return %result : i64
  }

  // 8 columns are an instruction, and with offsets one more for the sums of rows; LLVM finds that it is the same for all columns. Codes of a table become its numbers by byte permutations.
  // CHECK-LABEL: llvm.func @blocks
  llvm.func @blocks(%unit: !llvm.ptr<3>, %numbers: !llvm.ptr<3>, %scales: !llvm.ptr<3>, %to: !llvm.ptr) {
    %c0 = arith.constant 0 : index
    %f0 = arith.constant 0.0 : f32
    %t = attn_gpu.shared %c0 : !codes
    %u = attn_gpu.shared %c0 : !sums
    %a = attn_gpu.load_matrix %t[%c0, %c0] : !codes -> !bytes
    %zeros = attn_gpu.fill %f0 : !acc
    // CHECK: nvvm.ldmatrix
    // CHECK-COUNT-4: nvvm.mma.sync {{.*}}m = 16, n = 8, k = 32
    // CHECK-NOT: nvvm.mma.sync
    // CHECK-NOT: nvvm.prmt
    %0 = attn_gpu.block_mma %a, %scales[%c0] pitch 16, %unit, %numbers[%c0], %zeros of !attn.quantized<q4_k group 32 axis 0> : !bytes -> !acc
    // CHECK-COUNT-8: nvvm.prmt
    // CHECK: nvvm.mma.sync {{.*}}m = 16, n = 8, k = 32
    %1 = attn_gpu.block_mma %a, %scales[%c0] pitch 16, %unit, %numbers[%c0], %0 of !attn.quantized<iq4_nl group 32 axis 0> : !bytes -> !acc
    attn_gpu.store_matrix %1, %u[%c0, %c0] : !acc, !sums
    llvm.return
  }
}
