"""Test formats of lit whose results say how much processor time a test took (`processor`, a metric of lit's report, in seconds)."""

import os
import resource

import lit.formats
import lit.Test

import full_only
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
    def getTestsInDirectory(self, suite, path, litConfig, config):
        left = set() if "full" in config.available_features else full_only.rows(config.rapt_source_dir)
        for test in super().getTestsInDirectory(suite, path, litConfig, config):
            if "/".join(test.path_in_suite) not in left:
                yield test

    def execute(self, test, litConfig):
        return measured(lambda: super(ShTest, self).execute(test, litConfig))
