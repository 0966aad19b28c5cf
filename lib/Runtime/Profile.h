//===- Profile.h - Times of the ops of compiled code ----------------------------===//
#pragma once
#include "lib/Runtime/CallerStruct.h"
#include "lib/Runtime/Cost.h"
#include "lib/Runtime/Memory.h"
#include "rapt/rapt_profile.h"

namespace rapt::runtime {

/// Times of the dispatches that an artifact's entries run, by op and layer. Used by the context's thread alone.
class Profile {
public:
  /// Seconds of a clock that only goes forward.
  static double now();

  /// Allocates the module's rows. RAPT_UNSUPPORTED where the manifest has no ops.
  rapt_status start(const rapt_module &module, const Allocator &memory, const Report &report);
  /// An entry begins; returns the time.
  double enter(rapt_entry_fn run, const int64_t *dims);
  /// The entry that was entered is over.
  void leave(double seconds, void *const *buffers, const int64_t *dims);
  /// A dispatch of the entry is over. Its number is -1 where it is of no op.
  void addDispatch(int64_t dispatch, double seconds);
  /// The number with which the closure of a CPU's dispatch begins.
  int64_t numberOf(const void *closure) const;
  void addCall(double seconds) { callSeconds += seconds, ++calls; }

  bool isStarted() const { return rows.data(); }
  /// Rows of what was called, at most `most` of them into `to`; how many there are.
  size_t read(const StructArray<rapt_profile_row> &to, size_t most) const;

private:
  struct Row {
    double seconds;
    Cost cost;
    uint64_t calls;
  };
  struct Rest {
    double seconds;
    uint64_t runs;
  };
  /// Runs with one token per row (decode) have rows of their own.
  static constexpr int kinds = 2;
  size_t placeOf(int kind, int entry, int op) const {
    return size_t(kind) * (rows.size() / kinds) + size_t(firstRow[firstOp[entry] + op]);
  }

  const Manifest *manifest = nullptr;
  const rapt_artifact_entry *code = nullptr; ///< in the manifest's order
  Array<int64_t> firstOp;                    ///< of each entry among all ops
  Array<int64_t> firstRow;                   ///< of each op among the rows: one a layer
  Array<Row> rows;                           ///< of each kind, of ops and layers
  Array<Rest> rests;                         ///< of each entry and kind: its code outside of ops' dispatches
  Array<int64_t> firstDispatch;              ///< of each entry among all dispatches
  Array<int64_t> called;                     ///< times that each dispatch ran in the entry's present run
  Array<double> counted;                     ///< the entry's counts
  int current = -1;                          ///< entry that runs
  int currentKind = 0;                       ///< 1: with one token a row
  double inDispatches = 0;                   ///< seconds of its ops' dispatches so far
  double callSeconds = 0, entrySeconds = 0;
  uint64_t calls = 0;
};

/// Times a call of the interface where the context has a profile.
class ProfiledCall {
public:
  explicit ProfiledCall(Profile *profile) : profile(profile), begin(profile ? Profile::now() : 0) {}
  ~ProfiledCall() {
    if (profile)
      profile->addCall(Profile::now() - begin);
  }
  ProfiledCall(const ProfiledCall &) = delete;
  ProfiledCall &operator=(const ProfiledCall &) = delete;

private:
  Profile *profile;
  double begin;
};

} // namespace rapt::runtime
