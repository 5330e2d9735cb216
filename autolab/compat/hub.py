"""Weights by their address: from a folder, for there is no network here.

    torch.hub.load_state_dict_from_url("https://host/resnet18-f37072fd.pth")

reads `get_dir()/checkpoints/resnet18-f37072fd.pth` if somebody has put it there.
"""

from __future__ import annotations

import os
import re
from typing import Any
from urllib.parse import urlparse

from autolab.serialization import load as load_file

__all__ = ["download_url_to_file", "get_dir", "load", "load_state_dict_from_url", "set_dir"]

HASH_REGEX = re.compile(r"-([a-f0-9]*)\.")  # resnet18-f37072fd.pth

_dir: str | None = None


def _get_torch_home() -> str:
    cache = os.environ.get("XDG_CACHE_HOME", os.path.join("~", ".cache"))
    return os.path.expanduser(os.environ.get("TORCH_HOME", os.path.join(cache, "torch")))


def get_dir() -> str:
    """The folder: set_dir's, or $TORCH_HOME/hub, or ~/.cache/torch/hub, where PyTorch keeps what it has fetched.

    >>> os.path.basename(get_dir())
    'hub'
    """
    return os.path.join(_get_torch_home(), "hub") if _dir is None else _dir


def set_dir(d: str | os.PathLike[str]) -> None:
    """Look for files there from now on.

    >>> before = torch.hub._dir
    >>> set_dir("/weights")
    >>> get_dir()
    '/weights'
    >>> torch.hub._dir = before
    """
    global _dir
    _dir = os.path.expanduser(d)


def load_state_dict_from_url(
    url: str, model_dir: str | None = None, map_location: Any = None, progress: bool = True, check_hash: bool = False,
    file_name: str | None = None, weights_only: bool = True,
) -> dict[str, Any]:  # fmt: skip
    """What torch.load reads from the file that the address names, if it has been fetched before.

    model_dir: the folder, get_dir()/checkpoints by default; file_name: the file's name, the last part of the address by default.
    Raises FileNotFoundError, which names the place, if the file is not there: nothing is fetched.

    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.save({"w": torch.ones(2)}, pathlib.Path(folder) / "small.pth")
    ...     load_state_dict_from_url("https://host/small.pth", model_dir=folder)
    {'w': tensor([1., 1.])}
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    path = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(path):
        raise FileNotFoundError(
            f"autolab fetches nothing from a network. Download {url} and put it at {path}, or build the model without weights."
        )
    return load_file(path, map_location=map_location, weights_only=weights_only)


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Raises RuntimeError: there is no network.

    >>> download_url_to_file("https://host/small.pth", "small.pth")
    Traceback (most recent call last):
        ...
    RuntimeError: autolab fetches nothing from a network. Download https://host/small.pth and put it at small.pth.
    """
    raise RuntimeError(f"autolab fetches nothing from a network. Download {url} and put it at {dst}.")


def load(repo_or_dir: str, model: str, *args: Any, **kwargs: Any) -> Any:
    """Raises RuntimeError: programs are not fetched. Import the file that defines the model.

    >>> load("author/repository", "model")
    Traceback (most recent call last):
        ...
    RuntimeError: torch.hub.load would fetch the program author/repository and run its model(); autolab fetches nothing...
    """
    raise RuntimeError(
        f"torch.hub.load would fetch the program {repo_or_dir} and run its {model}(); autolab fetches nothing. Import the file that "
        "defines it, with autolab.compat.install() before."
    )
