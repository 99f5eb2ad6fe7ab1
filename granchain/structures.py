"""Structures that a chain can touch: impedances of a plate and a rod, and modes of a beam."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np

from granchain.errors import CaseError, error_text, suggestion
from granchain.material import MATERIALS, Material

SIMPLY_SUPPORTED, CLAMPED = "simply supported", "clamped"
# Largest displacement at a node, relative to the root mean square of the mode (our choice): far
# above rounding errors, and far below every displacement that a force can excite.
_NODE = 1e-9
# Steps of Newton's method for the roots of clamped beams. It converges in four.
_STEPS = 8


def plate_impedance(thickness: float, material: Material) -> float:
    """Return the impedance Z = 8 sqrt(D rho h) of a large thin plate [kg/s].

    A force on the plate moves its point of contact with the velocity force/Z until waves return
    from the edges. D = E h^3/(12 (1 - nu^2)) is the bending stiffness. See Zener (1941),
    doi:10.1103/PhysRev.59.669.

    Parameters
    ----------
    thickness : float
        Thickness h [m].
    material : Material
        Material of the plate, with a density.

    Examples
    --------
    >>> import granchain as gc
    >>> round(plate_impedance(4e-3, gc.materials()["steel-316"]))
    1519
    """
    assert material.density is not None
    bending = thickness * thickness * thickness / (12.0 * material.compliance)
    return 8.0 * math.sqrt(bending * material.density * thickness)


def rod_impedance(area: float, material: Material) -> float:
    """Return the impedance Z = A sqrt(E rho) of a long thin rod [kg/s].

    A force on its end moves the end with the velocity force/Z until a wave returns from the other
    end.

    Parameters
    ----------
    area : float
        Area A of the cross section [m2].
    material : Material
        Material of the rod, with a density.

    Examples
    --------
    >>> import granchain as gc
    >>> round(rod_impedance(1e-4, gc.materials()["steel-316"]))
    3922
    """
    assert material.density is not None
    return area * math.sqrt(material.youngs_modulus * material.density)


def real_or_nan(value: Any) -> float:
    """Return a number; nan for anything else."""
    return float(value) if isinstance(value, Real) else math.nan


def beam_modes(
    length: float,
    width: float,
    height: float,
    material: str | Material,
    position: float,
    supports: str = SIMPLY_SUPPORTED,
    n: int = 20,
    damping: float = 0.0,
) -> list[list[float]]:
    """Return the bending modes of a slender beam as the rows of a compliant end.

    The rows belong to the point at which the last bead touches the beam. A mode with the shape
    phi(x) has the mass m = rho A L mean(phi^2)/phi(position)^2 and the stiffness m omega^2. The
    shapes and frequencies are those of Euler and Bernoulli; see Rao (2007), chapter 11,
    doi:10.1002/9780470117866. They are valid for wavelengths much longer than the height.

    Parameters
    ----------
    length, width, height : float
        Length between the supports, width, and height in the direction of the chain [m].
    material : str or Material
        Material with a density, or its name.
    position : float
        Distance of the contact from one support [m].
    supports : {"simply supported", "clamped"}
        Supports of both ends.
    n : int
        Number of modes, in order of increasing frequency. A mode with a node at the position has no
        row.
    damping : float
        Damping ratio of each mode, damping/(2 sqrt(mass stiffness)) [1].

    Returns
    -------
    list
        Rows [mass, stiffness, damping] [kg, N/m, kg/s], for `ends.right = { modes = ... }`.

    Raises
    ------
    CaseError
        If a value is out of range, or the material is unknown or has no density.

    Examples
    --------
    >>> import granchain as gc
    >>> rows = gc.beam_modes(0.5, 0.02, 0.01, "steel-316", position=0.2)
    >>> case = gc.load_case("steel-chain-hertz").replace({"ends.right": {"modes": rows}})
    >>> len(case.ends.right.modes)
    16
    """
    sizes = {"length": length, "width": width, "height": height}
    problems = [
        error_text(f"beam_modes: {name}", f"{value!r} is out of range", f"It must be {allowed}", "")
        for name, value, good, allowed in (
            *(
                (name, size, 0.0 < real_or_nan(size) < math.inf, "a number above 0 [m]")
                for name, size in sizes.items()
            ),
            (
                "position", position, 0.0 < real_or_nan(position) < real_or_nan(length),
                "between 0 and the length [m]",
            ),
            ("n", n, real_or_nan(n) >= 1 and n % 1 == 0, "a whole number, 1 or more"),
            ("damping", damping, 0.0 <= real_or_nan(damping) < math.inf, "a number, 0 or more [1]"),
        )
        if not good
    ]  # fmt: skip
    if supports not in (SIMPLY_SUPPORTED, CLAMPED):
        allowed = f'It must be "{SIMPLY_SUPPORTED}" or "{CLAMPED}"'
        problems.append(error_text("beam_modes: supports", f"unknown word {supports!r}", allowed))
    substance = material if isinstance(material, Material) else MATERIALS.get(str(material))
    if substance is None or substance.density is None:
        unknown = substance is None
        problems.append(
            error_text(
                "beam_modes: material",
                f'unknown material "{material}"' if unknown else "the density is missing",
                f"It must be one of {', '.join(MATERIALS)}, or a granchain.Material with a density",
                suggestion(str(material), MATERIALS, "") if unknown else "",
            )
        )
    if problems:
        raise CaseError(problems)
    assert substance is not None and substance.density is not None
    # The shapes are symmetric or antisymmetric, so the nearer support gives the same squares.
    root, shape = _shapes(supports, n, min(position, length - position) / length)
    shape, root = (values[np.abs(shape) > _NODE] for values in (shape, root))
    area, number = width * height, root / length
    rigidity = substance.youngs_modulus * area * height * height / 12.0
    mass = substance.density * area * length / (shape * shape)
    omega = np.sqrt(rigidity / (substance.density * area)) * number * number
    rows = np.column_stack([mass, mass * omega * omega, 2.0 * damping * mass * omega])
    return [[float(value) for value in row] for row in rows]


def _shapes(supports: str, n: int, x: float) -> tuple[np.ndarray, np.ndarray]:
    """Return root beta L of each mode, and its displacement at x L; its mean square is 1."""
    j = np.arange(1, n + 1)
    if supports == SIMPLY_SUPPORTED:
        return j * np.pi, math.sqrt(2.0) * np.sin(j * np.pi * x)
    root = (j + 0.5) * np.pi
    for _ in range(_STEPS):
        # cos(z) cosh(z) = 1, divided by cosh(z)
        sech = 2.0 * np.exp(-root) / (1.0 + np.exp(-2.0 * root))
        root = root - (np.cos(root) - sech) / (sech * np.tanh(root) - np.sin(root))
    # phi = cosh - cos - sigma (sinh - sin) of root x. Numerators and denominators are multiplied by
    # 2 exp(-root), so that no term grows.
    near, far, across = np.exp(-root * x), np.exp(-root * (1.0 - x)), np.exp(-root)
    denominator = 1.0 - across * across - 2.0 * across * np.sin(root)
    sigma = (1.0 + across * across - 2.0 * across * np.cos(root)) / denominator
    cosh, sinh = far * (1.0 + near * near), far * (1.0 - near * near)
    hyperbolic = near - near * far * far - np.sin(root) * cosh + np.cos(root) * sinh
    return root, hyperbolic / denominator - np.cos(root * x) + sigma * np.sin(root * x)
