// Intel's AMX for a processor that lacks it, in a process that loads this library: such a processor raises SIGILL at
// each instruction on tiles, and the handler does what Intel's manual says of it (SDM volume 2, chapters 3 and 4; tile
// configuration in volume 1, chapter 18), palette 1. Unlike raptc --emulate=amx, which puts vector code in the
// instructions' place, the code that runs is that of a processor with tiles: its configurations, its spilled tiles, its
// encodings.
//
// The processor still says that it has no tiles: artifacts must not list them (tiles.py). Counts of instructions are
// appended at exit to the file that RAPT_TILES names. A use that the processor would refuse ends the process with a
// line on standard error.
#define _GNU_SOURCE
#include <fcntl.h>
#include <immintrin.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

enum { Tiles = 8, Rows = 16, RowBytes = 64 };
enum Counter { Configure, Release, Zero, Load, Store, MultiplyBf16, MultiplyBytes, Counters };
static const char *const kNames[Counters] = {"configurations", "releases", "zeros", "loads", "stores", "bf16", "bytes"};
static atomic_long counts[Counters];

struct Tile {
  uint8_t bytes[Rows][RowBytes];
};
/// LDTILECFG's operand.
struct Configuration {
  uint8_t palette, start, reserved[14];
  uint16_t rowBytes[16];
  uint8_t rows[16];
};
static _Thread_local struct Tile tiles[Tiles];
static _Thread_local struct Configuration configuration;

static _Noreturn void refuse(const char *why, const uint8_t *code) {
  char line[160];
  int length = snprintf(line, sizeof line, "tiles: %s, at %p: %02x %02x %02x %02x %02x\n", why, (const void *)code,
                        code[0], code[1], code[2], code[3], code[4]);
  if (write(STDERR_FILENO, line, (size_t)length) < 0)
    _exit(98);
  _exit(97);
}

/// A register by the number that instructions have for it.
static uint64_t registerOf(const ucontext_t *context, int number) {
  static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)context->uc_mcontext.gregs[order[number]];
}

/// An instruction: C4, then the inverted upper bits of registers and the map, then the second operand and the prefix,
/// then the operation, ModRM and what follows it.
struct Instruction {
  int operation, prefix, reg, rm, other;
  int isMemory, length;
  uint64_t address, stride;
};

static struct Instruction decode(const uint8_t *code, const ucontext_t *context) {
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x84)) // three-byte VEX, map 0F38, W0, 128 bits
    refuse("an instruction that is not one of tiles", code);
  struct Instruction result = {.operation = code[3], .prefix = code[2] & 3, .other = ~code[2] >> 3 & 15, .length = 5};
  int mod = code[4] >> 6, base = code[4] & 7;
  result.reg = (code[4] >> 3 & 7) | (~code[1] >> 7 & 1) << 3;
  result.isMemory = mod != 3;
  result.rm = base | (result.isMemory ? 0 : (~code[1] >> 5 & 1) << 3);
  if (!result.isMemory)
    return result;
  int upperBase = (~code[1] >> 5 & 1) << 3, upperIndex = (~code[1] >> 6 & 1) << 3;
  const uint8_t *next = code + 5;
  int hasBase = 1;
  if (base == 4) {
    int scale = *next >> 6, index = (*next >> 3 & 7) | upperIndex;
    base = *next++ & 7;
    if (index != 4)
      result.stride = registerOf(context, index) << scale;
    hasBase = mod != 0 || base != 5;
  } else if (mod == 0 && base == 5) {
    int32_t displacement;
    memcpy(&displacement, next, sizeof displacement);
    result.length = 9;
    result.address = (uint64_t)(code + 9) + (uint64_t)(int64_t)displacement;
    return result;
  }
  if (hasBase)
    result.address = registerOf(context, base | upperBase);
  if (mod == 1) {
    result.address += (uint64_t)(int64_t)(int8_t)*next++;
  } else if (mod == 2 || !hasBase) {
    int32_t displacement;
    memcpy(&displacement, next, sizeof displacement);
    result.address += (uint64_t)(int64_t)displacement;
    next += 4;
  }
  result.length = (int)(next - code);
  return result;
}

static void count(enum Counter counter) { atomic_fetch_add_explicit(&counts[counter], 1, memory_order_relaxed); }

static void configure(uint64_t address, const uint8_t *code) {
  struct Configuration next;
  memcpy(&next, (const void *)address, sizeof next);
  if (next.palette > 1 || next.start != 0)
    refuse("a configuration of another palette, or of an interrupted load", code);
  for (int i = 0; next.palette && i < 14; ++i)
    if (next.reserved[i])
      refuse("a configuration whose reserved bytes are not 0", code);
  for (int i = 0; next.palette && i < 16; ++i)
    if (next.rowBytes[i] > RowBytes || next.rows[i] > Rows || (i >= Tiles && (next.rowBytes[i] || next.rows[i])) ||
        !next.rowBytes[i] != !next.rows[i])
      refuse("a configuration of tiles that there are not", code);
  configuration = next.palette ? next : (struct Configuration){0};
  memset(tiles, 0, sizeof tiles);
}

static int rowsOf(int tile) { return configuration.rows[tile]; }
static int bytesOf(int tile) { return configuration.rowBytes[tile]; }

static void requireTile(int tile, const uint8_t *code) {
  if (tile >= Tiles || !configuration.palette || !rowsOf(tile))
    refuse("a tile that is not configured", code);
}

/// The bytes behind the last row and column of a result become zero.
static void clearRest(int tile) {
  for (int row = 0; row < Rows; ++row) {
    int begin = row < rowsOf(tile) ? bytesOf(tile) : 0;
    memset(tiles[tile].bytes[row] + begin, 0, (size_t)(RowBytes - begin));
  }
}

static void move(const struct Instruction *i, int isLoad) {
  for (int row = 0; row < rowsOf(i->reg); ++row) {
    void *memory = (void *)(i->address + (uint64_t)row * i->stride), *line = tiles[i->reg].bytes[row];
    memcpy(isLoad ? line : memory, isLoad ? memory : line, (size_t)bytesOf(i->reg));
  }
  if (isLoad)
    clearRest(i->reg);
}

/// TDPBF16PS: the sums over first and over second elements of all pairs, each of multiply-adds, are added, and then to
/// the result. Subnormals are zero.
static void multiplyBf16(int result, int left, int right) {
  _mm_setcsr(0x9FC0);
  for (int row = 0; row < rowsOf(result); ++row) {
    float first[Rows] = {0}, second[Rows] = {0}, sums[Rows];
    for (int line = 0; line < bytesOf(left) / 4; ++line) {
      uint32_t pair, others[Rows];
      memcpy(&pair, tiles[left].bytes[row] + 4 * line, sizeof pair);
      memcpy(others, tiles[right].bytes[line], sizeof others);
      float even, odd, evens[Rows], odds[Rows];
      uint32_t low = pair << 16, high = pair & 0xFFFF0000, lows[Rows], highs[Rows];
      for (int n = 0; n < Rows; ++n) {
        lows[n] = others[n] << 16;
        highs[n] = others[n] & 0xFFFF0000;
      }
      memcpy(&even, &low, sizeof even);
      memcpy(&odd, &high, sizeof odd);
      memcpy(evens, lows, sizeof evens);
      memcpy(odds, highs, sizeof odds);
      for (int n = 0; n < Rows; ++n) {
        first[n] = __builtin_fmaf(even, evens[n], first[n]);
        second[n] = __builtin_fmaf(odd, odds[n], second[n]);
      }
    }
    memcpy(sums, tiles[result].bytes[row], sizeof sums);
    for (int n = 0; n < bytesOf(result) / 4; ++n)
      sums[n] += first[n] + second[n];
    memcpy(tiles[result].bytes[row], sums, sizeof sums);
  }
  clearRest(result);
}

/// TDPBSSD and its like: sums of 32 bits that wrap.
static void multiplyBytes(int result, int left, int right, int isLeftSigned, int isRightSigned) {
  for (int row = 0; row < rowsOf(result); ++row) {
    uint32_t sums[Rows];
    memcpy(sums, tiles[result].bytes[row], sizeof sums);
    for (int k = 0; k < bytesOf(left); ++k) {
      uint8_t byte = tiles[left].bytes[row][k];
      int32_t factor = isLeftSigned ? (int8_t)byte : byte;
      for (int n = 0; n < bytesOf(result) / 4; ++n) {
        uint8_t other = tiles[right].bytes[k / 4][4 * n + k % 4];
        sums[n] += (uint32_t)(factor * (isRightSigned ? (int8_t)other : other));
      }
    }
    memcpy(tiles[result].bytes[row], sums, sizeof sums);
  }
  clearRest(result);
}

static void multiply(const struct Instruction *i, const uint8_t *code) {
  requireTile(i->rm, code);
  requireTile(i->other, code);
  if (i->reg == i->rm || i->reg == i->other || i->rm == i->other)
    refuse("a product of a tile with itself", code);
  if (rowsOf(i->reg) != rowsOf(i->rm) || bytesOf(i->reg) != bytesOf(i->other) ||
      bytesOf(i->rm) != 4 * rowsOf(i->other) || bytesOf(i->reg) % 4)
    refuse("a product of tiles whose sizes do not fit", code);
  if (i->operation == 0x5C && i->prefix == 2) {
    multiplyBf16(i->reg, i->rm, i->other);
    count(MultiplyBf16);
  } else if (i->operation == 0x5E) { // no prefix: both unsigned; 66: the right one signed; F3: the left one; F2: both
    multiplyBytes(i->reg, i->rm, i->other, i->prefix >= 2, i->prefix == 1 || i->prefix == 3);
    count(MultiplyBytes);
  } else {
    refuse("a product of another type", code);
  }
}

static void onIllegal(int signal, siginfo_t *info, void *opaque) {
  (void)signal;
  (void)info;
  ucontext_t *context = opaque;
  const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
  struct Instruction i = decode(code, context);
  const int moves = i.operation == 0x49 || i.operation == 0x4B;
  if (moves && i.other != 0)
    refuse("a second operand that there is not", code);
  if (i.operation == 0x49 && i.isMemory && i.reg == 0 && i.prefix == 0) {
    configure(i.address + i.stride, code);
    count(Configure);
  } else if (i.operation == 0x49 && i.isMemory && i.reg == 0 && i.prefix == 1) {
    memcpy((void *)(i.address + i.stride), &configuration, sizeof configuration);
  } else if (i.operation == 0x49 && code[4] == 0xC0 && i.prefix == 0) {
    memset(&configuration, 0, sizeof configuration);
    count(Release);
  } else if (i.operation == 0x49 && !i.isMemory && i.rm == 0 && i.prefix == 3) {
    requireTile(i.reg, code);
    memset(&tiles[i.reg], 0, sizeof tiles[i.reg]);
    count(Zero);
  } else if (i.operation == 0x4B && i.isMemory && i.rm == 4 && i.prefix != 0) {
    // 66 and F2 load, the former what is read once; F3 stores. All have an index, the distance of rows.
    requireTile(i.reg, code);
    move(&i, i.prefix != 2);
    count(i.prefix != 2 ? Load : Store);
  } else if ((i.operation == 0x5C || i.operation == 0x5E) && !i.isMemory) {
    requireTile(i.reg, code);
    multiply(&i, code);
  } else {
    refuse("an instruction that is not one of tiles", code);
  }
  context->uc_mcontext.gregs[REG_RIP] += i.length;
}

__attribute__((constructor)) static void begin(void) {
  struct sigaction action = {.sa_sigaction = onIllegal, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGILL, &action, NULL) != 0)
    abort();
}

/// Tile multiplications so far.
long matrix_tiles_multiplications(void) {
  return atomic_load(&counts[MultiplyBf16]) + atomic_load(&counts[MultiplyBytes]);
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("RAPT_TILES");
  int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644) : -1;
  if (file < 0)
    return;
  for (int i = 0; i < Counters; ++i)
    dprintf(file, "%s%s %ld", i ? ", " : "", kNames[i], atomic_load(&counts[i]));
  dprintf(file, "\n");
  close(file);
}
