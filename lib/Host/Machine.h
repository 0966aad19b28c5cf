//===- Machine.h - CPUs that host programs are compiled for ----------------------*- C++ -*-===//
#pragma once
#include "lib/Support/Expected.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace rapt::host {

/// A CPU by LLVM's names.
struct Machine {
  std::string triple, name;          ///< the name is as the user wrote it: "native", "x86-64-v3"
  std::vector<std::string> features; ///< what generated code may use, as LLVM names it, sorted

  /// `cpu` is "native", or a name LLVM knows; `attributes` is "+f,-g,...". The features of "native" are those the host
  /// reports, never those of its name, which virtual machines mask. `triple` is one of findTriple.
  static Expected<Machine> make(llvm::StringRef triple, llvm::StringRef cpu, llvm::StringRef attributes);
  /// One for each name, without names the triple's default, best first: wider vectors come before narrower, then more
  /// features before fewer, then names in order. So a CPU that has all that another has comes before it. No two have
  /// the same features.
  static Expected<std::vector<Machine>> makeAll(llvm::StringRef triple, const std::vector<std::string> &cpus,
                                                llvm::StringRef attributes);
  /// Whether code may use a feature, by LLVM's name.
  bool has(llvm::StringRef feature) const;
  /// The features as LLVM takes them: "+avx2,+fma".
  std::string featureString() const;
  /// Bytes of the widest vector registers.
  int64_t vectorBytes() const;
  /// "x86_64", "aarch64".
  std::string arch() const;
  /// The CPU without any feature that some lack, and the one whose timings code is scheduled for.
  std::string baseline() const, tuning() const;
  /// The largest page of memory that systems of this kind have, in bytes.
  uint64_t pageBytes() const;
};

/// The full form of a triple like "aarch64-linux-gnu"; empty stands for this machine's. Linux on x86-64 and AArch64.
Expected<std::string> findTriple(llvm::StringRef triple);

/// Names of the CPUs that --mcpu takes for a triple of findTriple.
std::vector<std::string> listCpus(llvm::StringRef triple);

} // namespace rapt::host
