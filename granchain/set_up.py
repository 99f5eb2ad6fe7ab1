"""Set-up of the chain and the contacts of a case."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from granchain.case import Case
from granchain.case.tables import DriveTable, MassEndTable, own_contacts_in
from granchain.chain import COMPLIANT, FREE, RIGID, WALL, Chain, Elements, End, check_start
from granchain.contact import law_named
from granchain.contact.pair import Pair
from granchain.engine.setup import Contacts, RowInputs, contacts_together
from granchain.errors import CaseError, LawError


def contacts_of_cases(cases: Sequence[Case]) -> list[tuple[Chain, Contacts]]:
    """Return the chain and contacts of many cases.

    Parts that cases share are made once.

    Raises
    ------
    CaseError, LawError
        For the first case that cannot be set up.
    """
    # overflow is reported later as a non-finite result
    with np.errstate(all="ignore"):
        made: dict[tuple, tuple[Chain, Pair, np.ndarray, bool]] = {}
        rows: dict[tuple, RowInputs] = {}
        row_keys: dict[tuple, tuple] = {}
        chains_and_keys: list[tuple[Chain, tuple]] = []
        law_of = cache(law_named)
        for case in cases:
            key = all_but_the_speed(case)
            if key not in made:
                chain = chain_of(case)
                if chain.is_displaced:
                    check_start(chain)
                made[key] = (
                    chain,
                    chain.pair(),
                    chain.overlap_limits(),
                    bool(own_contacts_in(dict(case))),
                )
            chain, pair, limits, mixed = made[key]
            if case.striker is not None and chain.velocity[0] != case.striker.speed:
                velocity = chain.velocity.copy()
                velocity[0] = case.striker.speed
                chain = chain.with_velocity(velocity)
            # Members of a study usually differ in quantities that do not affect contacts, such as
            # the striker speed, so they share their contacts.
            like = key, id(case.contact)
            if like in row_keys:
                chains_and_keys.append((chain, row_keys[like]))
                continue
            of_pairs = tuple(
                (chain.between(*materials), inputs) for materials, inputs in case.pair_inputs()
            )
            individual = tuple(
                (mask, law_of(law), inputs)
                for mask, law, inputs in (case.own_contacts() if mixed else ())
            )
            law, inputs = law_of(case.contact.law), case.law_inputs()
            values = vars(inputs).values()
            numbers = all(value is None or isinstance(value, (str, float, int)) for value in values)
            alone = numbers and not of_pairs and not individual
            same = key, law, repr(inputs) if alone else len(chains_and_keys)
            rows.setdefault(same, RowInputs(law, chain, pair, limits, inputs, of_pairs, individual))
            chains_and_keys.append((chain, same))
            if alone and "striker" not in (case.contact.model_extra or {}).values():
                row_keys[like] = same
        try:
            contacts = dict(zip(rows, contacts_together(list(rows.values())), strict=True))
        except LawError as error:
            raise CaseError(str(error)) from None
        return [(chain, contacts[same]) for chain, same in chains_and_keys]


def all_but_the_speed(case: Case) -> tuple:
    """Return a key that is equal for cases that differ only in the striker speed.

    Only differences of the chains count. A changed copy of a case shares its unchanged tables with
    the original.
    """
    ends = case.ends
    if case.drive or DriveTable in (type(ends.left), type(ends.right)):
        return (id(case),)
    chain, striker = id(case.chain), case.striker
    body = None if striker is None else (striker.radius, striker.mass, striker.material)
    return chain, id(ends), id(case.initial), body


def chain_of(case: Case) -> Chain:
    """Return the chain of a case."""
    bodies = case.bodies()
    # Beads of a segment share one material, so a chain has few materials to compare.
    met = {id(material): material for material in bodies["material"]}
    materials = list(dict.fromkeys(met.values()))
    index_of = {identity: materials.index(material) for identity, material in met.items()}
    carrier, *numbers = case.chain.attached_masses()
    motion = [
        np.zeros(carrier.size) if (values := getattr(case.initial, name, None)) is None else values
        for name in ("resonator_displacement", "resonator_velocity")
    ]
    return Chain(
        radius=bodies["radius"],
        mass=bodies["mass"],
        velocity=bodies["speed"],
        displacement=bodies["displacement"],
        drag=bodies["drag"],
        material=tuple(materials),
        material_index=np.array([index_of[id(material)] for material in bodies["material"]]),
        on_site_stiffness=bodies["on_site_stiffness"],
        on_site_damping=bodies["on_site_damping"],
        # a striker has none
        resonators=Elements(carrier + (case.striker is not None), *numbers, *map(np.array, motion)),
        gap=bodies["gap"],
        left=end_of(case, "left"),
        right=end_of(case, "right"),
        has_striker=case.striker is not None,
        precompression=case.chain.precompression,
        gravity=case.chain.gravity,
        driven=tuple(
            (
                drive.bead - (case.striker is None),
                End(drive.drive, None, *case.driven(f"drive.{i}")),
            )
            for i, drive in enumerate(case.drive)
        ),
    )


def end_of(case: Case, side: str) -> End:
    """Return one end of the chain."""
    kind, material = getattr(case.ends, side), case.ends.material_of_wall(side)
    if kind == "free":
        return End(FREE)
    if kind in ("wall", "rigid"):
        return End(WALL, RIGID if kind == "rigid" else material)
    if isinstance(kind, DriveTable):
        return End(kind.drive, material, *case.driven(f"ends.{side}"))
    if kind.structure is not None:
        return End(COMPLIANT, material, impedance=kind.structure.impedance)
    if isinstance(kind, MassEndTable):
        modes = [[kind.mass, kind.stiffness, kind.damping]]
    else:
        modes = kind.modes
    return End(COMPLIANT, material, modes=np.array(modes))
