"""Problems of the look of a figure: type that is too small, clipped text, and overlapping texts."""

from itertools import combinations

from matplotlib.axis import Axis
from matplotlib.text import Text

# Smallest readable font size on paper, and allowed overlap of the boxes of texts beyond their
# letters [points].
SMALLEST, TOUCH = 7.0, 1.5


def faults(figure):
    """Return sentences about every text of a figure that is hard to read."""
    figure.draw_without_rendering()
    renderer = figure.canvas.get_renderer()
    point = figure.dpi / 72.0
    beyond = {id(text) for axis in figure.findobj(Axis) for text in out_of_view(axis)}
    boxes = []
    for text in figure.findobj(Text):
        words = text.get_text().strip()
        if words and text.get_visible() and id(text) not in beyond:
            boxes.append((text, words, text.get_window_extent(renderer)))
    found = [
        f"{words!r} is {text.get_fontsize():.3g} points high"
        for text, words, _ in boxes
        if text.get_fontsize() < SMALLEST
    ]
    for _, words, box in boxes:
        over = max(-box.x0, -box.y0, box.x1 - figure.bbox.width, box.y1 - figure.bbox.height)
        if over > point:
            found.append(f"{words!r} is cut off by {over / point:.0f} points")
    for (_, one, a), (_, other, b) in combinations(boxes, 2):
        wide, high = min(a.x1, b.x1) - max(a.x0, b.x0), min(a.y1, b.y1) - max(a.y0, b.y0)
        if min(wide, high) > TOUCH * point:
            found.append(
                f"{one!r} and {other!r} lie over each other by {wide / point:.0f} times "
                f"{high / point:.0f} points"
            )
    return found


def out_of_view(axis):
    """Return the tick labels that are not drawn: outside the limits, or on a hidden axis."""
    low, high = sorted(axis.get_view_interval())
    slack = 1e-9 * (high - low)
    for ticks, labels in (
        (axis.get_major_ticks(), axis.get_majorticklabels()),
        (axis.get_minor_ticks(), axis.get_minorticklabels()),
    ):
        for tick, label in zip(ticks, labels, strict=False):
            if not low - slack <= tick.get_loc() <= high + slack or not axis.axes.axison:
                yield label
            yield tick.label2
