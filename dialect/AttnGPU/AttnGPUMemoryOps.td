//===- AttnGPUMemoryOps.td - Tiles, copies and barriers ---------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_MEMORYOPS_TD
#define RAPT_ATTNGPU_MEMORYOPS_TD

include "dialect/AttnGPU/AttnGPUTypes.td"
include "mlir/Dialect/LLVMIR/LLVMOpBase.td"
include "mlir/IR/OpBase.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class AttnGPU_Op<string mnemonic, list<Trait> traits = []> : Op<AttnGPU_Dialect, mnemonic, traits>;

def AttnGPU_GlobalPointer : LLVM_PointerInAddressSpace<1>;
def AttnGPU_SharedPointer : LLVM_PointerInAddressSpace<3>;
def AttnGPU_MapPointer : LLVM_PointerInAddressSpace<0>;
class AttnGPU_CountAttr<int least, int most> : ConfinedAttr<I32Attr, [IntMinValue<least>, IntMaxValue<most>]>;

class AttnGPU_NamedBarrierOp<string mnemonic> : AttnGPU_Op<mnemonic> {
  let arguments = (ins I32:$id, AttnGPU_CountAttr<32, 1024>:$threads);
  let assemblyFormat = "$id `threads` $threads attr-dict";
  let hasVerifier = 1;
}

def AttnGPU_SharedOp : AttnGPU_Op<"shared", [Pure]> {
  let summary = "a tile, an mbarrier or bytes in shared memory";
  let description = [{
    `offset` is in bytes from the start of the kernel's dynamic shared memory, a multiple of the tile's alignment (8 rows of a box), or of 8 for an mbarrier. A pointer is that of bytes without a layout.

    ```mlir
    func.func @stage(%offset: index) -> !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>> {
      %t = attn_gpu.shared %offset : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
      return %t : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
    }
    ```
  }];
  let arguments = (ins Index:$offset);
  let results = (outs AnyTypeOf<[AttnGPU_TileType, AttnGPU_MBarrierType, AttnGPU_SharedPointer]>:$result);
  let assemblyFormat = "$offset attr-dict `:` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_SubtileOp : AttnGPU_Op<"subtile", [Pure]> {
  let summary = "part of a tile";
  let description = [{
    The rows from `row` on and the columns from `column` on, multiples of 8 rows and of the columns of a box. The result has the pitch of the tile.

    ```mlir
    func.func @queries(%q: !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>, %row: index, %column: index) {
      %t = attn_gpu.subtile %q[%row, %column] : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>, pitch = 128>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_TileType:$tile, Index:$row, Index:$column);
  let results = (outs AttnGPU_TileType:$result);
  let assemblyFormat = "$tile `[` $row `,` $column `]` attr-dict `:` qualified(type($tile)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_LoadMatrixOp : AttnGPU_Op<"load_matrix"> {
  let summary = "loads an operand of mma from shared memory";
  let description = [{
    The fragment's element (i, j) is the tile's at (row + i, column + j), with `transpose` at (row + j, column + i). A second operand [k, n] is loaded from a tile [n, k] with `transpose` (keys), and from a tile
    [k, n] without (values). `row` is a multiple of 8 and `column` one of 16. Lowers to `ldmatrix` of four, or of two, matrices 8x8.

    ```mlir
    func.func @keys(%t: !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, %n: index, %k: index) {
      %b = attn_gpu.load_matrix %t[%n, %k] transpose : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>> -> !attn_gpu.fragment<16x64xbf16, #attn_gpu.mma<b>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_TileType:$tile, Index:$row, Index:$column, UnitAttr:$transpose);
  let results = (outs AttnGPU_FragmentType:$result);
  let assemblyFormat = "$tile `[` $row `,` $column `]` (`transpose` $transpose^)? attr-dict `:` qualified(type($tile)) `->` qualified(type($result))";
  let hasVerifier = 1;
}

def AttnGPU_StoreMatrixOp : AttnGPU_Op<"store_matrix"> {
  let summary = "stores accumulators to shared memory";
  let description = [{
    Rounds the elements to the tile's element type and writes element (i, j) to the tile's (row + i, column + j). `row` is a multiple of 8 and `column` one of 16. Lowers to `stmatrix` from sm_90 on, else, and
    to a tile of f32, to stores of two elements.

    ```mlir
    func.func @output(%o: !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>, %t: !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, %i: index) {
      attn_gpu.store_matrix %o, %t[%i, %i] : !attn_gpu.fragment<64x64xf32, #attn_gpu.wgmma<acc>>, !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_FragmentType:$fragment, AttnGPU_TileType:$tile, Index:$row, Index:$column);
  let assemblyFormat = "$fragment `,` $tile `[` $row `,` $column `]` attr-dict `:` qualified(type($fragment)) `,` qualified(type($tile))";
  let hasVerifier = 1;
}

def AttnGPU_CopyRowsOp : AttnGPU_Op<"copy_rows", [SingleBlock]> {
  let summary = "copies rows from anywhere in global memory to a tile";
  let description = [{
    The tile's row i has the elements from `source` + offset(i) on, where the region gives the offset in elements. `bounds` are the numbers of rows and of columns that are there; elements beyond them are zero, and nothing is read for them.
    The region is evaluated for rows beyond the bound, too. `count` threads copy the tile, each of which gives its number among them.

    Copies are asynchronous, 16 bytes at a time, for which rows begin at multiples of 16 bytes. With `elements` the threads copy element by element, from any address, and not asynchronously.

    ```mlir
    func.func @keys(%k: !llvm.ptr<1>, %t: !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, %n: index, %d: index, %stride: index, %thread: index) {
      attn_gpu.copy_rows %k bounds(%n, %d) to %t thread %thread of 128 : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>> {
      ^bb0(%row: index):
        %offset = arith.muli %row, %stride : index
        attn_gpu.yield %offset : index
      }
      nvvm.cp.async.commit.group
      nvvm.cp.async.wait.group 0
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_GlobalPointer:$source, Index:$row_bound, Index:$column_bound, AttnGPU_TileType:$tile, Index:$thread,
                       AttnGPU_CountAttr<1, 1024>:$count, UnitAttr:$elements);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $source `bounds` `(` $row_bound `,` $column_bound `)` `to` $tile `thread` $thread `of` $count (`elements` $elements^)? attr-dict `:` qualified(type($tile)) $body
  }];
  let hasVerifier = 1;
}

def AttnGPU_WaitForKernelOp : AttnGPU_Op<"wait_for_kernel"> {
  let summary = "waits for the end of the kernel in front of this one";
  let description = [{
    The thread reads what earlier kernels wrote only behind it, and writes memory only behind it. It is there from sm_90 on (`griddepcontrol.wait`), for kernels that are started early; in others it does nothing.

    ```mlir
    func.func @f() {
      attn_gpu.wait_for_kernel
      return
    }
    ```
  }];
  let assemblyFormat = "attr-dict";
}

def AttnGPU_CopyArriveOp : AttnGPU_Op<"copy_arrive"> {
  let summary = "arrives on an mbarrier when the thread's asynchronous copies are complete";
  let description = [{
    Each thread's arrival is one of those that the mbarrier counts.

    ```mlir
    func.func @f(%b: !attn_gpu.mbarrier) {
      attn_gpu.copy_arrive %b
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MBarrierType:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def AttnGPU_LoadTileOp : AttnGPU_Op<"load_tile"> {
  let summary = "copies a tile from global memory by TMA";
  let description = [{
    One thread executes it. `map` is a tensor map in global or parameter memory, whose box is the tile's rows of one box of the swizzle; `coordinates` are those of the first element, columns first, then rows. A tile of several
    boxes is as many copies. Elements outside of the tensor are zero. The bytes count on `barrier` (`attn_gpu.mbarrier_expect`), also those outside.

    ```mlir
    func.func @keys(%map: !llvm.ptr, %t: !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>, %full: !attn_gpu.mbarrier, %i: i32) {
      attn_gpu.mbarrier_expect %full bytes 16384
      attn_gpu.load_tile %map[%i, %i] to %t arrive %full : !attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MapPointer:$map, Variadic<I32>:$coordinates, AttnGPU_TileType:$tile, AttnGPU_MBarrierType:$barrier);
  let assemblyFormat = "$map `[` $coordinates `]` `to` $tile `arrive` $barrier attr-dict `:` qualified(type($tile))";
  let hasVerifier = 1;
}

def AttnGPU_StoreTileOp : AttnGPU_Op<"store_tile"> {
  let summary = "copies a tile to global memory by TMA";
  let description = [{
    The reverse of `attn_gpu.load_tile`, executed by one thread. Elements outside of the tensor are not written. `nvvm.fence.proxy` and a barrier precede it where other threads wrote the tile. The copies are in the thread's current
    group: `nvvm.cp.async.bulk.commit.group` ends it.

    ```mlir
    func.func @output(%map: !llvm.ptr, %t: !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>, %i: i32) {
      nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
      attn_gpu.store_tile %t to %map[%i, %i] : !attn_gpu.tile<64x64xbf16, #attn_gpu.swizzle<128>>
      nvvm.cp.async.bulk.commit.group
      nvvm.cp.async.bulk.wait_group 0
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_TileType:$tile, AttnGPU_MapPointer:$map, Variadic<I32>:$coordinates);
  let assemblyFormat = "$tile `to` $map `[` $coordinates `]` attr-dict `:` qualified(type($tile))";
  let hasVerifier = 1;
}

def AttnGPU_MBarrierInitOp : AttnGPU_Op<"mbarrier_init"> {
  let summary = "initializes an mbarrier for a number of arrivals";
  let description = [{
    One thread executes it, `nvvm.fence.mbarrier.init` after the last one, and a barrier of the block follows.

    ```mlir
    func.func @f(%b: !attn_gpu.mbarrier) {
      attn_gpu.mbarrier_init %b arrivals 1
      nvvm.fence.mbarrier.init
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MBarrierType:$barrier, AttnGPU_CountAttr<1, 1048575>:$arrivals);
  let assemblyFormat = "$barrier `arrivals` $arrivals attr-dict";
}

def AttnGPU_MBarrierArriveOp : AttnGPU_Op<"mbarrier_arrive"> {
  let summary = "arrives on an mbarrier, once for each thread that executes it";
  let description = [{
    ```mlir
    func.func @f(%b: !attn_gpu.mbarrier) {
      attn_gpu.mbarrier_arrive %b
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MBarrierType:$barrier);
  let assemblyFormat = "$barrier attr-dict";
}

def AttnGPU_MBarrierExpectOp : AttnGPU_Op<"mbarrier_expect"> {
  let summary = "arrives on an mbarrier, whose phase also waits for so many bytes of copies";
  let description = [{
    ```mlir
    func.func @f(%b: !attn_gpu.mbarrier) {
      attn_gpu.mbarrier_expect %b bytes 8192
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MBarrierType:$barrier, AttnGPU_CountAttr<0, 1048575>:$bytes);
  let assemblyFormat = "$barrier `bytes` $bytes attr-dict";
}

def AttnGPU_MBarrierWaitOp : AttnGPU_Op<"mbarrier_wait"> {
  let summary = "waits until the phase of a parity is complete";
  let description = [{
    The first phase has parity 0. A wait for parity 1 on an mbarrier in its first phase returns at once.

    ```mlir
    func.func @f(%b: !attn_gpu.mbarrier, %parity: i32) {
      attn_gpu.mbarrier_wait %b parity %parity
      return
    }
    ```
  }];
  let arguments = (ins AttnGPU_MBarrierType:$barrier, I32:$parity);
  let assemblyFormat = "$barrier `parity` $parity attr-dict";
}

def AttnGPU_BarrierSyncOp : AttnGPU_NamedBarrierOp<"barrier_sync"> {
  let summary = "waits until so many threads of the block have come to a named barrier";
  let description = [{
    `id` is from 0 to 15; all threads of a warp execute it. Barrier 0 is that of `gpu.barrier`.

    ```mlir
    func.func @f(%id: i32) {
      attn_gpu.barrier_sync %id threads 256
      return
    }
    ```
  }];
}

def AttnGPU_BarrierArriveOp : AttnGPU_NamedBarrierOp<"barrier_arrive"> {
  let summary = "counts on a named barrier without waiting";
  let description = [{
    ```mlir
    func.func @f(%id: i32) {
      attn_gpu.barrier_arrive %id threads 256
      return
    }
    ```
  }];
}

#endif
