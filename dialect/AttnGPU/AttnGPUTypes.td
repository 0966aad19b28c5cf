//===- AttnGPUTypes.td - Layouts and types of NVIDIA GPUs -------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_TYPES_TD
#define RAPT_ATTNGPU_TYPES_TD

include "dialect/Attn/AttnAttrInterfaces.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/DialectBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/Interfaces.td"

def AttnGPU_Dialect : Dialect {
  let name = "attn_gpu";
  let cppNamespace = "::rapt::attn_gpu";
  let summary = "Fragments, shared-memory tiles and asynchronous copies of NVIDIA GPUs.";
  let description = [{
    The level from which kernels are generated. A fragment (`!attn_gpu.fragment`) is a tile in the registers of a warp (`mma.sync`) or of a warpgroup (`wgmma`), and its layout says which
    thread holds which element. A tile (`!attn_gpu.tile`) is in shared memory, swizzled. An op is a few instructions; `attn-gpu-to-nvvm` lowers it. An instruction without fragments and tiles is an op of `nvvm` beside them.

    - A warp is 32 consecutive threads and a warpgroup 128, from a multiple of that number on. Blocks have one dimension: the thread is `tid.x`.
    - Every thread of the warp or warpgroup executes an op on fragments, in convergence. Each warp has its own fragment of a layout `#attn_gpu.mma`.
    - Rows and columns of an element count from the first of its fragment.
    - Shared memory is the dynamic shared memory of the kernel, from byte 0 on; it is aligned to 1024 bytes.

    `attn_gpu.schedule` on an op of `attn` says how thread blocks compute it; without it the op takes its neutral decomposition. `attn-cuda-schedule` sets it, and `attn-gpu-tile` makes tiles that have what they need of it.
    | on | schedule |
    |---|---|
    | `attn.linear` | `#attn_gpu.linear_schedule` |
    | `attn.attention` | `#attn_gpu.attention_schedule` |
    | `attn.linear_attention` | `#attn_gpu.linear_attention_tiles` |
    | `attn.layer_norm`, `attn.rms_norm` | `#attn_gpu.norm_tiles` |
  }];
  let hasOperationAttrVerify = 1;
  let extraClassDeclaration = [{
    /// Attribute of an op of `attn`: its schedule.
    static constexpr ::llvm::StringLiteral scheduleAttr = "attn_gpu.schedule";
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

def AttnGPU_FragmentLayoutInterface : AttrInterface<"FragmentLayoutInterface"> {
  let cppNamespace = "::rapt::attn_gpu";
  let description = [{
    Fields of bits that tell the thread and the register of each element of a fragment: see LayoutAtom. A fragment is a grid of atoms, row by row. The elements of a thread are numbered atom by atom.
  }];
  let methods = [
    InterfaceMethod<"The smallest fragment of the layout.", "const ::rapt::attn_gpu::LayoutAtom &", "getAtom">,
    InterfaceMethod<"Whether a register holds two elements of 16 bits; else it holds one of 32 bits.", "bool", "isPacked">
  ];
}

def AttnGPU_Operand : I32EnumAttr<"MatmulOperand", "the operand of a matmul instruction that a fragment is", [
    I32EnumAttrCase<"a", 0>, I32EnumAttrCase<"b", 1>, I32EnumAttrCase<"acc", 2>]> {
  let cppNamespace = "::rapt::attn_gpu";
  let genSpecializedAttr = 0;
}

def AttnGPU_Reduction : I32EnumAttr<"Reduction", "how values are combined", [I32EnumAttrCase<"max", 0>, I32EnumAttrCase<"add", 1>]> {
  let cppNamespace = "::rapt::attn_gpu";
}

class AttnGPU_LayoutAttr<string name, string attrMnemonic>
    : AttrDef<AttnGPU_Dialect, name, [DeclareAttrInterfaceMethods<AttnGPU_FragmentLayoutInterface>]> {
  let mnemonic = attrMnemonic;
  let parameters = (ins EnumParameter<AttnGPU_Operand>:$operand);
  let assemblyFormat = "`<` $operand `>`";
}

def AttnGPU_MmaLayoutAttr : AttnGPU_LayoutAttr<"MmaLayout", "mma"> {
  let summary = "fragments of a warp, as mma.sync.m16n8k16 has them";
  let description = [{
    Atoms are 16x16 (`a`), 16x8 (`b`, which is [k, n]) and 16x8 (`acc`). The order of a thread's elements is that of the instruction's registers.

    Example: `#attn_gpu.mma<acc>`
  }];
}

def AttnGPU_WgmmaLayoutAttr : AttnGPU_LayoutAttr<"WgmmaLayout", "wgmma"> {
  let summary = "fragments of a warpgroup, as wgmma.mma_async.m64nNk16 has them";
  let description = [{
    Atoms are 64x16 (`a`) and 64x8 (`acc`): warp w holds rows 16 w to 16 w + 15 as a warp's fragment holds its 16 rows. The second operand is always in shared memory.

    Example: `#attn_gpu.wgmma<acc>`
  }];
  let genVerifyDecl = 1;
}

def AttnGPU_SwizzleAttr : AttrDef<AttnGPU_Dialect, "Swizzle"> {
  let mnemonic = "swizzle";
  let summary = "how 16-byte chunks of a tile are permuted in shared memory";
  let description = [{
    Columns are in boxes of `bytes` bytes; a box has all rows one after the other. Within a box, bits 4 and higher of an offset are combined by exclusive or with bits 7 and higher: 3 of them for 128 bytes, 2 for
    64 and 1 for 32. TMA writes tiles in this order, and wgmma reads it. The 8 rows that a phase of `ldmatrix` reads are in different banks with 128 bytes.

    Example: `#attn_gpu.swizzle<128>`
  }];
  let parameters = (ins "int64_t":$bytes);
  let assemblyFormat = "`<` $bytes `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Offset within a box of so many rows: of byte `byte` of row `row`.
    int64_t getOffset(int64_t row, int64_t byte) const;
  }];
}

def AttnGPU_QuantizedPanelsAttr : AttrDef<AttnGPU_Dialect, "QuantizedPanels", [
    DeclareAttrInterfaceMethods<Attn_ParameterLayoutInterface>, DeclareAttrInterfaceMethods<Attn_WeightLayoutInterface>]> {
  let mnemonic = "quantized_panels";
  let summary = "a quantized matrix in packed panels";
  let description = [{
    A matrix [rows, columns] in panels of 32 columns, [columns/32][groups] of quantized values, scales and zero points. Quantized values of a group are words of 32 bits, [group/4][32] of 8 bits and [group/8][32] of 4 bits: `interleave` tells how many of a column are in a word. So a row of
    words is 128 bytes, and a panel is one stream. Rows come in groups of `row_group`, each padded with zeros to a multiple of 32. A matrix in blocks has them as `BlockLayout` (lib/Support/BlockFormat.h) says, [columns/32][blocks], with `interleave` 4.

    Examples: `#attn_gpu.quantized_panels<shape = [768, 2304], interleave = 4>`, `#attn_gpu.quantized_panels<shape = [160, 64] row_group = 80, interleave = 8>`
  }];
  let parameters = (ins ArrayRefParameter<"int64_t">:$shape, DefaultValuedParameter<"int64_t", "0">:$rowGroup, "int64_t":$interleave);
  let assemblyFormat = "`<` `shape` `=` `[` $shape `]` (`row_group` `=` $rowGroup^)? `,` `interleave` `=` $interleave `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    static constexpr int64_t kColumns = 32; ///< of a panel
    /// The interleave factor of matrices of a type.
    static int64_t interleaveOf(::rapt::attn::QuantizedType type);
    /// The type of one layer, in elements: [panels, rows with padding, columns of a panel].
    ::mlir::RankedTensorType getStored(::mlir::Type element) const;
    /// The same in bytes: [panels, groups, bytes of a group].
    ::mlir::RankedTensorType getBytes(::mlir::Type element) const;
  }];
}

class AttnGPU_Type<string name, string typeMnemonic> : TypeDef<AttnGPU_Dialect, name> {
  let mnemonic = typeMnemonic;
}

def AttnGPU_FragmentType : AttnGPU_Type<"Fragment", "fragment"> {
  let summary = "a tile in the registers of a warp or warpgroup";
  let description = [{
    A matrix [rows, columns] whose extents are multiples of the layout's atom. Accumulators are f32, or i32 of quantized values. Operands are bf16 or f16, or i16, which are two quantized values of 8 bits.

    Example: `!attn_gpu.fragment<16x64xf32, #attn_gpu.mma<acc>>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType, "FragmentLayoutInterface":$layout);
  let assemblyFormat = "`<` custom<Tile>($rows, $columns, $elementType) `,` $layout `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// Number of elements that a thread holds.
    int64_t getElements() const;
    /// Number of registers that a thread holds them in.
    int64_t getRegisters() const;
    /// The element that a thread of the warp or warpgroup holds as its `index`th.
    Coordinates getElement(int64_t thread, int64_t index) const;
    /// How far a thread's `index`th element is from its first: every thread's alike.
    Coordinates getDistance(int64_t index) const;
    bool isOperand(MatmulOperand operand) const;
  }];
}

def AttnGPU_RowVectorType : AttnGPU_Type<"RowVector", "row_vector"> {
  let summary = "one f32 for each row of a fragment of accumulators";
  let description = [{
    A thread holds the values of those rows of which it holds elements of a fragment [rows, columns] of the layout; the lanes that share a row hold the same value, unless it is partial (`attn_gpu.reduce_rows`).

    Example: `!attn_gpu.row_vector<64, #attn_gpu.wgmma<acc>>`
  }];
  let parameters = (ins "int64_t":$rows, "FragmentLayoutInterface":$layout);
  let assemblyFormat = "`<` $rows `,` $layout `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// How far each row of a thread is from that of its first element, in their order.
    ::llvm::SmallVector<int64_t> getDistances() const;
  }];
}

def AttnGPU_TileType : AttnGPU_Type<"Tile", "tile"> {
  let summary = "a tile in shared memory";
  let description = [{
    A matrix [rows, columns] of bf16, f16, f32, or pairs of quantized values of 8 bits (i16). Rows are a multiple of 8, and a row is whole boxes of the swizzle. `pitch` is the number of rows of a box in memory, where it is not `rows`: the tile is then part of
    a higher one. The first byte is aligned to 8 rows of a box.

    Examples: `!attn_gpu.tile<128x64xbf16, #attn_gpu.swizzle<128>>`, `!attn_gpu.tile<64x128xbf16, #attn_gpu.swizzle<128>, pitch = 192>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType, "SwizzleAttr":$swizzle, "int64_t":$pitch);
  let assemblyFormat = "`<` custom<Tile>($rows, $columns, $elementType) `,` custom<Swizzle>($swizzle, $pitch, ref($rows)) `>`";
  let genVerifyDecl = 1;
  let builders = [TypeBuilder<(ins "int64_t":$rows, "int64_t":$columns, "::mlir::Type":$elementType, "int64_t":$swizzle), [{
    return $_get($_ctxt, rows, columns, elementType, SwizzleAttr::get($_ctxt, swizzle), rows);
  }]>];
  let extraClassDeclaration = [{
    /// Bytes of its boxes, with those of the higher tile that it is part of.
    int64_t getBytes() const { return getPitch() * getColumns() * getElementBytes(); }
    int64_t getElementBytes() const { return getElementType().getIntOrFloatBitWidth() / 8; }
    /// Columns and bytes of a box.
    int64_t getBoxColumns() const { return getSwizzle().getBytes() / getElementBytes(); }
    int64_t getBoxBytes() const { return getPitch() * getSwizzle().getBytes(); }
    int64_t getBoxes() const { return getColumns() / getBoxColumns(); }
    /// Offset in bytes of an element.
    int64_t getOffset(int64_t row, int64_t column) const;
  }];
}

def AttnGPU_MBarrierType : AttnGPU_Type<"MBarrier", "mbarrier"> {
  let summary = "an mbarrier, 8 bytes in shared memory";
  let description = "Example: `!attn_gpu.mbarrier`";
}

#endif
