"""What programs need around a model: checkpointing (`utils.checkpoint`) and data (`utils.data`). Each is loaded when it is used."""

from autolab.torch_api.lazy import lazy as _lazy

__all__ = ["checkpoint", "data"]

__getattr__ = _lazy(__name__, __all__)
