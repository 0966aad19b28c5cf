//===- BulkCopies.cpp - cp.async.bulk: the tensor memory accelerator ---------------------===//
//
// Source: PTX ISA 9.7.9, cp.async.bulk and cp.async.bulk.tensor in tile mode. A copy into shared memory
// tells an mbarrier of its bytes; a copy out of it belongs to a group of its thread.
//
//===----------------------------------------------------------------------===//
#include "test/Simulator/PTX/Access.h"
#include "test/Simulator/PTX/Decode.h"
#include "test/Simulator/PTX/FloatFormats.h"
#include "test/Simulator/PTX/MbarrierState.h"
#include "test/Simulator/PTX/TensorMap.h"
#include "test/Simulator/PTX/Values.h"
#include <functional>
using namespace rapt::ptx;

namespace {

/// Bytes that follow each other in shared and in global memory; no global address: zeros, or NaN.
struct Piece {
  uint64_t shared = 0, global = 0, bytes = 0;
};

struct Transfer {
  std::vector<Piece> pieces;
  uint64_t bytes = 0;
  uint64_t sharedAddress = 0; ///< of its begin
  uint64_t sharedAlignment = 16;
  bool fillsNaN = false;
};

/// The lane that issues the copy: copies are for one thread.
unsigned issuer(Execution &e) { return unsigned(__builtin_ctz(e.lanes)); }

std::optional<TensorMap> readMap(Execution &e, uint64_t address, unsigned lane) {
  // Descriptors are read through an address of parameters, or of global memory.
  Place place = locate(e, Space::Generic, address, TensorMap::bytes, 64, lane);
  std::optional<TensorMap> map;
  if (place)
    map = TensorMap::decode(std::span(place.data, TensorMap::bytes));
  if (place && !map)
    e.report(FindingKind::Misuse, lane, "the address names no valid tensor map");
  return map;
}

/// The rows of a box at given coordinates. Elements outside of the tensor have no global address.
Transfer planTensor(const TensorMap &map, std::span<const int32_t> coordinates, uint64_t shared) {
  Transfer transfer;
  transfer.bytes = map.boxBytes();
  transfer.sharedAddress = shared;
  transfer.sharedAlignment = map.swizzle == Swizzle::None ? 128 : uint64_t(128) << unsigned(map.swizzle);
  transfer.fillsNaN = map.fillsNaN;
  uint64_t rowBytes = uint64_t(map.box[0]) * map.elementSize, rows = transfer.bytes / rowBytes;
  for (uint64_t row = 0; row < rows; ++row) {
    uint64_t rest = row, base = map.address;
    bool isInside = true;
    for (unsigned dim = 1; dim < map.rank; ++dim) {
      int64_t position = int64_t(coordinates[dim]) + int64_t(rest % map.box[dim]);
      rest /= map.box[dim];
      isInside &= position >= 0 && uint64_t(position) < map.extents[dim];
      base += uint64_t(position) * map.strides[dim];
    }
    for (unsigned column = 0; column < map.box[0]; ++column) {
      int64_t position = int64_t(coordinates[0]) + column;
      bool isElementInside = isInside && position >= 0 && uint64_t(position) < map.extents[0];
      uint64_t global = isElementInside ? base + uint64_t(position) * map.elementSize : 0;
      uint64_t at = shared + row * rowBytes + column * map.elementSize;
      Piece piece{swizzled(map.swizzle, at), global, map.elementSize};
      // Elements of one 16-byte chunk stay together.
      bool follows = !transfer.pieces.empty() && at % 16 &&
                     piece.shared == transfer.pieces.back().shared + transfer.pieces.back().bytes;
      if (follows && (global ? transfer.pieces.back().global &&
                                   global == transfer.pieces.back().global + transfer.pieces.back().bytes
                             : transfer.pieces.back().global == 0))
        transfer.pieces.back().bytes += map.elementSize;
      else
        transfer.pieces.push_back(piece);
    }
  }
  return transfer;
}

/// An asynchronous access that comes after what the issuing lane knows.
Accessor asyncAccessor(Execution &e, const Knowledge &known, Moment moment) {
  Accessor by = accessorOf(e, issuer(e));
  by.moment = moment;
  by.warp = &known;
  by.lane = nullptr;
  by.isAsync = true;
  return by;
}

bool isPlaced(Execution &e, const Transfer &transfer) {
  return bool(locate(e, Space::Shared, transfer.sharedAddress, transfer.bytes, transfer.sharedAlignment, issuer(e)));
}

/// Global to shared memory; the barrier is told when the bytes are there.
Outcome startLoad(Execution &e, const Transfer &transfer, uint64_t barrierAddress) {
  Block &block = e.block;
  Mbarrier *barrier = findMbarrier(e, barrierAddress);
  if (!barrier || !isPlaced(e, transfer))
    return Outcome::Stopped;
  Knowledge known = e.warp.release(e.lanes);
  Accessor by = asyncAccessor(e, known, {barrier->actor, wholeWarp, uint32_t(barrier->phase + 1)});
  reportConflict(e, issuer(e), false, block.sharedShadow.read(barrierAddress, 8, by));
  uint32_t id = block.launch.log.addWrite(by, true);
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> data;
  for (const Piece &piece : transfer.pieces) {
    std::vector<std::byte> bytes(piece.bytes, std::byte(transfer.fillsNaN ? 0xff : 0));
    if (piece.global) {
      Place source = locate(e, Space::Global, piece.global, piece.bytes, 1, issuer(e));
      if (!source)
        return Outcome::Stopped;
      noteRead(e, source, piece.bytes, issuer(e));
      std::memcpy(bytes.data(), source.data, piece.bytes);
    }
    reportConflict(e, issuer(e), true, block.sharedShadow.write(piece.shared, piece.bytes, by, id));
    data.push_back({piece.shared, std::move(bytes)});
  }
  auto move = [&block, data = std::move(data)] {
    for (const auto &[address, bytes] : data)
      std::memcpy(block.shared.data() + address, bytes.data(), bytes.size());
  };
  PendingBulkCopy copy;
  copy.end = [&block, barrierAddress, id, bytes = int64_t(transfer.bytes), known = std::move(known)]() mutable {
    Mbarrier &barrier = block.mbarriers[barrierAddress];
    block.launch.log.write(id).isInFlight = false;
    known.generic.advance(barrier.actor, uint32_t(barrier.phase + 1));
    known.proxied.advance(barrier.actor, uint32_t(barrier.phase + 1));
    completeBytes(barrier, bytes, known);
  };
  if (block.launch.options.copies == AsyncMode::Eager) {
    move();
    copy.end();
  } else {
    copy.move = std::move(move);
    block.bulkCopies.push_back(std::move(copy));
  }
  return Outcome::Next;
}

/// Shared to global memory, in the open group of the thread.
Outcome startStore(Execution &e, const Transfer &transfer,
                   const std::function<void(std::byte *, const std::byte *, uint64_t)> &combine) {
  Block &block = e.block;
  if (!isPlaced(e, transfer))
    return Outcome::Stopped;
  Knowledge known = e.warp.release(e.lanes);
  CopyGroups &groups = e.warp.bulkCopies;
  Accessor by = asyncAccessor(e, known, {actors::bulkGroups(e.warp.index), wholeWarp, groups.begun});
  PendingCopy pending;
  for (const Piece &piece : transfer.pieces) {
    if (!piece.global)
      continue;
    Place target = locate(e, Space::Global, piece.global, piece.bytes, 1, issuer(e));
    if (!target)
      return Outcome::Stopped;
    reportConflict(e, issuer(e), false, block.sharedShadow.read(piece.shared, piece.bytes, by));
    noteWrite(e, target, piece.bytes, issuer(e));
  }
  pending.move = [&block, pieces = transfer.pieces, combine] {
    for (const Piece &piece : pieces) {
      GlobalMemory::Allocation *allocation =
          piece.global ? block.launch.global.find(piece.global, piece.bytes) : nullptr;
      if (allocation)
        combine(allocation->data.data() + (piece.global - allocation->address), block.shared.data() + piece.shared,
                piece.bytes);
    }
  };
  if (block.launch.options.copies == AsyncMode::Eager) {
    pending.move();
    pending.move = nullptr;
  }
  groups.open.push_back(std::move(pending));
  return Outcome::Next;
}

void overwrite(std::byte *to, const std::byte *from, uint64_t bytes) { std::memcpy(to, from, bytes); }

template <typename Format> void addTo(std::byte *to, const std::byte *from, uint64_t bytes) {
  typename Format::Bits a, b;
  for (uint64_t at = 0; at + sizeof(a) <= bytes; at += sizeof(a)) {
    std::memcpy(&a, to + at, sizeof(a));
    std::memcpy(&b, from + at, sizeof(b));
    a = Format::encode(Format::decode(a) + Format::decode(b));
    std::memcpy(to + at, &a, sizeof(a));
  }
}

bool isOneThread(Execution &e) {
  if (__builtin_popcount(e.lanes) == 1)
    return true;
  e.report(FindingKind::Misuse, wholeWarp, "several lanes issue the same copy; elect one");
  return false;
}

enum Direction : uint8_t { Load, Store, Reduce };

/// [shared], [map, {coordinates}], [mbarrier], or [map, {coordinates}], [shared].
Outcome copyTensor(Execution &e) {
  if (!isOneThread(e))
    return Outcome::Stopped;
  unsigned lane = issuer(e);
  bool isLoad = e.instruction.operation == Load;
  const Operand &tensor = e.operand(isLoad ? 1 : 0), &shared = e.operand(isLoad ? 0 : 1);
  std::optional<TensorMap> map = readMap(e, readAddress(e, tensor)[lane], lane);
  if (!map)
    return Outcome::Stopped;
  if (map->rank != e.instruction.count) {
    e.report(FindingKind::Misuse, lane, "the tensor map has rank " + std::to_string(map->rank));
    return Outcome::Stopped;
  }
  std::array<int32_t, TensorMap::mostDims> coordinates{};
  for (unsigned dim = 0; dim < map->rank; ++dim)
    coordinates[dim] = read<int32_t>(e, tensor.elements[1 + dim])[lane];
  Transfer transfer = planTensor(*map, coordinates, sharedAddress(Space::Shared, readAddress(e, shared)[lane]));
  if (isLoad)
    return startLoad(e, transfer, readAddress(e, e.operand(2))[lane]);
  if (e.instruction.operation == Store)
    return startStore(e, transfer, overwrite);
  bool isBF16 = e.instruction.flags == 1; // the element type of the map would tell; 4 bytes are f32
  return startStore(e, transfer,
                    map->elementSize == 4 ? addTo<FormatF32>
                    : isBF16              ? addTo<FormatBF16>
                                          : addTo<FormatF16>);
}

/// [shared], [global], bytes, [mbarrier], or [global], [shared], bytes.
Outcome copyBytes(Execution &e) {
  if (!isOneThread(e))
    return Outcome::Stopped;
  unsigned lane = issuer(e);
  bool isLoad = e.instruction.operation == Load;
  uint64_t to = readAddress(e, e.operand(0))[lane], from = readAddress(e, e.operand(1))[lane];
  Transfer transfer;
  transfer.bytes = read<uint32_t>(e, e.operand(2))[lane];
  transfer.sharedAddress = isLoad ? to : from;
  uint64_t global = isLoad ? from : to;
  if (transfer.bytes % 16 || global % 16) {
    e.report(FindingKind::Misaligned, lane, "addresses and size of a bulk copy must be multiples of 16");
    return Outcome::Stopped;
  }
  transfer.pieces.push_back({transfer.sharedAddress, global, transfer.bytes});
  return isLoad ? startLoad(e, transfer, readAddress(e, e.operand(3))[lane]) : startStore(e, transfer, overwrite);
}

Outcome commit(Execution &e) {
  CopyGroups &groups = e.warp.bulkCopies;
  groups.committed.push_back(std::move(groups.open));
  groups.open.clear();
  ++groups.begun;
  return Outcome::Next;
}

Outcome wait(Execution &e) {
  CopyGroups &groups = e.warp.bulkCopies;
  while (groups.committed.size() > e.operand(0).value) {
    for (PendingCopy &copy : groups.committed.front())
      if (copy.move)
        copy.move();
    groups.committed.pop_front();
  }
  Knowledge known;
  uint32_t finished = groups.begun - 1 - uint32_t(groups.committed.size());
  known.generic.advance(actors::bulkGroups(e.warp.index), finished);
  known.proxied.advance(actors::bulkGroups(e.warp.index), finished);
  e.warp.acquire(e.lanes, known);
  return Outcome::Next;
}

Outcome nothing(Execution &) { return Outcome::Next; }

/// .dst.src of a copy: whether it loads into shared memory.
std::optional<Direction> takeDirection(Suffixes &suffixes) {
  Space to = suffixes.takeSpace(), from = suffixes.takeSpace();
  if (to == Space::Shared && from == Space::Global)
    return Load;
  if (to == Space::Global && from == Space::Shared)
    return Store;
  return std::nullopt;
}

bool decodeTensor(Suffixes &suffixes, Instruction &instruction, bool isReduction) {
  std::optional<size_t> rank = suffixes.takeOneOf({"1d", "2d", "3d", "4d", "5d"});
  std::optional<Direction> direction = takeDirection(suffixes);
  bool adds = isReduction && suffixes.take("add");
  suffixes.take("tile");
  suffixes.take("mbarrier::complete_tx::bytes");
  suffixes.take("bulk_group");
  suffixes.take("L2::cache_hint");
  if (!rank || !direction || (isReduction && (*direction != Store || !adds)))
    return false;
  instruction.operation = isReduction ? Reduce : *direction;
  instruction.count = uint8_t(*rank + 1);
  instruction.execute = copyTensor;
  const Operand &tensor = instruction.operands[*direction == Load ? 1 : 0];
  return instruction.operands.size() >= (*direction == Load ? 3u : 2u) && tensor.kind == Operand::Kind::Address &&
         tensor.elements.size() == *rank + 2;
}

} // namespace

bool rapt::ptx::decodeBulkCopies(const Kernel &, Suffixes &suffixes, Instruction &instruction) {
  if (suffixes.root() != "cp")
    return false;
  bool isReduction = suffixes.take("reduce");
  if (!suffixes.take("async") || !suffixes.take("bulk"))
    return false;
  if (suffixes.take("commit_group")) {
    instruction.execute = commit;
    return instruction.operands.empty();
  }
  if (suffixes.take("wait_group")) {
    suffixes.take("read");
    instruction.execute = wait;
    return instruction.operands.size() == 1;
  }
  if (suffixes.take("prefetch")) {
    while (!suffixes.isDone())
      suffixes.takeRest("");
    instruction.execute = nothing;
    return true;
  }
  if (suffixes.take("tensor"))
    return decodeTensor(suffixes, instruction, isReduction);
  std::optional<Direction> direction = isReduction ? std::nullopt : takeDirection(suffixes);
  suffixes.take("mbarrier::complete_tx::bytes");
  suffixes.take("bulk_group");
  suffixes.take("L2::cache_hint");
  instruction.operation = direction.value_or(Load);
  instruction.execute = copyBytes;
  return direction && instruction.operands.size() >= (*direction == Load ? 4u : 3u);
}
