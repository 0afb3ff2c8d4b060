"""What a context switch costs: direct and indirect, with error bars, and why.

The package calls the program `switchcost`, which is installed beside it, and reads the program's output. It computes no numbers.
"""

import importlib
import sys
from typing import TYPE_CHECKING

from ._version import VERSION
from .errors import (
    ClusterError,
    CommandError,
    FormatError,
    MissingPackageError,
    OptionError,
    PlanError,
    ProgramError,
    PythonError,
    RecordError,
    StoreError,
    SwitchcostError,
)

if sys.version_info < (3, 11):  # noqa: UP036
    # pip refuses an older Python, so this one has a copied package.
    raise PythonError(f"switchcost needs Python 3.11 or newer, and this is {sys.version.split()[0]}; use another python3")

if TYPE_CHECKING:
    from . import fleets
    from ._observing import observing
    from ._program import find_program
    from ._read import Record, read
    from ._verbs import compare, measure, observe, simulate, trace
    from .comparison import Comparison, Pair
    from .measurement import Estimate, Measurement, Result
    from .observation import Observation, Observed, Range
    from .simulation import Cost, Design, Simulation
    from .sweeps import Sweep, sweep
    from .traces import Trace

# Modules are loaded at their first use: loading all would add a tenth of a second to each task of a sweep and each run of pytest.
_NAMES_OF = {
    "_observing": "observing",
    "_program": "find_program",
    "_read": "Record read",
    "_verbs": "compare measure observe simulate trace",
    "comparison": "Comparison Pair",
    "measurement": "Estimate Measurement Result",
    "observation": "Observation Observed Range",
    "simulation": "Cost Design Simulation",
    "sweeps": "Sweep sweep",
    "traces": "Trace",
}
_MODULE_OF = {name: module for module, names in _NAMES_OF.items() for name in names.split()}


def __getattr__(name: str) -> object:
    if name == "fleets":
        return importlib.import_module(".fleets", __name__)
    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(importlib.import_module(f".{_MODULE_OF[name]}", __name__), name)
    globals()[name] = found
    return found


__version__ = VERSION

__all__ = [
    "ClusterError",
    "CommandError",
    "Comparison",
    "Cost",
    "Design",
    "Estimate",
    "FormatError",
    "Measurement",
    "MissingPackageError",
    "Observation",
    "Observed",
    "OptionError",
    "Pair",
    "PlanError",
    "ProgramError",
    "PythonError",
    "Range",
    "Record",
    "RecordError",
    "Result",
    "Simulation",
    "StoreError",
    "Sweep",
    "SwitchcostError",
    "Trace",
    "__version__",
    "compare",
    "find_program",
    "fleets",
    "measure",
    "observe",
    "observing",
    "read",
    "simulate",
    "sweep",
    "trace",
]
