//===- Layout.cpp - Layouts of fragments and tiles ------------------------------------===//
//
// Tables of the PTX ISA: mma.m16n8k16, wgmma.mma_async.m64nNk16, and the swizzling modes of tensors.
//
//===----------------------------------------------------------------------===//
#include "dialect/AttnGPU/AttnGPU.h"
#include "llvm/ADT/DenseMap.h"

using namespace mlir;
using namespace rapt;
using namespace rapt::attn_gpu;

namespace {

// A thread's number: two bits choose pairs of columns, three choose rows, and two the warp of a warpgroup.
constexpr LayoutField kThread[] = {{0, 2, {0, 2}}, {2, 3, {1, 0}}, {5, 2, {16, 0}}};
constexpr LayoutField kThreadOfB[] = {{0, 2, {2, 0}}, {2, 3, {0, 1}}};
constexpr LayoutField kElement[] = {{0, 1, {0, 1}}, {1, 1, {8, 0}}, {2, 1, {0, 8}}};
constexpr LayoutField kElementOfB[] = {{0, 1, {1, 0}}, {1, 1, {8, 0}}};

const LayoutAtom kWarpA{16, 16, 32, ArrayRef(kThread).take_front(2), kElement};
const LayoutAtom kWarpB{16, 8, 32, kThreadOfB, kElementOfB};
const LayoutAtom kWarpAcc{16, 8, 32, ArrayRef(kThread).take_front(2), ArrayRef(kElement).take_front(2)};
const LayoutAtom kWarpgroupA{64, 16, 128, kThread, kElement};
const LayoutAtom kWarpgroupAcc{64, 8, 128, kThread, ArrayRef(kElement).take_front(2)};

} // namespace

Coordinates attn_gpu::moveBy(ArrayRef<LayoutField> fields, int64_t number) {
  Coordinates at;
  for (const LayoutField &field : fields) {
    const int64_t value = field.valueOf(number);
    at = at + Coordinates{value * field.step.row, value * field.step.column};
  }
  return at;
}

const LayoutAtom &MmaLayoutAttr::getAtom() const {
  switch (getOperand()) {
  case MatmulOperand::a:
    return kWarpA;
  case MatmulOperand::b:
    return kWarpB;
  case MatmulOperand::acc:
    return kWarpAcc;
  }
  llvm_unreachable("an operand of the enumeration");
}

bool MmaLayoutAttr::isPacked() const { return getOperand() != MatmulOperand::acc; }

const LayoutAtom &WgmmaLayoutAttr::getAtom() const {
  return getOperand() == MatmulOperand::a ? kWarpgroupA : kWarpgroupAcc;
}

bool WgmmaLayoutAttr::isPacked() const { return getOperand() == MatmulOperand::a; }

int64_t FragmentType::getElements() const { return getRows() * getColumns() / getLayout().getAtom().threads; }

int64_t FragmentType::getRegisters() const { return getElements() / (getLayout().isPacked() ? 2 : 1); }

Coordinates FragmentType::getElement(int64_t thread, int64_t index) const {
  return moveBy(getLayout().getAtom().ofThread, thread) + getDistance(index);
}

Coordinates FragmentType::getDistance(int64_t index) const {
  const LayoutAtom &atom = getLayout().getAtom();
  const int64_t nth = index / atom.elements(), atomsOfRow = getColumns() / atom.columns;
  const Coordinates first{nth / atomsOfRow * atom.rows, nth % atomsOfRow * atom.columns};
  return first + moveBy(atom.ofElement, index % atom.elements());
}

bool FragmentType::isOperand(MatmulOperand operand) const {
  if (auto mma = dyn_cast<MmaLayoutAttr>(getLayout()))
    return mma.getOperand() == operand;
  auto wgmma = dyn_cast<WgmmaLayoutAttr>(getLayout());
  return wgmma && wgmma.getOperand() == operand;
}

SmallVector<int64_t> RowVectorType::getDistances() const {
  const LayoutAtom &atom = getLayout().getAtom();
  SmallVector<int64_t> distances;
  for (int64_t first = 0; first < getRows(); first += atom.rows)
    for (int64_t index = 0; index < atom.elements(); ++index)
      if (int64_t row = first + moveBy(atom.ofElement, index).row; !llvm::is_contained(distances, row))
        distances.push_back(row);
  return distances;
}

std::optional<SmallVector<int64_t>> attn_gpu::relabel(FragmentType from, FragmentType to) {
  const int64_t threads = from.getLayout().getAtom().threads, columns = from.getColumns();
  if (from.getRows() != to.getRows() || columns != to.getColumns() || threads != to.getLayout().getAtom().threads)
    return std::nullopt;
  llvm::DenseMap<int64_t, int64_t> indexAt; // of thread 0
  for (int64_t index = 0; index < from.getElements(); ++index) {
    const Coordinates at = from.getElement(0, index);
    indexAt[at.row * columns + at.column] = index;
  }
  SmallVector<int64_t> indices;
  for (int64_t index = 0; index < to.getElements(); ++index) {
    const Coordinates at = to.getElement(0, index);
    auto found = indexAt.find(at.row * columns + at.column);
    if (found == indexAt.end())
      return std::nullopt;
    indices.push_back(found->second);
  }
  // Elements are at the same distances from every thread's first, so only the first ones are left to compare.
  for (int64_t thread = 0; thread < threads; ++thread)
    if (to.getElement(thread, 0) != from.getElement(thread, indices[0]))
      return std::nullopt;
  return indices;
}

int64_t SwizzleAttr::getOffset(int64_t row, int64_t byte) const {
  const int64_t offset = row * getBytes() + byte, chunks = getBytes() / 16;
  return offset ^ (((offset >> 7) & (chunks - 1)) << 4);
}

int64_t TileType::getOffset(int64_t row, int64_t column) const {
  const int64_t byte = column * getElementBytes(), span = getSwizzle().getBytes();
  return byte / span * getBoxBytes() + getSwizzle().getOffset(row, byte % span);
}
