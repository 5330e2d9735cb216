"""Settings of the server that `make lab` and Binder start."""

import os
import sys

from jupyter_server.services.contents.largefilemanager import AsyncLargeFileManager

c = get_config()  # noqa: F821

# `autolab`, nbgrader and what that calls are found wherever a command is typed: Formgrader starts alembic by its name.
os.environ["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.environ.get("PATH", os.defpath)])
if os.name != "nt":
    # Without a terminal of its own the server would start login shells, and /etc/profile sets PATH anew.
    c.ServerApp.terminado_settings = {"shell_command": [os.environ.get("SHELL") or "sh"]}


VIEW = "application/vnd.jupyter.widget-view+json"


def without_old_views(notebook):
    """Take out the views of widgets that an earlier autolab saved beside a picture: without their kernel they are an error."""
    if "widgets" in notebook["metadata"]:  # their state is saved, so they can be shown
        return
    for output in (output for cell in notebook["cells"] for output in cell.get("outputs", ())):
        if "image/svg+xml" in output.get("data", {}):
            output["data"].pop(VIEW, None)


class Contents(AsyncLargeFileManager):
    """Files as usual; a notebook for Python 3 arrives with the language of the kernel that it is about to have.

    JupyterLab writes that into a notebook as soon as the kernel runs, with the version of Python in it. A lesson, in which no
    version is saved, would then have unsaved changes (●) before anybody has done anything.
    """

    async def get(self, path, *args, **kwargs):
        """What is at this path."""
        from ipykernel.ipkernel import IPythonKernel

        found = await super().get(path, *args, **kwargs)
        if found["type"] == "notebook" and found["content"] is not None:
            without_old_views(found["content"])
            metadata = found["content"]["metadata"]
            if metadata.get("kernelspec", {}).get("name") == "python3":
                metadata["language_info"] = dict(IPythonKernel.language_info)
        return found


c.ServerApp.contents_manager_class = Contents
