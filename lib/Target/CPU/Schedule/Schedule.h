//===- Schedule.h - Schedules of the CPU's code --------------------------------*- C++ -*-===//
//
// The members of an op's attn.schedule, by name. attn-cpu-schedule alone chooses numbers; the
// passes below read them here.
//
//===----------------------------------------------------------------------===//
#pragma once
#include "dialect/Attn/AttnOps.h"

namespace rapt::cpu {

using Sizes = llvm::SmallVector<int64_t, 4>;

/// Prefetches of a micro-kernel, all or none of them.
struct Prefetch {
  std::optional<int64_t> steps;         ///< of k by which the panel is fetched ahead, into L1
  std::optional<int64_t> tiles;         ///< of rows during which the next panel is fetched into L2
  std::optional<int64_t> residentBytes; ///< an input tile of more is fetched again into L1
  std::optional<int64_t> streamRows;    ///< fewer rows are bound by memory: the panel alone is fetched, far ahead
  std::optional<int64_t> streamBytes;   ///< so far

  template <typename Visitor> void visit(Visitor &&v) {
    v("prefetch_steps", steps), v("prefetch_tiles", tiles), v("resident_bytes", residentBytes),
        v("stream_rows", streamRows), v("stream_bytes", streamBytes);
  }
};

/// The micro-kernel of a matmul: a tile whose accumulators are in registers (mr x nr). Also the schedule of the tile
/// ops that matmuls and attention become.
struct MicroKernel {
  int64_t rows = 0;                     ///< most rows at a time
  int64_t columns = 0;                  ///< of two vectors
  std::optional<int64_t> vnniRows;      ///< most rows where a VNNI-packed panel is widened, to four vectors
  std::optional<int64_t> groupRows;     ///< most rows whose sums of a quantized group are beside those in f32
  std::optional<int64_t> matrixRows;    ///< rows of an AMX tile; none: vectors alone
  std::optional<int64_t> chains;        ///< of accumulators of a single row, which wait for one another less; none: one
  std::optional<int64_t> unrolledSteps; ///< of a quantized group that a single row takes without a loop; none: none
  std::optional<int64_t> lineSteps;     ///< of k for each line of the matrices that are ahead; none: none is fetched
  Prefetch prefetch;

  /// Whether `m` rows are multiplied by AMX.
  bool takesMatrix(int64_t m) const { return matrixRows && m % *matrixRows == 0; }

  template <typename Visitor> void visit(Visitor &&v) {
    v("rows", rows), v("columns", columns), v("vnni_rows", vnniRows), v("group_rows", groupRows),
        v("matrix_rows", matrixRows), v("chains", chains), v("unrolled_steps", unrolledSteps),
        v("line_steps", lineSteps);
    prefetch.visit(v);
  }
};

/// attn.linear: a grid of tasks, blocks of rows by packed panels.
struct LinearSchedule {
  Sizes rows;                       ///< of a task's tiles, largest first; the last one is 1
  int64_t taskRows = 0;             ///< most rows of a task, a multiple of the most of `rows`
  std::optional<int64_t> depth;     ///< of a k block (kc); none: k is taken whole
  std::optional<int64_t> panels;    ///< with `depth`: most panels of a task
  std::optional<int64_t> manyRows;  ///< with `depth`: fewer rows have one panel a task
  std::optional<int64_t> tasks;     ///< with `depth`: as many tasks come before several panels of one
  Sizes finish;                     ///< with `depth`: rows that get their epilogue together, as `rows`
  std::optional<int64_t> widenRows; ///< of a VNNI-packed weight and f32 rows: from so many on a panel is widened before
  MicroKernel kernel;

  template <typename Visitor> void visit(Visitor &&v) {
    v("rows", rows), v("task_rows", taskRows), v("depth", depth), v("panels", panels), v("many_rows", manyRows),
        v("tasks", tasks), v("finish", finish), v("widen_rows", widenRows), v("kernel", kernel);
  }
};

/// attn.attention: a grid of blocks of queries, which take KV blocks in turn. Without those of `splits`, what they are
/// for is not done.
struct AttentionSchedule {
  Sizes queries;           ///< of a task's tiles, largest first; where the last one is above 1 it may repeat queries
  int64_t taskQueries = 0; ///< most queries of a task
  int64_t wideQueries = 0; ///< tiles of so many take unmasked KV blocks apart, and several blocks of a cache at once
  int64_t keys = 0;        ///< of a KV block where keys are contiguous
  int64_t taskKeys = 0;    ///< keys that all tiles of a task use before they go on
  std::optional<int64_t> packedKeys; ///< without a cache: keys of a packed block
  std::optional<int64_t> restRows;   ///< with packed queries: rows of a task that fills those behind the last sequence
  std::optional<int64_t> splits;     ///< of a cache: most splits of a sequence with one query
  std::optional<int64_t> splitKeys;  ///< of a cache: least keys of a split
  std::optional<int64_t> heads;      ///< of a cache: query heads of a group that are one tile of a split
  MicroKernel kernel;

  template <typename Visitor> void visit(Visitor &&v) {
    v("queries", queries), v("task_queries", taskQueries), v("wide_queries", wideQueries), v("keys", keys),
        v("task_keys", taskKeys), v("packed_keys", packedKeys), v("rest_rows", restRows), v("splits", splits),
        v("split_keys", splitKeys), v("heads", heads), v("kernel", kernel);
  }
};

/// attn.recurrence: sequences that one tile takes through time together.
struct RecurrenceSchedule {
  int64_t rows = 0;
  MicroKernel kernel;

  template <typename Visitor> void visit(Visitor &&v) { v("rows", rows), v("kernel", kernel); }
};

/// Schedules of no single op, which the module has beside the tiles of linalg ops (lib/Conversion/Schedule.h).
struct CopySchedule {
  int64_t rowBytes = 0;      ///< shorter rows are not fetched ahead
  int64_t prefetchBytes = 0; ///< how far longer ones are

  template <typename Visitor> void visit(Visitor &&v) { v("row_bytes", rowBytes), v("prefetch_bytes", prefetchBytes); }
};
struct RowSchedule {
  int64_t aliasBytes = 0; ///< rows at multiples of this distance push one another out of L1
  int64_t apartBytes = 0; ///< by which rows that would alias are longer

  template <typename Visitor> void visit(Visitor &&v) { v("alias_bytes", aliasBytes), v("apart_bytes", apartBytes); }
};
struct ElementwiseSchedule {
  int64_t rows = 0; ///< of a tile that become one vector

  template <typename Visitor> void visit(Visitor &&v) { v("rows", rows); }
};

/// Sequences of a recurrence's tile that the CPU's schedule takes: what its cost depends on.
int64_t recurrenceRows();

} // namespace rapt::cpu
