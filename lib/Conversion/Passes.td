//===- Passes.td - Conversions between dialects ------------------------*- tablegen -*-===//
#ifndef RAPT_CONVERSION_PASSES_TD
#define RAPT_CONVERSION_PASSES_TD

include "mlir/Pass/PassBase.td"

def AttnToLinalg : Pass<"attn-to-linalg"> {
  let summary = "decomposes attn ops into linalg, tensor and scf on tensors";
  let description = [{
    Decomposes every op of attn for any target, on logical shapes.
    - Elementwise ops, norms, look-ups and positions become `linalg.generic`.
    - A matmul becomes `linalg.fill`, a `linalg.generic` that multiplies and adds, and one for its epilogue.
    - Attention becomes a grid (`scf.forall`) over tiles of queries of each sequence and head, with a loop of online softmax over KV blocks. Its memory is that of a
      tile. `attn.schedule` gives the sizes of both (`queries`, `keys`).
    - A recurrence becomes a grid over sequences with a loop over time.

    Declarations, parameter slices and `attn.dim_size` stay. Ops on the cache need its layout, which a target's own pass provides; this pass rejects them.

    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x80xf32>, %b: tensor<80xf32>) -> tensor<?x80xf32> {
      %y = attn.linear %x, %w, (%b) : tensor<?x64xf32>, tensor<64x80xf32>, (tensor<80xf32>) -> tensor<?x80xf32> {
      ^bb0(%sum: f32, %bias: f32):
        %0 = arith.addf %sum, %bias : f32
        attn.yield %0 : f32
      }
      return %y : tensor<?x80xf32>
    }
    ```
    becomes
    ```mlir
    func.func @f(%x: tensor<?x64xf32>, %w: tensor<64x80xf32>, %b: tensor<80xf32>) -> tensor<?x80xf32> {
      %c0 = arith.constant 0 : index
      %rows = tensor.dim %x, %c0 : tensor<?x64xf32>
      %empty = tensor.empty(%rows) : tensor<?x80xf32>
      %f0 = arith.constant 0.0 : f32
      %zero = linalg.fill ins(%f0 : f32) outs(%empty : tensor<?x80xf32>) -> tensor<?x80xf32>
      %sums = linalg.generic {indexing_maps = [affine_map<(m, k, n) -> (m, k)>, affine_map<(m, k, n) -> (k, n)>, affine_map<(m, k, n) -> (m, n)>],
                              iterator_types = ["parallel", "reduction", "parallel"]}
          ins(%x, %w : tensor<?x64xf32>, tensor<64x80xf32>) outs(%zero : tensor<?x80xf32>) {
      ^bb0(%a: f32, %c: f32, %sum: f32):
        %0 = arith.mulf %a, %c : f32
        %1 = arith.addf %sum, %0 : f32
        linalg.yield %1 : f32
      } -> tensor<?x80xf32>
      %y = linalg.generic {indexing_maps = [affine_map<(m, n) -> (m, n)>, affine_map<(m, n) -> (n)>, affine_map<(m, n) -> (m, n)>], iterator_types = ["parallel", "parallel"]}
          ins(%sums, %b : tensor<?x80xf32>, tensor<80xf32>) outs(%empty : tensor<?x80xf32>) {
      ^bb0(%sum: f32, %bias: f32, %out: f32):
        %0 = arith.addf %sum, %bias : f32
        linalg.yield %0 : f32
      } -> tensor<?x80xf32>
      return %y : tensor<?x80xf32>
    }
    ```
  }];
  let dependentDialects = ["::rapt::attn::AttnDialect", "::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect", "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnAddTokenEntries : Pass<"attn-add-token-entries", "::mlir::ModuleOp"> {
  let summary = "adds entries that find the most likely tokens by a model's logits";
  let description = [{
    A model whose entry `step` has logits gets two more entries, which the runtime calls on a device instead of copying all logits to the host: `best_token` gives the most likely token of each row, `top_tokens` the `most`
    most likely ones in their order. `among` bounds the ids of a row: a model may have more logits than tokens. The lowest id is before its equals; NaN and +infinity are before all other logits, so that the host can refuse
    them; without a token, the id is -1 and its logit -infinity.

    Rows are cut into groups of 32 tokens. For `best_token` the winners of groups compete in groups again. For `top_tokens` the winners, or where they are many those of groups of them, are ranked, by counting those before
    each in parts of 32; the tokens of as many groups as tokens are wanted are ranked once more. No point has a loop, and it reads all that it compares before it compares.

    ```mlir
    attn.dim @n min 0 max 64
    func.func @step(%x: tensor<?x100xf32> {attn.name = "x", attn.dims = ["n"]}) -> (tensor<?x100xf32> {attn.name = "logits", attn.dims = ["n"]}) attributes {attn.entry} {
      return %x : tensor<?x100xf32>
    }
    ```
    becomes
    ```
    func.func @step(...)
    func.func @best_token(%logits: tensor<?x100xf32> {attn.name = "logits", ...}, %among: tensor<?xi32> {attn.name = "among", ...}) -> (tensor<?x1xi32> {attn.name = "top_ids", ...}, tensor<?x1xf32> {attn.name = "top_logits", ...}) attributes {attn.entry} {
      ...
    }
    func.func @top_tokens(%logits: ..., %among: ...) -> (tensor<?x64xi32> ..., tensor<?x64xf32> ...) attributes {attn.entry} {
      ...
    }
    ```
  }];
  let options = [Option<"most", "most", "int64_t", "64", "tokens of a row that top_tokens gives">];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect", "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect"];
}

def AttnTileLinalg : Pass<"attn-tile-linalg"> {
  let summary = "tiles linalg ops into parallel grids";
  let description = [{
    Every linalg op outside of a grid becomes an `scf.forall` over tiles of its last two parallel loops and over single points of the others. The module's `attn.schedule`
    gives the size of a tile (`linalg = <columns = .., rows = ..>`). Reductions are not split, and tiles do not depend on the number of threads, so results always
    have the same bits.

    Where an iteration of a loop does not compute a carried tensor in place, the tensor is copied back at the end of the iteration. Extents are expressed by those of the entry's arguments.

    ```mlir
    module attributes {attn.schedule = #attn.linalg_tiles<columns = 256, rows = 16>} {
      func.func @zero(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
        %f0 = arith.constant 0.0 : f32
        %y = linalg.fill ins(%f0 : f32) outs(%x : tensor<?x1024xf32>) -> tensor<?x1024xf32>
        return %y : tensor<?x1024xf32>
      }
    }
    ```
    becomes
    ```mlir
    module attributes {attn.schedule = #attn.linalg_tiles<columns = 256, rows = 16>} {
      func.func @zero(%x: tensor<?x1024xf32>) -> tensor<?x1024xf32> {
        %f0 = arith.constant 0.0 : f32
        %c0 = arith.constant 0 : index
        %rows = tensor.dim %x, %c0 : tensor<?x1024xf32>
        %tiles = affine.apply affine_map<()[s0] -> (s0 ceildiv 16)>()[%rows]
        %y = scf.forall (%i, %j) in (%tiles, 4) shared_outs(%out = %x) -> (tensor<?x1024xf32>) {
          %row = affine.apply affine_map<()[s0] -> (s0 * 16)>()[%i]
          %column = affine.apply affine_map<()[s0] -> (s0 * 256)>()[%j]
          %count = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 16)>(%row)[%rows]
          %tile = tensor.extract_slice %out[%row, %column] [%count, 256] [1, 1] : tensor<?x1024xf32> to tensor<?x256xf32>
          %0 = linalg.fill ins(%f0 : f32) outs(%tile : tensor<?x256xf32>) -> tensor<?x256xf32>
          scf.forall.in_parallel {
            tensor.parallel_insert_slice %0 into %out[%row, %column] [%count, 256] [1, 1] : tensor<?x256xf32> into tensor<?x1024xf32>
          }
        }
        return %y : tensor<?x1024xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::arith::ArithDialect", "::mlir::linalg::LinalgDialect",
                           "::mlir::scf::SCFDialect", "::mlir::tensor::TensorDialect"];
}

def AttnLinalgToLoops : Pass<"attn-linalg-to-loops"> {
  let summary = "lowers linalg ops and copies on buffers to loops";
  let description = [{
    Bufferized linalg ops, and copies that bufferization left, become `scf.for` over scalars, which LLVM vectorizes (`attn.scalar_loops`). A copy of a buffer onto itself is erased.

    ```mlir
    func.func @f(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) {
      memref.copy %x, %y : memref<4x?xf32, strided<[?, 1]>> to memref<4x?xf32, strided<[?, 1]>>
      return
    }
    ```
    becomes
    ```
    func.func @f(%x: memref<4x?xf32, strided<[?, 1]>>, %y: memref<4x?xf32, strided<[?, 1]>>) attributes {attn.scalar_loops} {
      %columns = memref.dim %x, %c1 : memref<4x?xf32, strided<[?, 1]>>
      scf.for %i = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %columns step %c1 {
          %0 = memref.load %x[%i, %j] : memref<4x?xf32, strided<[?, 1]>>
          memref.store %0, %y[%i, %j] : memref<4x?xf32, strided<[?, 1]>>
        }
      }
      return
    }
    ```
  }];
  let dependentDialects = ["::mlir::affine::AffineDialect", "::mlir::linalg::LinalgDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect"];
}

#endif
