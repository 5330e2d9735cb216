"""Automatic mixed precision: products in 16 bits where that is safe (`autocast`), and a loss scaled so that gradients survive it."""

from autolab.amp import autocast_mode, grad_scaler
from autolab.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from autolab.amp.grad_scaler import GradScaler
from autolab.amp.policies import policies

__all__ = ["GradScaler", "autocast", "autocast_mode", "custom_bwd", "custom_fwd", "grad_scaler", "is_autocast_available", "policies"]
