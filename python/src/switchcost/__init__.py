"""What a context switch costs: direct and indirect, with error bars, and why.

The package calls the program `switchcost`, which it finds beside itself, and reads what that writes: no number is computed here.
"""

import sys

from .errors import PythonError

if sys.version_info < (3, 11):  # noqa: UP036
    # pip refuses it before; who comes here has copied the package.
    raise PythonError(f"found Python {sys.version.split()[0]}, switchcost needs 3.11 or newer; use another python3")

from . import fleets
from ._program import find_program
from ._read import Record, read
from ._verbs import compare, measure, observe, simulate, trace
from ._version import VERSION
from .comparison import Comparison, Pair
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
from .measurement import Estimate, Measurement, Result
from .observation import Observation, Observed, Range
from .observing import observing
from .simulation import Cost, Design, Simulation
from .sweeps import Sweep, sweep
from .traces import Trace

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
