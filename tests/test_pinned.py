"""The engine gives the same bits as before its last restructuring, for every law, kind of end and
record, and for resumed runs."""

import json
import os

import pytest
from support.kinds import PLAIN_ALONE, PLAIN_HERE, distinct_laws, every_law, one_per_shape
from support.pinned_states import CONTACTS, FILE, N_STEPS, RENAMED, hash_of, run, set_ups

from granchain.contact import laws
from granchain.contact.hertz import Hertz
from granchain.contact.law import OPEN, Quantity
from granchain.engine import fields

PINNED = json.loads(FILE.read_text())
# Numba checks every index if `make test-bounds` requests it.
BOUNDS_HERE = os.environ.get("NUMBA_BOUNDSCHECK", "0") not in ("", "0")
# Each kind of end needs another compiled loop for each law. The short run uses the kind that other
# tests also compile. As plain Python, a law of each form of the loop, and one with a jump inside
# the contact, run with all ends, and the other laws with the shared set-ups for all alternatives of
# their inputs. The laws in SLOW, which integrate or solve an equation for each force, only run with
# the shared set-ups. The long run has all combinations.
ALL_ENDS = ("carvalho-martins", "hertz", "jankowski-both-phases", "kelvin-voigt", "ma-liu",
            "wang-liu-hysteretic")  # fmt: skip
SLOW = ("jackson-green", "vu-quoc-zhang")
SHARED = ("gaps",)


def differing(law, names, broken_at=None):
    return [
        name for name in names if hash_of(run(law, name, broken_at)) != PINNED["laws"][law][name]
    ]


@pytest.mark.guard
def test_every_law_has_pinned_states():
    ours = {name for name, law in laws().items() if law.__module__.startswith("granchain.contact.")}
    assert PINNED["laws"].keys() == ours


# Constants of a run, forces within a step, and a limit of the step.
NOT_PINNED = {"limit", "kicked", "recorded", "endwise"}


@pytest.mark.guard
def test_pinned_states_contain_every_quantity_of_a_contact():
    pinned = {RENAMED.get(name, name) for name in CONTACTS}
    assert pinned | NOT_PINNED == {field.name for field in fields.CONTACT}


@pytest.mark.uncounted
@pytest.mark.parametrize("law", every_law(distinct_laws() if PLAIN_HERE else one_per_shape()))
def test_a_run_has_the_pinned_bits(law):
    assert PINNED["laws"][law].keys() == set_ups(law).keys()
    at_once = [name for name in set_ups(law) if law in ALL_ENDS or name.startswith(SHARED)]
    assert differing(law, at_once if PLAIN_HERE and law not in SLOW else list(SHARED)) == []


@pytest.mark.long
@pytest.mark.parametrize("law", every_law())
def test_a_compiled_run_has_the_pinned_bits_with_every_kind_of_end(law):
    assert differing(law, [name for name in set_ups(law) if name not in SHARED]) == []


# between full steps; at the step before a sample (every third), a snapshot (every fifth) or a
# ledger entry (every seventh); and at the last steps
BROKEN_AT = (1, 74, 104, 211, N_STEPS - 1, N_STEPS)
RESUMED = ("ma-liu", "tsuji", "kelvin-voigt")


@pytest.mark.uncounted
@pytest.mark.parametrize("law", RESUMED)
def test_a_resumed_run_has_the_pinned_bits(law):
    names = [*SHARED, "loaded", "driven"] if PLAIN_HERE else SHARED
    # as plain Python, each law has other steps
    for step in BROKEN_AT[RESUMED.index(law) :: len(RESUMED)] if PLAIN_HERE else BROKEN_AT:
        assert differing(law, names, step) == [], step


# Code with array indices: full steps with driven ends and loads, and steps behind the front with
# events. Both record every bead, snapshots and the ledger. All laws above run as plain Python,
# which checks every index.
every_index = pytest.mark.skipif(not BOUNDS_HERE, reason="without a check it shows nothing new")


@pytest.mark.bounds
@every_index
def test_a_driven_run_with_every_index_checked_has_the_pinned_bits():
    assert differing("hertz", ["driven"]) == []


@pytest.mark.bounds
@every_index
def test_steps_with_events_and_every_index_checked_has_the_bits_of_plain_python(own_laws, request):
    # the smallest law with events; laws of the package take 1.5 times as long to compile
    class Closing(Hertz):
        """Hertz, and whether it is closed."""

        name = "closing"
        history = (Quantity("closed", "1", "1 while it is closed"),)
        history_of = staticmethod(lambda c: (0.0,))
        needs_update = staticmethod(lambda overlap, rate, c, h: (overlap > OPEN) != (h[0] > 0.5))
        update = staticmethod(lambda event, c, h: (1.0 - h[0],))

    checked = run("closing", "gaps")
    assert checked.h.any()
    request.getfixturevalue("plain_loop")
    assert hash_of(checked) == hash_of(run("closing", "gaps"))


# Rare branches of the loop, which are counted as plain Python: a kink under a load, and a jump at a
# driven end.
@pytest.mark.plain
@PLAIN_ALONE
@pytest.mark.parametrize(
    ("law", "name"), [("lee-wang-transition", "loaded"), ("wang-liu-hysteretic", "driven")]
)
def test_a_loaded_or_driven_run_of_a_law_that_jumps_has_the_pinned_bits(law, name):
    assert differing(law, [name]) == []
