// O = softmax(Q K^T) V for 64 queries and up to 64 keys with a causal mask: 4 warps of 16 rows. Scores are in base-2 units.
!tile = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
!q = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<a>>
!k = !attn_gpu.fragment<64x64xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>
!row = !attn_gpu.row_vector<16, #attn_gpu.mma<acc>>

gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx80", O = 3>] {
  llvm.func @softmax(%q: !llvm.ptr<1>, %k: !llvm.ptr<1>, %v: !llvm.ptr<1>, %o: !llvm.ptr<1>, %s: !llvm.ptr<1>, %n: i32)
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c64 = arith.constant 64 : index
    %c8192 = arith.constant 8192 : index
    %c16384 = arith.constant 16384 : index
    %f0 = arith.constant 0.0 : f32
    %low = arith.constant -1.0e30 : f32
    %keys = arith.index_cast %n : i32 to index
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %thread = arith.index_cast %t : i32 to index
    %warp = arith.divui %thread, %c32 : index
    %first = arith.muli %warp, %c16 : index
    %tileK = attn_gpu.shared %c0 : !tile
    %tileV = attn_gpu.shared %c8192 : !tile
    attn_gpu.copy_rows %k bounds(%keys, %c64) to %tileK thread %thread of 128 : !tile {
    ^bb0(%at: index):
      %from = arith.muli %at, %c64 : index
      attn_gpu.yield %from : index
    }
    nvvm.cp.async.commit.group
    attn_gpu.copy_rows %v bounds(%keys, %c64) to %tileV thread %thread of 128 : !tile {
    ^bb0(%at: index):
      %from = arith.muli %at, %c64 : index
      attn_gpu.yield %from : index
    }
    nvvm.cp.async.commit.group
    %query = attn_gpu.load_fragment %q[%first, %c0] stride %c64 bounds(%keys) of bf16 : !q
    nvvm.cp.async.wait.group 1
    nvvm.barrier
    %zero = attn_gpu.fill %f0 : !acc
    %right = attn_gpu.load_matrix %tileK[%c0, %c0] transpose : !tile -> !k
    %scores = attn_gpu.mma %query, %right, %zero : !q, !k -> !acc
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
    %p = attn_gpu.map(%masked, %m : !acc, !row) -> !acc {
    ^bb0(%x: f32, %max: f32, %i: index, %j: index):
      %less = arith.subf %x, %max : f32
      %e = math.exp2 %less fastmath<afn> : f32
      attn_gpu.yield %e : f32
    }
    %part = attn_gpu.reduce_rows add %p partial : !acc -> !row
    %l = attn_gpu.reduce_lanes add %part : !row
    %left = attn_gpu.pack %p : !acc -> !q
    nvvm.cp.async.wait.group 0
    nvvm.barrier
    %values = attn_gpu.load_matrix %tileV[%c0, %c0] : !tile -> !k
    %sums = attn_gpu.mma %left, %values, %zero : !q, !k -> !acc
    %out = attn_gpu.map(%sums, %l : !acc, !row) -> !acc {
    ^bb0(%x: f32, %sum: f32, %i: index, %j: index):
      %y = arith.divf %x, %sum fastmath<afn> : f32
      attn_gpu.yield %y : f32
    }
    attn_gpu.store_fragment %out, %o[%first, %c0] stride %c64 bounds(%keys) of bf16 : !acc
    // The output once more through shared memory, over the keys that all warps have read.
    attn_gpu.store_matrix %out, %tileK[%first, %c0] : !acc, !tile
    nvvm.barrier
    %again = attn_gpu.load_matrix %tileK[%c0, %c0] transpose : !tile -> !k
    %identity = attn_gpu.map() -> !acc {
    ^bb0(%i: index, %j: index):
      %row = arith.addi %i, %first : index
      %isOne = arith.cmpi eq, %row, %j : index
      %one = arith.uitofp %isOne : i1 to f32
      attn_gpu.yield %one : f32
    }
    %eye = attn_gpu.pack %identity : !acc -> !q
    %transposed = attn_gpu.mma %eye, %again, %zero : !q, !k -> !acc
    attn_gpu.store_fragment %transposed, %s[%first, %c0] stride %c64 bounds(%c64, %keys) of f32 : !acc
    llvm.return
  }
}
