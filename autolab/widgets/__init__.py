"""The explorables. `Stepper(loss)` steps through a backward pass, `explore(f, x=(-3, 3))` slides its inputs; the gallery
(notebooks/gallery.ipynb) shows them all. Each is one call with defaults, and takes your own functions and tensors.

Importing this module is cheap: anywidget and ipywidgets are loaded when a widget is made, and a missing one is then
a sentence that says how to install it.
"""

from autolab.torch_api.lazy import lazy

FILES = {
    "stepper": ["Stepper"],
    "explorer": ["explore", "Explorer", "live"],
    "questions": ["quiz", "predict"],
    "functions": ["forward_and_back", "chain_rule", "two_gradients"],
    "builder": ["graph_builder"],
    "cutting": ["scissors"],
    "versions": ["version_counter"],
    "worlds": ["compare"],
    "shapes": ["broadcast_backward"],
    "matmul": ["matmul_backward"],
    "accumulation": ["accumulation"],
    "race": ["optimizer_race"],
    "training": ["train"],
    "costs": ["memory_against_depth"],
    "traffic": ["fusion"],
    "jacobians": ["forward_against_reverse", "vector_jacobian"],
    "dual": ["dual_numbers"],
    "differences": ["finite_differences"],
    "path_sums": ["paths"],
    "depth": ["vanishing_and_exploding"],
    "precision": ["underflow"],
    "lesson_progress": ["progress"],
    "gradient_graph": ["gradient_graph"],
    "checkpointing": ["checkpoint_timeline"],
    "schedule_game": ["checkpoint_game"],
    "implicit": ["implicit_function"],
    "expectations": ["expectation_gradients"],
    "vmapping": ["loop_to_vmap"],
    "curvature": ["curvature"],
    "softmax": ["softmax_backward"],
    "attention": ["attention_backward"],
    "convolution": ["convolution_backward"],
}
WIDGETS = {name: f"autolab.widgets.{file}" for file, names in FILES.items() for name in names}
OF_JUPYTER = {"anywidget", "ipywidgets", "traitlets", "IPython"}

__all__ = [
    "Stepper", "explore", "Explorer", "live", "quiz", "predict", "forward_and_back", "chain_rule", "two_gradients", "graph_builder",
    "scissors", "version_counter", "compare", "broadcast_backward", "matmul_backward", "accumulation", "optimizer_race", "train",
    "memory_against_depth", "underflow", "forward_against_reverse", "fusion", "progress", "vector_jacobian",
    "dual_numbers", "finite_differences", "paths", "vanishing_and_exploding",
    "gradient_graph", "checkpoint_timeline", "checkpoint_game",
    "implicit_function", "expectation_gradients",
    "loop_to_vmap", "curvature",
    "softmax_backward", "attention_backward", "convolution_backward",
]  # fmt: skip

load = lazy(__name__, names=WIDGETS)


def __getattr__(name):
    try:
        return load(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in OF_JUPYTER:
            raise
        return _missing(name, error.name)


def __dir__():
    return sorted(__all__)


def _missing(name, package):
    # Stands in until it is called, so that `from autolab.widgets import Stepper` works where there is no Jupyter.
    def missing(*args, **kwargs):
        raise ImportError(
            f"{name} needs {package}, which is not installed. "
            'Install what the widgets need: pip install "autolab-grad[lab]". '
            "Without it, autolab.draw.svg(loss) and autolab.draw.text(loss) show the graph."
        )

    missing.__name__ = missing.__qualname__ = name
    return missing
