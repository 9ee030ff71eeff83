"""The names of the package, which are loaded when they are first used."""

from .attention import attention_heatmap as attention_heatmap
from .attention import attention_lines as attention_lines
from .attention import attention_text as attention_text
from .attention import head_grid as head_grid
from .branches import branch_curves as branch_curves
from .caching import work_curves as work_curves
from .candidates import candidate_bars as candidate_bars
from .curves import loss_curves as loss_curves
from .tensors import AxisLabels as AxisLabels
from .tensors import tensor_heatmap as tensor_heatmap
from .tensors import value_histogram as value_histogram
from .whole import run as run
