#include "lib/Generation/CommandLine/Job.h"
#include "lib/Generation/CommandLine/Console.h"

namespace rapt::run {

int perform(Job &job) {
  Outcome outcome = job.prepare();
  bool isPrepared = bool(outcome);
  if (outcome)
    outcome = job.run();
  const int interrupted = outcome.status == RAPT_CANCELLED ? Interrupts::caught() : 0;
  if (!outcome && !interrupted)
    return fail(outcome.message, Failure(outcome).code);
  if (interrupted && !(isPrepared && job.printsPart()))
    return interrupted;
  const Status status = job.finish();
  return status ? interrupted : fail(status.error().message);
}

} // namespace rapt::run
