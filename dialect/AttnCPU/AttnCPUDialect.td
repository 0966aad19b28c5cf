//===- AttnCPUDialect.td - The dialect of the CPU target --------------*- tablegen -*-===//
#ifndef RAPT_ATTNCPU_DIALECT_TD
#define RAPT_ATTNCPU_DIALECT_TD

include "mlir/IR/DialectBase.td"

def AttnCPU_Dialect : Dialect {
  let name = "attn_cpu";
  let cppNamespace = "::rapt::attn_cpu";
  let summary = "Tiles of matmuls on packed panels, for the CPU target alone.";
  let description = [{
    A packed panel (N-panel, nr = 32) is 32 columns of the second operand of a matmul, [k, 32]. A panel of bf16 is VNNI-packed: two rows are interleaved, [k/2, 64].
    Passes create the ops in the stage `tiled`, and `attn_cpu.cast_rows` in the stage `laid-out`.

    `attn_cpu.bf16_matmul` on `attn.attention` says that both matmuls are bf16 dot products: the scaled query, keys, values and unnormalized probabilities are bf16, and
    the running sum is that of the cast probabilities. `attn-bf16-attention` sets it.

    `attn_cpu.fused_into` on an op says that it has no dispatch of its own: the tiles of the op that it names, the root of the fusion, compute it.
    `attn-cpu-fuse` sets it on three ops, and whoever costs, tells or lowers a fusion reads it there. Without it the op is a dispatch, and the numbers are the same.
    | on | root | meaning |
    |---|---|---|
    | `attn.linear` | `#attn_cpu.root<consumer>`: the `attn.linear` whose epilogue reads it | fused dual matmul: gate and up of a gated linear unit |
    | `attn.rope` | `#attn_cpu.root<producer>`: the `attn.linear` that makes the heads | a tile of a head is rotated when its sums are complete |
    | `attn_cpu.cast_rows` | `#attn_cpu.root<producer>`: the op that makes the rows | the op writes its rows in bf16 |
  }];
  let hasOperationAttrVerify = 1;
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::rapt::attn::AttnDialect"];
  let extraClassDeclaration = [{
    /// Attribute of `attn.attention`: its matmuls are bf16 dot products.
    static constexpr ::llvm::StringLiteral bf16MatmulAttr = "attn_cpu.bf16_matmul";
    /// Attribute of an op without a dispatch of its own: the op whose dispatch computes it (`#attn_cpu.root`).
    static constexpr ::llvm::StringLiteral fusedIntoAttr = "attn_cpu.fused_into";
  }];
}

#endif
