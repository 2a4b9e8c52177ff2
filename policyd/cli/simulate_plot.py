"""Draws the allocation over the arrivals, a line for each rule set. Needs no display."""

from collections.abc import Sequence
from typing import Any, Final

from policyd.cli.failure import Failure, file_named, os_failure
from policyd.simulation.curve import Curve, Point

FORMATS: Final = ("png", "svg")
"""The forms of a plot, by the end of the file's name."""

_DAY: Final = 86_400.0
_HOUR: Final = 3_600.0


class Plot:
    """A plot that is to be written; whether it can be is found out before anything is run."""

    def __init__(self, path: str) -> None:
        """Check the name, and that there is something to draw with.

        Raises:
            Failure: the form is not known, the folder is not there, or matplotlib is not.
        """
        self.path: Final = file_named(path)
        self.form: Final = self.path.suffix.removeprefix(".").lower()
        if self.form not in FORMATS:
            remedy = "end the name in " + " or ".join(f"`.{form}`" for form in FORMATS)
            raise Failure("a plot is no such file", path, remedy)
        if not self.path.parent.is_dir():
            raise Failure("there is no such folder", str(self.path.parent), "make it first")
        self._figures = _figures(path)

    def draw(self, names: Sequence[str], curves: Sequence[Curve]) -> None:
        """Write the plot.

        Raises:
            Failure: the file cannot be written.
        """
        figure = self._figures(figsize=(7.0, 4.5), layout="constrained")
        axes = figure.add_subplot()
        unit = _unit(curves)
        for name, curve in zip(names, curves, strict=True):
            along, up = _coordinates(curve.points, unit and unit[0])
            axes.plot(along, up, label=name, linewidth=1.4)
        arrived = f"{curves[0].resource} arrived (% of the cluster)"
        axes.set_xlabel(f"time ({unit[1]})" if unit else arrived)
        axes.set_ylabel(f"{curves[0].resource} allocated (%)")
        axes.grid(visible=True, alpha=0.3)
        axes.legend()
        self._write(figure)

    def _write(self, figure: Any) -> None:
        import matplotlib as mpl  # noqa: PLC0415 - takes long, and is rarely needed

        # Without a date and with fixed ids the same curves give the same file.
        metadata = {"Date": None} if self.form == "svg" else {"Software": None}
        try:
            with mpl.rc_context({"svg.hashsalt": "policyd"}):
                figure.savefig(self.path, format=self.form, dpi=150, metadata=metadata)
        except OSError as error:
            raise os_failure(error, str(self.path)) from None


def _figures(path: str) -> Any:
    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - takes long, and is rarely needed
    except ImportError:
        raise Failure(
            "there is nothing to draw with: matplotlib is not installed",
            path,
            "install it with `pip install 'policyd[plot]'`, or use -o json, which has the curve",
        ) from None
    return Figure


def _coordinates(points: Sequence[Point], unit: float | None) -> tuple[list[float], list[float]]:
    """Give the points in per cent, along the time in a unit, or along the arrivals."""
    along = [100 * p.arrived if unit is None else p.seconds / unit for p in points]
    return along, [100 * point.allocated for point in points]


def _unit(curves: Sequence[Curve]) -> tuple[float, str] | None:
    """Choose the unit of time by how long the longest lasts; none where all arrive at once."""
    last = max((curve.points[-1].seconds for curve in curves if curve.points), default=0.0)
    if last == 0:
        return None
    if last > 2 * _DAY:
        return _DAY, "days"
    return (_HOUR, "hours") if last > 2 * _HOUR else (1.0, "seconds")
