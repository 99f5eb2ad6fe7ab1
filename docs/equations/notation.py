"""Equations of contact laws: symbols with meaning, unit, and key; evaluation; and LaTeX output."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, NamedTuple

import sympy
from sympy import Expr, Symbol
from sympy.printing.latex import LatexPrinter

from granchain.contact.law import ContactLaw


class Meaning(NamedTuple):
    """Meaning of a symbol.

    Parameters
    ----------
    text : str
        Description. Default: the meaning of the input of the law.
    unit : str
        SI unit, "1" for a pure number.
    key : str
        Input of the law, or quantity of the pair, with the value. Default: none, for variables and
        symbols that an equation defines.
    given : str
        Keys of a case that determine a quantity of the pair.
    """

    text: str = ""
    unit: str = "1"
    key: str = ""
    given: str = ""


@dataclass(frozen=True)
class Equation:
    """Lines of the equation of a law, in reading order.

    Parameters
    ----------
    lines : tuple of (expression, expression)
        Left and right side. A right side defines the symbol on the left; any other left side makes
        an equation to be solved.
    where : dict
        Meanings of symbols that differ from those of `MEANINGS`.
    millimetres : bool
        Whether lengths are in mm and pressures in MPa, because the numbers of the source are valid
        in these units only.
    """

    lines: tuple[tuple[Expr, Expr], ...]
    where: Mapping[Symbol, Meaning] = field(default_factory=dict)
    millimetres: bool = False

    def meaning(self, symbol: Symbol) -> Meaning:
        """Return the meaning of a symbol in this equation."""
        if symbol == F and F_u in self.definitions:
            return Meaning("force on loading, beyond the largest previous overlap", "N")
        return self.where.get(symbol) or MEANINGS[symbol]

    @property
    def definitions(self) -> dict[Symbol, Expr]:
        """Right sides by the symbol that they define."""
        return {left: right for left, right in self.lines if isinstance(left, Symbol)}

    @property
    def implicit(self) -> list[Expr]:
        """Left less right side of the lines that define no symbol: zero where the law holds."""
        return [left - right for left, right in self.lines if not isinstance(left, Symbol)]

    def value(self, wanted: Symbol, known: dict[Symbol, Any]) -> float:
        """A symbol's value, from the values that are known and the definitions; what is found
        on the way is added to `known`."""
        if wanted not in known:
            expression = self.definitions[wanted]
            known[wanted] = evaluated(
                expression, {symbol: self.value(symbol, known) for symbol in symbols_in(expression)}
            )
        return float(known[wanted])


@cache
def symbols_in(expression: Expr) -> tuple[Symbol, ...]:
    """The symbols of an expression, in a fixed order."""
    return tuple(sorted(expression.free_symbols, key=str))


@cache
def compiled(expression: Expr, modules: str) -> Callable[..., Any]:
    """An expression as a plain Python function of its symbols."""
    return sympy.lambdify(symbols_in(expression), expression, modules)


def evaluated(expression: Expr, values: Mapping[Symbol, Any], modules: str = "math") -> Any:
    """An expression at these values: in doubles, or in the digits of mpmath."""
    return compiled(expression, modules)(*(values[symbol] for symbol in symbols_in(expression)))


def symbols_of(equation: Equation) -> list[Symbol]:
    """The symbols of an equation in the order of their first line."""
    found: dict[Symbol, None] = {}
    for left, right in equation.lines:
        found |= dict.fromkeys([*symbols_in(left), *symbols_in(right)])
    return [symbol for symbol in found if symbol not in CONDITIONS]


def quantity_of(law: type[ContactLaw], meaning: Meaning) -> tuple[str, str, str]:
    """Meaning, unit and key of a symbol of a law, as its table has them."""
    inputs = {quantity.name: quantity for quantity in law.inputs}
    if meaning.key in inputs:
        quantity = inputs[meaning.key]
        return meaning.text or quantity.meaning, quantity.unit, f"`contact.{meaning.key}`"
    return meaning.text, meaning.unit, meaning.given


# --------------------------------------------------------------------------------------------------
# Print


class Printer(LatexPrinter):
    """As sympy prints it, in the order in which it is written; exp as a word, for e is the
    restitution."""

    def __init__(self) -> None:
        super().__init__({"order": "none", "ln_notation": True, "fold_frac_powers": True})

    def _print_ExpBase(self, expr: Any, exp: Any = None) -> str:
        text = rf"\exp{{\left({self._print(expr.args[0])} \right)}}"
        return text if exp is None else rf"\left[{text}\right]^{{{exp}}}"

    def _print_log(self, expr: Any, exp: Any = None) -> str:
        argument = self._print(expr.args[0])
        power = f"^{{{exp}}}" if exp == "2" else ""
        text = (
            rf"\ln{power} {argument}"
            if isinstance(expr.args[0], Symbol)
            else rf"\ln{power}{{\left({argument} \right)}}"
        )
        return text if exp in (None, "2") else rf"\left[{text}\right]^{{{exp}}}"

    def _print_Add(self, expr: Any, order: Any = None) -> str:
        # a sum of sums without the parentheses of the order in which it was added up
        if any(isinstance(term, sympy.Add) for term in expr.args):
            expr = sympy.Add(*terms_of(expr), evaluate=False)
        return super()._print_Add(expr, order)

    def _print_Piecewise(self, expr: Any) -> str:
        rows = [
            rf"{self._print(value)} & {self.condition(condition)}" for value, condition in expr.args
        ]
        return r"\begin{cases} " + r" \\ ".join(rows) + r" \end{cases}"

    def condition(self, condition: Any) -> str:
        """When a branch holds."""
        if condition == True:  # noqa: E712  sympy's own true
            return r"\text{else}"
        return (
            rf"\text{{{CONDITIONS[condition]}}}"
            if condition in CONDITIONS
            else self._print(condition)
        )


def terms_of(expression: Expr) -> list[Expr]:
    """The terms of a sum, and of the sums that are its terms."""
    if not isinstance(expression, sympy.Add):
        return [expression]
    return [term for part in expression.args for term in terms_of(part)]


def latex(equation: Equation) -> str:
    """The lines of an equation as one display in LaTeX."""
    printer = Printer()
    rows = [
        f"{printer.doprint(left)} &= {printer.doprint(right)}" for left, right in equation.lines
    ]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


# --------------------------------------------------------------------------------------------------
# Symbols

MEANINGS: dict[Symbol, Meaning] = {}


def symbol(text: str, *meaning: str, **more: str) -> Symbol:
    """Create a symbol from its LaTeX text and its meaning. An equation can give another meaning in
    its `where`."""
    made = Symbol(text)
    if MEANINGS.setdefault(made, Meaning(*meaning, **more)) != Meaning(*meaning, **more):
        raise ValueError(
            f"{text}: two meanings. A symbol must have one in all files of docs/equations. Give the "
            "other in the equation's `where`, or choose another letter."
        )
    return made


# Symbols of a contact.
d = symbol("d", "overlap", "m")
rate = symbol(r"\dot{d}", "rate of the overlap, positive in approach", "m/s")
F = symbol("F", "force", "N")
F_u = symbol(
    "F_u",
    "force on unloading and reloading, up to the largest overlap; 0 below the residual overlap",
    "N",
)
d_max = symbol(r"d_{\max}", "largest previous overlap", "m")
F_max = symbol(r"F_{\max}", "force at the largest overlap, on the loading curve", "N")
d_r = symbol("d_r", "residual overlap (residual indentation)", "m")
R_u = symbol("R_u", "radius of curvature on unloading", "m")

# Symbols of the two bodies.
E = symbol(
    "E",
    "effective modulus, 1/E = (1 - ν₁²)/E₁ + (1 - ν₂²)/E₂",
    "Pa",
    "effective_modulus",
    "material: `youngs_modulus`, `poissons_ratio`",
)
R = symbol("R", "effective radius, 1/R = 1/R₁ + 1/R₂", "m", "effective_radius", "`chain.radius`")
m = symbol(
    "m",
    "effective mass, 1/m = 1/m₁ + 1/m₂",
    "kg",
    "effective_mass",
    "`chain.mass`, or density and radius",
)
s_y = symbol(
    "s_y", "yield stress of the softer body", "Pa", "yield_stress", "material: `yield_stress`"
)
nu = symbol(
    r"\nu",
    "Poisson's ratio of the softer body",
    "1",
    "poissons_ratio",
    "material: `poissons_ratio`",
)
H = symbol(
    "H",
    "hardness of the softer body",
    "Pa",
    "hardness",
    "material: `hardness`; or `contact.hardness_factor`",
)
R_1 = symbol(
    "R_1",
    "radius of body 1, the outer body of an internal contact",
    "m",
    "radius_1",
    "`chain.radius`",
)
R_2 = symbol("R_2", "radius of body 2", "m", "radius_2", "`chain.radius`")

# Symbols of the law.
e = symbol("e", key="restitution")
v_0 = symbol("v_0", key="impact_speed")
K = symbol("K", "stiffness, or the value of the key if it is given", "N/m^1.5", key="stiffness")
a = symbol("a", "damping factor")
psi = symbol(r"\psi", key="psi")
xi = symbol(r"\xi", key="xi")
p_y = symbol("p_y", "largest pressure of the contact at first yield", "Pa")
d_y = symbol("d_y", "overlap at first yield", "m")
F_y = symbol("F_y", "force at first yield", "N")
d_p = symbol("d_p", "overlap at full plasticity", "m")
F_p = symbol("F_p", "force at full plasticity", "N")
K_p = symbol("K_p", "slope from first yield to full plasticity", "N/m")
c_1 = symbol("c_1", "constant of the elastoplastic branch", "N/m")
c_2 = symbol("c_2", "factor of the logarithm in the elastoplastic branch", "N/m")
c_3 = symbol("c_3", "force offset of the elastoplastic branch", "N")

# Descriptions of the conditions of branches, which the input `contact` determines.
external, internal = Symbol("external"), Symbol("internal")
CONDITIONS = {external: "external contact", internal: "internal contact"}
