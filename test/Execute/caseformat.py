"""A format of lit's tests: beside the files of another format, each case of registry.py is a test. lit's worker processes, which share what this module imports, run a case in a
child of theirs (forked.py), so that it has the exit status, the messages and the memory of a process of its own, and the next one finds nothing of it."""

import os
import shutil
import sys

import lit.formats
import lit.Test

import forked
import measured_tests
import registry


class CaseFormat(lit.formats.TestFormat):
    def __init__(self, files, folder):
        """`files`: the format of tests that are files; cases stand below `folder`, a path in the suite."""
        self.files, self.folder = files, folder

    def getTestsForPath(self, suite, path, lit_config, config):
        return self.files.getTestsForPath(suite, path, lit_config, config)

    def getTestsInDirectory(self, suite, path, lit_config, config):
        yield from self.files.getTestsInDirectory(suite, path, lit_config, config)
        if path != self.folder:
            return
        for case in registry.cases("full" in config.available_features):
            test = lit.Test.Test(suite, path + tuple(case.name.split("/")), config, file_path=case.path)
            test.requires, test.case = list(case.requires), case.name
            test.previous_elapsed = test.previous_elapsed or case.cost  # the longest begin first
            yield test

    def execute(self, test, lit_config):
        if not hasattr(test, "case"):
            return self.files.execute(test, lit_config)
        missing = test.getMissingRequiredFeatures()
        if test.config.unsupported or missing or not test.isWithinFeatureLimits():
            return lit.Test.Result(lit.Test.UNSUPPORTED, "missing features: " + ", ".join(missing))
        if lit_config.noExecute:
            return lit.Test.Result(lit.Test.PASS)
        return measured_tests.measured(lambda: run(registry.CASES[test.case], test, lit_config.maxIndividualTestTime))


def run(case, test, timeout):
    config, (folder, *names) = test.config, test.path_in_suite
    scratch = test.suite.getExecPath((folder, "Output", *names))
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    tools = registry.Tools(case, config.rapt_binary_dir, scratch, config.clang)
    outcome = forked.run(lambda: case.run(tools), tools.environment(config.environment), timeout or None)
    code = lit.Test.TIMEOUT if outcome.isTimeout else lit.Test.FAIL if outcome.status else lit.Test.PASS
    if code is lit.Test.PASS:
        shutil.rmtree(scratch)
    return lit.Test.Result(code, told(case, config, outcome, timeout))


def told(case, config, outcome, timeout):
    ending = f"reached the timeout of {timeout} s" if outcome.isTimeout else f"exit status {outcome.status}"
    return f"{case.command(config.python, config.rapt_binary_dir, 'full' in config.available_features)}\n{outcome.output}{ending}\n"
