//===- Module.h - Code and weights ---------------------------------------------===//
#pragma once
#include "lib/Runtime/Device.h"
#include "lib/Runtime/Manifest.h"
#include "lib/Runtime/Weights.h"
#include <atomic>
#include <memory>

/// Immutable once opened; counted.
struct rapt_module {
  std::atomic<int64_t> references{1};
  std::unique_ptr<rapt::runtime::Manifest> manifest;
  char *manifestText = nullptr; ///< from malloc
  size_t manifestBytes = 0;
  const rapt_artifact *artifact = nullptr; ///< null when only inspected
  /// Entries of the variant that runs, in the manifest's order; null when only inspected.
  const rapt_artifact_entry *entries = nullptr;
  int variant = -1;        ///< index into the manifest's; -1: only inspected, and this machine can run none
  void *library = nullptr; ///< from dlopen, null when linked in
  rapt::runtime::Weights weights;
  std::unique_ptr<rapt::runtime::Device> device; ///< of code for GPUs; null otherwise, and when only inspected
  ~rapt_module();

  /// Index of an entry in both manifest and artifact, -1 when there is none.
  int findEntry(const char *name) const;
};
