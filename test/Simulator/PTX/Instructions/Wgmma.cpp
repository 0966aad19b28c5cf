//===- Wgmma.cpp - wgmma: matmuls of four warps from shared memory ---------------------------===//
//
// Source: PTX ISA 9.7.15, asynchronous warpgroup matrix instructions. Each warp computes its 16 rows of
// the 64; all four must issue the same instructions in one order. Layouts of the operands in shared
// memory consist of chunks of 16 bytes.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/TensorMap.h"
#include "test/Simulator/PTX/Values.h"
using namespace rapt;
using namespace rapt::ptx;

namespace {

constexpr unsigned rowsOfWarp = 16, chunkBytes = 16;

/// A matrix descriptor: 64 bits.
struct Descriptor {
  uint64_t start, leadingOffset, strideOffset;
  unsigned baseOffset;
  Swizzle swizzle;

  explicit Descriptor(uint64_t bits)
      : start((bits & 0x3fff) << 4), leadingOffset((bits >> 16 & 0x3fff) << 4),
        strideOffset((bits >> 32 & 0x3fff) << 4), baseOffset(unsigned(bits >> 49 & 7)) {
    constexpr Swizzle modes[] = {Swizzle::None, Swizzle::Bytes128, Swizzle::Bytes64, Swizzle::Bytes32};
    swizzle = modes[bits >> 62];
  }

  /// Bytes of a row of the swizzle's pattern: 16 without one.
  uint64_t rowBytes() const { return uint64_t(chunkBytes) << unsigned(swizzle); }

  /// The chunk that holds elements `index` of M or N and byte `byte` along k, where k is contiguous.
  uint64_t chunkAlongK(uint64_t index, uint64_t byte) const {
    uint64_t address = start + index / 8 * strideOffset + index % 8 * rowBytes();
    return swizzled(swizzle, address + (swizzle == Swizzle::None ? byte / chunkBytes * leadingOffset : byte));
  }
  /// The chunk that holds row `k` and byte `byte` along M or N, where those are contiguous.
  uint64_t chunkAlongMN(uint64_t k, uint64_t byte) const {
    uint64_t address = start + k % 8 * rowBytes() + byte % rowBytes();
    if (swizzle == Swizzle::None)
      return address + byte / chunkBytes * strideOffset + k / 8 * leadingOffset;
    return swizzled(swizzle, address + byte / rowBytes() * leadingOffset + k / 8 * strideOffset);
  }
};

/// An operand in shared memory: `extent` indices of M or N from `first` on.
struct SharedOperand {
  Descriptor descriptor{0};
  Type type = Type::BF16;
  bool isTransposed = false; ///< M or N is contiguous
  unsigned first = 0, extent = 0, k = 0;

  /// Calls `visit(address, index, k)` for each chunk with its first element.
  template <typename Visit> void forEachChunk(Visit visit) const {
    unsigned size = sizeOf(type), elements = chunkBytes / size;
    if (!isTransposed) {
      for (unsigned index = 0; index < extent; ++index)
        for (unsigned at = 0; at < k; at += elements)
          visit(descriptor.chunkAlongK(first + index, at * size), index, at);
      return;
    }
    for (unsigned at = 0; at < k; ++at)
      for (unsigned index = 0; index < extent; index += elements)
        visit(descriptor.chunkAlongMN(at, (first + index) * size), index, at);
  }

  /// The matrix [extent, k].
  std::vector<float> read(const Block &block) const {
    std::vector<float> values(size_t(extent) * k);
    unsigned size = sizeOf(type), elements = chunkBytes / size;
    forEachChunk([&](uint64_t address, unsigned index, unsigned at) {
      if (address + chunkBytes > block.shared.size())
        return;
      for (unsigned element = 0; element < elements; ++element) {
        uint32_t bits = 0;
        std::memcpy(&bits, block.shared.data() + address + element * size, size);
        size_t place = isTransposed ? size_t(index + element) * k + at : size_t(index) * k + at + element;
        values[place] = float(decodeMatrixElement(type, bits));
      }
    });
    return values;
  }
};

/// One instruction with its operands.
struct Matmul {
  SharedOperand a, b;
  std::vector<uint32_t> accumulators, aRegisters;
  bool accumulates = false, isPacked = false, isInteger = false;
  unsigned n = 0, k = 0;
  float scaleA = 1, scaleB = 1;
  Type type = Type::BF16;
};

std::vector<float> readARegisters(Warp &warp, const Kernel &kernel, const Matmul &matmul) {
  std::vector<float> a(size_t(rowsOfWarp) * matmul.k);
  unsigned size = sizeOf(matmul.type), parts = 4 / size;
  for (unsigned reg = 0; reg < matmul.aRegisters.size(); ++reg) {
    const uint32_t *values = warp.lanes<uint32_t>(kernel.registers[matmul.aRegisters[reg]]);
    for (unsigned lane = 0; lane < warpSize; ++lane)
      for (unsigned part = 0; part < parts; ++part) {
        unsigned row = lane / 4 + 8 * (reg % 2), column = lane % 4 * parts + part + 4 * parts * (reg / 2);
        a[row * matmul.k + column] = float(decodeMatrixElement(matmul.type, values[lane] >> 8 * size * part));
      }
  }
  return a;
}

/// One accumulator: the old value, if it counts, plus the sum.
uint32_t accumulate(const Matmul &matmul, uint32_t bits, double sum) {
  if (matmul.isInteger)
    return uint32_t(int64_t(sum) + (matmul.accumulates ? int32_t(bits) : 0));
  return std::bit_cast<uint32_t>(float(sum + (matmul.accumulates ? double(std::bit_cast<float>(bits)) : 0)));
}

uint32_t accumulatePair(const Matmul &matmul, uint32_t bits, double low, double high) {
  if (matmul.accumulates) {
    low += f16ToF32(uint16_t(bits));
    high += f16ToF32(uint16_t(bits >> 16));
  }
  return FormatF16::encode(low) | uint32_t(FormatF16::encode(high)) << 16;
}

void compute(Block &block, Warp &warp, const Matmul &matmul) {
  const Kernel &kernel = block.launch.kernel;
  std::vector<float> a = matmul.aRegisters.empty() ? matmul.a.read(block) : readARegisters(warp, kernel, matmul);
  std::vector<float> b = matmul.b.read(block);
  std::vector<double> sums(size_t(rowsOfWarp) * matmul.n);
  double scale = double(matmul.scaleA) * matmul.scaleB;
  for (unsigned row = 0; row < rowsOfWarp; ++row)
    for (unsigned column = 0; column < matmul.n; ++column) {
      double sum = 0;
      for (unsigned k = 0; k < matmul.k; ++k)
        sum += double(a[row * matmul.k + k]) * b[column * matmul.k + k];
      sums[row * matmul.n + column] = scale * sum;
    }
  for (unsigned reg = 0; reg < matmul.accumulators.size(); ++reg) {
    uint32_t *values = warp.lanes<uint32_t>(kernel.registers[matmul.accumulators[reg]]);
    unsigned element = matmul.isPacked ? 2 * reg : reg;
    for (unsigned lane = 0; lane < warpSize; ++lane) {
      unsigned row = lane / 4 + 8 * (element / 2 % 2), column = element / 4 * 8 + 2 * (lane % 4) + element % 2;
      const double *sum = &sums[row * matmul.n + column];
      values[lane] = matmul.isPacked ? accumulatePair(matmul, values[lane], sum[0], sum[1])
                                     : accumulate(matmul, values[lane], sum[0]);
    }
  }
}

/// Registers that the instruction uses while the warp goes on.
void holdRegisters(Execution &e, const std::vector<uint32_t> &registers, bool isRead, bool mustBeValid) {
  Warp &warp = e.warp;
  for (uint32_t index : registers) {
    const std::string &name = e.block.launch.kernel.registers[index].name;
    if (mustBeValid && (e.lanes & ~warp.valid[index]))
      e.report(FindingKind::UninitializedRegister, wholeWarp, name + " is read before it is written");
    if (isRead && warp.inFlight[index] && !warp.isRead[index])
      e.report(FindingKind::MissingWait, wholeWarp, name + " is read while an earlier wgmma writes it");
    if (!isRead && warp.inFlight[index] && warp.isRead[index])
      e.report(FindingKind::MissingWait, wholeWarp, name + " is written while an earlier wgmma reads it");
    if (warp.touchedSinceFence[index])
      e.report(FindingKind::MissingFence, wholeWarp, name + " was used after the last wgmma.fence");
    warp.inFlight[index] = warp.matmuls.begun;
    warp.isRead[index] = isRead;
    if (!isRead)
      warp.valid[index] |= e.lanes;
  }
}

/// Reads of shared memory that last until the group is waited for.
bool noteReads(Execution &e, const SharedOperand &operand) {
  Warp &warp = e.warp;
  Knowledge known = warp.release(e.lanes);
  Accessor by = accessorOf(e, wholeWarp);
  by.moment = {actors::matmulGroups(warp.index), wholeWarp, warp.matmuls.begun};
  by.warp = &known;
  by.isAsync = true;
  bool isInside = true;
  operand.forEachChunk([&](uint64_t address, unsigned, unsigned) {
    if (!isInside || !locate(e, Space::Shared, address, chunkBytes, chunkBytes, wholeWarp)) {
      isInside = false;
      return;
    }
    reportConflict(e, wholeWarp, false, e.block.sharedShadow.read(address, chunkBytes, by));
  });
  return isInside;
}

/// The four warps of a group issue the same instructions.
void checkWarpgroup(Execution &e) {
  std::vector<uint32_t> &lines = e.block.matmulLines[e.warp.index / 4];
  uint32_t number = e.warp.matmuls.issued++;
  if (number >= lines.size())
    lines.push_back(e.instruction.line);
  else if (lines[number] != e.instruction.line)
    e.report(FindingKind::Divergence, wholeWarp,
             "another warp of the warpgroup executes line " + std::to_string(lines[number]) + " instead");
}

std::vector<uint32_t> registersOf(const Operand &operand) {
  std::vector<uint32_t> indices;
  for (const Operand &element : operand.elements)
    indices.push_back(element.index);
  return indices;
}

/// A descriptor's operand. The last two immediates tell whether A and B are transposed.
SharedOperand sharedOperand(Execution &e, const Operand &operand, Type type, unsigned first, unsigned extent,
                            bool isTransposed) {
  SharedOperand result;
  result.descriptor = Descriptor(readUniform<uint64_t>(e, operand));
  result.type = type;
  result.first = first;
  result.extent = extent;
  result.k = e.instruction.k;
  result.isTransposed = isTransposed;
  if (result.descriptor.baseOffset)
    e.report(FindingKind::Misuse, wholeWarp, "descriptors with a base offset are not supported");
  return result;
}

Outcome multiply(Execution &e) {
  const Instruction &instruction = e.instruction;
  const std::vector<Operand> &operands = instruction.operands;
  checkWarpgroup(e);
  Matmul matmul;
  matmul.n = instruction.n;
  matmul.k = instruction.k;
  matmul.type = instruction.type;
  matmul.isPacked = instruction.operation == 1;
  matmul.isInteger = instruction.operation == 2;
  matmul.accumulators = registersOf(operands[0]);
  bool hasARegisters = operands[1].kind == Operand::Kind::Vector;
  LaneMask accumulates = readPredicate(e, operands[3]);
  matmul.accumulates = (accumulates & e.lanes) != 0;
  if (operands.size() >= 6) {
    matmul.scaleA = float(int64_t(operands[4].value));
    matmul.scaleB = float(int64_t(operands[5].value));
  }
  bool hasTranspose = sizeOf(instruction.type) == 2;
  bool isTransposedA = hasTranspose && !hasARegisters && operands[6].value,
       isTransposedB = hasTranspose && operands.back().value;
  matmul.b = sharedOperand(e, operands[2], instruction.sourceType, 0, matmul.n, isTransposedB);
  if (hasARegisters)
    matmul.aRegisters = registersOf(operands[1]);
  else
    matmul.a =
        sharedOperand(e, operands[1], instruction.type, e.warp.index % 4 * rowsOfWarp, rowsOfWarp, isTransposedA);
  if (!noteReads(e, matmul.b) || (!hasARegisters && !noteReads(e, matmul.a)))
    return Outcome::Stopped;
  holdRegisters(e, matmul.aRegisters, true, true);
  holdRegisters(e, matmul.accumulators, false, matmul.accumulates);
  PendingMatmul pending;
  pending.registers = matmul.accumulators;
  pending.registers.insert(pending.registers.end(), matmul.aRegisters.begin(), matmul.aRegisters.end());
  if (e.block.launch.options.matmuls == AsyncMode::Eager)
    compute(e.block, e.warp, matmul);
  else
    pending.compute = [&block = e.block, &warp = e.warp, matmul = std::move(matmul)] { compute(block, warp, matmul); };
  e.warp.matmuls.open.push_back(std::move(pending));
  return Outcome::Next;
}

Outcome fence(Execution &e) {
  e.warp.touchedSinceFence.assign(e.warp.touchedSinceFence.size(), false);
  return Outcome::Next;
}

Outcome commit(Execution &e) {
  MatmulGroups &groups = e.warp.matmuls;
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
  ++groups.begun;
  return Outcome::Next;
}

Outcome wait(Execution &e) {
  Warp &warp = e.warp;
  MatmulGroups &groups = warp.matmuls;
  while (groups.committed.size() > e.operand(0).value) {
    uint32_t number = groups.begun - uint32_t(groups.committed.size());
    for (PendingMatmul &matmul : groups.committed.front()) {
      if (matmul.compute)
        matmul.compute();
      for (uint32_t index : matmul.registers)
        if (warp.inFlight[index] == number)
          warp.inFlight[index] = 0;
    }
    groups.committed.pop_front();
  }
  uint32_t finished = groups.begun - 1 - uint32_t(groups.committed.size());
  warp.knowledge.generic.advance(actors::matmulGroups(warp.index), finished);
  warp.knowledge.proxied.advance(actors::matmulGroups(warp.index), finished);
  return Outcome::Next;
}

bool decodeMultiply(Suffixes &suffixes, Instruction &instruction) {
  std::optional<std::string_view> shape = suffixes.takeRest("m64n");
  size_t k = shape ? shape->find('k') : std::string_view::npos;
  if (k == std::string_view::npos)
    return false;
  for (char digit : shape->substr(0, k))
    instruction.n = instruction.n * 10 + unsigned(digit - '0');
  for (char digit : shape->substr(k + 1))
    instruction.k = instruction.k * 10 + unsigned(digit - '0');
  Type d = suffixes.takeType();
  instruction.type = suffixes.takeType();
  instruction.sourceType = suffixes.takeType();
  instruction.operation = d == Type::F32 ? 0 : d == Type::F16 ? 1 : 2;
  instruction.execute = multiply;
  unsigned size = sizeOf(instruction.type);
  bool isInteger = instruction.type == Type::S8 || instruction.type == Type::U8;
  const std::vector<Operand> &operands = instruction.operands;
  if (operands.size() < 4 || size == 0 || sizeOf(instruction.sourceType) != size || instruction.k * size != 32)
    return false;
  bool hasARegisters = operands[1].kind == Operand::Kind::Vector;
  size_t expected = isInteger ? 4 : size == 2 ? (hasARegisters ? 7 : 8) : 6;
  size_t accumulators = instruction.n / (instruction.operation == 1 ? 4 : 2);
  return (d == Type::F32 || d == Type::F16 || d == Type::S32) && isInteger == (d == Type::S32) &&
         instruction.n % 8 == 0 && instruction.n >= 8 && instruction.n <= 256 && operands.size() == expected &&
         operands[0].elements.size() == accumulators && (!hasARegisters || operands[1].elements.size() == 4);
}

} // namespace

bool rapt::ptx::decodeWgmma(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() != "wgmma")
    return false;
  std::optional<size_t> action = suffixes.takeOneOf({"mma_async", "fence", "commit_group", "wait_group"});
  instruction.isConvergent = true;
  if (!action || !suffixes.take("sync") || !suffixes.take("aligned"))
    return false;
  if (*action == 0)
    return decodeMultiply(suffixes, instruction);
  instruction.execute = *action == 1 ? fence : *action == 2 ? commit : wait;
  return instruction.operands.size() == (*action == 3 ? 1u : 0u);
}
