"""What programs set and ask about kernels: settings are taken and change nothing, and what is asked for is not there.

torch.backends.cudnn.benchmark = True
torch.backends.mps.is_available()      # False
"""

from autolab.backends import cuda, cudnn, mkldnn, mps

__all__ = ["cuda", "cudnn", "mkldnn", "mps"]
