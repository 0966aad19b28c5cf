"""Python imports this module at its start where the folder is on PYTHONPATH: lit.cfg.py puts it there in a run whose times are recorded."""

import os

import started_programs

started_programs.watch(os.environ.get("RAPT_STARTED"))
