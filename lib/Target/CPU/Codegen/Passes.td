//===- Passes.td - Lowers tiles to vector code for CPUs ---------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_CODEGEN_PASSES_TD
#define RAPT_TARGET_CPU_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnDecomposeAttention : Pass<"attn-decompose-attention"> {
  let summary = "lowers attn_cpu.attention_state to matmul, softmax, matmul";
  let description = [{
    `attn_cpu.attention_state` becomes matmul, online softmax, matmul. The scores are an `attn_cpu.panel_matmul` for each panel of 32 keys. Softmax works
    row by row on vectors of 32: score and mask regions, running max, `exp2`, running sum. The values are an `attn_cpu.panel_matmul` for each panel of 32 channels.
    Scores and probabilities share one buffer of [m, keys]. Scores are in base-2 units: the scale is multiplied by log2(e), unless the op has a score region.

    With `bf16_matmul` the scaled query is cast to bf16 once, before the loops over KV blocks, and so are the probabilities; the running sum is that of
    the cast probabilities. With `matrix_rows` both matmuls are one `attn_cpu.vnni_matmul` each, for AMX; keys that are not contiguous (a `tensor.concat`) have one matmul per part.
    A tile of 32 queries becomes two of 16, whose scores come first: AMX multiplies the second tile while vector units do the softmax of the first.

    ```mlir
    func.func @step(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                    %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
      %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 6, vnni_rows = 5>}
        : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
      return %0#0 : tensor<8x64xf32>
    }
    ```
    becomes (softmax, in vectors of 32 scores, is left out)
    ```
    %scores = scf.for %column = %c0 to %c64 step %c32 iter_args(%block = %empty) -> (tensor<8x64xf32>) {
      %nth = affine.apply affine_map<(d0) -> (d0 floordiv 32)>(%column)
      %tile = tensor.extract_slice %block[0, %column] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
      %zero = linalg.fill ins(%f0 : f32) outs(%tile : tensor<8x32xf32>) -> tensor<8x32xf32>
      %keys = tensor.extract_slice %k[%nth, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<2x64x32xf32> to tensor<64x32xf32>
      %y = attn_cpu.panel_matmul %scaled, %keys, %zero {attn.schedule = #schedule} : tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
      %next = tensor.insert_slice %y into %block[0, %column] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<8x64xf32>
      scf.yield %next : tensor<8x64xf32>
    }
    ...
    %newAcc = scf.for %channel = %c0 to %c64 step %c32 iter_args(%out = %rescaled) -> (tensor<8x64xf32>) {
      %nth = affine.apply affine_map<(d0) -> (d0 floordiv 32)>(%channel)
      %values = tensor.extract_slice %v[%nth, 0, 0] [1, 64, 32] [1, 1, 1] : tensor<2x64x32xf32> to tensor<64x32xf32>
      %tile = tensor.extract_slice %out[0, %channel] [8, 32] [1, 1] : tensor<8x64xf32> to tensor<8x32xf32>
      %y = attn_cpu.panel_matmul %probabilities, %values, %tile {attn.schedule = #schedule} : tensor<8x64xf32>, tensor<64x32xf32>, tensor<8x32xf32> -> tensor<8x32xf32>
      %next = tensor.insert_slice %y into %out[0, %channel] [8, 32] [1, 1] : tensor<8x32xf32> into tensor<8x64xf32>
      scf.yield %next : tensor<8x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerMatmuls : Pass<"attn-lower-matmuls"> {
  let summary = "lowers matmuls of f32 and bf16 tiles to micro-kernels";
  let description = [{
    Runs on buffers, so that bufferization sees one matmul and not a chain of writes for each row.

    A `linalg.matmul` on [m, k] x [k, 32] of static shape becomes micro-kernel tiles of mr rows by two vectors, as its schedule says (`attn.schedule`). A tile
    is a loop over k that carries the accumulators. Each step loads two vectors of the panel, broadcasts an element of each row and does multiply-adds.
    - A result that starts from a zero fill is never read.
    - A single row has four chains of accumulators, as one chain would wait for its own latency.
    - 16-bit operands are widened as they are loaded.
    - Tiles of at least `stream_rows` rows walk k in chunks of 16 steps. They prefetch the panel's next steps, the rows' next cache lines, the next panel and what the
      epilogue reads and writes (MatmulPrefetch.h).

    `attn_cpu.panel_matmul` is lowered likewise. Every `line_steps` steps prefetch one cache line of each matrix of `prefetch`.

    `attn_cpu.vnni_matmul` is lowered likewise; a step takes two interleaved rows of the panel. Rows of bf16 are multiplied by `vdpbf16ps` where the target
    has it (`bf16_dot`), and by AMX where the schedule has `matrix_rows` (AmxMatmul.h). Otherwise panels are widened by a shift and a mask.
    Several panels are a loop over them; AMX takes two at a time for 16 rows.

    ```mlir
    func.func @tile(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
      linalg.matmul {attn.schedule = #attn_cpu.micro_kernel<columns = 16, rows = 6>} ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
      return
    }
    ```
    becomes four tiles of 4 rows by 16 columns, the first of which begins with
    ```
    %0 = vector.transfer_read %c[%c0, %c0], %f0 {in_bounds = [true]} : memref<8x32xf32>, vector<8xf32>
    %1 = vector.transfer_read %c[%c0, %c8], %f0 {in_bounds = [true]} : memref<8x32xf32>, vector<8xf32>
    ...
    %8:8 = scf.for %k = %c0 to %c64 step %c1 iter_args(%acc0 = %0, %acc1 = %1, ...) -> (vector<8xf32>, vector<8xf32>, ...) {
      %left = vector.transfer_read %b[%k, %c0], %f0 {in_bounds = [true]} : memref<64x32xf32>, vector<8xf32>
      %right = vector.transfer_read %b[%k, %c8], %f0 {in_bounds = [true]} : memref<64x32xf32>, vector<8xf32>
      %element = memref.load %a[%c0, %k] : memref<8x64xf32>
      %factor = vector.broadcast %element : f32 to vector<8xf32>
      %next0 = vector.fma %factor, %left, %acc0 : vector<8xf32>
      %next1 = vector.fma %factor, %right, %acc1 : vector<8xf32>
      ...
      scf.yield %next0, %next1, ... : vector<8xf32>, vector<8xf32>, ...
    }
    vector.transfer_write %8#0, %c[%c0, %c0] {in_bounds = [true]} : vector<8xf32>, memref<8x32xf32>
    ```
  }];
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerQuantizedMatmuls : Pass<"attn-lower-quantized-matmuls"> {
  let summary = "lowers int8 matmuls of tiles to micro-kernels";
  let description = [{
    `attn_cpu.quantized_matmul` on buffers becomes loops over quantized groups and over steps of four k. A step loads two vectors of the panel, broadcasts four
    values of each row and does int8 dot products: `vpdpbusd` where the target has it (`int8_dot`), else `pmaddwd` on 16-bit integers.
    - The accumulators of a group are integers. They start from minus the zero point times the sum of the row's values.
    - After each group they are scaled and added in f32: in registers for at most `group_rows` rows, else in the destination.
    - One group of the whole depth is scaled once, at the end. AMX multiplies several rows of it where the schedule has `matrix_rows`.
    - In vectors of 32 bytes a tile is a loop over halves of the panel's columns; tiles of at most `wide_rows` rows take all of them. With `int8_pairs` weights of
      8 bits and rows in words are multiplied by `pmaddwd`. Codes of 4 bits and rows in bytes are multiplied by `pmaddubsw`, and the terms of 32 rows are added in
      16 bits, which hold at most 8 * 2 * 15 * 127 = 30480; then they are widened. More than `group_rows` rows have their f32 sums on the stack.

    `math.roundeven` before a cast to integers is fused with the cast, as one instruction does both.

    ```mlir
    func.func @tile(%rows: memref<4x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<4x32xf32>) {
      attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> {attn.schedule = #attn_cpu.micro_kernel<columns = 16, group_rows = 3, rows = 4>}
        : memref<4x128xi8>, memref<2x1088xi8>, memref<4x32xf32>
      return
    }
    ```
    becomes two tiles of 4 rows by 16 columns, whose f32 sums are in the destination, as 4 rows are more than `group_rows`:
    ```
    vector.store %zeros, %dest[%c0, %c0] : memref<4x32xf32>, vector<8xf32>
    ...
    scf.for %group = %c0 to %c2 step %c1 {
      ...
      %weights = vector.load %panel[%group, %byte] : memref<2x1088xi8>, vector<32xi8>
      %values = vector.load %rows[%c0, %k] : memref<4x128xi8>, vector<4xi8>
      ...
      %sum = arith.sitofp %accumulator : vector<8xi32> to vector<8xf32>
      %scaled = arith.mulf %sum, %scales : vector<8xf32>
      %before = vector.load %dest[%c0, %c0] : memref<4x32xf32>, vector<8xf32>
      %after = vector.fma %scaled, %rowScale, %before : vector<8xf32>
      vector.store %after, %dest[%c0, %c0] : memref<4x32xf32>, vector<8xf32>
      ...
    }
    ```
  }];
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnEmulateMatrixInstructions : Pass<"attn-emulate-matrix-instructions"> {
  let summary = "emulates AMX and bf16 dot products by vector code";
  let description = [{
    On a target with `emulated`, ops of the amx dialect and `vdpbf16ps` become vector code with the same results, so that tests run schedules for AMX on any machine.
    Tiles become buffers on the stack. Denormal numbers, which the instructions flush to zero, are kept.

    ```mlir
    module attributes {attn.target = {amx_bf16, emulated, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @copy(%x: memref<16x32xbf16>, %y: memref<16x32xbf16>) {
        %c0 = arith.constant 0 : index
        %t = amx.tile_load %x[%c0, %c0] : memref<16x32xbf16> into !amx.tile<16x32xbf16>
        amx.tile_store %y[%c0, %c0], %t : memref<16x32xbf16>, !amx.tile<16x32xbf16>
        return
      }
    }
    ```
    becomes
    ```
    %tile = memref.alloca() {alignment = 64 : i64} : memref<16x32xbf16>
    scf.for %row = %c0 to %c16 step %c1 {
      %0 = arith.addi %c0, %row : index
      %1 = vector.load %x[%0, %c0] : memref<16x32xbf16>, vector<32xbf16>
      vector.store %1, %tile[%row, %c0] : memref<16x32xbf16>, vector<32xbf16>
    }
    scf.for %row = %c0 to %c16 step %c1 {
      %0 = vector.load %tile[%row, %c0] : memref<16x32xbf16>, vector<32xbf16>
      %1 = arith.addi %c0, %row : index
      vector.store %0, %y[%1, %c0] : memref<16x32xbf16>, vector<32xbf16>
    }
    ```
  }];
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnVectorize : Pass<"attn-vectorize"> {
  let summary = "vectorizes elementwise tiles";
  let description = [{
    `linalg.generic` and `linalg.fill` of static shape become vector code. The module's schedule (`elementwise`) says how many rows are vectorized at a time, so that live values fit
    the registers. A fill whose only users are matmuls stays for attn-lower-matmuls.

    ```mlir
    module attributes {attn.schedule = #attn_cpu.module_schedule<elementwise = <rows = 2>>} {
      func.func @zero(%t: tensor<8x32xf32>) -> tensor<8x32xf32> {
        %f0 = arith.constant 0.0 : f32
        %0 = linalg.fill ins(%f0 : f32) outs(%t : tensor<8x32xf32>) -> tensor<8x32xf32>
        return %0 : tensor<8x32xf32>
      }
    }
    ```
    becomes
    ```
    %0 = scf.for %row = %c0 to %c8 step %c2 iter_args(%out = %t) -> (tensor<8x32xf32>) {
      %tile = tensor.extract_slice %out[%row, 0] [2, 32] [1, 1] : tensor<8x32xf32> to tensor<2x32xf32>
      %1 = vector.transfer_write %zeros, %tile[%c0, %c0] : vector<2x32xf32>, tensor<2x32xf32>
      %next = tensor.insert_slice %1 into %out[%row, 0] [2, 32] [1, 1] : tensor<2x32xf32> into tensor<8x32xf32>
      scf.yield %next : tensor<8x32xf32>
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def AttnCPUMathInstructions : Pass<"attn-cpu-math-instructions"> {
  let summary = "lowers exp2 and casts to bf16 to AVX-512 instructions";
  let description = [{
    On a target with `vreduceps` and `vscalefps` (`scaled_reduce`), `math.exp2` of operands that are not above zero (`nonpositive`) becomes 8 instructions; `attn-expand-math` would
    emit 11. The error is at most 4 ulp; denormal results are 0. An exp2 whose result is cast to bf16 (`rounded`) has a polynomial of four terms
    with a relative error of 7.5e-5. On a target with `vcvtne2ps2bf16` (`bf16_cast`), `arith.truncf` of rows of 32 elements becomes that instruction.

    ```mlir
    module attributes {attn.target = {scaled_reduce, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @e(%x: vector<16xf32>) -> vector<16xf32> {
        %0 = math.exp2 %x {nonpositive} : vector<16xf32>
        return %0 : vector<16xf32>
      }
    }
    ```
    becomes
    ```
    %fraction = llvm.call_intrinsic "llvm.x86.avx512.mask.reduce.ps.512"(%x, %floor, %zeros, %all, %rounding) : (vector<16xf32>, i32, vector<16xf32>, i16, i32) -> vector<16xf32>
    %1 = arith.cmpf uge, %x, %least : vector<16xf32>
    %2 = vector.bitcast %1 : vector<16xi1> to vector<1xi16>
    %mask = vector.extract %2[0] : i16 from vector<1xi16>
    %3 = math.fma %c5, %fraction, %c4 : vector<16xf32>
    ...
    %7 = math.fma %6, %fraction, %c0 : vector<16xf32>
    %8 = llvm.call_intrinsic "llvm.x86.avx512.mask.scalef.ps.512"(%7, %x, %zeros, %mask, %rounding) : (vector<16xf32>, vector<16xf32>, vector<16xf32>, i16, i32) -> vector<16xf32>
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerCopies : Pass<"attn-lower-copies"> {
  let summary = "lowers memref.copy to loops";
  let description = [{
    Copies that bufferization left become loops over vectors of 32 elements, or over elements where rows are no multiple of 32. Long rows are prefetched as the module's schedule
    says (`copies`). A copy of a buffer onto itself is erased. The upstream lowering of a strided copy would call a function of MLIR's runner library.

    ```mlir
    func.func @f(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
      memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
      return
    }
    ```
    becomes
    ```
    scf.for %row = %c0 to %c4 step %c1 {
      %columns = memref.dim %x, %c1 : memref<4x?xf32, strided<[?, 1]>>
      scf.for %column = %c0 to %columns step %c1 {
        %0 = memref.load %x[%row, %column] : memref<4x?xf32, strided<[?, 1]>>
        memref.store %0, %y[%row, %column] : memref<4x?xf32, strided<[?, 1]>>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif
