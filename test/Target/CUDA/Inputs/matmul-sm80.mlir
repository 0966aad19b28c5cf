// O = A B^T: blocks of 64x64 elements, 4 warps of 16 rows, tiles of 64 k in a pipeline of two stages of cp.async.
#swizzle = #attn_gpu.swizzle<128>
!tile = !attn_gpu.tile<64x64xbf16, #swizzle>
!a = !attn_gpu.fragment<16x16xbf16, #attn_gpu.mma<a>>
!b = !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>>
!acc = !attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>

gpu.module @kernels [#nvvm.target<chip = "sm_80", features = "+ptx80", O = 3>] {
  llvm.func @matmul(%a: !llvm.ptr<1>, %b: !llvm.ptr<1>, %o: !llvm.ptr<1>, %m: i32, %n: i32, %k: i32)
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c16 = arith.constant 16 : index
    %c32 = arith.constant 32 : index
    %c63 = arith.constant 63 : index
    %c64 = arith.constant 64 : index
    %c8192 = arith.constant 8192 : index
    %c16384 = arith.constant 16384 : index
    %f0 = arith.constant 0.0 : f32
    %rows = arith.index_cast %m : i32 to index
    %columns = arith.index_cast %n : i32 to index
    %depth = arith.index_cast %k : i32 to index
    %x = nvvm.read.ptx.sreg.ctaid.x : i32
    %y = nvvm.read.ptx.sreg.ctaid.y : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %bx = arith.index_cast %x : i32 to index
    %by = arith.index_cast %y : i32 to index
    %thread = arith.index_cast %t : i32 to index
    %row = arith.muli %bx, %c64 : index
    %column = arith.muli %by, %c64 : index
    %warp = arith.divui %thread, %c32 : index
    %warpRow = arith.muli %warp, %c16 : index
    %most = arith.addi %depth, %c63 : index
    %tiles = arith.divui %most, %c64 : index
    %firstA = attn_gpu.shared %c0 : !tile
    %firstB = attn_gpu.shared %c8192 : !tile
    %rowsLeft = arith.subi %rows, %row : index
    %columnsLeft = arith.subi %columns, %column : index
    attn_gpu.copy_rows %a bounds(%rowsLeft, %depth) to %firstA thread %thread of 128 : !tile {
    ^bb0(%at: index):
      %inMatrix = arith.addi %at, %row : index
      %first = arith.muli %inMatrix, %depth : index
      attn_gpu.yield %first : index
    }
    attn_gpu.copy_rows %b bounds(%columnsLeft, %depth) to %firstB thread %thread of 128 : !tile {
    ^bb0(%at: index):
      %inMatrix = arith.addi %at, %column : index
      %first = arith.muli %inMatrix, %depth : index
      attn_gpu.yield %first : index
    }
    nvvm.cp.async.commit.group
    %zero = attn_gpu.fill %f0 : !acc
    %sum = scf.for %i = %c0 to %tiles step %c1 iter_args(%s = %zero) -> (!acc) {
      %next = arith.addi %i, %c1 : index
      %more = arith.cmpi ult, %next, %tiles : index
      scf.if %more {
        %parity = arith.andi %next, %c1 : index
        %offset = arith.muli %parity, %c16384 : index
        %offsetB = arith.addi %offset, %c8192 : index
        %nextA = attn_gpu.shared %offset : !tile
        %nextB = attn_gpu.shared %offsetB : !tile
        %along = arith.muli %next, %c64 : index
        %depthLeft = arith.subi %depth, %along : index
        attn_gpu.copy_rows %a bounds(%rowsLeft, %depthLeft) to %nextA thread %thread of 128 : !tile {
        ^bb0(%at: index):
          %inMatrix = arith.addi %at, %row : index
          %first = arith.muli %inMatrix, %depth : index
          %from = arith.addi %first, %along : index
          attn_gpu.yield %from : index
        }
        attn_gpu.copy_rows %b bounds(%columnsLeft, %depthLeft) to %nextB thread %thread of 128 : !tile {
        ^bb0(%at: index):
          %inMatrix = arith.addi %at, %column : index
          %first = arith.muli %inMatrix, %depth : index
          %from = arith.addi %first, %along : index
          attn_gpu.yield %from : index
        }
      }
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 1
      nvvm.barrier
      %parity = arith.andi %i, %c1 : index
      %offset = arith.muli %parity, %c16384 : index
      %offsetB = arith.addi %offset, %c8192 : index
      %tileA = attn_gpu.shared %offset : !tile
      %tileB = attn_gpu.shared %offsetB : !tile
      %next_s = scf.for %j = %c0 to %c64 step %c16 iter_args(%p = %s) -> (!acc) {
        %left = attn_gpu.load_matrix %tileA[%warpRow, %j] : !tile -> !a
        %right = attn_gpu.load_matrix %tileB[%c0, %j] transpose : !tile -> !b
        %q = attn_gpu.mma %left, %right, %p : !a, !b -> !acc
        scf.yield %q : !acc
      }
      nvvm.barrier
      scf.yield %next_s : !acc
    }
    %outRow = arith.addi %row, %warpRow : index
    attn_gpu.store_fragment %sum, %o[%outRow, %column] stride %columns bounds(%rows, %columns) of f32 : !acc
    llvm.return
  }
}
