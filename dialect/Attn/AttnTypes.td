//===- AttnTypes.td - Types of the attention dialect -----------------*- tablegen -*-===//
#ifndef RAPT_ATTN_TYPES_TD
#define RAPT_ATTN_TYPES_TD

include "dialect/Attn/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

class Attn_Type<string name, string typeMnemonic> : TypeDef<Attn_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Attn_KVCacheType : Attn_Type<"KVCache", "kv_cache"> {
  let summary = "a pool of blocks that hold keys and values of all layers";
  let description = [{
    A pool of blocks. A block holds `block` consecutive positions of one sequence: keys and values of every layer and
    key/value head. Which blocks belong to a sequence is told by a block table. How a block is laid out in memory is
    the target's affair: this type names only what is stored.

    Example: `!attn.kv_cache<12 x 12 x 64, block = 64, f32>` (layers x heads x head dimension).
  }];
  let parameters = (ins "int64_t":$layers, "int64_t":$heads, "int64_t":$headDim, "int64_t":$block,
                        "::mlir::Type":$elementType);
  let assemblyFormat = "`<` $layers `x` $heads `x` $headDim `,` `block` `=` $block `,` $elementType `>`";
  let genVerifyDecl = 1;
}

#endif
