"""record_times.py TREE BUILD COVERS WALL COUNTS: records a run of two tests and a fuzz target as the test command does; COUNTS: daily or full."""

import json
import sys
from pathlib import Path

import times

root, build, covers, wall, counts = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], float(sys.argv[4]), sys.argv[5]
environment = times.environment(build)
Path(environment["RAPT_STARTED"]).write_text("raptc\nFileCheck\nraptc\n")
Path(environment["RAPT_PHASES"]).write_text('{"optimization for x86-64-v3": 1.5, "optimization for x86-64-v4": 0.5, "reading": 0.25, "total": 2.5}\n'
                                            '{"reading": 0.25, "total": 0.5}\n{"readi\n3\n')
tests = [{"name": "Rapt :: Execute/a/one.test", "code": "PASS", "elapsed": 4.0, "metrics": {"processor": 7.5}, "output": "# | generated: kernels: 1,500 of 2,000, seed 7: all right\n"},
         {"name": "Rapt :: Execute/two.test", "code": "FAIL", "elapsed": 2.0, "metrics": {"processor": 0.5}, "output": ""},
         {"name": "Rapt :: Driver/three.test", "code": "PASS", "elapsed": 1.0, "output": None},
         {"name": "Rapt :: Driver/four.test", "code": "UNSUPPORTED", "elapsed": 0.0, "output": ""}]
(build / "check" / "lit.json").write_text(json.dumps({"tests": tests}))
(build / "check" / "fuzz.log").write_text("generated: fuzz target elf: 5 s, seed 7: 3,000 inputs\n1 passed, 0 failed\n")
times.finish(root, build, [("build", 10.0, 15.5), ("lit", wall - 10, 700.0)], ["lit", "fuzz"], {"covers": covers, "full": counts == "full", "seed": 7})
