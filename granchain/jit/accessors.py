"""How compiled code reads a table, a row for each quantity and a column for each body or contact;
and the bits of a double.

Each is a plain function; those in LOWERED have a compiled form of their own beside it, in LLVM's
terms.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.imputils import impl_ret_borrowed
from numba.extending import intrinsic, lower_builtin, overload, type_callable

from granchain.contact import elementary
from granchain.jit.fingerprint import LOWERED
from granchain.jit.options import IN_PLACE, OPTIONS, hot


def rows_at(table, k, first, count):
    """Rows first..first + count - 1 of column k, as a tuple."""
    return tuple([table[first + i, k] for i in range(count)])


def put_rows(table, k, values):
    """Write a tuple to the first rows of column k."""
    for i, value in enumerate(values):
        table[i, k] = value


@cache
def gatherer(count: int, first: int = 0) -> Callable:
    """Function (table, k) -> tuple of the rows first..first + count - 1 at column k."""

    @hot
    def gather(table, k):
        return rows_at(table, k, first, count)

    return gather


def _pointer(context, builder, kind, table, row, k):
    array = context.make_array(kind)(context, builder, table)
    start = builder.mul(
        context.get_constant(types.intp, row), builder.extract_value(array.shape, 1)
    )
    return builder.gep(array.data, [builder.add(start, k)])


@intrinsic(prefer_literal=True)
def _rows_at(typing_context, table, k, first, count):
    start, size = first.literal_value, count.literal_value

    def lower(context, builder, signature, arguments):
        kind, (array, column, *_) = signature.args[0], arguments
        places = [
            _pointer(context, builder, kind, array, row, column)
            for row in range(start, start + size)
        ]
        values = [context.unpack_value(builder, kind.dtype, place) for place in places]
        return context.make_tuple(builder, signature.return_type, values)

    return types.UniTuple(table.dtype, size)(table, types.intp, first, count), lower


@intrinsic
def _put_rows(typing_context, table, k, values):
    def lower(context, builder, signature, arguments):
        (kind, _, kinds), (array, column, given) = signature.args, arguments
        for row, kind_of_value in enumerate(kinds):
            value = context.cast(
                builder, builder.extract_value(given, row), kind_of_value, kind.dtype
            )
            context.pack_value(
                builder, kind.dtype, value, _pointer(context, builder, kind, array, row, column)
            )
        return context.get_dummy_value()

    return types.none(table, types.intp, values), lower


@overload(rows_at, prefer_literal=True, **OPTIONS)
def overload_rows_at(table, k, first, count):
    return lambda table, k, first, count: _rows_at(table, k, first, count)


@overload(put_rows, **OPTIONS)
def overload_put_rows(table, k, values):
    return lambda table, k, values: _put_rows(table, k, values)


LOWERED.update({rows_at: (_pointer, _rows_at._defn)})
LOWERED.update({put_rows: (_pointer, _put_rows._defn)})


def row_from(row, first):
    """A row from a column on, by one addition: a slice would look whether the column is counted
    from the end."""
    return row[first:]


def _rest_of_row(context, builder, signature, arguments):
    row, first = arguments
    kind = signature.return_type
    rest = context.make_array(kind)(context, builder, row)
    left = builder.sub(builder.extract_value(rest.shape, 0), first)
    rest.data, rest.shape, rest.nitems = (
        builder.gep(rest.data, [first]),
        cgutils.pack_array(builder, [left]),
        left,
    )
    return impl_ret_borrowed(context, builder, kind, rest._getvalue())


# Without a count of references, no compiled function may give back a row that it makes: it is
# lowered by itself.
type_callable(row_from)(lambda context: lambda row, first: row)
lower_builtin(row_from, types.Array, types.Integer)(_rest_of_row)
LOWERED.update({row_from: (_rest_of_row,)})


def rows_as(kind: Any) -> Callable:
    """Plain function table -> named tuple of its rows.

    Its compiled form is one for all rows: compiled row by row, it took two of the seconds of a
    first run.
    """

    # what it is made for is part of it: a loop is compiled again where a field has changed
    def view(table, fields=(kind.__name__, *kind._fields)):
        return kind(*[table[row] for row in range(len(fields) - 1)])

    @type_callable(view)
    def typed_view(context):
        def typed(table):
            row = types.Array(
                table.dtype,
                table.ndim - 1,
                table.layout,
                readonly=not table.mutable,
                aligned=table.aligned,
            )
            return types.BaseTuple.from_types((row,) * len(kind._fields), kind)

        return typed

    lower_builtin(view, types.Array)(_rows_of_table)
    LOWERED.update({view: (_rows_of_table,)})
    return view


def _rows_of_table(context, builder, signature, arguments):
    (kind,) = signature.args
    table = context.make_array(kind)(context, builder, arguments[0])
    width = builder.extract_value(table.shape, 1)
    rows = []
    for number, row_kind in enumerate(signature.return_type):
        row = context.make_array(row_kind)(context, builder)
        first = builder.mul(context.get_constant(types.intp, number), width)
        row.data, row.nitems, row.itemsize = builder.gep(table.data, [first]), width, table.itemsize
        row.shape, row.strides = (
            cgutils.pack_array(builder, [width]),
            cgutils.pack_array(builder, [table.itemsize]),
        )
        row.meminfo, row.parent = table.meminfo, table.parent
        rows.append(row._getvalue())
    named = context.make_tuple(builder, signature.return_type, rows)
    return impl_ret_borrowed(context, builder, signature.return_type, named)


# --------------------------------------------------------------------------------------------------
# Doubles taken apart by powers of two, on their bits: by frexp and ldexp, as in plain Python, they
# would be calls, and no loop with such a call is taken in vectors. Unsigned shifts alone: LLVM
# gives up at signed ones.


def _double_of(builder, bits):
    return builder.bitcast(bits, ir.DoubleType())


@intrinsic
def _parts_by_bits(typing_context, x):
    def lower(context, builder, signature, arguments):
        word = ir.IntType(64)
        # IEEE 754: 52 bits of mantissa, above them the exponent plus 1023. Counted from the bits of
        # sqrt(1/2), whose exponent is -1, the carry of what is above it makes the exponent that of
        # a mantissa from sqrt(1/2) on.
        root_of_half, one, mantissa, two_52 = (
            0x3FE6A09E667F3BCD,
            0x3FF << 52,
            (1 << 52) - 1,
            0x433 << 52,
        )
        bits = builder.add(builder.bitcast(arguments[0], word), word(one - root_of_half))
        m = _double_of(builder, builder.add(builder.and_(bits, word(mantissa)), word(root_of_half)))
        # 2^52 + n has the whole number n for its last bits
        n = _double_of(builder, builder.or_(builder.lshr(bits, word(52)), word(two_52)))
        k = builder.fsub(n, ir.DoubleType()(2.0**52 + 1023.0))
        return context.make_tuple(builder, signature.return_type, (m, k))

    return types.UniTuple(types.float64, 2)(types.float64), lower


@intrinsic
def _power_of_two_by_bits(typing_context, n):
    def lower(context, builder, signature, arguments):
        word = ir.IntType(64)
        bits = builder.bitcast(builder.fadd(arguments[0], ir.DoubleType()(2.0**52 + 1023.0)), word)
        return _double_of(builder, builder.shl(bits, word(52)))

    return types.float64(types.float64), lower


@intrinsic
def _leading_by_bits(typing_context, x):
    def lower(context, builder, signature, arguments):
        word = ir.IntType(64)
        # 27 of the 52 bits behind the point are zero
        return _double_of(
            builder, builder.and_(builder.bitcast(arguments[0], word), word(-(1 << 27) % (1 << 64)))
        )

    return types.float64(types.float64), lower


def _lower_number(function: Callable, lowered: Any) -> None:
    """Give a function of a double the compiled form that works on its bits."""

    @overload(function, **OPTIONS, **IN_PLACE)
    def overload_number(x):
        return lambda x: lowered(x)

    LOWERED.update({function: (_double_of, lowered._defn)})


@overload(elementary.power_of_two, **OPTIONS, **IN_PLACE)
def overload_power_of_two(n):
    return lambda n: _power_of_two_by_bits(n)


LOWERED.update({elementary.power_of_two: (_double_of, _power_of_two_by_bits._defn)})
_lower_number(elementary.parts, _parts_by_bits)
_lower_number(elementary.leading, _leading_by_bits)
