// O = A B^T: blocks of 128x128 elements. A warp of the first warpgroup copies tiles of 64 k by TMA into a ring of three stages, two warpgroups multiply 64 rows each.
!tile = !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
!rows = !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 128>
!out = !attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>>
!acc = !attn_gpu.fragment<64x128xf32, #attn_gpu.wgmma<acc>>

gpu.module @kernels [#nvvm.target<chip = "sm_90a", features = "+ptx86", O = 3>] {
  llvm.func @matmul(%mapA: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                    %mapB: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant},
                    %mapO: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}, %k: i32)
      attributes {nvvm.kernel, nvvm.reqntid = array<i32: 384, 1, 1>, nvvm.minctasm = 1 : i32} {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %c64 = arith.constant 64 : index
    %c16384 = arith.constant 16384 : index
    %c32768 = arith.constant 32768 : index
    %outs = arith.constant 98304 : index
    %fulls = arith.constant 131072 : index
    %empties = arith.constant 131096 : index
    %i0 = arith.constant 0 : i32
    %i1 = arith.constant 1 : i32
    %i32 = arith.constant 32 : i32
    %i63 = arith.constant 63 : i32
    %i64 = arith.constant 64 : i32
    %i128 = arith.constant 128 : i32
    %f0 = arith.constant 0.0 : f32
    %x = nvvm.read.ptx.sreg.ctaid.x : i32
    %y = nvvm.read.ptx.sreg.ctaid.y : i32
    %t = nvvm.read.ptx.sreg.tid.x : i32
    %row = arith.muli %x, %i128 : i32
    %column = arith.muli %y, %i128 : i32
    %most = arith.addi %k, %i63 : i32
    %count = arith.divui %most, %i64 : i32
    %tiles = arith.index_cast %count : i32 to index
    %isFirst = arith.cmpi eq, %t, %i0 : i32
    scf.if %isFirst {
      scf.for %s = %c0 to %c3 step %c1 {
        %at = arith.muli %s, %c8 : index
        %f = arith.addi %fulls, %at : index
        %e = arith.addi %empties, %at : index
        %full = attn_gpu.shared %f : !attn_gpu.mbarrier
        %empty = attn_gpu.shared %e : !attn_gpu.mbarrier
        attn_gpu.mbarrier_init %full arrivals 1
        attn_gpu.mbarrier_init %empty arrivals 8
      }
      nvvm.fence.mbarrier.init
    }
    nvvm.barrier
    %group = arith.divui %t, %i128 : i32
    %isProducer = arith.cmpi eq, %group, %i0 : i32
    scf.if %isProducer {
      nvvm.setmaxregister decrease 24
      %isCopier = arith.cmpi ult, %t, %i32 : i32
      scf.if %isCopier {
        %one = nvvm.elect.sync -> i1
        scf.if %one {
          scf.for %i = %c0 to %tiles step %c1 {
            %s = arith.remui %i, %c3 : index
            %round = arith.divui %i, %c3 : index
            %next = arith.addi %round, %c1 : index
            %odd = arith.andi %next, %c1 : index
            %parity = arith.index_cast %odd : index to i32
            %at = arith.muli %s, %c8 : index
            %f = arith.addi %fulls, %at : index
            %e = arith.addi %empties, %at : index
            %full = attn_gpu.shared %f : !attn_gpu.mbarrier
            %empty = attn_gpu.shared %e : !attn_gpu.mbarrier
            attn_gpu.mbarrier_wait %empty parity %parity
            attn_gpu.mbarrier_expect %full bytes 32768
            %offsetA = arith.muli %s, %c32768 : index
            %offsetB = arith.addi %offsetA, %c16384 : index
            %a = attn_gpu.shared %offsetA : !tile
            %b = attn_gpu.shared %offsetB : !tile
            %first = arith.muli %i, %c64 : index
            %depth = arith.index_cast %first : index to i32
            attn_gpu.load_tile %mapA[%depth, %row] to %a arrive %full : !tile
            attn_gpu.load_tile %mapB[%depth, %column] to %b arrive %full : !tile
          }
        }
      }
    } else {
      nvvm.setmaxregister increase 240
      %g = arith.subi %group, %i1 : i32
      %nth = arith.index_cast %g : i32 to index
      %groupRow = arith.muli %nth, %c64 : index
      %lane = arith.remui %t, %i32 : i32
      %isLeader = arith.cmpi eq, %lane, %i0 : i32
      %zero = attn_gpu.fill %f0 : !acc
      %start = attn_gpu.wgmma_fence(%zero : !acc)
      %sums = scf.for %i = %c0 to %tiles step %c1 iter_args(%sum = %start) -> (!acc) {
        %s = arith.remui %i, %c3 : index
        %round = arith.divui %i, %c3 : index
        %odd = arith.andi %round, %c1 : index
        %parity = arith.index_cast %odd : index to i32
        %at = arith.muli %s, %c8 : index
        %f = arith.addi %fulls, %at : index
        %full = attn_gpu.shared %f : !attn_gpu.mbarrier
        attn_gpu.mbarrier_wait %full parity %parity
        %offsetA = arith.muli %s, %c32768 : index
        %offsetB = arith.addi %offsetA, %c16384 : index
        %tileA = attn_gpu.shared %offsetA : !tile
        %a = attn_gpu.subtile %tileA[%groupRow, %c0] : !tile -> !rows
        %b = attn_gpu.shared %offsetB : !tile
        attn_gpu.wgmma_fence
        %next = attn_gpu.wgmma %a, %b, %sum transpose : !rows, !tile -> !acc
        nvvm.wgmma.commit.group.sync.aligned
        // The matmul before this one is complete: its stage is free.
        attn_gpu.wgmma_wait 1
        %isLater = arith.cmpi ugt, %i, %c0 : index
        %isFree = arith.andi %isLater, %isLeader : i1
        scf.if %isFree {
          %before = arith.subi %i, %c1 : index
          %sb = arith.remui %before, %c3 : index
          %atb = arith.muli %sb, %c8 : index
          %e = arith.addi %empties, %atb : index
          %empty = attn_gpu.shared %e : !attn_gpu.mbarrier
          attn_gpu.mbarrier_arrive %empty
        }
        scf.yield %next : !acc
      }
      %done = attn_gpu.wgmma_wait 0(%sums : !acc)
      %place = arith.muli %nth, %c16384 : index
      %offset = arith.addi %outs, %place : index
      %out = attn_gpu.shared %offset : !out
      attn_gpu.store_matrix %done, %out[%c0, %c0] : !acc, !out
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      attn_gpu.barrier_sync %group threads 128
      %inGroup = arith.remui %t, %i128 : i32
      %isStorer = arith.cmpi eq, %inGroup, %i0 : i32
      scf.if %isStorer {
        %r = arith.index_cast %groupRow : index to i32
        %outRow = arith.addi %row, %r : i32
        attn_gpu.store_tile %out to %mapO[%column, %outRow] : !out
        nvvm.cp.async.bulk.commit.group
        nvvm.cp.async.bulk.wait_group 0
      }
    }
    llvm.return
  }
}
