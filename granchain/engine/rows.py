"""How rows of contacts are compiled: LLVM's part, nothing that runs as Python.

The sweeps are compiled in whole vectors, and told that the rows they take do not overlap: without that, all addresses would be compared
before each sweep, and short rows, a wave's front, be taken contact by contact. A tuple of rows is gathered by one load a row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.compiler import Compiler, DefaultPassBuilder
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NativeLowering
from numba.extending import intrinsic, overload

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


def _row_pointer(context, builder, signature, table, row, k):  # type: ignore[no-untyped-def]
    kind = signature.args[0]
    array = context.make_array(kind)(context, builder, table)
    width = builder.extract_value(array.shape, 1)
    index = builder.add(builder.mul(context.get_constant(types.intp, row), width), k)
    return kind, builder.gep(array.data, [index])


@intrinsic(prefer_literal=True)
def _rows_at(typing_context, table, k, first, count):  # type: ignore[no-untyped-def]
    start, size = first.literal_value, count.literal_value

    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from numba.np.arrayobj import load_item

        values = []
        for row in range(start, start + size):
            kind, pointer = _row_pointer(context, builder, signature, arguments[0], row, arguments[1])
            values.append(load_item(context, builder, kind, pointer))
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(table.dtype, size)(table, types.intp, first, count), lower


@intrinsic
def _put_rows(typing_context, table, k, values):  # type: ignore[no-untyped-def]
    def lower(context, builder, signature, arguments):  # type: ignore[no-untyped-def]
        from numba.np.arrayobj import store_item

        for row, kind_of_value in enumerate(signature.args[2]):
            kind, pointer = _row_pointer(context, builder, signature, arguments[0], row, arguments[1])
            value = context.cast(builder, builder.extract_value(arguments[2], row), kind_of_value, kind.dtype)
            store_item(context, builder, kind, value, pointer)
        return context.get_dummy_value()

    return types.none(table, types.intp, values), lower


def lower_rows(rows_at: Callable, put_rows: Callable, options: dict[str, Any]) -> dict[Callable, tuple[Callable, ...]]:
    """Give the two functions that gather and scatter rows their compiled form; what that is made of."""

    @overload(rows_at, prefer_literal=True, **options)
    def overload_rows_at(table, k, first, count):  # type: ignore[no-untyped-def]
        return lambda table, k, first, count: _rows_at(table, k, first, count)

    @overload(put_rows, **options)
    def overload_put_rows(table, k, values):  # type: ignore[no-untyped-def]
        return lambda table, k, values: _put_rows(table, k, values)

    return {rows_at: (_row_pointer, _rows_at._defn), put_rows: (_row_pointer, _put_rows._defn)}
