"""`python -m autolab.compat train.py --epochs 3` runs a program in which `import torch` gives autolab."""

import os
import runpy
import sys

from autolab import compat

if len(sys.argv) < 2:
    raise SystemExit("usage: python -m autolab.compat PROGRAM [ARGUMENTS]: runs a program in which `import torch` gives autolab")
compat.install()
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(os.path.abspath(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
