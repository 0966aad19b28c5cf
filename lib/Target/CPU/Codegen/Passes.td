//===- Passes.td - From tiles to machine code for CPUs ----------------*- tablegen -*-===//
#ifndef RAPT_TARGET_CPU_CODEGEN_PASSES_TD
#define RAPT_TARGET_CPU_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnDecomposeAttention : Pass<"attn-decompose-attention"> {
  let summary = "lowers attn_cpu.attention_state to matmul, softmax, matmul";
  let description = [{
    `attn_cpu.attention_state` becomes: scores by `linalg.matmul` on each panel of 32 keys; per row, in vectors of 32, the score and
    mask regions, the block's maximum, `exp2` and the sum; probabilities times values by `linalg.matmul`. Scores and
    probabilities share one buffer of [m, block]. Units are base-2 logarithms: scale times log2(e) goes into the query,
    or, with a score region, into its result.

    In a `paired` step both products are one `attn_cpu.vnni_matmul` over all panels, or one for each part of keys and values that lie apart, which a
    `tensor.concat` puts together for the op alone: the scaled query becomes bf16 once, before the loops over
    keys, and so do the probabilities, of which the sum is taken as they are then. A tile of 32 queries, for instructions on tiles, is taken as two of 16 in turn,
    so that a core can multiply tiles of one while the vectors of the other go through softmax: the scores of both come first.

    ```mlir
    func.func @step(%q: tensor<8x64xf32>, %k: tensor<2x64x32xf32>, %v: tensor<2x64x32xf32>, %scale: f32, %i: index,
                    %acc: tensor<8x64xf32>, %m: tensor<8xf32>, %l: tensor<8xf32>) -> tensor<8x64xf32> {
      %0:3 = attn_cpu.attention_state %q, %k, %v, %scale at(%i, %i, %i, %i) init(%acc, %m, %l) {attn.schedule = #attn.schedule<columns = 16, pair_rows = 5, rows = 6>}
        : tensor<8x64xf32>, tensor<2x64x32xf32>, tensor<2x64x32xf32>, tensor<8x64xf32>, tensor<8xf32>, tensor<8xf32>
      return %0#0 : tensor<8x64xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn_cpu::AttnCPUDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect", "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerProducts : Pass<"attn-lower-products"> {
  let summary = "matmul tiles become register tiles";
  let description = [{
    Runs on buffers: bufferization has a product to look at, not a chain of writes for each row.

    A `linalg.matmul` on [m, k] x [k, 32] of static shape becomes a loop over k whose carried values are the accumulators: as
    many rows by two vectors as its micro-kernel says (`attn.schedule`). Each step is two loads of the panel, a broadcast per row and
    multiply-adds. Where the result starts from a zero fill it is never read. A single row has four chains of
    accumulators, so that it is not bound by the latency of one. 16-bit operands are widened as they are loaded. Tiles of at
    least 5 rows walk k in chunks of 16 steps and fetch ahead: the panel's next steps, the rows' next lines, the panel after this
    one (as it is stored, if a loop before has widened it) and what the epilogue touches (ProductPrefetch.h).

    `attn_cpu.panel_matmul` is lowered likewise, two steps at a time, before which a line of each matrix `ahead` is fetched.

    `attn_cpu.vnni_matmul` is lowered likewise, in steps of a pair. Both halves of a pair are widened by a shift and a mask, or rows
    of bf16 are multiplied by `vdpbf16ps` where the target has it (`bf16_dot`); several rows by instructions on tiles (`matrix_rows` of the schedule,
    MatrixTiles.h). Several panels, whose number or depth may be dynamic, are a loop; 16 rows take two of them at once by tiles.

    ```mlir
    func.func @tile(%a: memref<8x64xf32>, %b: memref<64x32xf32>, %c: memref<8x32xf32>) {
      linalg.matmul {attn.schedule = #attn.schedule<columns = 16, rows = 6>} ins(%a, %b : memref<8x64xf32>, memref<64x32xf32>) outs(%c : memref<8x32xf32>)
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerQuantizedProducts : Pass<"attn-lower-quantized-products"> {
  let summary = "tiles of integers become register tiles";
  let description = [{
    `attn_cpu.quantized_matmul` on memory becomes loops over groups and over words of a group's codes. A step is two loads of the
    panel, a broadcast of four codes per row, and dot products: `vpdpbusd` where the target has it (`byte_dot`), else products of
    16-bit pairs, which LLVM makes `pmaddwd`. Sums of a group are integers, that begin at minus zero times the sum of the row's
    codes; scaled, they are added in f32, in registers of few rows, else in the destination. With one group of all rows only the last
    step has scales, and several rows of bytes are multiplied by instructions on tiles where the schedule says so (`matrix_rows`). A rounding to integers becomes one instruction as well.

    ```mlir
    func.func @tile(%rows: memref<4x128xi8>, %panel: memref<2x1088xi8>, %dest: memref<4x32xf32>) {
      attn_cpu.quantized_matmul %rows, %panel, %dest depth 64 of !attn.quantized<u8 group 32 axis 0> {attn.schedule = #attn.schedule<columns = 16, group_rows = 3, rows = 4>}
        : memref<4x128xi8>, memref<2x1088xi8>, memref<4x32xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnEmulateMatrixInstructions : Pass<"attn-emulate-matrix-instructions"> {
  let summary = "vector code in the place of matrix instructions";
  let description = [{
    Where the target's instructions on pairs and tiles are emulated (`emulated`), ops of the amx dialect and the dot product of bf16 become
    vector code that gives the same numbers, so that their schedules run on any machine. Tiles are buffers on the stack.
    Numbers below 2^-126, which the instructions flush to zero, are kept.

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
  }];
  let dependentDialects = ["::mlir::amx::AMXDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def AttnVectorize : Pass<"attn-vectorize"> {
  let summary = "elementwise tiles become vectors";
  let description = [{
    `linalg.generic` and `linalg.fill` of static shape become vector code, as many rows at a time as `elementwise` of the module's schedule says, so that what is live fits the
    registers. A fill that only products start from is left to them.

    ```mlir
    module attributes {attn.schedule = #attn.schedule<elementwise = <rows = 2>>} {
      func.func @zero(%t: tensor<8x32xf32>) -> tensor<8x32xf32> {
        %f0 = arith.constant 0.0 : f32
        %0 = linalg.fill ins(%f0 : f32) outs(%t : tensor<8x32xf32>) -> tensor<8x32xf32>
        return %0 : tensor<8x32xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::affine::AffineDialect", "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect", "::mlir::vector::VectorDialect"];
}

def AttnCPUMathInstructions : Pass<"attn-cpu-math-instructions"> {
  let summary = "powers of two and roundings to bf16 by instructions, for targets that have them";
  let description = [{
    Where the target has instructions for powers of two (`power_scale`), `vreduceps` and `vscalefps`, exp2 of what is not above zero
    (`nonpositive`) takes 8 instructions, not the 11 of `attn-expand-math`; its error is at most 4 ulp, and what would be below 2^-126 is
    something below it. One that is `rounded`, to bf16, has a polynomial of four terms, whose relative error is 7.5e-5. Where it has
    `vcvtne2ps2bf16` (`bf16_round`), 32 numbers are rounded by that. Elsewhere nothing changes.

    ```mlir
    module attributes {attn.target = {power_scale, vector_bytes = 64 : i64, vector_registers = 32 : i64}} {
      func.func @e(%x: vector<16xf32>) -> vector<16xf32> {
        %0 = math.exp2 %x {nonpositive} : vector<16xf32>
        return %0 : vector<16xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::LLVM::LLVMDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerVectors : Pass<"attn-lower-vectors"> {
  let summary = "vectors of several dimensions become vectors of one, views of buffers arithmetic on offsets";
  let description = [{
    Prepares vector code for its conversion to the llvm dialect: transfers of several dimensions are unrolled into those of one, which become
    loads and stores, masked where they may leave the buffer; slices, transpositions and interleavings become shuffles; `memref.subview` becomes
    the offset that it stands for. All patterns go over the code once, together.

    ```mlir
    func.func @copy(%x: memref<2x16xf32>, %v: vector<2x16xf32>, %i: index) {
      vector.transfer_write %v, %x[%i, %i] {in_bounds = [true, true]} : vector<2x16xf32>, memref<2x16xf32>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnLowerCopies : Pass<"attn-lower-copies"> {
  let summary = "memref.copy becomes loops";
  let description = [{
    Copies that bufferization left become loops over vectors of 32 elements where rows are whole panels, which prefetch long rows as `copies` of the module's schedule says, and over
    elements elsewhere; a copy of a buffer onto itself goes away. LLVM's own lowering of a strided copy would call a function of MLIR's runner library.

    ```mlir
    func.func @f(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
      memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

#endif
