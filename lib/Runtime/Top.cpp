#include "lib/Runtime/Top.h"
#include <algorithm>
#include <cmath>

namespace rapt::runtime {
namespace {

/// Whether a logit is before another one of a lower id. NaN and infinity are before all others.
bool isBefore(float x, float y) {
  const bool badX = !(x < INFINITY), badY = !(y < INFINITY);
  return badX || badY ? badX && !badY : x > y;
}

} // namespace

void findTop(const float *logits, int64_t among, const rapt_top &top) {
  int64_t found = 0;
  for (int64_t id = 0; id < among; ++id) {
    const float logit = logits[id];
    if (found == top.count && !isBefore(logit, top.logits[found - 1]))
      continue;
    int64_t place = found < top.count ? found++ : found - 1;
    for (; place > 0 && isBefore(logit, top.logits[place - 1]); --place) {
      top.ids[place] = top.ids[place - 1];
      top.logits[place] = top.logits[place - 1];
    }
    top.ids[place] = int32_t(id);
    top.logits[place] = logit;
  }
  std::fill(top.ids + found, top.ids + top.count, -1);
  std::fill(top.logits + found, top.logits + top.count, -INFINITY);
}

} // namespace rapt::runtime
