"""Interactive page of a case: each change of a parameter is computed."""

from __future__ import annotations

import json
import math
import shlex
import time
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bokeh.document import Document
from bokeh.models import (
    Button,
    Column,
    ColumnDataSource,
    CustomJS,
    Div,
    InlineStyleSheet,
    Row,
    Select,
    Slider,
    TextInput,
    Toggle,
)
from jinja2 import Template

from granchain.case import Case, case_names, load_case
from granchain.contact import families, law_named, laws
from granchain.contact.user import file_of
from granchain.errors import CaseError, GranchainError
from granchain.markup import escaped
from granchain.show.parameters import Parameter, parameters_of, slider_range, value_of
from granchain.show.plots import PlotColumns, Plots, measured_lines, plot_data

if TYPE_CHECKING:
    from granchain.show.server import Explorer
    from granchain.store import Result

# Time after which a run shows its progress, and the interval of its updates [s].
PROGRESS_AFTER, PROGRESS_EVERY = 0.2, 0.1
# Number of snapshots of a case that has none: more than the map has pixels per pulse width.
SNAPSHOTS = 300
# Largest recorded size of a run [bytes]. Use `granchain run` for a longer run.
LARGEST_RUN = 5e8
# Largest number of contacts in the menu.
MOST_CONTACTS = 2000
COPY = "navigator.clipboard.writeText(texts.data[name][0])"
# The texts are elements of the page, because with widgets Bokeh would compute the layout again at
# each change.
SHOW_TEXTS = """for (const [name, [text]] of Object.entries(texts.data))
    document.getElementById(name).textContent = text"""


class Outdated(Exception):  # noqa: N818
    """A run that a later change of the page has cancelled."""


def case_for_page(case: Case, contact: int | None = None) -> Case:
    """Return a case that also records what the page plots: snapshots, and a contact.

    The records do not change the results.
    """
    changes: dict[str, Any] = {}
    if case.snapshots is None:
        changes["snapshots.interval"] = case.time.end / SNAPSHOTS
    if contact is not None and contact not in case.sensors.contacts:
        changes["sensors.contacts"] = [*case.sensors.contacts, contact]
    return case.replace(changes) if changes else case


class PageWatch:
    """Observer of a run: shows its progress, and cancels it if it is outdated."""

    def __init__(self, outdated: Callable[[], bool], show: Callable[[float], None]):
        self.outdated, self.show = outdated, show
        self.due = time.monotonic() + PROGRESS_AFTER

    def begin(self, size: float) -> None:
        """Reject a run whose data would not fit on a page."""
        if size > LARGEST_RUN:
            raise CaseError(
                f"time.end: the run records {size:.3g} bytes. The page shows at most "
                f"{LARGEST_RUN:.3g}. Shorten the run, or compute it with granchain run."
            )

    def resume(self, fraction: float) -> None:
        """Do nothing: the runs of a page have no checkpoints."""

    def advance(self, fraction: float) -> None:
        """Raise `Outdated`, or show the completed fraction."""
        if self.outdated():
            raise Outdated
        if time.monotonic() > self.due:
            self.due = time.monotonic() + PROGRESS_EVERY
            self.show(fraction)


class Control:
    """Field, slider, and message of a parameter.

    Parameters
    ----------
    parameter : Parameter
    change : callable
        Function that receives a key and its new value.
    style : InlineStyleSheet
    """

    def __init__(
        self, parameter: Parameter, change: Callable[[str, Any], None], style: InlineStyleSheet
    ):
        self.parameter, self.change, self.value = parameter, change, parameter.value
        look: dict[str, Any] = {"stylesheets": [style], "sizing_mode": "stretch_width"}
        title, meaning = parameter.label, parameter.quantity.meaning
        if parameter.quantity.kind == "number":
            self.field: Any = TextInput(title=title, description=meaning, **look)
        else:
            self.field = Select(title=title, description=meaning, options=parameter.options, **look)
        self.slider = Slider(
            title=title, start=0.0, end=1.0, value=0.0, step=0.1, show_value=False, visible=False,
            html_attributes={"data-key": title}, css_classes=["slider"], **look,
        )  # fmt: skip
        self.message = {"css_classes": ["error"], "html_attributes": {"role": "alert"}, **look}
        self.view = Column(self.field, self.slider, sizing_mode="stretch_width")
        self.field.on_change("value", self._typed)
        self.slider.on_change("value", self._moved)
        self.show(parameter.value)

    def show(self, value: Any) -> None:
        """Show a value of the case in the field and the slider."""
        self.value = value
        text = str(value).lower() if isinstance(value, bool) else str(value)
        self.field.value = "" if value is None else text
        ends = slider_range(self.parameter.quantity, value)
        if ends is not None:
            if not self.slider.visible or not self.slider.start <= value <= self.slider.end:
                self.slider.update(start=ends[0], end=ends[1], step=ends[2])
            if not math.isclose(self.slider.value, value, rel_tol=1e-6):
                self.slider.value = value
        self.slider.visible = ends is not None

    def report(self, problem: str) -> None:
        """Show a message below the field, or none."""
        messages = [Div(text=escaped(problem), **self.message)] if problem else []
        self.view.children = [self.field, self.slider, *messages]

    def _typed(self, attribute: str, old: str, new: str) -> None:
        """Change the parameter to the text that was typed."""
        value = value_of(new)
        if value != self.value:
            self.value = value
            self.change(self.parameter.key, value)

    def _moved(self, attribute: str, old: float, new: float) -> None:
        """Change the parameter to the position of the slider."""
        if new != self.value:
            whole = type(self.parameter.value) is int
            self.field.value = str(round(new) if whole else float(f"{new:.6g}"))


class Page:
    """One open page: its case, its controls, and its plots.

    Parameters
    ----------
    explorer : Explorer
        Server that the page belongs to.
    document : Document
        Bokeh's document of the page.
    """

    def __init__(self, explorer: Explorer, document: Document):
        self.explorer, self.document = explorer, document
        self.base, self.source = explorer.base, explorer.source
        self.changes: dict[str, Any] = {}
        self.case = self.base
        self.contact: int | None = None
        self.result: Result | None = None
        self.number = 0
        folder = files("granchain.show")
        text = folder.joinpath("explore.html").read_text("utf-8")
        document.template = Template(text, autoescape=True)
        document.title = "granchain explorer"
        self.style = InlineStyleSheet(css=folder.joinpath("explore.css").read_text("utf-8"))
        look: dict[str, Any] = {"stylesheets": [self.style], "sizing_mode": "stretch_width"}
        self.controls: dict[str, Control] = {}
        cases = list(dict.fromkeys([explorer.source or "this case", *case_names()]))
        self.preset = Select(title="case", value=cases[0], options=cases, **look)
        self.law = Select(
            title="contact.law",
            value=self.base.contact.law,
            options={family.title: [law.name for law in family.laws] for family in families()},
            **look,
        )
        self.all = Toggle(label="Show all parameters", **look)
        self.fields = Column(sizing_mode="stretch_width")
        names = ("status", "problems", "numbers", "command", "python")
        self.texts = ColumnDataSource(data={name: [""] for name in names})
        show = CustomJS(args={"texts": self.texts}, code=SHOW_TEXTS)
        self.texts.js_on_change("data", show)
        self.plots = Plots(self.style, explorer.trace is not None)
        # The first run may end before the page has loaded.
        document.js_on_event("document_ready", show, self.plots.display)
        self.contacts = Select(title="sensors.contacts: contact of the loop", **look)
        self.buttons = Row(
            children=self._buttons(look),
            sizing_mode="stretch_width",
            styles={"flex-wrap": "wrap"},
        )
        roots = {
            "choices": Column(self.preset, self.law, sizing_mode="stretch_width"),
            "fields": Column(self.fields, self.all, sizing_mode="stretch_width"),
            "buttons": self.buttons,
            "contacts": self.contacts,
            "texts": self.texts,
            "message": self.plots.message,
            **self.plots.figures,
        }
        with document.models.freeze():
            for name, model in roots.items():
                model.name = name
                document.add_root(model)
        self.preset.on_change("value", self._preset_chosen)
        self.law.on_change("value", self._law_chosen)
        self.contacts.on_change("value", self._contact_chosen)
        self.all.on_change("active", lambda attribute, old, new: self.make_controls())
        document.on_session_destroyed(lambda context: self.cancel())
        self.make_controls()
        # The first run starts after the page is sent.
        document.add_next_tick_callback(self.compute)

    def _buttons(self, look: dict[str, Any]) -> list[Button]:
        """Return the buttons that save files and copy texts."""
        look = {**look, "sizing_mode": None, "width": 150}
        actions = {
            "Keep as reference": self.plots.keep,
            "Save case": self.save_case,
            "Save result": self.save_result,
            "Save figure": self.save_figure,
        }
        buttons = []
        for label, action in actions.items():
            button = Button(label=label, **look)
            button.on_click(action)
            buttons.append(button)
        for label, name in (("Copy Python", "python"), ("Copy command", "command")):
            button = Button(label=label, **look)
            button.js_on_click(CustomJS(args={"texts": self.texts, "name": name}, code=COPY))
            buttons.append(button)
        return buttons

    # ----------------------------------------------------------------------------------------------
    # Changes on the page

    def _preset_chosen(self, attribute: str, old: str, new: str) -> None:
        """Start from another case; only built-in cases and the first one can be chosen."""
        first = new == self.preset.options[0]
        if new not in self.preset.options:
            return
        self.base = self.explorer.base if first else load_case(new)
        self.source, self.changes, self.contact = self.explorer.source if first else new, {}, None
        self.compute()

    def _law_chosen(self, attribute: str, old: str, new: str) -> None:
        """Choose a law, with examples for the inputs that it needs and the case does not have."""
        if new in (self.case.contact.law, None) or new not in laws():
            return
        # Imported here, so that the page opens sooner; this also applies to the figures below.
        from granchain.certificates import example_inputs

        law = law_named(new)
        accepted = {f"contact.{quantity.name}" for quantity in law.inputs}
        retained = {k: v for k, v in self.changes.items() if k in accepted or k[:8] != "contact."}
        base_inputs = self.base.contact.inputs() if new == self.base.contact.law else {}
        examples = vars(example_inputs(law))
        needed = {
            f"contact.{quantity.name}": examples[quantity.name]
            for quantity in law.inputs
            if quantity.required and quantity.name not in base_inputs
        }
        self.changes = {**needed, **retained, "contact.law": new}
        self.compute()

    def _contact_chosen(self, attribute: str, old: str, new: str) -> None:
        """Plot the force of another contact, which requires another run."""
        if new and int(new) != self.contact:
            self.contact = int(new)
            self.compute()

    def change(self, key: str, value: Any) -> None:
        """Change a parameter."""
        self.changes[key] = value
        self.compute()

    def make_controls(self) -> None:
        """Make a control for each parameter of the case that is listed."""
        self.controls = {
            parameter.key: Control(parameter, self.change, self.style)
            for parameter in parameters_of(self.case)
            if parameter.explicit or self.all.active
        }
        self.fields.children = [control.view for control in self.controls.values()]

    # ----------------------------------------------------------------------------------------------
    # Runs

    def cancel(self) -> None:
        """Cancel the present run."""
        self.number += 1

    def later(self, action: Callable[[], Any]) -> None:
        """Change the page from another thread."""
        self.document.add_next_tick_callback(action)

    def compute(self) -> None:
        """Check the case, and run it in the background."""
        self.cancel()
        try:
            case = self.base.replace(self.changes)
        except CaseError as error:
            self.report(error.problems)
            return
        self.report([])
        before, self.case = self.case, case
        values = {parameter.key: parameter for parameter in parameters_of(case)}
        if before.contact.law != case.contact.law or not values.keys() >= self.controls.keys():
            self.make_controls()
        for key, control in self.controls.items():
            control.show(values[key].value)
        self.law.value = case.contact.law
        self.write_texts()
        recorded = [*case.sensors.contacts, min(1, case.chain.total() - 1)]
        contact = recorded[0] if self.contact is None else self.contact
        self.explorer.executor.submit(self._run, self.number, case, contact)

    def report(self, problems: list[str]) -> None:
        """Show each message at its field, and the others above the fields."""
        keys = {problem.partition(":")[0]: problem for problem in problems}
        for key, control in self.controls.items():
            control.report(keys.get(key, ""))
        others = [problem for key, problem in keys.items() if key not in self.controls]
        self.write(problems="\n".join(others))
        if problems:
            self.say("The case is invalid. The plots show the last valid case.")

    def _run(self, number: int, case: Case, contact: int) -> None:
        """Run a case in the thread of the runs, and show its result."""
        # Numba is loaded here, while the browser arranges the page.
        from granchain.analysis import summary
        from granchain.jit.compile import compiling
        from granchain.show.numbers import run_numbers
        from granchain.simulation import run

        law = case.contact.law
        watch = PageWatch(
            lambda: number != self.number,
            lambda fraction: self.later(partial(self.say, f"Computing: {100 * fraction:.0f} %")),
        )
        compiling.on_compiling = lambda: self.later(
            partial(self.say, f"Compiling {law} in the background, only once: 4 to 10 s.")
        )
        try:
            if watch.outdated():
                return
            result = run(case_for_page(case, contact), watch=watch)
            numbers = summary(result)
            data = plot_data(result, numbers, contact)
            notes = [run_numbers(numbers), *(message.text for message in result.messages)]
            if self.explorer.trace is not None:
                data["measured"], note = measured_lines(self.explorer.trace, result)
                notes.append(note)
        except Outdated:
            return
        except Exception as error:  # otherwise, no message would report an exception in a thread
            text = str(error) if isinstance(error, GranchainError) else repr(error)
            self.later(partial(self.fail, number, text))
        else:
            self.later(partial(self.show, number, result, "\n".join(notes), data))
        finally:
            compiling.on_compiling = None

    def fail(self, number: int, text: str) -> None:
        """Report that a run failed."""
        if number == self.number:
            self.report(text.split("\n"))
            self.say("The run failed. The plots show the last complete run.")

    def show(self, number: int, result: Result, text: str, data: dict[str, PlotColumns]) -> None:
        """Show the result of a run."""
        if number != self.number:
            return
        self.result = self.explorer.result = result
        self.explorer.case = self.case
        self.plots.show(data)
        self.contacts.options = [str(label) for label in result.contact[:MOST_CONTACTS]]
        self.contacts.value = data["loop"]["name"][0].split()[-1] if data["loop"]["name"] else ""
        status = (f"{result.title or 'Untitled case'}: {result.status.label}, contact law "
                  f"{result.law}, time step {result.time_step:.6g} s.")  # fmt: skip
        self.write(numbers=text, status=status)

    def say(self, text: str) -> None:
        """Show the current activity."""
        self.write(status=text)

    def write(self, **texts: str) -> None:
        """Write texts in the elements of the page with these names."""
        data = {**self.texts.data, **{name: [text] for name, text in texts.items()}}
        # Bokeh sends equal data again.
        if data != self.texts.data:
            self.texts.data = data

    # ----------------------------------------------------------------------------------------------
    # Files and texts

    @property
    def stem(self) -> str:
        """Start of the names of saved files."""
        return f"{Path(self.source).stem or 'case'}-explored"

    def write_texts(self) -> None:
        """Show the command and the Python code that compute the present case.

        They read the saved case if it has no other file, or if a key was removed, because --set
        cannot remove one.
        """
        named = bool(self.source) and None not in self.changes.values()
        source = self.source if named else f"{self.stem}.toml"
        changes = self.changes if named else {}
        file = file_of(law_named(self.case.contact.law))
        module = ["--law-module", file] if file else []
        options = [
            word
            for key, value in changes.items()
            for word in ("--set", f"{key}={json.dumps(value).strip(chr(34))}")
        ]
        command = shlex.join(["granchain", "run", source, *module, *options])
        lines = ["import granchain as gc", "", f"case = gc.load_case({source!r})"]
        if changes:
            lines.append(f"case = case.replace({changes!r})")
        self.write(command=command, python="\n".join([*lines, "result = gc.run(case)"]))

    def save_case(self) -> None:
        """Save the case in the current folder of the server."""
        self._save(".toml", self.case.save)

    def save_result(self) -> None:
        """Save the result in the current folder of the server."""
        if self.result is not None:
            self._save(".h5", self.result.save)

    def save_figure(self) -> None:
        """Save the forces at the sensors as a figure in the current folder of the server."""
        from granchain.figures import force_traces

        if self.result is not None:
            self._save(".pdf", force_traces(self.result).savefig)

    def _save(self, ending: str, write: Callable[[Path], object]) -> None:
        """Save under the first unused name. The page cannot choose the name."""
        path, number = self.explorer.folder / f"{self.stem}{ending}", 2
        while path.exists():
            path, number = path.with_name(f"{self.stem}-{number}{ending}"), number + 1
        try:
            write(path)
        except GranchainError as error:
            self.say(str(error))
        else:
            self.say(f"Saved {path}.")
