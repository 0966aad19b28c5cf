//===- AttnTypes.td - Types of the attention dialect -----------------*- tablegen -*-===//
#ifndef RAPT_ATTN_TYPES_TD
#define RAPT_ATTN_TYPES_TD

include "dialect/Attn/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinTypeInterfaces.td"

class Attn_Type<string name, string typeMnemonic> : TypeDef<Attn_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def Attn_KVCacheType : Attn_Type<"KVCache", "kv_cache"> {
  let summary = "a pool of blocks that hold keys and values of all layers";
  let description = [{
    A pool of blocks. A block holds `block` consecutive positions of one sequence: keys and values of every layer and
    key/value head. A block table tells which blocks belong to a sequence, in all layers. How a block is laid out in memory is
    the target's affair: this type names only what is stored, f32, bf16, f16 or i8. In i8 each key and each value of a head is a
    group of quantized values with one scale, rounded as `attn.quantize_rows` rounds a row.

    Where all layers are equal, and keys as values: `!attn.kv_cache<12 x 12 x 64, block = 64, f32>` (layers x heads x head size). Else a list
    of segments, each of them equal layers: layers x heads x head size x element type, or, where they differ,
    layers x heads x (head size x element type of keys, of values). Attention has one key/value head dim, so keys and values have equally many heads.

    Examples: `!attn.kv_cache<22 x 4 x 64, block = 64, i8>`,
    `!attn.kv_cache<[4 x 8 x (96 x bf16, 64 x f32), 2 x 2 x 64 x f32], block = 64>`
  }];
  let parameters = (ins ArrayRefParameter<"::rapt::attn::KVSegment">:$segments, "int64_t":$block);
  let builders = [TypeBuilder<(ins "int64_t":$layers, "int64_t":$heads, "int64_t":$headSize, "int64_t":$block,
                                   "::mlir::Type":$elementType), [{
    KVPart part{headSize, elementType};
    return $_get($_ctxt, ::llvm::ArrayRef(KVSegment{layers, heads, part, part}), block);
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Whether all layers are equal, and keys as values.
    bool isUniform() const { return getSegments().size() == 1 && getSegments()[0].isUniform(); }
    /// The element type of all keys and values; null where they differ.
    ::mlir::Type getElementType() const;
    /// This cache with another element type for all keys and values.
    KVCacheType withElementType(::mlir::Type keys, ::mlir::Type values) const;
    /// Layers of all segments.
    int64_t getLayers() const;
  }];
}

def Attn_QuantizedType : Attn_Type<"Quantized", "quantized"> {
  let summary = "an element of a matrix that is stored as integers with scales";
  let description = [{
    The element type of a matrix whose values are scale * (code - zero). Scale and zero belong to `group` neighbors along dim
    `axis`, the one that matmuls sum over; 0 is one group of all. With `period` the groups begin anew after as many
    elements: heads that the weight file pads each. The zero is 0 of s8, 128 of u8 and 8 of u4, or a
    number of each group with `zero_points`. The weight file and a target define the memory layout of quantized values, scales and zero points.

    Other codes are those that a checkpoint has in blocks, such as `q4_k` (lib/Support/BlockFormats.def). Their values are
    scale * (number of the code - zero) + offset, where format and block say what these are; the group is the format's.

    Weights are unsigned and activations signed, as the dot instructions of x86 take them (`vpdpbusd`).

    Examples: `!attn.quantized<u4 group 32 axis 0>`, `!attn.quantized<u8 group 64 axis 0 period 80>`,
    `!attn.quantized<q6_k group 16 axis 1>`
  }];
  let parameters = (ins "::rapt::attn::QuantizedCode":$code, "int64_t":$group, "int64_t":$axis,
                        DefaultValuedParameter<"int64_t", "0">:$period,
                        DefaultValuedParameter<"bool", "false">:$zeroPoints);
  let assemblyFormat = [{
    `<` $code `group` $group `axis` $axis (`period` $period^)? (`zero_points` `=` $zeroPoints^)? `>`
  }];
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The format of a weight that is stored in blocks; null of others.
    const BlockFormat *blocks() const { return blocksOf(getCode()); }
    int64_t bits() const { return blocks() ? blocks()->bits : getCode() == QuantizedCode::u4 ? 4 : 8; }
    /// The zero of all groups where they have none of their own.
    int64_t zero() const {
      return blocks() ? blocks()->zero : getCode() == QuantizedCode::s8 ? 0 : int64_t(1) << (bits() - 1);
    }
    /// Groups along the axis.
    int64_t groups(int64_t depth) const {
      return getGroup() == 0 ? 1 : ::llvm::divideCeil(depth, getGroup());
    }
    /// Bytes of a matrix of `depth` rows and `columns` columns, without padding: values, scales in bf16, and zero points of a byte; or blocks.
    int64_t matrixBytes(int64_t depth, int64_t columns) const;
    /// The type of the rows that are multiplied by this weight.
    QuantizedType ofRows() const;
    /// This type with another axis.
    QuantizedType along(int64_t axis) const;
  }];
}

#endif
