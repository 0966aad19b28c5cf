//===- Passes.td - The generic target ---------------------------------*- tablegen -*-===//
#ifndef RAPT_TARGET_GENERIC_PASSES_TD
#define RAPT_TARGET_GENERIC_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnGenericLayout : Pass<"attn-generic-layout", "::mlir::ModuleOp"> {
  let summary = "gives parameters and the cache row-major layouts";
  let description = [{
    Each `attn.parameter` gets a row-major layout, an offset and a stride. Rows are padded as in the weight file, and readers take a slice.
    A quantized matrix is stored by rows along which its groups lie, and dequantized before it is multiplied; quantized rows are dequantized, too.
    `!attn.kv_cache` becomes a tensor [blocks, layers, heads, 2, positions, channels]; in i8 the scale of each position follows its quantized values.

    ```mlir
    attn.parameter @w : tensor<64x80xf32> from [#attn.source<"w">]
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %w = attn.parameter_slice @w : tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
    becomes
    ```mlir
    attn.parameter @w : tensor<64x96xf32> from [#attn.source<"w">]
        {layout = #attn.rows<shape = [64, 80]>, offset = 0 : i64, stride = 24576 : i64}
    func.func @f(%x: tensor<?x64xf32>) -> tensor<?x80xf32> {
      %0 = attn.parameter_slice @w : tensor<64x96xf32>
      %w = tensor.extract_slice %0[0, 0] [64, 80] [1, 1] : tensor<64x96xf32> to tensor<64x80xf32>
      %y = attn.linear %x, %w : tensor<?x64xf32>, tensor<64x80xf32> -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
  }];
  let options = [Option<"laidOut", "laid-out", "bool", "false", "Parameters may have layouts of a target already, which they keep">];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnGenericSchedule : Pass<"attn-generic-schedule", "::mlir::ModuleOp"> {
  let summary = "chooses the tile sizes of neutral decompositions";
  let description = [{
    Sets `attn.schedule`: the queries of a tile and the keys of a KV block on each attention op, the tiles of linalg ops on the module. With `positions` and `channels`, what a task of `attn.kv_append` has of a block.

    ```mlir
    #q = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dqk)>
    #k = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dqk)>
    #v = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (kv, hkv, dv)>
    #o = affine_map<(b, hkv, g, q, kv, dqk, dv) -> (q, hkv, dv)>
    module {
      func.func @f(%q: tensor<?x12x64xf32>, %k: tensor<?x12x64xf32>, %scale: f32) -> tensor<?x12x64xf32> {
        %o = attn.attention %q, %k, %k, %scale maps [#q, #k, #v, #o]
          : tensor<?x12x64xf32>, tensor<?x12x64xf32>, tensor<?x12x64xf32> -> tensor<?x12x64xf32>
        return %o : tensor<?x12x64xf32>
      }
    }
    ```
    becomes
    ```
    module attributes {attn.schedule = #attn.linalg_tiles<columns = 256, rows = 16>} {
        %o = attn.attention ... {attn.schedule = #attn.attention_tiles<keys = 64, queries = 16>} ...
    ```
  }];
  let options = [Option<"queries", "queries", "int64_t", "16", "Queries of a tile">,
                 Option<"keys", "keys", "int64_t", "64", "Keys of a KV block">,
                 Option<"positions", "positions", "int64_t", "0", "Positions of a task that appends to a cache, and divide a block; 0: all">,
                 Option<"channels", "channels", "int64_t", "0", "Channels of a task that appends to a cache; 0: all">,
                 Option<"rows", "rows", "int64_t", "16", "Points of a linalg op's tile along its last parallel loop but one">,
                 Option<"columns", "columns", "int64_t", "256", "Points along its last parallel loop">];
  let dependentDialects = ["::rapt::attn::AttnDialect"];
}

def AttnGenericVectorize : Pass<"attn-generic-vectorize"> {
  let summary = "vectorizes linalg ops on buffers";
  let description = [{
    A linalg op on buffers whose operands are contiguous along one loop becomes loops over vectors; the module's capabilities (`attn.target`) give their lanes. The points that whole
    vectors leave become scalar loops, so nothing is masked.
    - An op whose result is contiguous along a parallel loop takes vectors along it. With a reduction, 4 rows of two vectors are a micro-kernel tile, whose sums stay in registers over
      the loops of the reduction. Rows that are left are computed one at a time.
    - A reduction along contiguous elements has a vector of partial sums for each row, where its body is one op with a neutral element on the result.

    An op stays as it is where its body reads a buffer, where an operand is transposed, and where its elements are not of 8, 16, 32 or 64 bits: `attn-linalg-to-loops` lowers it. Vectors and
    tiles do not depend on the number of threads.

    ```mlir
    func.func @add(%x: memref<64xf32>, %y: memref<64xf32>) {
      linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : memref<64xf32>) outs(%y : memref<64xf32>) {
      ^bb0(%a: f32, %b: f32):
        %0 = arith.addf %a, %b : f32
        linalg.yield %0 : f32
      }
      return
    }
    ```
    becomes
    ```mlir
    func.func @add(%x: memref<64xf32>, %y: memref<64xf32>) {
      %none = ub.poison : f32
      %c0 = arith.constant 0 : index
      %c64 = arith.constant 64 : index
      %c8 = arith.constant 8 : index
      scf.for %i = %c0 to %c64 step %c8 {
        %xs = memref.subview %x[%i] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
        %ys = memref.subview %y[%i] [8] [1] : memref<64xf32> to memref<8xf32, strided<[1], offset: ?>>
        %a = vector.transfer_read %xs[%c0], %none {in_bounds = [true]} : memref<8xf32, strided<[1], offset: ?>>, vector<8xf32>
        %b = vector.transfer_read %ys[%c0], %none {in_bounds = [true]} : memref<8xf32, strided<[1], offset: ?>>, vector<8xf32>
        %0 = arith.addf %a, %b : vector<8xf32>
        vector.transfer_write %0, %ys[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32, strided<[1], offset: ?>>
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
}

def AttnVerifyGeneric : Pass<"attn-verify-generic", "::mlir::ModuleOp"> {
  let summary = "checks the contracts of the generic target's stages `laid-out` and `tiled`";
  let description = [{
    The module has its target (`attn.target`) and the schedule of linalg ops. Every parameter has its layout, offset and stride, the cache its layout, and an
    attention op its schedule. With `tiled`, no attn op remains but declarations and parameter slices.

    ```mlir
    module attributes {attn.target = {target = "generic", vector_bytes = 16 : i64}, attn.schedule = #attn.linalg_tiles<columns = 256, rows = 16>} {
      func.func @relu(%x: tensor<?x64xf32>) -> tensor<?x64xf32> {
        %y = attn.activation relu %x : tensor<?x64xf32>
        return %y : tensor<?x64xf32>
      }
    }
    ```
    stays as it is.
  }];
  let options = [Option<"tiled", "tiled", "bool", "false", "The stage is tiled, else laid-out">,
                 ListOption<"dialects", "dialects", "std::string", "Dialects of the target's own ops in the stage tiled">];
}

#endif
