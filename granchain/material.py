"""Materials: what a contact law needs to know of a bead's substance."""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Material:
    """Elastic and plastic constants of a bead or wall.

    Parameters
    ----------
    youngs_modulus : float
        Young's modulus [Pa].
    poissons_ratio : float
        Poisson's ratio [1].
    density : float, optional
        Mass per volume [kg/m3].
    yield_stress : float, optional
        Yield stress [Pa].
    hardness : float, optional
        Indentation hardness [Pa].
    source : str
        Where the values come from.
    name : str, optional
        What a pair of materials calls it.
    """

    youngs_modulus: float
    poissons_ratio: float
    density: float | None = None
    yield_stress: float | None = None
    hardness: float | None = None
    source: str = ""
    name: str | None = None

    @property
    def compliance(self) -> float:
        """Plane-strain compliance (1 - nu^2)/E [1/Pa]."""
        return (1.0 - self.poissons_ratio * self.poissons_ratio) / self.youngs_modulus


# Each value with its source; a named material is expanded into its values when a case is read.
_VALUES: dict[str, Material] = {
    # Wang, Liu & Liu 2022, table 8 (radius 2.38 mm, mass 0.45 g: density 0.45e-3/(4/3 pi 0.00238^3) = 7968.8 kg/m3),
    # doi:10.1016/j.ijmecsci.2022.107214. The table gives no hardness.
    "steel-316": Material(
        youngs_modulus=193e9,
        poissons_ratio=0.3,
        density=7968.8,
        yield_stress=900e6,
        source="Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214; density from its mass and radius",
    ),
    # Alaci et al., Dynamic aspects of damped elastic impact, part 1: two equal spheres of 1 kg.
    "steel-210": Material(
        youngs_modulus=210e9,
        poissons_ratio=0.3,
        density=7800.0,
        source="Alaci et al., Dynamic aspects of damped elastic impact, part 1, the example's spheres",
    ),
}
MATERIALS: dict[str, Material] = {name: replace(values, name=name) for name, values in _VALUES.items()}
