/* Measures the compiled polynomials against libm in double: floats of all magnitudes, the neighborhood of every
 * border, and special values. Prints the largest error of each function in units in the last place; exits 1 when one is
 * over its bound. */
#include "accuracy.h" /* made by raptc */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS = 32, ROWS = 1 << 16, BATCH = ROWS * COLUMNS };

typedef int32_t kernel(const rapt_env *, const float *, const float *, const float *, float *, const int64_t *, void *);

struct function {
  const char *name;
  kernel *compiled;
  int64_t (*scratch)(const int64_t *, int64_t);
  double (*exact)(double);
  double bound;      /* in ulp */
  double range;      /* beyond it the result is NaN */
  int flushes;       /* 1: results below 2^-126 may be 0; 2: they may be anything below it */
  float borders[12]; /* where its code changes its ways */
};

static double exp2_nonpositive(double x) { return exp2(-fabs(x)); }

static const struct function functions[] = {
    {"exp",
     f32_exp,
     f32_exp_scratch,
     exp,
     2,
     INFINITY,
     1,
     {88.72284f, -87.336545f, -103.97208f, 0.3465736f, 88.37627f, 89}},
    {"exp2", f32_exp2, f32_exp2_scratch, exp2, 2, INFINITY, 1, {128, -126, -149, 0.5f, 127, 127.5f, 150}},
    {"exp2 of scores",
     f32_exp2_nonpositive,
     f32_exp2_nonpositive_scratch,
     exp2_nonpositive,
     4,
     INFINITY,
     2,
     {1, 126, 127, 128, 149, 0.5f, 1.5f, 125.5f}},
    {"exp2 of scores for bf16",
     f32_exp2_rounded,
     f32_exp2_rounded_scratch,
     exp2_nonpositive,
     1300,
     INFINITY,
     2,
     {1, 126, 127, 128, 149, 0.5f, 1.5f, 125.5f}},
    {"tanh", f32_tanh, f32_tanh_scratch, tanh, 4, INFINITY, 0, {0.625f, 9.010913f, 44.36142f, 1}},
    {"erf", f32_erf, f32_erf_scratch, erf, 4, INFINITY, 0, {1, 4.2f, 3.92f, 0.5f}},
    {"sin", f32_sin, f32_sin_scratch, sin, 2, 0x1p20, 0, {0x1p-12f, 0x1p20f, 0.78539816f, 3.1415927f}},
    {"cos", f32_cos, f32_cos_scratch, cos, 2, 0x1p20, 0, {0x1p-12f, 0x1p20f, 0.78539816f, 1.5707964f}},
    {"log", f32_log, f32_log_scratch, log, 2, INFINITY, 0, {1, 0.70710678f, 1.4142135f, 0x1p-126f, 2, 0x1p-149f}},
};

static float input[BATCH], result[BATCH], zeros[BATCH], weight[COLUMNS * COLUMNS];
static int64_t filled;
static double worst;
static float worst_at;
static long wrong;

static int32_t one_thread(void *user, rapt_task_fn body, void *closure, int64_t count) {
  (void)user;
  body(closure, 0, count, 0);
  return 0;
}

static double error_of(const struct function *f, float x, float y) {
  double exact = fabs(x) > f->range ? NAN : f->exact(x);
  if (isnan(exact) || isnan(y))
    return isnan(exact) == isnan(y) ? 0 : INFINITY;
  if ((float)exact == y && signbit((float)exact) == signbit(y))
    return isinf(y) ? 0 : fabs(y - exact) / ldexp(1, (y == 0 ? -126 : fmax(ilogb(exact), -126)) - 23);
  if (f->flushes && fabs(exact) < 0x1p-126)
    return y == 0 || (f->flushes > 1 && fabs(y) < 0x1p-126) ? 0 : INFINITY;
  if (y == 0 || isinf(y) || isinf((float)exact))
    return INFINITY;
  return fabs(y - exact) / ldexp(1, fmax(ilogb(exact), -126) - 23);
}

static void flush(const struct function *f) {
  const rapt_env env = {.parallel_for = one_thread, .workers = 1};
  const int64_t dims[] = {ROWS};
  void *scratch = NULL;
  if (posix_memalign(&scratch, 64, (size_t)f->scratch(dims, 1) + 64) != 0 ||
      f->compiled(&env, zeros, weight, input, result, dims, scratch) != 0)
    exit(1);
  free(scratch);
  for (int64_t i = 0; i < filled; ++i) {
    double error = error_of(f, input[i], result[i]);
    if (error > worst)
      worst = error, worst_at = input[i];
    if (error > f->bound && wrong++ < 5)
      printf("%s(%a = %.9g) is %.9g, not %.9g: %.2f ulp\n", f->name, input[i], input[i], result[i], f->exact(input[i]),
             error);
  }
  filled = 0;
}

static void add(const struct function *f, float x) {
  input[filled++] = x;
  if (filled == BATCH)
    flush(f);
}

static float from_bits(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static void around(const struct function *f, float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof x);
  for (uint32_t step = 0; step < 64; ++step)
    for (uint32_t sign = 0; sign < 2; ++sign)
      add(f, from_bits((bits + step - 32) ^ sign << 31));
}

int main(void) {
  int failed = 0;
  for (const struct function *f = functions; f < functions + sizeof functions / sizeof *functions; ++f) {
    worst = worst_at = 0, wrong = 0;
    for (uint64_t bits = 0; bits < UINT64_C(1) << 32; bits += 2039) /* every magnitude, NaN and denormals too */
      add(f, from_bits((uint32_t)bits));
    uint32_t state = 1;
    for (int i = 0; i < 1 << 20; ++i) { /* where they are neither 0 nor flat */
      state = state * 1664525u + 1013904223u;
      add(f, ldexpf((float)(int32_t)state, i % 8 - 32 + (i % 3 ? 0 : 20)));
    }
    for (int i = 1; i < 1 << 19 && f->range < INFINITY; ++i) /* near the zeros, where the reduction cancels */
      add(f, (float)(i * 1.57079632679489661923));
    static const float special[] = {0.0f, INFINITY, NAN, 0x1p-149f, 0x1p-126f, 0x1.fffffep127f, 1, 2};
    for (size_t i = 0; i < sizeof special / sizeof *special; ++i)
      add(f, special[i]), add(f, -special[i]);
    for (size_t i = 0; i < sizeof f->borders / sizeof *f->borders && f->borders[i] != 0; ++i)
      around(f, f->borders[i]);
    flush(f);
    printf("%s: %.2f ulp at %.9g, bound %g: %s\n", f->name, worst, worst_at, f->bound, wrong ? "WRONG" : "right");
    failed |= wrong != 0;
  }
  return failed;
}
