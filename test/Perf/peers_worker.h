/* The loop of a process that test/Perf/compare asks to run one engine: a word a line on stdin, an answer a line on
 * stdout. An engine is two functions; one that fails says why on stderr and exits. */
#ifndef PEERS_WORKER_H
#define PEERS_WORKER_H
#define _POSIX_C_SOURCE 200809L
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* PROMPT, STEPS and TURN are of peers.py, which compiles this. */
enum { CAPACITY = PROMPT + STEPS };

/* The model's, which main() sets. */
static int vocabulary;

/* The tokens that every engine reads, so that all do the same work whatever they would have sampled. */
static int32_t token(int position) { return (int32_t)((uint32_t)(position + 1) * 7919u % (uint32_t)vocabulary); }

static void forget(int length);                    /* Keeps the first `length` tokens. */
static const float *feed(int position, int count); /* Appends tokens, gives the logits of the last: f32 [vocabulary]. */

static double seconds(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* "prefill" and "decode" answer with seconds of wall clock and of processors; "logits FILE" writes those of the
 * prompt's last token and of every later one there. "decode" appends one token, which wakes threads, and then the next
 * TURN, which are timed, behind the prompt again when STEPS are not enough. */
static int serve(const char *name) {
  char line[512];
  int length = 0;
  printf("%s\n", name);
  fflush(stdout);
  while (fgets(line, sizeof line, stdin)) {
    line[strcspn(line, "\n")] = 0;
    int prefill = !strcmp(line, "prefill"), logits = !strncmp(line, "logits ", 7);
    FILE *out = logits ? fopen(line + 7, "wb") : NULL;
    if (logits && !out)
      return perror(line + 7), 1;
    if (prefill || logits)
      forget(0);
    else if (length + TURN >= CAPACITY)
      forget(length = PROMPT);
    double processor = seconds(CLOCK_PROCESS_CPUTIME_ID);
    if (!prefill && !logits)
      feed(length++, 1);
    double wall = seconds(CLOCK_MONOTONIC);
    if (prefill || logits) {
      const float *last = feed(0, PROMPT);
      length = PROMPT;
      if (logits)
        fwrite(last, sizeof *last, (size_t)vocabulary, out);
    }
    for (int end = prefill ? length : logits ? CAPACITY : length + TURN; length < end; ++length) {
      const float *last = feed(length, 1);
      if (logits)
        fwrite(last, sizeof *last, (size_t)vocabulary, out);
    }
    if (logits && fclose(out))
      return perror(line + 7), 1;
    printf("%.9f %.9f\n", seconds(CLOCK_MONOTONIC) - wall, seconds(CLOCK_PROCESS_CPUTIME_ID) - processor);
    fflush(stdout);
  }
  return 0;
}
#endif
