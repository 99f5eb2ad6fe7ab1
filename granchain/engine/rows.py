"""How the sweeps over rows of contacts are compiled: told that rows do not overlap, and in whole vectors.

Each array that a sweep takes is a row of its own. Without being told, the compiler would compare all their addresses before each sweep,
and take short rows, a wave's front, contact by contact.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering

from granchain.engine.layout import LANES


class RowLowering(Lower):
    """Marks every loop of a function to be taken in vectors of LANES, one at a time."""

    def post_lower(self) -> None:
        super().post_lower()
        order = {block: place for place, block in enumerate(self.function.blocks)}
        for block in self.function.blocks:
            end = block.terminator
            targets = [target for target in getattr(end, "operands", ()) if isinstance(target, ir.Block)]
            if any(order[target] <= order[block] for target in targets):
                end.set_metadata("llvm.loop", loop_metadata(self.module))


def loop_metadata(module: Any) -> Any:
    """LLVM's hints for one loop; each has to name itself, so that no two loops share them."""
    number = ir.IntType(32)
    hints = [
        module.add_metadata(["llvm.loop.vectorize.width", ir.Constant(number, LANES)]),
        module.add_metadata(["llvm.loop.interleave.count", ir.Constant(number, 1)]),
    ]
    node = module.add_metadata([*hints, f"row {len(module.metadata)}"])
    node.operands = (node, *hints)
    return node


@register_pass(mutates_CFG=True, analysis_only=False)
class RowLoweringPass(BaseNativeLowering):
    """Numba's lowering to LLVM, with the loops marked."""

    _name = "row_lowering"

    @property
    def lowering_class(self) -> type[Lower]:
        return RowLowering


class RowCompiler(Compiler):
    """Numba's compiler for functions whose arrays do not overlap, and whose loops run over rows padded to whole vectors."""

    def define_pipelines(self) -> list[PassManager]:
        self.state.flags.noalias = True
        passes = PassManager("rows")
        for part in (
            DefaultPassBuilder.define_untyped_pipeline(self.state),
            DefaultPassBuilder.define_typed_pipeline(self.state),
            DefaultPassBuilder.define_nopython_lowering_pipeline(self.state),
        ):
            passes.passes.extend((RowLoweringPass, text) if each is NativeLowering else (each, text) for each, text in part.passes)
        passes.finalize()
        return [passes]
