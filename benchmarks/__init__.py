"""How long autolab takes beside its peers: ``python -m benchmarks``. See README.md in this folder."""

import os

# One thread, so that CPU times can be compared. It has to be said before NumPy is loaded.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
