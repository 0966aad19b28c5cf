"""wrong_arguments.py FOLDER: calls of Rapt's CMake functions that are wrong; prints the lines in which they are refused.
PREFIX is the installed tree, MODEL a model's directory."""

import os
import subprocess
import sys
from pathlib import Path

MODEL, PREFIX = os.environ["MODEL"], Path(os.environ["PREFIX"])
CALLS = (f"m {MODEL} SHARE", f"m {MODEL} OPTIONS", f"m {MODEL} OPTIONS --emit=obj", "m absent", "m ${CMAKE_CURRENT_LIST_DIR}")
PROJECTS = (("Compiler", f"rapt_add_model(Rapt::Runtime {MODEL})"), ("Compile", ""), ("Text", ""))
folder = Path(sys.argv[1])
folder.mkdir(parents=True)


def refused(*arguments):
    done = subprocess.run(["cmake", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode != 0, arguments
    print(" ".join(done.stderr.split()))  # CMake breaks lines where it likes


for call in CALLS:
    script = folder / "call.cmake"
    script.write_text(f"include({PREFIX}/lib/cmake/Rapt/RaptAddModel.cmake)\nrapt_add_model({call})\n")
    refused("-P", script)
for number, (component, call) in enumerate(PROJECTS):
    project = folder / str(number)
    project.mkdir()
    (project / "CMakeLists.txt").write_text(f"cmake_minimum_required(VERSION 3.25)\nproject(Wrong C)\nfind_package(Rapt REQUIRED COMPONENTS {component})\n{call}\n")
    refused("-S", project, "-B", project / "build", f"-DCMAKE_PREFIX_PATH={PREFIX}")
