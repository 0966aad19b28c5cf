// AVX-VNNI's vpdpbusd for a processor that lacks it, in a process that loads this library: such a processor raises
// SIGILL at the instruction, and the handler does what Intel's manual says of it (SDM volume 2, VPDPBUSD; VEX.256 and
// VEX.128 alone). Any other instruction that the processor refuses ends the process with a line on standard error.
#define _GNU_SOURCE
#include <cpuid.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

/// Where the upper halves of registers are in the state that the system saves for a handler.
static uint32_t upperHalves;
static atomic_long count;

static _Noreturn void refuse(const uint8_t *code) {
  char line[96];
  int length = snprintf(line, sizeof line, "byte dots: another instruction: %02x %02x %02x %02x %02x\n", code[0],
                        code[1], code[2], code[3], code[4]);
  if (write(STDERR_FILENO, line, (size_t)length) < 0)
    _exit(98);
  _exit(97);
}

static uint64_t registerOf(const ucontext_t *context, int number) {
  static const int order[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return (uint64_t)context->uc_mcontext.gregs[order[number]];
}

/// Half `upper` of a vector register.
static uint8_t *halfOf(const ucontext_t *context, int number, int upper) {
  uint8_t *state = (uint8_t *)context->uc_mcontext.fpregs;
  return upper ? state + upperHalves + 16 * number : (uint8_t *)&context->uc_mcontext.fpregs->_xmm[number];
}

/// The address of a memory operand, whose ModRM is code[4]; adds the bytes of what follows it to `length`.
static const uint8_t *addressOf(const ucontext_t *context, const uint8_t *code, int *length) {
  const int mode = code[4] >> 6, isHighIndex = !(code[1] & 0x40), isHighBase = !(code[1] & 0x20);
  int base = code[4] & 7;
  uint64_t address = 0;
  const uint8_t *next = code + 5;
  int isFar = mode == 2;
  if (base == 4) {
    const int index = (*next >> 3 & 7) | isHighIndex << 3, scale = *next >> 6;
    base = *next++ & 7;
    if (index != 4)
      address += registerOf(context, index) << scale;
    if (mode == 0 && base == 5)
      isFar = 1;
    else
      address += registerOf(context, base | isHighBase << 3);
  } else if (mode == 0 && base == 5) {
    address += (uint64_t)(uintptr_t)(next + 4);
    isFar = 1;
  } else {
    address += registerOf(context, base | isHighBase << 3);
  }
  if (isFar) {
    int32_t offset;
    memcpy(&offset, next, sizeof offset);
    address += (uint64_t)(int64_t)offset;
    next += 4;
  } else if (mode == 1) {
    address += (uint64_t)(int64_t)(int8_t)*next++;
  }
  *length = (int)(next - code);
  return (const uint8_t *)(uintptr_t)address;
}

static void onIllegal(int signal, siginfo_t *info, void *opaque) {
  (void)signal;
  (void)info;
  ucontext_t *context = opaque;
  const uint8_t *code = (const uint8_t *)context->uc_mcontext.gregs[REG_RIP];
  // C4, inverted bits of registers and the map 0F38, W = 0 with the second operand and the prefix 66, 50.
  if (code[0] != 0xC4 || (code[1] & 0x1F) != 2 || (code[2] & 0x83) != 1 || code[3] != 0x50)
    refuse(code);
  // The state lacks upper halves that are all zeros.
  uint64_t *parts = (uint64_t *)((uint8_t *)context->uc_mcontext.fpregs + 512);
  if (!(*parts & 4))
    memset(halfOf(context, 0, 1), 0, 256);
  *parts |= 4;
  const int sum = (code[4] >> 3 & 7) | (code[1] & 0x80 ? 0 : 8), left = ~code[2] >> 3 & 15, isWide = code[2] >> 2 & 1;
  int length = 5;
  uint8_t values[32];
  if (code[4] >> 6 == 3) {
    const int right = (code[4] & 7) | (code[1] & 0x20 ? 0 : 8);
    for (int half = 0; half <= isWide; ++half)
      memcpy(values + 16 * half, halfOf(context, right, half), 16);
  } else {
    memcpy(values, addressOf(context, code, &length), 16 << isWide);
  }
  for (int half = 0; half <= isWide; ++half) {
    uint32_t sums[4];
    uint8_t weights[16];
    memcpy(sums, halfOf(context, sum, half), 16);
    memcpy(weights, halfOf(context, left, half), 16);
    for (int i = 0; i < 16; ++i)
      sums[i / 4] += (uint32_t)((int)weights[i] * (int8_t)values[16 * half + i]);
    memcpy(halfOf(context, sum, half), sums, 16);
  }
  if (!isWide)
    memset(halfOf(context, sum, 1), 0, 16);
  atomic_fetch_add_explicit(&count, 1, memory_order_relaxed);
  context->uc_mcontext.gregs[REG_RIP] += length;
}

__attribute__((constructor)) static void begin(void) {
  unsigned size, other, third;
  __cpuid_count(0xD, 2, size, upperHalves, other, third);
  struct sigaction action = {.sa_sigaction = onIllegal, .sa_flags = SA_SIGINFO};
  if (sigaction(SIGILL, &action, NULL) != 0)
    abort();
}

/// Instructions so far.
long byte_dots(void) { return atomic_load(&count); }
