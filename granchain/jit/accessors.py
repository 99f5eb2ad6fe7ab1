"""Access of compiled code to tables, and to the binary form of a double.

A table has one row per quantity and one column per body or contact. Each function here is plain
Python with a compiled form written as LLVM code. Inline LLVM code needs none of the time that each
compiled function takes to compile.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from numba import types
from numba.extending import (
    lower_builtin,
    lower_getattr_generic,
    models,
    register_model,
    type_callable,
)

from granchain.contact import elementary
from granchain.jit.reach import LOWERED


def lowered(function: Callable, typed: Callable, *forms: Callable) -> None:
    """Give a plain function a compiled form.

    Parameters
    ----------
    function : callable
        Its defaults identify what it is made for, and are part of the hash.
    typed : callable
        Function from the types of its arguments to its signature.
    *forms : callable
        Function that writes its LLVM code, and the functions that this one calls.
    """
    type_callable(function)(lambda context: typed)
    lower_builtin(function, types.VarArg(types.Any))(forms[0])
    LOWERED[function] = forms


# --------------------------------------------------------------------------------------------------
# Tables, and tuples of their values

NUMBER = types.float64


def _pointer(context, builder, kind, table, row, k):
    """Write the address of column k in a row of a table."""
    array = context.make_array(kind)(context, builder, table)
    start = builder.mul(
        context.get_constant(types.intp, row), builder.extract_value(array.shape, 1)
    )
    return builder.gep(array.data, [builder.add(start, k)])


@cache
def gatherer(count: int, first: int = 0) -> Callable:
    """Return a function (table, k) -> tuple of the rows first..first + count - 1 at column k."""

    def gather(table, k, rows=range(first, first + count)):
        return tuple([table[row, k] for row in rows])

    def write(context, builder, signature, arguments):
        kind, (table, k) = signature.args[0], arguments
        values = [
            builder.load(_pointer(context, builder, kind, table, row, k))
            for row in range(first, first + count)
        ]
        return context.make_tuple(builder, signature.return_type, values)

    lowered(
        gather,
        lambda table, k: types.UniTuple(table.dtype, count)(table, types.intp),
        write,
        _pointer,
    )
    return gather


@cache
def picker(sources: tuple[int, ...]) -> Callable:
    """Return a function (values) -> the tuple of the values at given positions."""

    def pick(values, sources=sources):
        return tuple([values[source] for source in sources])

    def write(context, builder, signature, arguments):
        (kinds,), (values,) = signature.args, arguments
        picked = [
            context.cast(builder, builder.extract_value(values, source), kinds[source], NUMBER)
            for source in sources
        ]
        return context.make_tuple(builder, signature.return_type, picked)

    lowered(pick, lambda values: types.UniTuple(NUMBER, len(sources))(values), write)
    return pick


def replaced(count: int, positions: tuple[int, ...]) -> Callable:
    """Return a function (values, new) -> `count` values, with those at given positions replaced."""
    pick = picker(tuple(count + positions.index(i) if i in positions else i for i in range(count)))

    def replace(values, new):
        return pick(values + new)

    return replace


def store_rows(table, k, values):
    """Write a tuple to the first rows of column k."""
    for i, value in enumerate(values):
        table[i, k] = value


def _write_stored_rows(context, builder, signature, arguments):
    """Write the code of `store_rows`."""
    (kind, _, kinds), (table, k, values) = signature.args, arguments
    for row, kind_of_value in enumerate(kinds):
        value = builder.extract_value(values, row)
        builder.store(
            context.cast(builder, value, kind_of_value, kind.dtype),
            _pointer(context, builder, kind, table, row, k),
        )
    return context.get_dummy_value()


lowered(
    store_rows,
    lambda table, k, values: types.none(table, types.intp, values),
    _write_stored_rows,
    _pointer,
)


class Rows(types.NamedUniTuple):
    """Numba type of a named tuple of the rows of one table.

    A function receives only the address and the width of the table. With a separate array for
    each row, a call had about a hundred values, and a loop took a third longer to compile.
    """

    def __init__(self, dtype, count, cls):
        super().__init__(dtype, count, cls)
        # This name is part of the name of each compiled function.
        self.name = f"{cls.__name__}({dtype.dtype})"


@register_model(Rows)
class _RowsModel(models.StructModel):
    def __init__(self, manager, kind):
        members = [
            ("data", types.CPointer(kind.dtype.dtype)),
            ("width", types.intp),
            ("length", types.intp),
        ]
        super().__init__(manager, kind, members)


def rows_as(kind: Any) -> Callable:
    """Return a plain function from a table to a named tuple of its rows."""

    # The field names are part of the function, so that a changed field compiles the loop again.
    def view(table, fields=(kind.__name__, *kind._fields)):
        return kind(*[table[row] for row in range(len(fields) - 1)])

    def typed(table):
        return Rows(table.copy(ndim=1), len(kind._fields), kind)(table)

    lowered(view, typed, _write_rows, _write_row)
    return view


def _write_rows(context, builder, signature, arguments):
    """Write the code of a function of `rows_as`."""
    table = context.make_array(signature.args[0])(context, builder, arguments[0])
    rows = context.make_helper(builder, signature.return_type)
    rows.data, rows.width = table.data, builder.extract_value(table.shape, 1)
    rows.length = rows.width
    return rows._getvalue()


@lower_getattr_generic(Rows)
def _write_row(context, builder, kind, value, field):
    """Write the code that makes a row an array when its field is read."""
    rows = context.make_helper(builder, kind, value)
    number = context.get_constant(types.intp, kind.fields.index(field))
    row = context.make_array(kind.dtype)(context, builder)
    row.data, row.nitems = builder.gep(rows.data, [builder.mul(number, rows.width)]), rows.length
    # The elements are float64 or int64.
    row.itemsize = context.get_constant(types.intp, 8)
    row.shape = context.make_tuple(builder, types.UniTuple(types.intp, 1), [row.nitems])
    row.strides = context.make_tuple(builder, types.UniTuple(types.intp, 1), [row.itemsize])
    return row._getvalue()


class ByAddress(types.NamedTuple):
    """Numba type of a named tuple in memory, passed to functions by its address."""

    def __init__(self, types, cls):
        super().__init__(types, cls)
        self.name = f"address of {cls.__name__}"


@register_model(ByAddress)
class _ByAddressModel(models.PrimitiveModel):
    def __init__(self, manager, kind):
        values = manager[types.NamedTuple(kind.types, kind.instance_class)]
        super().__init__(manager, kind, values.get_value_type().as_pointer())


def by_address(arrays):
    """Pass a named tuple of arrays to other functions by its address."""
    return arrays


def _write_by_address(context, builder, signature, arguments):
    """Write the code of `by_address`."""
    # at the start of the function, so that a loop does not grow the stack
    with builder.goto_entry_block():
        address = builder.alloca(arguments[0].type)
    builder.store(arguments[0], address)
    return address


@lower_getattr_generic(ByAddress)
def _write_field(context, builder, kind, value, field):
    """Write the code that reads a field of a named tuple by its address."""
    number = kind.fields.index(field)
    index = [context.get_constant(types.int32, position) for position in (0, number)]
    return builder.load(builder.gep(value, index, inbounds=True))


lowered(
    by_address,
    lambda arrays: ByAddress(arrays.types, arrays.instance_class)(arrays),
    _write_by_address,
    _write_field,
)


def rows_from(rows, first):
    """Return the rows of a table from a given column on, with a single addition.

    A slice would also check if the column is counted from the end.
    """
    return type(rows)(*[row[first:] for row in rows])


def _write_rows_from(context, builder, signature, arguments):
    """Write the code of `rows_from`."""
    value, first = arguments
    rows = context.make_helper(builder, signature.args[0], value)
    rows.data, rows.length = builder.gep(rows.data, [first]), builder.sub(rows.length, first)
    return rows._getvalue()


lowered(rows_from, lambda rows, first: rows(rows, types.intp), _write_rows_from)


def arrays_as(kind: Any) -> Callable:
    """Return a plain function (rows, first) -> named tuple of some of the rows.

    They are separate arrays, so a function that receives them knows that they do not overlap.
    """

    def arrays(rows, first, fields=(kind.__name__, *kind._fields)):
        return kind(*[getattr(rows, name)[first:] for name in fields[1:]])

    def write(context, builder, signature, arguments):
        rows = _write_rows_from(context, builder, signature, arguments)
        values = [
            _write_row(context, builder, signature.args[0], rows, name) for name in kind._fields
        ]
        return context.make_tuple(builder, signature.return_type, values)

    def typed(rows, first):
        made = types.NamedUniTuple(rows.dtype, len(kind._fields), kind)
        return made(rows, types.intp)

    lowered(arrays, typed, write, _write_rows_from, _write_row)
    return arrays


# --------------------------------------------------------------------------------------------------
# Splitting of doubles by powers of two with integer operations. frexp and ldexp, as in plain
# Python, would be calls, and LLVM vectorizes no loop with such a call. Only unsigned shifts are
# used, because LLVM does not vectorize signed ones.

# IEEE 754: 52 bits of mantissa, then the exponent plus 1023.
MANTISSA, TWO_52, BIAS = (1 << 52) - 1, 0x433 << 52, 2.0**52 + 1023.0
# Bits of sqrt(1/2), whose exponent is -1, and of 1.
BITS_OF_ROOT_OF_HALF, BITS_OF_ONE = 0x3FE6A09E667F3BCD, 0x3FF << 52


def _write_mantissa_exponent(context, builder, signature, arguments):
    """Write the code of `elementary.mantissa_exponent`."""
    word, double = map(context.get_value_type, (types.uint64, types.float64))
    # Relative to the binary form of sqrt(1/2), the carry gives the exponent of a mantissa from
    # sqrt(1/2) on.
    bits = builder.add(
        builder.bitcast(arguments[0], word), word(BITS_OF_ONE - BITS_OF_ROOT_OF_HALF)
    )
    m = builder.add(builder.and_(bits, word(MANTISSA)), word(BITS_OF_ROOT_OF_HALF))
    # The last bits of 2^52 + n are the integer n.
    n = builder.bitcast(builder.or_(builder.lshr(bits, word(52)), word(TWO_52)), double)
    both = builder.bitcast(m, double), builder.fsub(n, double(BIAS))
    return context.make_tuple(builder, signature.return_type, both)


def _write_power_of_two(context, builder, signature, arguments):
    """Write the code of `elementary.power_of_two`."""
    word, double = map(context.get_value_type, (types.uint64, types.float64))
    bits = builder.bitcast(builder.fadd(arguments[0], double(BIAS)), word)
    return builder.bitcast(builder.shl(bits, word(52)), double)


def _write_leading(context, builder, signature, arguments):
    """Write the code of `elementary.leading`."""
    word, double = map(context.get_value_type, (types.uint64, types.float64))
    # 27 of the 52 mantissa bits are set to zero.
    bits = builder.and_(builder.bitcast(arguments[0], word), word(-(1 << 27) % (1 << 64)))
    return builder.bitcast(bits, double)


TWO_DOUBLES = types.UniTuple(types.float64, 2)
lowered(
    elementary.mantissa_exponent, lambda x: TWO_DOUBLES(types.float64), _write_mantissa_exponent
)
lowered(elementary.power_of_two, lambda n: types.float64(types.float64), _write_power_of_two)
lowered(elementary.leading, lambda x: types.float64(types.float64), _write_leading)
