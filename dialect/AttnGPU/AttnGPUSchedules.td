//===- AttnGPUSchedules.td - Schedules of ops on GPUs ------------------*- tablegen -*-===//
#ifndef RAPT_ATTNGPU_SCHEDULES_TD
#define RAPT_ATTNGPU_SCHEDULES_TD

include "dialect/AttnGPU/AttnGPUTypes.td"

def AttnGPU_MatmulKind : I32EnumAttr<"MatmulKind", "what multiplies in a matmul", [
    I32EnumAttrCase<"mma", 0>,   // instructions of a warp, of bf16 and f16
    I32EnumAttrCase<"wgmma", 1>, // those of a warpgroup
    I32EnumAttrCase<"fma", 2>,   // multiply-adds of f32
    I32EnumAttrCase<"tf32", 3>,  // instructions of a warp, of f32 as one tf32 each
    I32EnumAttrCase<"tf32x3", 4> // the same, as the sum of two
  ]> {
  let cppNamespace = "::rapt::attn_gpu";
}

// That of tiles that do not name one.
def AttnGPU_MatmulParameter : EnumParameter<AttnGPU_MatmulKind> {
  let defaultValue = "::rapt::attn_gpu::MatmulKind::mma";
}
class AttnGPU_NumberParameter<int value> : DefaultValuedParameter<"int64_t", !cast<string>(value)>;

class AttnGPU_ScheduleAttr<string name, string attrMnemonic> : AttrDef<AttnGPU_Dialect, name> {
  let mnemonic = attrMnemonic;
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def AttnGPU_LinearTilesAttr : AttnGPU_ScheduleAttr<"LinearTiles", "linear_tiles"> {
  let summary = "tiles of a matmul by thread blocks";
  let description = [{
    A tile has at most `rows` rows and `columns` columns, and `warps` warps. A step of the loop over k has `depth` of it, and copies fill a ring of `stages` buffers. With `parts`, so many groups of warps have the same rows and columns and a part of each
    step's k each. With `blocks`, a kernel has at most so many thread blocks, each of which has several tiles.

    Example: `#attn_gpu.linear_tiles<rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$columns, "int64_t":$depth, "int64_t":$warps, "int64_t":$stages, AttnGPU_MatmulParameter:$matmul,
                        AttnGPU_NumberParameter<1>:$parts, AttnGPU_NumberParameter<0>:$blocks);
}

def AttnGPU_LinearGridAttr : AttnGPU_ScheduleAttr<"LinearGrid", "linear_grid"> {
  let summary = "a grid of tiles of a matmul";
  let description = [{
    Tiles of `group` rows of tiles follow each other; 0: those of all. The grid is used from `least` rows of the result on. `share` is the cost of an element, in percent of that of the grid for fewer rows; 0: not known.

    Example: `#attn_gpu.linear_grid<tiles = <rows = 128, columns = 128, depth = 32, warps = 8, stages = 4>, least = 512>`
  }];
  let parameters = (ins "LinearTilesAttr":$tiles, AttnGPU_NumberParameter<0>:$least, AttnGPU_NumberParameter<0>:$group, AttnGPU_NumberParameter<0>:$share);
}

def AttnGPU_LinearScheduleAttr : AttnGPU_ScheduleAttr<"LinearSchedule", "linear_schedule"> {
  let summary = "the schedule of a matmul";
  let description = [{
    The grid of tiles is `common`. Where the number of rows is known when the program runs alone, there are others: `few_rows` for at most a tile's rows, `many_rows` and `most_rows` from so many rows on as they say. If it `rotates`, its tiles rotate the heads that it makes.

    Example: `#attn_gpu.linear_schedule<common = <tiles = <rows = 64, columns = 64, depth = 64, warps = 4, stages = 3>>, few_rows = <tiles = <rows = 16, columns = 16, depth = 128, warps = 4, stages = 5, parts = 4>>>`
  }];
  let parameters = (ins "LinearGridAttr":$common, OptionalParameter<"LinearGridAttr">:$few_rows, OptionalParameter<"LinearGridAttr">:$many_rows,
                        OptionalParameter<"LinearGridAttr">:$most_rows, DefaultValuedParameter<"bool", "false">:$rotates);
  let extraClassDeclaration = [{
    /// The same with tiles that rotate.
    LinearScheduleAttr withRotation() const {
      return get(getContext(), getCommon(), getFewRows(), getManyRows(), getMostRows(), /*rotates=*/true);
    }
  }];
}

def AttnGPU_AttentionTilesAttr : AttnGPU_ScheduleAttr<"AttentionTiles", "attention_tiles"> {
  let summary = "tiles of attention by thread blocks";
  let description = [{
    A tile has `rows` rows, which are queries times the heads that share its keys, and a KV block `keys` keys. `warps` warps compute.

    Example: `#attn_gpu.attention_tiles<rows = 128, keys = 128, warps = 8, matmul = wgmma>`
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$keys, "int64_t":$warps, AttnGPU_MatmulParameter:$matmul);
}

def AttnGPU_AttentionScheduleAttr : AttnGPU_ScheduleAttr<"AttentionSchedule", "attention_schedule"> {
  let summary = "the schedule of attention";
  let description = [{
    `blocks` thread blocks fill a GPU: fewer tiles share their keys out, in parts of at least `least_keys`; 0: never.

    Example: `#attn_gpu.attention_schedule<tiles = <rows = 64, keys = 64, warps = 4>, blocks = 264, least_keys = 256>`
  }];
  let parameters = (ins "AttentionTilesAttr":$tiles, AttnGPU_NumberParameter<0>:$blocks, AttnGPU_NumberParameter<1>:$least_keys);
}

def AttnGPU_NormTilesAttr : AttnGPU_ScheduleAttr<"NormTiles", "norm_tiles"> {
  let summary = "tiles of norms by thread blocks";
  let description = [{
    `lanes` threads have a row, and a thread block has `threads` threads. It is the schedule of a norm, too.

    Example: `#attn_gpu.norm_tiles<lanes = 32, threads = 128>`
  }];
  let parameters = (ins "int64_t":$lanes, "int64_t":$threads);
}

// That of tiles of f32 that do not name one.
def AttnGPU_FloatMatmulParameter : EnumParameter<AttnGPU_MatmulKind> {
  let defaultValue = "::rapt::attn_gpu::MatmulKind::fma";
}

def AttnGPU_LinearAttentionTilesAttr : AttnGPU_ScheduleAttr<"LinearAttentionTiles", "linear_attention_tiles"> {
  let summary = "tiles of linear attention by thread blocks";
  let description = [{
    A thread block of `warps` warps has at most `columns` value channels of a state. Without `chunk` it takes one token after the other: the recurrent form. With `chunk`, 16 tokens for each warp, it takes so many tokens at once, in the
    chunked form, whose matmuls multiply as `matmul` says. A last chunk of fewer than `least` tokens is computed in the recurrent form. It is the schedule of linear attention, too.

    Example: `#attn_gpu.linear_attention_tiles<columns = 32, warps = 4, chunk = 64, least = 32, matmul = tf32>`
  }];
  let parameters = (ins "int64_t":$columns, "int64_t":$warps, AttnGPU_NumberParameter<0>:$chunk, AttnGPU_NumberParameter<0>:$least, AttnGPU_FloatMatmulParameter:$matmul);
  let extraClassDeclaration = [{
    /// Threads that share the key channels of a value channel in the recurrent form.
    int64_t getLanes() const { return 32 * getWarps() / getColumns(); }
  }];
}

#endif
