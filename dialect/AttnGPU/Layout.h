//===- Layout.h - Threads and registers of the elements of a fragment -----------*- C++ -*-===//
#pragma once
#include "mlir/Support/LLVM.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>

namespace rapt::attn_gpu {

class FragmentType;

struct Coordinates {
  int64_t row = 0, column = 0;
  friend bool operator==(const Coordinates &, const Coordinates &) = default;
  friend Coordinates operator+(Coordinates a, Coordinates b) { return {a.row + b.row, a.column + b.column}; }
  friend Coordinates operator-(Coordinates a, Coordinates b) { return {a.row - b.row, a.column - b.column}; }
};

/// `bits` bits of a number, from bit `shift` on: an element moves by `step` for each unit of the field.
struct LayoutField {
  unsigned shift, bits;
  Coordinates step;

  int64_t valueOf(int64_t number) const { return (number >> shift) & ((int64_t(1) << bits) - 1); }
};

/// The smallest fragment of a layout. The fields of a thread's number and of an element's number add up to the
/// coordinates, so every thread's elements are at the same distances from its first one.
struct LayoutAtom {
  int64_t rows, columns, threads;
  llvm::ArrayRef<LayoutField> ofThread, ofElement;

  int64_t elements() const { return rows * columns / threads; }
};

/// Where fields move an element to for a number.
Coordinates moveBy(llvm::ArrayRef<LayoutField> fields, int64_t number);

/// For each element of `to`, the number of the element of `from` that the same thread holds. None where data would have
/// to move between threads. The types may differ in layout and element type.
std::optional<llvm::SmallVector<int64_t>> relabel(FragmentType from, FragmentType to);

} // namespace rapt::attn_gpu
