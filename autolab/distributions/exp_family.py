"""Exponential families: densities exp(<t(x), theta> - F(theta) + k(x)), whose entropy follows from F."""

from __future__ import annotations

from typing import Any

from autolab.autograd import enable_grad, grad
from autolab.distributions.distribution import Distribution


class ExponentialFamily(Distribution):
    """A family that says its natural parameters theta (`_natural_params`) and F, their log-normalizer (`_log_normalizer`).

    _mean_carrier_measure is the mean of k(x). The entropy is then F(theta) - <theta, dF/dtheta> less that mean.
    Source: Nielsen and Nock 2010, "Entropies and cross-entropies of exponential families".

    >>> class Waiting(torch.distributions.ExponentialFamily):
    ...     _mean_carrier_measure = 0
    ...     _natural_params = (tensor(-2.0),)  # minus the rate
    ...
    ...     def _log_normalizer(self, x):
    ...         return -(-x).log()
    >>> Waiting(validate_args=False).entropy(), torch.distributions.Exponential(2.0).entropy()
    (tensor(0.3069), tensor(0.3069))
    """

    @property
    def _natural_params(self) -> Any:
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self) -> Any:
        raise NotImplementedError

    def _log_normalizer(self, *natural_params: Any) -> Any:
        raise NotImplementedError

    def entropy(self) -> Any:
        wanted = any(p.requires_grad for p in self._natural_params)
        with enable_grad():
            parameters = [p if p.requires_grad else p.detach().requires_grad_() for p in self._natural_params]
            normalizer = self._log_normalizer(*parameters)
            slopes = grad(normalizer.sum(), parameters, create_graph=wanted)
        found = normalizer - self._mean_carrier_measure
        for parameter, slope in zip(parameters, slopes, strict=True):
            found = found - (parameter * slope).reshape((*self._batch_shape, -1)).sum(-1)
        return found if wanted else found.detach()
