#include "lib/Generation/CommandLine/Console.h"
#include "lib/Generation/CommandLine/Model.h"
#include "lib/Support/File.h"

namespace rapt::run {

void Profiler::finish() {
  std::vector<bench::OpTime> rows;
  // Without rows where the command failed before anything ran.
  if (context && into && bench::readProfile(context, rows))
    into->rows.insert(into->rows.end(), rows.begin(), rows.end());
  context = nullptr;
}

int reportProfile(const Profiling &profile, int code) {
  if (profile.rows.empty())
    return code ? code : fail("--profile: nothing of the model ran");
  Pool pool;
  if (profile.threads > 1)
    if (Outcome outcome = Pool::make(profile.threads, pool); !outcome)
      return fail(outcome.message);
  bench::Limits ofThreads(pool.get(), profile.features);
  bench::Limits *limits = profile.isOnGpu ? nullptr : &ofThreads;
  if (profile.file.empty()) {
    note("\n" + bench::profileTable(profile.rows, profile.weights, limits));
    return code;
  }
  const std::string text = json::write(bench::profileJson(profile.rows, profile.weights, limits), 1) + "\n";
  auto file = OutputFile::create(profile.file);
  if (!file)
    return fail(file.error().message);
  Status written = (*file)->write(std::as_bytes(std::span(text)));
  if (written)
    written = (*file)->commit();
  return written ? code : fail(written.error().message);
}

} // namespace rapt::run
