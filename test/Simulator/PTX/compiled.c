// Kernels that clang compiles for NVPTX and for the host: both must compute the same.
typedef signed char i8;
typedef unsigned char u8;
typedef short i16;
typedef unsigned u32;
typedef long long i64;
typedef unsigned long long u64;

#ifdef __NVPTX__
#define KERNEL __attribute__((nvptx_kernel)) void
#define THREAD ((int)(__nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x()))
#else
#define KERNEL __attribute__((visibility("default"))) void
static int thread;
#define THREAD thread
void setThread(int value) { thread = value; }
#endif
#define INLINE static inline __attribute__((always_inline))

// A loop nest with a tail, in f32: one element of a matmul a thread.
KERNEL matmul(float *c, const float *a, const float *b, i64 m, i64 n, i64 k) {
  i64 at = THREAD;
  if (at >= m * n)
    return;
  float sum = 0;
  for (i64 i = 0; i < k; ++i)
    sum += a[at / n * k + i] * b[i * n + at % n];
  c[at] = sum;
}

// Signed and unsigned divisions and remainders, 32 and 64 bits, by variables and constants.
KERNEL divisions(i64 *out, const i64 *in, i64 unused, i64 n, i64 m, i64 k) {
  i64 at = THREAD;
  i64 x = in[at], y = in[(at + 7) % n] | 1;
  int p = (int)x, q = (int)y;
  i64 sum = x / y + x % y * 3 + (i64)((u64)x / (u64)y) + (i64)((u64)x % 1000003u) + x / 7 + x % -13;
  sum += (q == -1 ? p : p / q) + (i64)((u32)p / (u32)q) + p % 10 + (i64)((u32)p / 641u);
  out[at] = sum;
}

// Switches, and an array that is indexed by a value: it lies in local memory.
KERNEL branches(i64 *out, const i64 *in, i64 unused, i64 n, i64 m, i64 k) {
  i64 at = THREAD, table[16];
  for (int i = 0; i < 16; ++i)
    table[i] = in[(at + i) % n];
  i64 sum = 0;
  for (int i = 0; i < 40; ++i) {
    u64 pick = (u64)table[i & 15] >> (i & 31) & 15;
    switch (pick) {
    case 0:
      sum += table[1];
      break;
    case 1:
      sum ^= table[2];
      break;
    case 2:
      sum -= i;
      break;
    case 3:
      sum *= 3;
      break;
    case 4:
      sum = ~sum;
      break;
    case 5:
      if (sum & 1)
        continue;
      sum >>= 1;
      break;
    case 6:
      table[pick + 3] = sum;
      break;
    case 7:
      sum = (i64)((u64)sum << 5 | (u64)sum >> 59);
      break;
    case 8:
      sum += __builtin_popcountll((u64)sum);
      break;
    case 9:
      sum += __builtin_clzll((u64)sum | 1);
      break;
    case 10:
      sum += (i8)sum;
      break;
    case 11:
      sum += (i16)(sum >> 3);
      break;
    case 12:
      sum = (i64)__builtin_bswap64((u64)sum);
      break;
    default:
      sum += table[pick];
      break;
    }
    table[i * 7 & 15] += sum;
  }
  out[at] = sum;
}

// Bytes, and vectors of them.
KERNEL bytes(i64 *out, const u8 *in, i64 unused, i64 n, i64 m, i64 k) {
  typedef u8 u8x16 __attribute__((vector_size(16)));
  i64 at = THREAD;
  u8x16 x = ((const u8x16 *)in)[at], y = ((const u8x16 *)in)[(at + 1) % n];
  int sum = 0;
  for (int i = 0; i < 16; ++i)
    sum += (i8)x[i] * (int)y[i];
  u8x16 z = x * 3 + (y >> 2);
  u64 hash = 0;
  for (int i = 0; i < 16; ++i)
    hash = hash * 31 + z[i];
  out[at] = (i64)(hash ^ (u64)(i64)sum);
}

// Conversions between integers and floats of all widths.
KERNEL conversions(i64 *out, const float *in, i64 unused, i64 n, i64 m, i64 k) {
  i64 at = THREAD;
  float x = in[at];
  _Float16 h = (_Float16)x;
  __bf16 b = (__bf16)(x * 3);
  double d = (double)x * 1.0000001;
  _Float16 h2 = h * h + h;
  union {
    _Float16 f;
    unsigned short u;
  } half = {h2};
  union {
    __bf16 f;
    unsigned short u;
  } brain = {b};
  union {
    double f;
    u64 u;
  } wide = {d};
  i64 sum = (int)x + (i64)d + (i64)(float)(int)x * 5 + (i16)(int)h + (u32)(x < 0 ? -x : x);
  sum ^= (i64)half.u << 13 ^ (i64)brain.u << 29 ^ (i64)wide.u;
  out[at] = sum + (x > 1.5f) + 2 * (x <= -0.25f) + 4 * (x != x) + 8 * !(x < 0.5f);
}

// A row of softmax without a library: 2^x by its bits and a polynomial.
INLINE float exp2of(float x) {
  float whole = (float)(int)(x - 0.5f), f = x - whole;
  float p = 1 + f * (0.6931472f + f * (0.2402265f + f * (0.0555041f + f * 0.0096181f)));
  union {
    u32 u;
    float f;
  } scale = {(u32)((int)whole + 127) << 23};
  return p * scale.f;
}
KERNEL softmax(float *out, const float *in, i64 unused, i64 n, i64 m, i64 k) {
  i64 row = THREAD;
  float most = in[row * k];
  for (i64 i = 1; i < k; ++i)
    most = in[row * k + i] > most ? in[row * k + i] : most;
  float sum = 0;
  for (i64 i = 0; i < k; ++i)
    sum += exp2of((in[row * k + i] - most) * 1.442695f);
  for (i64 i = 0; i < k; ++i)
    out[row * k + i] = exp2of((in[row * k + i] - most) * 1.442695f) / sum;
}
