"""Kubernetes' quantity library: amounts of resources, by name instead of by operator.

Answers are those of Kubernetes 1.36
(https://pkg.go.dev/k8s.io/apiserver/pkg/cel/library#Quantity). The operators on quantities are
policyd's own and stand in `operators.py`; the conversions below are for `conversions.py`.
"""

from policyd.language.declarations import Library, function, overload
from policyd.language.dialect import Dialect
from policyd.values.errors import ValueFault
from policyd.values.numbers import INT_MAX, INT_MIN
from policyd.values.quantity import NANOS, Notation, Quantity


def library(dialect: Dialect) -> Library:  # noqa: ARG001 - the same in both dialects
    """Declare the functions."""
    # Reading is bounded by `MAX_TEXT`, arithmetic by `MAX_NANOS`: none has a cost that grows.
    return Library(
        "quantity",
        (
            function(
                "quantity",
                overload("string_to_quantity", "(string) -> quantity", Quantity.parse),
                doc="Reads an amount such as `500m`, `2Gi` or `1e3`.",
            ),
            function(
                "isQuantity",
                overload("is_quantity_string", "(string) -> bool", _is_quantity),
                doc="Says whether a string can be read as a quantity.",
            ),
            *(
                function(
                    name,
                    overload(f"quantity_to_{name}", f"(quantity) -> {name}", read, portable=False),
                    doc=doc,
                )
                for name, read, doc in (
                    ("string", quantity_to_string, "Writes a quantity as a string."),
                    ("double", quantity_to_double, "Gives the double nearest to a quantity."),
                    ("int", quantity_to_int, "Gives a whole quantity as an int; others have none."),
                )
            ),
            function(
                "sign",
                overload("quantity_sign", "(quantity) -> int", _sign),
                doc="Gives 1 for a positive quantity, -1 for a negative one, 0 for zero.",
            ),
            function(
                "add",
                overload("quantity_add", "quantity.(quantity) -> quantity", Quantity.plus),
                overload("quantity_add_int", "quantity.(int) -> quantity", _add_int),
                doc="Gives the sum of a quantity and a quantity or an int.",
            ),
            function(
                "sub",
                overload("quantity_sub", "quantity.(quantity) -> quantity", Quantity.minus),
                overload("quantity_sub_int", "quantity.(int) -> quantity", _sub_int),
                doc="Gives a quantity less a quantity or an int.",
            ),
            function(
                "isLessThan",
                overload("quantity_is_less_than", "quantity.(quantity) -> bool", _is_less),
                doc="Says whether the receiver comes before the argument.",
            ),
            function(
                "isGreaterThan",
                overload("quantity_is_greater_than", "quantity.(quantity) -> bool", _is_greater),
                doc="Says whether the receiver comes after the argument.",
            ),
            function(
                "compareTo",
                overload("quantity_compare_to", "quantity.(quantity) -> int", _compare),
                doc="Gives -1, 0 or 1 as the receiver is less than, equal to or greater than the"
                " argument.",
            ),
            function(
                "isInteger",
                overload("quantity_is_integer", "quantity.() -> bool", Quantity.is_integer),
                doc="Says whether `asInteger` has an answer; as in Kubernetes it has none for a"
                " fractional spelling such as `2000m`.",
            ),
            function(
                "asInteger",
                overload("quantity_get_int", "quantity.() -> int", Quantity.as_integer),
                doc="Gives the quantity as an int, or an error where `isInteger` is false.",
            ),
            function(
                "asApproximateFloat",
                overload("quantity_get_float", "quantity.() -> double", Quantity.as_float),
                doc="Gives the quantity as a double, perhaps rounded.",
            ),
        ),
    )


def quantity_to_string(quantity: Quantity) -> str:
    """Give the text form: policyd's `string(quantity)`."""
    return str(quantity)


def quantity_to_double(quantity: Quantity) -> float:
    """Give the nearest double: policyd's `double(quantity)`."""
    return quantity.nearest_float()


def quantity_to_int(quantity: Quantity) -> int:
    """Give a whole quantity as an int, however it was written: policyd's `int(quantity)`.

    Raises:
        ValueFault: it is not whole, or past 64 bits.
    """
    whole, rest = divmod(quantity.nanos, NANOS)
    if rest:
        raise ValueFault(f"quantity {quantity} is not a whole number")
    if not INT_MIN <= whole <= INT_MAX:
        raise ValueFault(f"quantity {quantity} is outside the range of int")
    return whole


def _is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except ValueFault:
        return False
    return True


def _sign(quantity: Quantity) -> int:
    return quantity.sign


def _add_int(quantity: Quantity, number: int) -> Quantity:
    return quantity.plus(Quantity.from_int(number, Notation.EXPONENT))


def _sub_int(quantity: Quantity, number: int) -> Quantity:
    return quantity.minus(Quantity.from_int(number, Notation.EXPONENT))


def _is_less(left: Quantity, right: Quantity) -> bool:
    return left.nanos < right.nanos


def _is_greater(left: Quantity, right: Quantity) -> bool:
    return left.nanos > right.nanos


def _compare(left: Quantity, right: Quantity) -> int:
    return (left.nanos > right.nanos) - (left.nanos < right.nanos)
