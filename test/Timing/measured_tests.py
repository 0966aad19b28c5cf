"""Test formats of lit whose results say how much processor time a test took (`processor`, a metric of lit's report, in seconds)."""

import os
import resource

import lit.formats
import lit.Test

import started_programs


def _seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(execute):
    """The result of `execute()`, with the processor seconds of the child processes that it waited for and of theirs."""
    started_programs.watch(os.environ.get("RAPT_STARTED"))
    before = _seconds()
    result = execute()
    result.addMetric("processor", lit.Test.RealMetricValue(_seconds() - before))
    return result


class ShTest(lit.formats.ShTest):
    def execute(self, test, litConfig):
        return measured(lambda: super(ShTest, self).execute(test, litConfig))
