//===- State.cpp - Objects of the simulated driver ----------------------------===//
#include "test/Simulator/Cuda/State.h"
#include "lib/Support/CommandLine.h"
#include <cstdio>
#include <cstdlib>
using namespace rapt;
using namespace rapt::runtime::cuda;

namespace {

uint64_t setting(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return uint64_t(text ? parseWholeNumber(text, 0, INT64_MAX).value_or(int64_t(otherwise)) : int64_t(otherwise));
}

} // namespace

State::State()
    : memory(setting("RAPT_SIMULATED_MEMORY", uint64_t(1) << 30)), devices(setting("RAPT_SIMULATED_DEVICES", 1)),
      arch(setting("RAPT_SIMULATED_ARCH", 90)), version(setting("RAPT_SIMULATED_DRIVER", 12040)),
      seed(setting("RAPT_SIMULATED_SEED", 0)), mostGraphs(setting("RAPT_SIMULATED_GRAPHS", INT64_MAX)),
      mostPinned(setting("RAPT_SIMULATED_PINNED", INT64_MAX)), mostCopies(setting("RAPT_SIMULATED_COPIES", INT64_MAX)) {
  const char *mode = getenv("RAPT_SIMULATED_ASYNC");
  async = mode && std::string_view(mode) == "lazy" ? ptx::AsyncMode::Lazy : ptx::AsyncMode::Eager;
}

State::~State() {
  if (setting("RAPT_SIMULATED_COUNTS", 0))
    fprintf(stderr, "simulated driver: %llu kernels, %llu graphs, %llu bytes to the host\n",
            (unsigned long long)counts.kernels, (unsigned long long)counts.graphs,
            (unsigned long long)counts.hostBytes);
}

State &State::get() {
  static State state;
  return state;
}

bool State::forbidsInCapture() {
  bool forbids = false;
  for (StreamHandle *stream : captured)
    if (stream->captor == std::this_thread::get_id())
      forbids = stream->isInvalid = true;
  return forbids;
}

Result State::issue(Stream stream, Work work) {
  StreamHandle &target = stream ? *stream : defaultStream;
  if (target.isCapturing()) {
    target.captured.push_back(std::move(work));
    return Success;
  }
  finishCopies(target);
  perform(target, work);
  return target.failure;
}

void State::perform(StreamHandle &stream, const Work &work) {
  ++clock;
  if (stream.failure == Success)
    stream.failure = work();
}

Result State::issueCopy(Stream stream, const void *from, Work work) {
  if (mostCopies == 0)
    work = [] { return EccUncorrectable; };
  else
    --mostCopies;
  StreamHandle &target = stream ? *stream : defaultStream;
  const auto *at = static_cast<const std::byte *>(from);
  auto behind = pinned.upper_bound(at);
  const bool isPinned = behind != pinned.begin() && at < std::prev(behind)->first + std::prev(behind)->second;
  if (target.isCapturing() || !isPinned)
    return issue(stream, std::move(work));
  target.copies.push_back(std::move(work));
  copying.insert(&target);
  return target.failure;
}

void State::finishCopies(StreamHandle &stream, uint64_t upTo) {
  for (; !stream.copies.empty() && stream.copiesDone < upTo; ++stream.copiesDone) {
    perform(stream, stream.copies.front());
    stream.copies.pop_front();
  }
  if (stream.copies.empty())
    copying.erase(&stream);
}

void State::finishAllCopies() {
  while (!copying.empty())
    finishCopies(**copying.begin());
}

Result State::run(const FunctionHandle &function, const ptx::LaunchOptions &options) {
  ptx::Findings findings;
  Status status = simulator.launch(*function.module->loaded, function.kernel->name, options, findings);
  for (const ptx::Finding &finding : findings.all())
    fprintf(stderr, "%s: kernel %s: %s\n", std::string(nameOf(finding.kind)).c_str(), function.kernel->name.c_str(),
            finding.text.c_str());
  if (!status)
    fprintf(stderr, "kernel %s: %s\n", function.kernel->name.c_str(), status.error().message.c_str());
  clock += int64_t(options.grid[0]) * options.grid[1] * options.grid[2] - 1;
  return !status ? InvalidValue : findings.empty() ? Success : LaunchFailed;
}
