//===- Parameter.td - Weights and declared dims ----------------------*- tablegen -*-===//
#ifndef RAPT_ATTN_PARAMETER_TD
#define RAPT_ATTN_PARAMETER_TD

include "dialect/Attn/AttnAttrs.td"
include "dialect/Attn/AttnDialect.td"
include "dialect/Attn/AttnInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/InferIntRangeInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Attn_DimOp : Attn_Op<"dim", [Attn_StaysInTiles, Attn_StaysInHostProgram, Symbol]> {
  let summary = "declares a dynamic extent with its bounds";
  let description = [{
    Tensors carry only `?`; a declared dim gives the extent a name and inclusive bounds. Entries name the dims of their
    arguments in `attn.dims`, and check them on every call.

    ```mlir
    attn.dim @tokens min 1 max 4096
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$min, I64Attr:$max);
  let assemblyFormat = "$sym_name `min` $min `max` $max attr-dict";
  let hasVerifier = 1;
}

def Attn_DimSizeOp : Attn_Op<"dim_size", [Attn_StaysInTiles, Attn_StaysInHostProgram, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                          DeclareOpInterfaceMethods<InferIntRangeInterface, ["inferResultRanges"]>]> {
  let summary = "reads a declared dim";
  let description = [{
    ```mlir
    attn.dim @tokens min 1 max 4096
    func.func @count() -> index {
      %n = attn.dim_size @tokens : index
      return %n : index
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$dim);
  let results = (outs Index:$size);
  let assemblyFormat = "$dim attr-dict `:` type($size)";
}

def Attn_ParameterOp : Attn_Op<"parameter", [Attn_StaysInTiles, Attn_StaysInHostProgram, Symbol]> {
  let summary = "declares a weight tensor, possibly stacked over layers";
  let description = [{
    A weight by name. `sources` are tensors of the checkpoint with what is done to each (`#attn.source`). Several are joined: `concat<dim = D>` or
    `stack<dim = D>`, dims counted in one layer. With `layers` the first dim of the type counts layers, and each source's `{layer}` runs from
    `first_layer`, or takes the numbers `layer_numbers`, one for each layer. The element type is the storage type, to which values are rounded last.
    A matrix may be quantized (`!attn.quantized`). `layout` and `offset` (bytes in the weight file) appear when a layout is materialized; the type is then the
    physical one, and the sources make the layout's shape.

    ```mlir
    attn.parameter @wte : tensor<50257x768xf32> from [#attn.source<"wte.weight">]
    attn.parameter @c_attn layers 12 : tensor<12x768x2304xf32> from [#attn.source<"h.{layer}.attn.c_attn.weight">]
    attn.parameter @up layers 2 : tensor<2x4x64x96xf32> from stack<dim = 0> [
      #attn.source<"h.{layer}.experts.0.up", transpose<1, 0>>, #attn.source<"h.{layer}.experts.1.up", transpose<1, 0>>,
      #attn.source<"h.{layer}.experts.2.up", transpose<1, 0>>, #attn.source<"h.{layer}.experts.3.up", transpose<1, 0>>]
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, OptionalAttr<I64Attr>:$layers,
                       DefaultValuedAttr<I64Attr, "0">:$first_layer, OptionalAttr<DenseI64ArrayAttr>:$layer_numbers,
                       OptionalAttr<Attn_JoinAttr>:$join,
                       TypedArrayAttrBase<Attn_SourceAttr, "sources">:$sources,
                       OptionalAttr<Attn_ParameterLayoutInterface>:$layout, OptionalAttr<I64Attr>:$offset, OptionalAttr<I64Attr>:$stride);
  let assemblyFormat = "$sym_name (`layers` $layers^)? `:` $type `from` custom<JoinedSources>($join, $sources) attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The number in names of tensors of the layer that is number `place` of the first dim.
    int64_t getLayerNumber(int64_t place) {
      return getLayerNumbers() ? (*getLayerNumbers())[place] : int64_t(getFirstLayer()) + place;
    }
    /// The type of one layer's slice.
    ::mlir::RankedTensorType getSliceType();
    /// The shape of one layer before padding, which the sources make.
    ::llvm::ArrayRef<int64_t> getLogicalShape();
    /// The shape of a source in the checkpoint.
    ::llvm::SmallVector<int64_t> getStoredShape(SourceAttr source);
    /// Makes the sources give the transpose of the matrix that they give.
    void transposeSources();
    /// Whether tiles may read a slice as a tensor of `type`: as bytes, where the parameter is quantized and has a layout.
    bool isReadAsBytes(::mlir::RankedTensorType type);
  }];
}

def Attn_ParameterSliceOp : Attn_TensorOp<"parameter_slice", [Attn_HasElementTypes<["getElementSource"]>, Attn_StaysInTiles, Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "reads a parameter, or one layer of a stacked one";
  let description = [{
    The result's type is that of the parameter that the symbol names, less the layers; it is checked, but not inferred. Tiles read
    a quantized parameter's slice as bytes.

    ```mlir
    attn.parameter @ln layers 12 : tensor<12x768xf32> from [#attn.source<"h.{layer}.ln_1.weight">]
    func.func @weight(%layer: index) -> tensor<768xf32> {
      %w = attn.parameter_slice @ln[%layer] : tensor<768xf32>
      return %w : tensor<768xf32>
    }
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$parameter, Optional<Index>:$layer);
  let results = (outs AnyRankedTensor:$value);
  let assemblyFormat = "$parameter (`[` $layer^ `]`)? attr-dict `:` type($value)";
}

#endif
