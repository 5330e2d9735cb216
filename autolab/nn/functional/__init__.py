"""Functions of nn: activations, losses, layers without state. A file a family; all of them are public here."""

from autolab.nn.functional import activation, attention, conv, dropout as _dropout, lookup, loss, margin, norm, padding, pool, resize

_FAMILIES = (activation, attention, conv, _dropout, lookup, loss, margin, norm, padding, pool, resize)
__all__ = []
for _family in _FAMILIES:
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})
    __all__ += _family.__all__
__all__.sort()
