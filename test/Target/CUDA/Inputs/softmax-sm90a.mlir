// O = softmax(Q K^T) V for two groups of 64 queries, and 128 keys: probabilities are the first operand in registers, values are [k, n] in shared memory.
// The warpgroups take the tensor cores in an order, by named barriers.
!queries = !attn_gpu.tile<128x128xbf16, #attn_gpu.swizzle<128>>
!q = !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>, pitch = 128>
!tile = !attn_gpu.tile<128x128xbf16, #attn_gpu.swizzle<128>>
!acc = !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>
!p = !attn_gpu.fragment<64x128xbf16, #attn_gpu.wgmma<a>>
!row = !attn_gpu.row_vector<64, #attn_gpu.wgmma<acc>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx86", O = 3>] {
  llvm.func @softmax(%mapQ: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                     %mapK: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                     %mapV: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %o: !llvm.ptr<1>, %n: i32)
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 256, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c0 = arith.constant 0 : index
    %c64 = arith.constant 64 : index
    %c128 = arith.constant 128 : index
    %c32768 = arith.constant 32768 : index
    %c65536 = arith.constant 65536 : index
    %c98304 = arith.constant 98304 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i128 = arith.constant 128 : i32
    %low = arith.constant -1.0e30 : f32
    %keys = arith.index_cast %n : i32 to index
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %full = attn_gpu.shared %c98304 : !attn_gpu.mbarrier
    %tileQ = attn_gpu.shared %c0 : !queries
    %tileK = attn_gpu.shared %c32768 : !tile
    %tileV = attn_gpu.shared %c65536 : !tile
    %isFirst = arith.cmpi eq, %t, %i0 : i32
    scf.if %isFirst {
      attn_gpu.mbarrier_init %full arrivals 1
      nvvm.fence.mbarrier.init
    }
    nvvm.barrier
    scf.if %isFirst {
      attn_gpu.mbarrier_expect %full bytes 98304
      attn_gpu.load_tile %mapQ[%i0, %i0] to %tileQ arrive %full : !queries
      attn_gpu.load_tile %mapK[%i0, %i0] to %tileK arrive %full : !tile
      attn_gpu.load_tile %mapV[%i0, %i0] to %tileV arrive %full : !tile
    }
    attn_gpu.mbarrier_wait %full parity %i0
    %group = arith.divui %t, %i128 : i32
    %nth = arith.index_cast %group : i32 to index
    %first = arith.muli %nth, %c64 : index
    %q = attn_gpu.subtile %tileQ[%first, %c0] : !queries -> !q
    // The second warpgroup begins when the first has issued its matmul.
    %isSecond = arith.cmpi eq, %group, %i1 : i32
    scf.if %isSecond {
      attn_gpu.barrier_sync %i1 threads 256
    }
    attn_gpu.wgmma_fence
    %issued = attn_gpu.wgmma %q, %tileK transpose : !q, !tile -> !acc
    nvvm.wgmma.commit.group.sync.aligned
    %isOther = arith.cmpi eq, %group, %i0 : i32
    scf.if %isOther {
      attn_gpu.barrier_arrive %i1 threads 256
    }
    %scores = attn_gpu.wgmma_wait 0(%issued : !acc)
    %masked = attn_gpu.map(%scores : !acc) -> !acc {
    ^bb0(%x: f32, %i: index, %j: index):
      %row = arith.addi %i, %first : index
      %isSeen = arith.cmpi sle, %j, %row : index
      %isKey = arith.cmpi slt, %j, %keys : index
      %both = arith.andi %isSeen, %isKey : i1
      %kept = arith.select %both, %x, %low : f32
      attn_gpu.yield %kept : f32
    }
    %m = attn_gpu.reduce_rows max %masked : !acc -> !row
    %e = attn_gpu.map(%masked, %m : !acc, !row) -> !acc {
    ^bb0(%x: f32, %max: f32, %i: index, %j: index):
      %less = arith.subf %x, %max : f32
      %y = math.exp2 %less fastmath<afn> : f32
      attn_gpu.yield %y : f32
    }
    %l = attn_gpu.reduce_rows add %e : !acc -> !row
    %packed = attn_gpu.pack %e : !acc -> !p
    %p = attn_gpu.wgmma_fence(%packed : !p)
    %sums = attn_gpu.wgmma %p, %tileV : !p, !tile -> !acc
    nvvm.wgmma.commit.group.sync.aligned
    %values = attn_gpu.wgmma_wait 0(%sums : !acc)
    %out = attn_gpu.map(%values, %l : !acc, !row) -> !acc {
    ^bb0(%x: f32, %sum: f32, %i: index, %j: index):
      %y = arith.divf %x, %sum fastmath<afn> : f32
      attn_gpu.yield %y : f32
    }
    attn_gpu.store_fragment %out, %o[%first, %c0] stride %c128 bounds(%keys) of bf16 : !acc
    llvm.return
  }
}
