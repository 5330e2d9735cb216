"""`torch.profiler`: a profile that follows a training loop, on a schedule. The recording itself is `autolab.autograd.profiler`."""

from autolab.autograd.profiler import record_function
from autolab.profiler.profiler import ProfilerAction, ProfilerActivity, profile, schedule, supported_activities, tensorboard_trace_handler

__all__ = [
    "ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule", "supported_activities", "tensorboard_trace_handler",
]  # fmt: skip
