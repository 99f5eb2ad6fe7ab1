"""Materials of beads and walls, with the constants that contact laws need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

# Names of the constants of a material, and their units.
CONSTANTS = {
    "youngs_modulus": ("Young's modulus", "Pa"),
    "poissons_ratio": ("Poisson's ratio", "1"),
    "density": ("density", "kg/m^3"),
    "yield_stress": ("yield stress", "Pa"),
    "hardness": ("hardness", "Pa"),
}


@dataclass(frozen=True)
class Material:
    """Elastic and plastic constants of a bead or a wall.

    Parameters
    ----------
    youngs_modulus : float
        Young's modulus [Pa].
    poissons_ratio : float
        Poisson's ratio [1].
    density : float, optional
        Density [kg/m3].
    yield_stress : float, optional
        Yield stress [Pa].
    hardness : float, optional
        Indentation hardness [Pa].
    source : str
        Source of the values.
    name : str, optional
        Name of the material in the table of a pair of materials.

    Examples
    --------
    >>> import granchain as gc
    >>> glass = gc.Material(youngs_modulus=70e9, poissons_ratio=0.22, density=2500.0)
    >>> glass.density
    2500.0
    """

    youngs_modulus: float
    poissons_ratio: float
    density: float | None = None
    yield_stress: float | None = None
    hardness: float | None = None
    source: str = ""
    name: str | None = None

    def constants(self) -> dict[str, Any]:
        """Return the given constants by name."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def _repr_html_(self) -> str:
        """Return HTML for a notebook: the constants with their units, and the source."""
        from granchain.markup import facts_card

        rows = [
            (CONSTANTS[name][0], f"{value:g}", CONSTANTS[name][1])
            for name, value in self.constants().items()
            if name in CONSTANTS
        ]
        return facts_card(self.name or "material", rows, notes=[self.source] * bool(self.source))

    @property
    def compliance(self) -> float:
        """Plane-strain compliance (1 - nu^2)/E [1/Pa]."""
        return (1.0 - self.poissons_ratio * self.poissons_ratio) / self.youngs_modulus


# Pound-force per square inch [Pa], and pound per cubic inch [kg/m3], from the pound [kg], standard
# gravity [m/s2], and the inch [m], which are exact by definition: NIST Special Publication 811
# (2008), appendix B.
_POUND_PER_CUBIC_INCH = 0.45359237 / (0.0254 * 0.0254 * 0.0254)
_POUND_PER_SQUARE_INCH = 0.0254 * _POUND_PER_CUBIC_INCH * 9.80665

# Each value has a source. A named material is expanded into its values when a case is read. If
# sources give a range, or no value, the constant is omitted, and a law that needs it reports this.
_VALUES: dict[str, Material] = {
    # Wang, Liu & Liu 2022, table 8 (radius 2.38 mm, mass 0.45 g: density 0.45e-3/(4/3 pi 0.00238^3)
    # = 7968.8 kg/m3), doi:10.1016/j.ijmecsci.2022.107214. The table gives no hardness.
    "steel-316": Material(
        youngs_modulus=193e9,
        poissons_ratio=0.3,
        density=7968.8,
        yield_stress=900e6,
        source="Wang, Liu & Liu 2022, table 8, doi:10.1016/j.ijmecsci.2022.107214; density from "
        "its mass and radius",
    ),
    # Alaci et al., Dynamic aspects of damped elastic impact, part 1: two equal spheres of 1 kg.
    "steel-210": Material(
        youngs_modulus=210e9,
        poissons_ratio=0.3,
        density=7800.0,
        source="Alaci et al., Dynamic aspects of damped elastic impact, part 1, the example's "
        "spheres",
    ),
    # Annealed: Poisson's ratio, density, and yield stress from RoyMech, 302 stainless steel;
    # modulus from MatWeb, AISI Type 302, which has the same Poisson's ratio and density.
    "steel-302": Material(
        youngs_modulus=193e9,
        poissons_ratio=0.25,
        density=7860.0,
        yield_stress=255e6,
        source=(
            "RoyMech, 302 stainless steel, annealed, "
            "https://www.roymech.co.uk/material-properties/metals/ferrous-metals/"
            "302-Stainless-Steel-Q000cQ; modulus: MatWeb, AISI Type 302, "
            "https://asm.matweb.com/search/SpecificMaterial.asp?bassnum=MQ302AI"
        ),
    ),
    # Annealed: Alloys International, stainless steel 304, material data sheet.
    "steel-304": Material(
        youngs_modulus=193e9,
        poissons_ratio=0.29,
        density=8030.0,
        yield_stress=215e6,
        source="Alloys International, stainless steel 304, material data sheet, "
        "https://alloysintl.com/?p=6124",
    ),
    # Hardened from 1900 F, quenched in oil, tempered at 600 F: Rolled Alloys, data sheet of 440C,
    # 30.4e6 psi (dynamic), 0.275 lb/in3, 275 ksi,
    # https://www.scribd.com/document/499750878/440C-DS-US-EN; Poisson's ratio from MakeItFrom,
    # annealed 440C.
    "steel-440c": Material(
        youngs_modulus=round(30.4e6 * _POUND_PER_SQUARE_INCH, -8),
        poissons_ratio=0.28,
        density=round(0.275 * _POUND_PER_CUBIC_INCH, 0),
        yield_stress=round(275e3 * _POUND_PER_SQUARE_INCH, -6),
        source=(
            "Rolled Alloys, data sheet 440C (hardened, tempered at 600 F), "
            "https://www.scribd.com/document/499750878/440C-DS-US-EN; "
            "Poisson's ratio: MakeItFrom, annealed 440C, "
            "https://makeitfrom.com/material-properties/Annealed-440C-Stainless-Steel"
        ),
    ),
    # Balls hardened throughout to 60 to 67 HRC: 29.5e6 psi, 0.283 lb/in3, 295 ksi from the data
    # sheet of a manufacturer, AISI 52100 chrome steel, https://ja.scribd.com/document/252517093;
    # Poisson's ratio from Fleming 2011, Hertzian line contact analysis with MATLAB.
    "steel-52100": Material(
        youngs_modulus=round(29.5e6 * _POUND_PER_SQUARE_INCH, -8),
        poissons_ratio=0.3,
        density=round(0.283 * _POUND_PER_CUBIC_INCH, 0),
        yield_stress=round(295e3 * _POUND_PER_SQUARE_INCH, -6),
        source=(
            "Materials & specifications, AISI 52100 chrome steel balls, "
            "https://ja.scribd.com/document/252517093; Poisson's ratio: "
            "Fleming 2011, Hertzian line contact analysis, Loyola Marymount University, "
            "https://documents.pub/document/hertzian-line-contact.html"
        ),
    ),
    # Typical values of the Aluminum Association, as quoted by Glemco, which estimates Poisson's
    # ratio from similar alloys.
    "aluminium-6061-t6": Material(
        youngs_modulus=68.9e9,
        poissons_ratio=0.33,
        density=2700.0,
        yield_stress=276e6,
        source=(
            "Aluminum Association, typical values, in Glemco, aluminum 6061-T6, "
            "https://www.glemco.com/capabilities/material-expertise/aluminum-6061-t6/"
        ),
    ),
    # CuZn30 rolled half hard: 16e6 psi, 8.53 g/cm3, 350 N/mm2 from Olin Brass, C26000 (ASTM B36);
    # Poisson's ratio from AZoM, article 6341.
    "brass-260-half-hard": Material(
        youngs_modulus=round(16e6 * _POUND_PER_SQUARE_INCH, -8),
        poissons_ratio=0.34,
        density=8530.0,
        yield_stress=350e6,
        source=(
            "Olin Brass, C26000 (ASTM B36) cartridge brass, 1/2 hard, "
            "http://olinbrass.com/resources/alloy-data-specifications/; Poisson's ratio: AZoM, "
            "cartridge brass UNS C26000, http://www.azom.com/article.aspx?ArticleID=6341"
        ),
    ),
    # Phosphor bronze rolled hard: 16e6 psi, 8.86 g/cm3, 560 N/mm2 from Olin Brass, C51000 (ASTM
    # B103); Poisson's ratio from MakeItFrom.
    "bronze-510-hard": Material(
        youngs_modulus=round(16e6 * _POUND_PER_SQUARE_INCH, -8),
        poissons_ratio=0.34,
        density=8860.0,
        yield_stress=560e6,
        source=(
            "Olin Brass, C51000 (ASTM B103), hard, "
            "http://olinbrass.com/resources/alloy-data-specifications/; Poisson's ratio: "
            "MakeItFrom, "
            "https://makeitfrom.com/material-properties/UNS-C51000-CW451K-Phosphor-Bronze"
        ),
    ),
    # Sintered carbide: MakeItFrom, tungsten carbide (WC), which gives the density to two figures
    # and no yield stress.
    "tungsten-carbide": Material(
        youngs_modulus=630e9,
        poissons_ratio=0.24,
        density=15000.0,
        source="MakeItFrom, tungsten carbide (WC), "
        "https://www.makeitfrom.com/material-properties/Tungsten-Carbide-WC",
    ),
    # Pilkington, technical bulletin ATS-129 of 2013-01-14, properties of soda-lime silica float
    # glass. Glass breaks and does not yield.
    "glass-soda-lime": Material(
        youngs_modulus=72e9,
        poissons_ratio=0.23,
        density=2500.0,
        source="Pilkington 2013, technical bulletin ATS-129, soda-lime silica float glass, "
        "https://ar.scribd.com/document/387726298",
    ),
    # DURAN, borosilicate glass 3.3 of ISO 3585: the manufacturer's values as quoted by Matmatch.
    # Glass breaks and does not yield.
    "glass-borosilicate": Material(
        youngs_modulus=63e9,
        poissons_ratio=0.2,
        density=2230.0,
        source="Matmatch, DURAN, borosilicate glass 3.3 (ISO 3585), "
        "https://matmatch.com/materials/shgt005-duran-",
    ),
    # Kharaz, Gorham & Salman 2001, as quoted by the documentation of MOOSE's discrete elements.
    # Alumina breaks and does not yield.
    "alumina": Material(
        youngs_modulus=380e9,
        poissons_ratio=0.23,
        density=4000.0,
        source="Kharaz, Gorham & Salman 2001, alumina spheres of 5 mm, as quoted by the "
        "documentation of MOOSE (DEM)",
    ),
    # FreeCAD's card of generic PTFE, which quotes MatWeb, datasheet
    # 4d14eac958e5401a8fd152e1261b6843. The modulus of PTFE increases with the strain rate, so it is
    # higher in an impact.
    "ptfe": Material(
        youngs_modulus=564e6,
        poissons_ratio=0.46,
        density=2070.0,
        yield_stress=20.5e6,
        source=(
            "FreeCAD, PTFE-Generic.FCMat (quotes MatWeb, 4d14eac958e5401a8fd152e1261b6843), "
            "https://github.com/FreeCAD/FreeCAD; for slow loading, stiffer under impact"
        ),
    ),
    # FreeCAD's card of generic polyamide 6, which quotes MatWeb, datasheet
    # 8d78f3cfcb6f49d595896ce6ce6a2ef1.
    "nylon-6": Material(
        youngs_modulus=2930e6,
        poissons_ratio=0.39,
        density=1150.0,
        yield_stress=70.5e6,
        source="FreeCAD, PA6-Generic.FCMat (quotes MatWeb, 8d78f3cfcb6f49d595896ce6ce6a2ef1), "
        "https://github.com/FreeCAD/FreeCAD",
    ),
    # Polyoxymethylene, not reinforced: Apac Infrastructure, material specifications.
    "acetal": Material(
        youngs_modulus=2.82e9,
        poissons_ratio=0.363,
        density=1410.0,
        yield_stress=59.3e6,
        source=(
            "Apac Infrastructure, acetal (polyoxymethylene), "
            "http://apacinfrastructure.com.au/material-specifications-acetal-polyoxymethylene"
        ),
    ),
    # SABIC, Lexan ML6031: tensile modulus at 1 mm/min and yield stress according to ISO 527;
    # Poisson's ratio from Designs & Signs, polycarbonate.
    "polycarbonate": Material(
        youngs_modulus=2.34e9,
        poissons_ratio=0.37,
        density=1200.0,
        yield_stress=67e6,
        source=(
            "SABIC, Lexan ML6031, "
            "https://lookpolymers.com/polymer_SABIC-Innovative-Plastics-Lexan-ML6031-PC-Copolymer-Asia-Pacific.php; "  # noqa: E501
            "Poisson's ratio: https://www.designsandsignsonline.com/vocabulary/polycarbonate/"
        ),
    ),
}
MATERIALS: dict[str, Material] = {
    name: replace(values, name=name) for name, values in _VALUES.items()
}


def materials() -> dict[str, Material]:
    """Return the built-in materials by name, each with its source.

    Examples
    --------
    >>> import granchain as gc
    >>> steel = gc.materials()["steel-316"]
    >>> steel.youngs_modulus > 1e11
    True
    """
    return dict(MATERIALS)
