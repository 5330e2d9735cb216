"""For the JupyterLab of `make lab` and of Binder: `autolab`, nbgrader and what that calls are found wherever a command is typed."""

import os
import sys

c = get_config()  # noqa: F821

# Formgrader starts alembic by its name, and a lesson says `autolab progress`.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
if os.name != "nt":
    # Without a terminal of its own the server would start login shells, and /etc/profile sets PATH anew.
    c.ServerApp.terminado_settings = {"shell_command": [os.environ.get("SHELL") or "sh"]}
