//===- Passes.td - Passes that targets of GPUs share -------------*- tablegen -*-===//
#ifndef RAPT_TARGET_GPU_PASSES_TD
#define RAPT_TARGET_GPU_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnGPUTile : Pass<"attn-gpu-tile", "::mlir::ModuleOp"> {
  let summary = "attention, matmuls and norms become grids of tiles of thread blocks";
  let description = [{
    An `attn.attention` with an `attn_gpu.schedule` becomes a grid of `attn_gpu.attention_tile`: for each row, each key/value head and each tile of queries, whose rows are those of all query heads of the group where they lie beside each
    other. Score and mask regions become those of the tile. Intervals of the mask region tell which blocks it drops.

    Where there are few tiles, which the host program decides, each becomes several of parts of the keys (flash-decoding, Dao et al. 2023): their results are f32, and a second grid adds them up by their log-sum-exp.

    An `attn.linear` with a schedule becomes a grid of `attn_gpu.linear_tile`, whose epilogue reads the elements of the extra operands. With grids for `few_rows`, `many_rows` and `most_rows` there is each, and the number of rows tells which is computed.
    With a `group`, tiles are numbered by so many rows of tiles after each other, and within them column by column. A quantized weight becomes a grid of `attn_gpu.quantized_linear_tile`, behind one of `attn_gpu.quantize_tile` for the rows, which matmuls of the same rows share.

    An `attn.linear_attention` with a schedule becomes a grid of `attn_gpu.linear_attention_tile`: for each row, each state and each slice of its value channels.

    A norm with a schedule becomes a grid of `attn_gpu.norm_tile`: of rows, or of rows of heads.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    func.func @f(%q: tensor<?x12x64xbf16>, %k: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xbf16> {
      %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>, attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>, blocks = 264, least_keys = 256>}
        : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xbf16>
      return %o : tensor<?x12x64xbf16>
    }
    ```
    becomes
    ```
    %o = scf.if %few -> tensor<?x12x64xbf16> {
      ...
    } else {
      %1 = scf.forall (%b, %head, %group, %tile) in (1, 12, 1, %tiles) shared_outs(%out = %empty) -> (tensor<?x12x64xbf16>) {
        ...
        %0 = attn_gpu.attention_tile %rows, %keys, %values scale %scale outs(%dest : tensor<?x64xbf16>) tiles <rows = 64, keys = 64, warps = 4> ...
      ...
    }
    ```

    ```mlir
    func.func @f(%x: tensor<?x768xbf16>, %w: tensor<768x3072xbf16>) -> tensor<?x3072xbf16> {
      %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>>}
        : tensor<?x768xbf16>, tensor<768x3072xbf16> -> tensor<?x3072xbf16>
      return %y : tensor<?x3072xbf16>
    }
    ```
    becomes
    ```
    %y = scf.forall (%column, %row) in (48, %tiles) shared_outs(%out = %empty) -> (tensor<?x3072xbf16>) {
      ...
      %0 = attn_gpu.linear_tile %rows, %columns outs(%dest : tensor<?x64xbf16>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> ...
      ...
    }
    ```

    ```mlir
    func.func @f(%x: tensor<?x768xbf16>, %w: tensor<768xf32>) -> tensor<?x768xbf16> {
      %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} : tensor<?x768xbf16>, tensor<768xf32>
      return %y : tensor<?x768xbf16>
    }
    ```
    becomes
    ```
    %y = scf.forall (%tile) in (%tiles) shared_outs(%out = %empty) -> (tensor<?x768xbf16>) {
      ...
      %0 = attn_gpu.norm_tile %rows, %w outs(%dest : tensor<?x768xbf16>) tiles <lanes = 32, threads = 128> {columns = 768 : i64, epsilon = 1.0e-6 : f64} ...
      ...
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_gpu::AttnGPUDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnGPUQuantizedLayout : Pass<"attn-gpu-quantized-layout", "::mlir::ModuleOp"> {
  let summary = "gives quantized weights packed panels";
  let description = [{
    A quantized `attn.parameter` that matmuls read gets the layout `#attn_gpu.quantized_panels`, an offset and a stride, and its matmuls have the layout, too. A look-up in such a table reads the bytes of its elements. Parameters of which another op reads,
    and matmuls whose rows are not those of an `attn.quantize_rows`, are left to `attn-generic-layout`.

    ```mlir
    attn.parameter @w : tensor<64x80x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xbf16>) -> tensor<?x80xbf16> {
      %w = attn.parameter_slice @w : tensor<64x80x!attn.quantized<u4 group 32 axis 0>>
      %q = attn.quantize_rows %x : tensor<?x64xbf16> -> tensor<?x64x!attn.quantized<s8 group 32 axis 1>>
      %y = attn.linear %q, %w : tensor<?x64x!attn.quantized<s8 group 32 axis 1>>, tensor<64x80x!attn.quantized<u4 group 32 axis 0>> -> tensor<?x80xbf16>
      return %y : tensor<?x80xbf16>
    }
    ```
    becomes
    ```
    attn.parameter @w : tensor<3x64x32x!attn.quantized<u4 group 32 axis 0>> from [#attn.source<"w">] {layout = #attn_gpu.quantized_panels<shape = [64, 80], interleave = 8>, offset = 0 : i64, stride = 3456 : i64}
    ...
    %y = attn.linear %q, %w {layout = #attn_gpu.quantized_panels<shape = [64, 80], interleave = 8>} ...
    ```
  }];
  let dependentDialects = ["::rapt::attn_gpu::AttnGPUDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnGPUPairChannels : Pass<"attn-gpu-pair-channels", "::mlir::ModuleOp"> {
  let summary = "puts channels that are rotated together beside each other";
  let description = [{
    An `attn.rope` of channels half a head apart becomes one of channels beside each other, which the tiles of the matmul before it can do: a thread has sums of columns beside each other. The sources of the matmul's weight and bias get that order of columns. Scores of attention are
    sums over channels in any order, so queries, keys and the cache keep it; values are as they were. The module's `attn.cache_order` tells its caches from others.

    All rotations of the module change, or none, with a remark of the category `fusion`: each rotates whole heads that one matmul of parameters makes, which only attention and the cache read, and an attention's queries and keys are both rotated or not.

    ```mlir
    attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k">]
    #key = affine_map<(b, h, g, q, k, d, v) -> (k, h, d)>
    #value = affine_map<(b, h, g, q, k, d, v) -> (k, h, v)>
    #query = affine_map<(b, h, g, q, k, d, v) -> (q, h, d)>
    #out = affine_map<(b, h, g, q, k, d, v) -> (q, h, v)>
    func.func @f(%x: tensor<?x32xbf16>, %v: tensor<?x2x8xbf16>, %c: tensor<?x4xf32>, %s: tensor<?x4xf32>, %rows: tensor<?xi32>, %scale: f32) -> tensor<?x2x8xbf16> {
      %w = attn.parameter_slice @k : tensor<16x32xbf16>
      %0 = attn.linear %x, %w transposed : tensor<?x32xbf16>, tensor<16x32xbf16> -> tensor<?x16xbf16>
      %1 = attn.split_heads %0 : tensor<?x16xbf16> -> tensor<?x2x8xbf16>
      %2 = attn.rope %1, %c, %s : tensor<?x2x8xbf16>, tensor<?x4xf32>
      %3 = attn.attention %2, %2, %v, %scale q_begin(%rows : tensor<?xi32>) kv_begin(%rows : tensor<?xi32>) maps [#query, #key, #value, #out]
          : tensor<?x2x8xbf16>, tensor<?x2x8xbf16>, tensor<?x2x8xbf16> -> tensor<?x2x8xbf16>
      return %3 : tensor<?x2x8xbf16>
    }
    ```
    becomes
    ```
    attn.parameter @k : tensor<16x32xbf16> from [#attn.source<"k" : 16x32, reshape<2x2x4x32>, transpose<0, 2, 1, 3>, reshape<16x32>>]
    ...
      %2 = attn.rope %1, %c, %s interleaved : tensor<?x2x8xbf16>, tensor<?x4xf32>
    ```
  }];
}

def AttnGPUOutlineKernels : Pass<"attn-gpu-outline-kernels", "::mlir::ModuleOp"> {
  let summary = "tasks become kernels of a GPU module";
  let description = [{
    Moves every task into a `gpu.module`, and replaces `attn_host.parallel_for` by `attn_host.launch` of a kernel in which each thread
    runs the iterations whose number is its own plus a multiple of the number of threads. There are as many threads as iterations. A task that has scratch in the workspace
    has at most 4,096 of them (`RAPT_DEVICE_WORKERS`), which is the number of slices. The iterations of a task with an op that a thread block executes (`attn_gpu.attention_tile`, `attn_gpu.linear_tile`) are thread blocks. If the op says how many blocks there are at
    most, the loop of the task around it is that of a block, which has every nth iteration of n blocks.

    From sm_90 on the host may start a kernel before the one in front of it ends, as its facts say (`overlaps`). It waits for that end itself: first of all, or, if it accesses memory only in tiles of matmuls by weights that no kernel writes, behind their first copies of the weight.

    ```mlir
    func.func @f(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
      attn_host.parallel_for @f.task0(%x) count %n env %env : (memref<?xf32>), !llvm.ptr
      return
    }
    func.func private @f.task0(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
      return
    }
    ```
    becomes
    ```
    gpu.module @kernels {
      func.func private @f.task0(%x: memref<?xf32>, %begin: index, %end: index, %worker: index) {
        return
      }
      func.func @f_task0(%x: memref<?xf32>, %count: index) attributes {attn_host.kernel = #attn_host.kernel<threads = 128>} {
        ...
        scf.for %i = %thread to %count step %threads {
          %next = arith.addi %i, %c1 : index
          func.call @f.task0(%x, %i, %next, %thread) : (memref<?xf32>, index, index, index) -> ()
        }
        return
      }
    }
    func.func @f(%env: !llvm.ptr, %x: memref<?xf32>, %n: index) attributes {attn.entry} {
      %c128 = arith.constant 128 : index
      %0 = arith.ceildivsi %n, %c128 : index
      %blocks = arith.maxsi %0, %c0 : index
      attn_host.launch @kernels::@f_task0(%x, %n) blocks %blocks env %env : (memref<?xf32>, index), !llvm.ptr
      return
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_gpu::AttnGPUDialect", "::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::gpu::GPUDialect", "::mlir::LLVM::LLVMDialect",
                           "::mlir::scf::SCFDialect", "::rapt::attn_host::AttnHostDialect"];
}

#endif // RAPT_TARGET_GPU_PASSES_TD
