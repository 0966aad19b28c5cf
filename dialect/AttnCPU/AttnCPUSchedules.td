//===- AttnCPUSchedules.td - Schedules of ops on CPUs ------------------*- tablegen -*-===//
#ifndef RAPT_ATTNCPU_SCHEDULES_TD
#define RAPT_ATTNCPU_SCHEDULES_TD

include "dialect/Attn/AttnSchedules.td"
include "dialect/AttnCPU/AttnCPUDialect.td"

class AttnCPU_ScheduleAttr<string name, string attrMnemonic, list<Trait> traits = [Attn_ScheduleInterface]> : Attn_ScheduleOf<AttnCPU_Dialect, name, attrMnemonic, traits>;
// A schedule that is only a part of another.
class AttnCPU_SchedulePartAttr<string name, string attrMnemonic> : AttnCPU_ScheduleAttr<name, attrMnemonic, []>;

def AttnCPU_PrefetchAttr : AttnCPU_SchedulePartAttr<"Prefetch", "prefetch"> {
  let summary = "prefetches of a micro-kernel";
  let description = [{
    The panel is prefetched into L1 `steps` steps of k ahead, and the next one into L2 by `tiles` tiles of rows. Input tiles of more than `resident_bytes` do not stay in
    L1 and are prefetched. Tiles of fewer than `stream_rows` rows are bound by memory: they prefetch the panel alone, `stream_bytes` ahead.

    Example: `#attn_cpu.prefetch<resident_bytes = 16384, steps = 8, stream_bytes = 16384, stream_rows = 5, tiles = 8>`
  }];
  let parameters = (ins Attn_Number:$resident_bytes, Attn_Number:$steps, Attn_Number:$stream_bytes, Attn_Number:$stream_rows, Attn_Number:$tiles);
}

def AttnCPU_MicroKernelAttr : AttnCPU_ScheduleAttr<"MicroKernel", "micro_kernel"> {
  let summary = "the micro-kernel of a matmul";
  let description = [{
    A tile of mr x nr whose accumulators are in registers. It is also the schedule of the tile ops that matmuls and attention become.

    - `rows`, mr: most rows of a tile; `vnni_rows`: where a VNNI-packed panel is widened, to four vectors; `group_rows`: whose int32 accumulators and f32 sums are both in
      registers; `wide_rows`: of a tile of all columns of a panel, without it none has more than nr.
    - `columns`, nr: columns of two vectors.
    - `matrix_rows`: rows of an AMX tile; without it no AMX.
    - `chains`: accumulator chains of a single row; without it one.
    - `unroll`: steps of k of an iteration for several rows; without it one.
    - `unrolled_steps`: a single row unrolls quantized groups of at most so many steps.
    - `line_steps`: steps of k per prefetched line of other matrices; without it none is prefetched.
    - `prefetch`: prefetches of the panels and the input; without it there are none.

    Example: `#attn_cpu.micro_kernel<chains = 4, columns = 32, rows = 14>`
  }];
  let parameters = (ins Attn_OptionalNumber:$chains, Attn_Number:$columns, Attn_OptionalNumber:$group_rows, Attn_OptionalNumber:$line_steps, Attn_OptionalNumber:$matrix_rows,
                        Attn_OptionalPart<"PrefetchAttr">:$prefetch, Attn_Number:$rows, Attn_OptionalNumber:$unroll, Attn_OptionalNumber:$unrolled_steps,
                        Attn_OptionalNumber:$vnni_rows, Attn_OptionalNumber:$wide_rows);
  let extraClassDeclaration = [{
    /// Whether AMX multiplies tiles of `m` rows; it does not where `m` is dynamic.
    bool takesMatrix(int64_t m) const { return getMatrixRows() && m > 0 && m % *getMatrixRows() == 0; }
  }];
}

def AttnCPU_LinearScheduleAttr : AttnCPU_ScheduleAttr<"LinearSchedule", "linear_schedule"> {
  let summary = "the schedule of attn.linear";
  let description = [{
    A grid of tasks over blocks of rows and packed panels.

    - `rows`: rows of a task's tiles, largest first; the last one is 1.
    - `task_rows`: most rows of a task, a multiple of the largest of `rows`.
    - `depth`, kc: rows of a k block; without it k is not blocked. With it: `panels`, most panels of a task; `many_rows`, tasks of fewer rows have one panel; `finish`, rows
      of the epilogue's tiles, as `rows`.
    - `pack_rows`: rows of f32 are copied into tiles [k, pack_rows], the most of `rows`; without it they are read where they are.
    - `row_panels`: panels that a single row reads at once; without it one.
    - `tasks`: with `depth` or `row_panels`, tasks have several panels only where so many remain.
    - `widen_rows`: with rows of f32 and a VNNI-packed weight, or one of 4 bits that is unpacked, least rows that widen a panel once.

    Example: `#attn_cpu.linear_schedule<kernel = <columns = 32, rows = 14>, rows = [14, 8, 4, 1], task_rows = 210>`
  }];
  let parameters = (ins Attn_OptionalNumber:$depth, Attn_OptionalNumbers:$finish, Attn_Part<"MicroKernelAttr">:$kernel, Attn_OptionalNumber:$many_rows,
                        Attn_OptionalNumber:$pack_rows, Attn_OptionalNumber:$panels, Attn_OptionalNumber:$row_panels, Attn_Numbers:$rows, Attn_Number:$task_rows,
                        Attn_OptionalNumber:$tasks, Attn_OptionalNumber:$widen_rows);
}

def AttnCPU_AttentionScheduleAttr : AttnCPU_ScheduleAttr<"AttentionSchedule", "attention_schedule"> {
  let summary = "the schedule of attn.attention";
  let description = [{
    A grid of tasks over blocks of queries, which iterate over KV blocks. With `splits`, `split_keys`, `split_queries` and `heads`, sequences of few queries use split-KV.

    - `queries`: queries of a task's tiles, largest first; a last one above 1 may repeat queries, one of 1 stands for tiles of as many queries as are left.
    - `task_queries`: most queries of a task. `wide_queries`: least queries of tiles with a loop of their own for unmasked KV blocks.
    - `keys`: keys of a KV block where keys are contiguous. `rest_keys`: of those that all queries of a tile attend to, a rest of at least so many is a KV block without a mask;
      without it rests are masked.
    - `task_keys`: keys that all tiles of a task use while the keys are in L2.
    - `packed_keys`: without a cache, keys of a packed block.
    - `rest_rows`: with packed sequences, rows of a task that fills rows behind the last sequence.
    - `splits`: most splits of a sequence. `split_keys`: least keys of a split. `split_queries`: most queries of a sequence that has splits. `split_tasks`: without a cache, more
      tasks than these have fewer splits each, at least one. `heads`: query heads of a group that are rows of one tile of a split.

    Example: `#attn_cpu.attention_schedule<kernel = <columns = 32, rows = 14, vnni_rows = 13>, keys = 128, packed_keys = 32, queries = [14, 1], task_keys = 512, task_queries = 252, wide_queries = 14>`
  }];
  let parameters = (ins Attn_OptionalNumber:$heads, Attn_Part<"MicroKernelAttr">:$kernel, Attn_Number:$keys, Attn_OptionalNumber:$packed_keys, Attn_Numbers:$queries,
                        Attn_OptionalNumber:$rest_keys, Attn_OptionalNumber:$rest_rows, Attn_OptionalNumber:$split_keys, Attn_OptionalNumber:$split_queries,
                        Attn_OptionalNumber:$split_tasks, Attn_OptionalNumber:$splits, Attn_Number:$task_keys, Attn_Number:$task_queries, Attn_Number:$wide_queries);
}

def AttnCPU_RecurrenceScheduleAttr : AttnCPU_ScheduleAttr<"RecurrenceSchedule", "recurrence_schedule"> {
  let summary = "the schedule of attn.recurrence";
  let description = [{
    A grid over tiles of `rows` sequences, which share one read of the weight per time step.

    Example: `#attn_cpu.recurrence_schedule<kernel = <columns = 32, rows = 14>, rows = 8>`
  }];
  let parameters = (ins Attn_Part<"MicroKernelAttr">:$kernel, Attn_Number:$rows);
}

def AttnCPU_LinearAttentionScheduleAttr : AttnCPU_ScheduleAttr<"LinearAttentionSchedule", "linear_attention_schedule"> {
  let summary = "the schedule of attn.linear_attention";
  let description = [{
    A grid over sequences and states.

    - `columns`: value channels of a slice of the state, which stays in L1: whole panels. `single`: those of a sequence that has one token and a state before.
    - `chunk`: tokens for which all slices are computed, one after another.
    - `tokens`: tokens that are taken at once, from a sequence's first one on; the rest is taken one by one.
    - `keys`: key channels that are unrolled for a single token, with sums of their own.

    Example: `#attn_cpu.linear_attention_schedule<chunk = 64, columns = 32, keys = 2, single = 64, tokens = 2>`
  }];
  let parameters = (ins Attn_Number:$chunk, Attn_Number:$columns, Attn_Number:$keys, Attn_Number:$single, Attn_Number:$tokens);
}

def AttnCPU_CopyScheduleAttr : AttnCPU_SchedulePartAttr<"CopySchedule", "copies"> {
  let summary = "how copies prefetch";
  let description = [{
    Rows of at least `row_bytes` are prefetched, `prefetch_bytes` ahead.

    Example: `#attn_cpu.copies<prefetch_bytes = 2048, row_bytes = 4096>`
  }];
  let parameters = (ins Attn_Number:$prefetch_bytes, Attn_Number:$row_bytes);
}

def AttnCPU_ElementwiseScheduleAttr : AttnCPU_SchedulePartAttr<"ElementwiseSchedule", "elementwise"> {
  let summary = "how elementwise ops are vectorized";
  let description = [{
    `rows` rows of a tile are vectorized together.

    Example: `#attn_cpu.elementwise<rows = 2>`
  }];
  let parameters = (ins Attn_Number:$rows);
}

def AttnCPU_RowScheduleAttr : AttnCPU_SchedulePartAttr<"RowSchedule", "rows"> {
  let summary = "how rows of results are padded";
  let description = [{
    Rows at multiples of `alias_bytes` evict one another from L1. `apart_bytes` pad those that would.

    Example: `#attn_cpu.rows<alias_bytes = 2048, apart_bytes = 64>`
  }];
  let parameters = (ins Attn_Number:$alias_bytes, Attn_Number:$apart_bytes);
}

def AttnCPU_ModuleScheduleAttr : AttnCPU_ScheduleAttr<"ModuleSchedule", "module_schedule", [DeclareAttrInterfaceMethods<Attn_ScheduleInterface, ["getLinalgTiles"]>]> {
  let summary = "the schedules of no single op";
  let description = [{
    The stage laid-out has all of them.

    Example: `#attn_cpu.module_schedule<copies = <prefetch_bytes = 2048, row_bytes = 4096>, elementwise = <rows = 2>, linalg = <columns = 256, rows = 16>, rows = <alias_bytes = 2048, apart_bytes = 64>>`
  }];
  let parameters = (ins Attn_OptionalPart<"CopyScheduleAttr">:$copies, Attn_OptionalPart<"ElementwiseScheduleAttr">:$elementwise,
                        Attn_OptionalPart<"::rapt::attn::LinalgTilesAttr">:$linalg, Attn_OptionalPart<"RowScheduleAttr">:$rows);
  let extraClassDeclaration = [{
    /// That of the module around `op`; null without one.
    static ModuleScheduleAttr around(::mlir::Operation *op);
  }];
}

#endif
