//===- Passes.td - The CUDA target -------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_GPU_NVIDIA_PASSES_TD
#define RAPT_TARGET_GPU_NVIDIA_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnCUDASchedule : Pass<"attn-cuda-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the schedules of attention, matmuls and norms by thread blocks";
  let description = [{
    Sets `attn_gpu.schedule` of ops that thread blocks compute. A remark of the category `fusion` tells why another attention, linear attention, matmul or norm has none.

    Attention gets `#attn_gpu.attention_schedule`. Where there are fewer tiles than its `blocks`, thread blocks share the keys of a tile, at least `least_keys` each.

    Matmuls get `#attn_gpu.linear_schedule`. One whose number of rows is not known has a grid for `few_rows`, too, and for `many_rows` and `most_rows`, which are used from their `least` number of rows on. On sm_90a the largest tiles are multiplied by `wgmma`: warpgroups that multiply, and one that
    copies by TMA. There are at most `blocks` thread blocks, and `group` rows of tiles follow each other. An element of the largest takes `share` hundredths of the time of smaller ones, and the number of rows tells for which the rounds of thread blocks take less time. Matmuls of quantized weights in packed
    panels, whose rows an `attn.quantize_rows` quantizes, have steps of 128. Matmuls and attention of f32 multiply by `fma`, `tf32` or `tf32x3`.

    `attn.linear_attention` gets `#attn_gpu.linear_attention_tiles`, with a `chunk` where tensor cores multiply: bf16 and f16, and f32 as `tf32` or `tf32x3`. By multiply-adds of f32 the recurrent form is faster, and decays of channels have no other one.

    `attn.layer_norm` and `attn.rms_norm` get `#attn_gpu.norm_tiles`: the threads (`lanes`) that have a row, which depend on its elements alone, and those of a thread block.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    func.func @f(%q: tensor<?x12x64xbf16>, %k: tensor<?x12x64xbf16>, %scale: f32) -> tensor<?x12x64xbf16> {
      %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o] {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>}
        : tensor<?x12x64xbf16>, tensor<?x12x64xbf16>, tensor<?x12x64xbf16> -> tensor<?x12x64xbf16>
      return %o : tensor<?x12x64xbf16>
    }
    ```
    becomes
    ```
    %o = attn.attention ... {attn.schedule = #attn.attention_tiles<keys = 8, queries = 1>, attn_gpu.schedule = #attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>, blocks = 264, least_keys = 256>} ...
    ```

    ```mlir
    func.func @f(%x: tensor<?x768xbf16>, %w: tensor<768x64xbf16>) -> tensor<?x64xbf16> {
      %y = attn.linear %x, %w : tensor<?x768xbf16>, tensor<768x64xbf16> -> tensor<?x64xbf16>
      return %y : tensor<?x64xbf16>
    }
    ```
    becomes
    ```
    %y = attn.linear %x, %w {attn_gpu.schedule = #attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, few_rows = <tiles = <rows = 16, columns = 32, depth = 128, warps = 2, stages = 5>>>} ...
    ```

    ```mlir
    func.func @f(%x: tensor<?x768xbf16>, %w: tensor<768xf32>) -> tensor<?x768xbf16> {
      %y = attn.rms_norm %x, %w epsilon 1.0e-6 : tensor<?x768xbf16>, tensor<768xf32>
      return %y : tensor<?x768xbf16>
    }
    ```
    becomes
    ```
    %y = attn.rms_norm %x, %w epsilon 1.0e-6 {attn_gpu.schedule = #attn_gpu.norm_tiles<lanes = 32, threads = 128>} ...
    ```
  }];
  let dependentDialects = ["::rapt::attn_gpu::AttnGPUDialect"];
}

def AttnCUDAExpand : Pass<"attn-cuda-expand", "::mlir::ModuleOp"> {
  let summary = "tiles of thread blocks become code on fragments and of threads";
  let description = [{
    The code of `attn_gpu.attention_tile` in a `gpu.module`: copies to shared memory, matmuls of fragments and online softmax over KV blocks (FlashAttention-2, Dao 2023). Rows that begin at multiples of 16 bytes are copied asynchronously, others element by element;
    which is decided where the kernel runs.

    The code of `attn_gpu.linear_tile` in a `gpu.module`: copies of steps of k to a ring of buffers in shared memory, matmuls of fragments, and the epilogue in registers. Rows that begin at multiples of 16 bytes are copied asynchronously, others
    element by element; which is decided where the kernel runs. The code of `attn_gpu.quantized_linear_tile` is the same with matmuls of integers, and `attn_gpu.quantize_tile` becomes the quantization of a row by a thread block.

    For `wgmma` a loop over the tiles of a thread block, in which the op is, becomes two: the threads that copy have one, and the warpgroups that multiply have the other. So a tile's steps are copied while the tile before is stored. TMA copies where there
    are tensor maps; else the threads do, as they do for other tiles.

    The code of `attn_gpu.linear_attention_tile` in a `gpu.module`: a loop over chunks of tokens by matmuls of fragments, where the tiles have chunks, and a loop over tokens for the rest, with the state in registers.

    The code of `attn_gpu.norm_tile` in a `gpu.module`. A thread loads its elements of a row, which stay in registers; the threads of the row add up their sums. Where all arrays are aligned, loads and stores have 16 bytes; which is decided where the
    kernel runs.

    ```mlir
    gpu.module @kernels {
      func.func @f(%q: memref<64x64xbf16>, %k: memref<?x64xbf16>, %v: memref<?x64xbf16>, %o: memref<64x64xbf16>, %scale: f32) {
        attn_gpu.attention_tile %q, %k, %v scale %scale outs(%o : memref<64x64xbf16>) tiles <rows = 64, keys = 64, warps = 4>
            : memref<64x64xbf16>, memref<?x64xbf16>, memref<?x64xbf16>
        return
      }
    }
    ```
    becomes
    ```
    attn_gpu.copy_rows ...
    %state:4 = scf.while ... {
      nvvm.cp.async.wait.group 0
      nvvm.barrier
      ...
      %s = attn_gpu.mma %q0, %k0, %zero : ...
    ```

    ```mlir
    gpu.module @kernels {
      func.func @f(%x: memref<?x768xbf16>, %w: memref<768x64xbf16>, %y: memref<?x64xbf16>) {
        attn_gpu.linear_tile %x, %w outs(%y : memref<?x64xbf16>) tiles <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3> : memref<?x768xbf16>, memref<768x64xbf16>
        return
      }
    }
    ```
    becomes
    ```
    attn_gpu.copy_rows ...
    nvvm.cp.async.commit.group
    %sums:3 = scf.for ... {
      nvvm.cp.async.wait.group 1
      nvvm.barrier
      ...
      %s = attn_gpu.mma %x0, %w0, %zero : ...
    ```
    and with `wgmma`, tensor maps and a loop over tiles
    ```
    scf.if %copies {
      scf.for %tile = %begin to %end step %blocks ... {
        scf.for %k = %c0 to %c768 step %c64 ... {
          attn_gpu.mbarrier_wait %empty parity %before
          attn_gpu.load_tile %map[%k32, %row] to %x0 arrive %full : ...
    } else {
      scf.for %tile = %begin to %end step %blocks ... {
        %sums:3 = scf.for %k = %c0 to %c768 step %c64 ... {
          attn_gpu.mbarrier_wait %full parity %phase
          %s = attn_gpu.wgmma %x0, %w0, %acc : ...
          ...
        attn_gpu.store_rows ...
    ```

    ```mlir
    gpu.module @kernels {
      func.func @f(%x: memref<?x768xbf16>, %w: memref<768xf32>, %y: memref<?x768xbf16>) {
        attn_gpu.norm_tile %x, %w outs(%y : memref<?x768xbf16>) tiles <lanes = 32, threads = 128> {columns = 768 : i64, epsilon = 1.0e-6 : f64} : memref<?x768xbf16>, memref<768xf32>
        return
      }
    }
    ```
    becomes
    ```
    %x:24 = scf.if %aligned -> (f32, ...) {
      ...
      %0 = llvm.load %p {alignment = 16 : i64} : !llvm.ptr<1> -> vector<8xbf16>
      ...
    }
    ...
    %squares = attn_gpu.reduce_threads add %s threads 32 scratch %c0 : f32
    ```
  }];
  let dependentDialects = ["::rapt::attn_gpu::AttnGPUDialect", "::mlir::arith::ArithDialect", "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect"];
}

def AttnCUDATensorMaps : Pass<"attn-cuda-tensor-maps", "::mlir::ModuleOp"> {
  let summary = "operands of wgmma are copied by TMA";
  let description = [{
    Attention tiles for sm_90a whose keys and values are slices of arrays that the task gets: the host program makes tensor maps of these arrays, which the task gets as its first captures, and the tile the coordinates of its first key and value. Keys
    and values of a cache have none, nor have arrays of more than five dims. Input and weight of tiles of matmuls by wgmma have maps in the same way. Elements of a box behind the last channel, or behind the last k of a matmul, must be zeros: the array ends there, or there are whole boxes.

    ```mlir
    func.func @f(%env: !llvm.ptr, %q: memref<64x64xbf16>, %k: memref<?x?x64xbf16>, %n: index) attributes {attn.entry} {
      attn_host.parallel_for @f.task0(%q, %k) count %n env %env : (memref<64x64xbf16>, memref<?x?x64xbf16>), !llvm.ptr
      return
    }
    func.func private @f.task0(%q: memref<64x64xbf16>, %k: memref<?x?x64xbf16>, %begin: index, %end: index, %worker: index) {
      %c0 = arith.constant 0 : index
      %scale = arith.constant 0.125 : f32
      %n = memref.dim %k, %c0 : memref<?x?x64xbf16>
      %keys = memref.subview %k[0, %begin, 0] [%n, 1, 64] [1, 1, 1] : memref<?x?x64xbf16> to memref<?x64xbf16, strided<[?, 1], offset: ?>>
      attn_gpu.attention_tile %q, %keys, %keys scale %scale outs(%q : memref<64x64xbf16>) tiles <rows = 64, keys = 64, warps = 4, matmul = wgmma>
          : memref<64x64xbf16>, memref<?x64xbf16, strided<[?, 1], offset: ?>>, memref<?x64xbf16, strided<[?, 1], offset: ?>>
      return
    }
    ```
    becomes
    ```
    %map, %made = attn_host.tensor_map %k dims [2, 0, 1] box [64, 64, 1] swizzle 128 env %env : ...
    attn_host.parallel_for @f.task0(%map, %map, %made, %q, %k) ...

    func.func private @f.task0(%map: !llvm.ptr, %map_0: !llvm.ptr, %made: i1, ...) {
      attn_gpu.attention_tile %q, %keys, %keys scale %scale maps(%map at [%c0, %c0, %begin], %map_0 at [%c0, %c0, %begin] if %made : ...) ...
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::rapt::attn_host::AttnHostDialect"];
}

def AttnCUDALowerKernels : Pass<"attn-cuda-lower-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels take one struct by value";
  let description = [{
    A kernel (`attn_host.kernel`) in the llvm dialect takes its arguments as one struct in the memory of kernel parameters, of at most 4,096 bytes. Functions that kernels
    call become local and are inlined.

    ```mlir
    gpu.module @kernels {
      llvm.func @k(%x: !llvm.ptr, %n: i64) attributes {attn_host.kernel = #attn_host.kernel<threads = 128>} {
        llvm.return
      }
    }
    ```
    becomes
    ```
    gpu.module @kernels {
      llvm.func @k(%arguments: !llvm.ptr {llvm.align = 8 : i64, llvm.byval = !llvm.struct<(ptr, i64)>}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128, 1, 1>} {
        %0 = llvm.getelementptr %arguments[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(ptr, i64)>
        %x = llvm.load %0 : !llvm.ptr -> !llvm.ptr
        ...
        llvm.return
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def AttnCUDAAttachTarget : Pass<"attn-cuda-attach-target", "::mlir::ModuleOp"> {
  let summary = "GPU modules get the architecture of attn.target";
  let description = [{
    Sets the target of every `gpu.module`, for which `gpu-module-to-binary` compiles it. An architecture that is not known is an error: LLVM would abort.

    ```mlir
    module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact}} {
      gpu.module @kernels {
      }
    }
    ```
    becomes
    ```mlir
    module attributes {attn.target = {target = "cuda", device_arch = 90 : i64, device_exact}} {
      gpu.module @kernels [#nvvm.target<O = 3, chip = "sm_90a", features = "+ptx86">] {
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::NVVM::NVVMDialect"];
}

def AttnCUDAEmbedCode : Pass<"attn-cuda-embed-code", "::mlir::ModuleOp"> {
  let summary = "compiled device code becomes constants of the host program";
  let description = [{
    The objects of a `gpu.binary` become bytes of the host program, and `rapt.device_code` a constant of type `rapt_device_code` that lists them
    (lib/Runtime/include/rapt/artifact.h).

    ```mlir
    llvm.mlir.global external constant @rapt.device_code() : !llvm.struct<(i32, i32, ptr, i64)>
    gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_80">, assembly = ".version 8.0">]
    ```
    becomes
    ```
    llvm.mlir.global internal constant @rapt.device_code() : !llvm.struct<(i32, i32, ptr, i64)> { ... }
    llvm.mlir.global internal constant @rapt.device_image0(".version 8.0\00")
    ...
    ```
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // RAPT_TARGET_GPU_NVIDIA_PASSES_TD
