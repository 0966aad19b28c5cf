//===- AttnSources.td - How tensors of a checkpoint become parameters -*- tablegen -*-===//
#ifndef RAPT_ATTN_SOURCES_TD
#define RAPT_ATTN_SOURCES_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "dialect/Attn/AttnDialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class Attn_Attr<string name, string attrMnemonic, list<Trait> traits = []> : AttrDef<Attn_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

class Attn_TransformAttr<string name, string attrMnemonic, list<string> methods = []>
    : Attn_Attr<name, attrMnemonic, [DeclareAttrInterfaceMethods<Attn_SourceTransformInterface, methods>]> {
  let genVerifyDecl = 1;
}

def Attn_SliceAttr : Attn_TransformAttr<"Slice", "slice", ["shapeAfter", "shapeBefore"]> {
  let summary = "takes a range of one dim";
  let description = [{
    The indices `begin` to `end` - 1 of dim `dim`, as of a tensor that packs several projections.

    Example: `#attn.slice<dim = 1, 768 to 1536>`
  }];
  let parameters = (ins "int64_t":$dim, "int64_t":$begin, "int64_t":$end);
  let assemblyFormat = "`<` `dim` `=` $dim `,` $begin `to` $end `>`";
}

def Attn_TransposeAttr : Attn_TransformAttr<"Transpose", "transpose", ["shapeAfter", "shapeBefore"]> {
  let summary = "permutes dims";
  let description = [{
    Dim i of the result is dim `order`[i]. nn.Linear stores [N, K], which `transpose<1, 0>` makes [K, N].

    Example: `#attn.transpose<0, 2, 1>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$order);
  let assemblyFormat = "`<` $order `>`";
}

def Attn_ReshapeAttr : Attn_TransformAttr<"Reshape", "reshape", ["shapeAfter", "shapeBefore"]> {
  let summary = "gives as many elements another shape";
  let description = [{
    The elements keep their row-major order. `[]` is the shape of a single element.

    Example: `#attn.reshape<12x64x768>`
  }];
  let parameters = (ins OptionalArrayRefParameter<"int64_t">:$shape);
  let hasCustomAssemblyFormat = 1;
}

def Attn_CastAttr : Attn_TransformAttr<"Cast", "cast"> {
  let summary = "rounds to another float type";
  let description = [{
    Each element becomes the nearest number of `type` (f32, bf16 or f16), ties to even. A finite element that is too large for it is an
    error where weights are packed. The parameter's own type rounds once more, at the end.

    Example: `#attn.cast<bf16>`
  }];
  let parameters = (ins "::mlir::FloatType":$type);
  let assemblyFormat = "`<` $type `>`";
}

def Attn_ScaleAttr : Attn_TransformAttr<"Scale", "scale"> {
  let summary = "multiplies each element";
  let description = [{
    Multiplies by `factor` and rounds to binary32. The factor is a finite number of f32 other than 0; text may give any decimal, which is
    rounded.

    Example: `#attn.scale<1.250000e-01>`
  }];
  let parameters = (ins APFloatParameter<"a number of f32">:$factor);
  let hasCustomAssemblyFormat = 1;
}

def Attn_AddAttr : Attn_TransformAttr<"Add", "add"> {
  let summary = "adds a number to each element";
  let description = [{
    Adds `summand` and rounds to binary32, as gains that are stored as their distance from 1 need. The summand is a finite number of f32
    other than 0; text may give any decimal, which is rounded.

    Example: `#attn.add<1.000000e+00>`
  }];
  let parameters = (ins APFloatParameter<"a number of f32">:$summand);
  let hasCustomAssemblyFormat = 1;
}

def Attn_SourceAttr : Attn_Attr<"Source", "source"> {
  let summary = "a tensor of the checkpoint that becomes a parameter, or a part of one";
  let description = [{
    `{layer}` in the name stands for the layer of a stacked parameter. Behind the name is the tensor's shape in the checkpoint, which may be
    left out where the parameter's type tells it: where no transform is a slice or a reshape, and no other tensor is concatenated.
    The transforms are applied in order, from the tensor's values as f32. Before the shape is the code of a tensor that the checkpoint has in
    quantized blocks along its last dim.

    Examples: `#attn.source<"wte.weight">`, `#attn.source<"layers.{layer}.q_proj.weight", transpose<1, 0>>`,
    `#attn.source<"h.{layer}.attn.c_attn.weight" : 768x2304, slice<dim = 1, 0 to 768>, transpose<1, 0>, reshape<12x64x768>, scale<0.125>>`,
    `#attn.source<"layers.{layer}.q_proj.weight" : q4_k, transpose<1, 0>>`
  }];
  let parameters = (ins StringRefParameter<"tensor name">:$name,
                        OptionalParameter<"::std::optional<::rapt::attn::QuantizedCode>">:$code,
                        OptionalParameter<"::mlir::DenseI64ArrayAttr">:$shape,
                        OptionalArrayRefParameter<"::rapt::attn::SourceTransformInterface">:$transforms);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The shape that the transforms give a tensor of shape `stored`. Fails as they do.
    ::mlir::FailureOr<::llvm::SmallVector<int64_t>>
    shapeOfPart(::llvm::ArrayRef<int64_t> stored, ::llvm::function_ref<::mlir::InFlightDiagnostic()> emitError);
    /// The checkpoint's shape where the attribute says it, or where it follows from that of the part.
    ::std::optional<::llvm::SmallVector<int64_t>> storedShape(::std::optional<::llvm::ArrayRef<int64_t>> part);
    /// This source with the checkpoint's shape.
    SourceAttr withShape(::llvm::ArrayRef<int64_t> shape);
    /// This source with other transforms.
    SourceAttr withTransforms(::llvm::ArrayRef<SourceTransformInterface> transforms);
    /// The dim of the part along which blocks of the checkpoint lie whole; none where transforms cut or change them.
    ::std::optional<int64_t> dimOfBlocks(::llvm::ArrayRef<int64_t> stored);
    /// This source as the transpose of a matrix.
    SourceAttr transposed();
    /// The transforms as text; empty without any.
    ::std::string textOfTransforms();
  }];
}

def Attn_JoinKind : I32EnumAttr<"JoinKind", "how several sources become one parameter", [
    I32EnumAttrCase<"concat", 0>, // one after the other along a dim
    I32EnumAttrCase<"stack", 1>   // one after the other along a dim that they do not have
  ]> {
  let cppNamespace = "::rapt::attn";
  let genSpecializedAttr = 0;
}

def Attn_JoinAttr : Attn_Attr<"Join", "join"> {
  let summary = "how several sources become one parameter";
  let description = [{
    `concat` puts the sources one after the other along `dim`, `stack` along a new dim `dim`. Dims are those of one layer.

    Example: `#attn<join concat<dim = 1>>`
  }];
  let parameters = (ins EnumParameter<Attn_JoinKind>:$kind, "int64_t":$dim);
  let assemblyFormat = "$kind `<` `dim` `=` $dim `>`";
}

#endif
