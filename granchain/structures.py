"""Structures that a chain can touch: impedances of a plate and a rod, and modes of a beam."""

from __future__ import annotations

import math

from granchain.material import Material


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
