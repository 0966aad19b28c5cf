//===- Schedule.h - Schedules of the CPU target --------------------------------*- C++ -*-===//
//
// The members of an op's attn.schedule, by name. attn-cpu-schedule chooses the numbers; the
// passes after it only read them.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"

namespace rapt::cpu {

using Sizes = llvm::SmallVector<int64_t, 4>;

/// Prefetches of a micro-kernel: all members are present, or none.
struct Prefetch {
  std::optional<int64_t> steps;         ///< prefetch distance of the panel into L1, in steps of k
  std::optional<int64_t> tiles;         ///< tiles of rows that prefetch the next panel into L2
  std::optional<int64_t> residentBytes; ///< larger input tiles do not stay in L1 and are prefetched
  std::optional<int64_t> streamRows;    ///< tiles of fewer rows are bound by memory: they prefetch the panel alone
  std::optional<int64_t> streamBytes;   ///< the prefetch distance of such tiles

  template <typename Visitor> void visit(Visitor &&v) {
    v("prefetch_steps", steps), v("prefetch_tiles", tiles), v("resident_bytes", residentBytes),
        v("stream_rows", streamRows), v("stream_bytes", streamBytes);
  }
};

/// The micro-kernel of a matmul: a tile of mr x nr whose accumulators are in registers. It is also the schedule of the
/// tile ops that matmuls and attention become.
struct MicroKernel {
  int64_t rows = 0;                  ///< mr: most rows of a tile
  int64_t columns = 0;               ///< nr: columns of two vectors
  std::optional<int64_t> vnniRows;   ///< most rows where a VNNI-packed panel is widened, to four vectors
  std::optional<int64_t> groupRows;  ///< most rows whose int32 accumulators and f32 sums are both in registers
  std::optional<int64_t> matrixRows; ///< rows of an AMX tile; absent: no AMX
  std::optional<int64_t> wideRows;   ///< most rows of a tile of all columns of a panel; absent: none has more than nr
  std::optional<int64_t> chains;     ///< accumulator chains of a single row; absent: one
  std::optional<int64_t> unroll;     ///< steps of k of an iteration for several rows; absent: one
  std::optional<int64_t> unrolledSteps; ///< a single row unrolls quantized groups of at most so many steps
  std::optional<int64_t> lineSteps;     ///< steps of k per prefetched line of other matrices; absent: no prefetch
  Prefetch prefetch;

  /// Whether AMX multiplies tiles of `m` rows; it does not where `m` is dynamic.
  bool takesMatrix(int64_t m) const { return matrixRows && m > 0 && m % *matrixRows == 0; }

  template <typename Visitor> void visit(Visitor &&v) {
    v("rows", rows), v("columns", columns), v("vnni_rows", vnniRows), v("group_rows", groupRows),
        v("matrix_rows", matrixRows), v("wide_rows", wideRows), v("chains", chains), v("unroll", unroll),
        v("unrolled_steps", unrolledSteps), v("line_steps", lineSteps);
    prefetch.visit(v);
  }
};

/// attn.linear: a grid of tasks over blocks of rows and packed panels.
struct LinearSchedule {
  Sizes rows;                       ///< rows of a task's tiles, largest first; the last one is 1
  int64_t taskRows = 0;             ///< most rows of a task, a multiple of the largest of `rows`
  std::optional<int64_t> depth;     ///< kc: rows of a k block; absent: no k-blocking
  std::optional<int64_t> panels;    ///< with `depth`: most panels of a task
  std::optional<int64_t> manyRows;  ///< with `depth`: tasks of fewer rows have one panel
  std::optional<int64_t> packRows;  ///< rows of f32 are copied into tiles [k, packRows], the most of `rows`; absent:
                                    ///< they are read where they are
  std::optional<int64_t> rowPanels; ///< panels that a single row reads at once; absent: one
  std::optional<int64_t> tasks; ///< with `depth` or `rowPanels`: tasks have several panels only where so many remain
  Sizes finish;                 ///< with `depth`: rows of the epilogue's tiles, as `rows`
  std::optional<int64_t> widenRows; ///< with f32 rows and a VNNI-packed weight, or one of 4 bits that is unpacked:
                                    ///< least rows that widen a panel once
  MicroKernel kernel;

  template <typename Visitor> void visit(Visitor &&v) {
    v("rows", rows), v("task_rows", taskRows), v("depth", depth), v("panels", panels), v("many_rows", manyRows),
        v("pack_rows", packRows), v("row_panels", rowPanels), v("tasks", tasks), v("finish", finish),
        v("widen_rows", widenRows), v("kernel", kernel);
  }
};

/// attn.attention: a grid of tasks over blocks of queries, which iterate over KV blocks. Where `splits`, `splitKeys`
/// and `heads` are present, sequences of few queries use split-KV.
struct AttentionSchedule {
  Sizes queries; ///< queries of a task's tiles, largest first; a last one above 1 may repeat queries, one of 1
                 ///< stands for tiles of as many queries as are left
  int64_t taskQueries = 0;           ///< most queries of a task
  int64_t wideQueries = 0;           ///< least queries of tiles with a loop of their own for unmasked KV blocks
  int64_t keys = 0;                  ///< keys of a KV block where keys are contiguous
  std::optional<int64_t> restKeys;   ///< of contiguous keys that all queries of a tile attend to: a rest of at least so
                                     ///< many is a KV block without a mask; absent: rests are masked
  int64_t taskKeys = 0;              ///< keys that all tiles of a task use while the keys are in L2
  std::optional<int64_t> packedKeys; ///< without a cache: keys of a packed block
  std::optional<int64_t> restRows;   ///< with packed sequences: rows of a task that fills rows behind the last sequence
  std::optional<int64_t> splits;     ///< most splits of a sequence
  std::optional<int64_t> splitKeys;  ///< least keys of a split
  std::optional<int64_t> splitQueries; ///< most queries of a sequence that has splits
  std::optional<int64_t> splitTasks;   ///< without a cache: more tasks than these have fewer splits each, at least one
  std::optional<int64_t> heads;        ///< query heads of a group that are rows of one tile of a split
  MicroKernel kernel;

  template <typename Visitor> void visit(Visitor &&v) {
    v("queries", queries), v("task_queries", taskQueries), v("wide_queries", wideQueries), v("keys", keys),
        v("rest_keys", restKeys), v("task_keys", taskKeys), v("packed_keys", packedKeys), v("rest_rows", restRows),
        v("splits", splits), v("split_keys", splitKeys), v("split_queries", splitQueries), v("split_tasks", splitTasks),
        v("heads", heads), v("kernel", kernel);
  }
};

/// attn.recurrence: a grid over tiles of sequences.
struct RecurrenceSchedule {
  int64_t rows = 0; ///< sequences of a tile, which share one read of the weight per time step
  MicroKernel kernel;

  template <typename Visitor> void visit(Visitor &&v) { v("rows", rows), v("kernel", kernel); }
};

/// attn.linear_attention: a grid over sequences and states.
struct LinearAttentionSchedule {
  int64_t columns = 0; ///< value channels of a slice of the state, which stays in L1: whole panels
  int64_t single = 0;  ///< value channels of a slice of the state of a sequence that has one token and a state before
  int64_t chunk = 0;   ///< tokens for which all slices are computed, one after another
  int64_t tokens = 0;  ///< tokens that are taken at once, from a sequence's first one on; the rest is taken one by one
  int64_t keys = 0;    ///< key channels that are unrolled for a single token, with sums of their own

  template <typename Visitor> void visit(Visitor &&v) {
    v("columns", columns), v("single", single), v("chunk", chunk), v("tokens", tokens), v("keys", keys);
  }
};

/// Schedules of the module, beside the tiles of linalg ops (lib/Conversion/Schedule.h).
struct CopySchedule {
  int64_t rowBytes = 0;      ///< shorter rows are not prefetched
  int64_t prefetchBytes = 0; ///< the prefetch distance of longer rows

  template <typename Visitor> void visit(Visitor &&v) { v("row_bytes", rowBytes), v("prefetch_bytes", prefetchBytes); }
};
struct RowSchedule {
  int64_t aliasBytes = 0; ///< rows at multiples of this distance evict one another from L1
  int64_t apartBytes = 0; ///< padding of rows that would alias

  template <typename Visitor> void visit(Visitor &&v) { v("alias_bytes", aliasBytes), v("apart_bytes", apartBytes); }
};
struct ElementwiseSchedule {
  int64_t rows = 0; ///< rows of a tile that are vectorized together

  template <typename Visitor> void visit(Visitor &&v) { v("rows", rows); }
};

} // namespace rapt::cpu
