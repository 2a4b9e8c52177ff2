"""A value that may be absent, as CEL's optional syntax makes it."""

from typing import Any, ClassVar, Final


class Optional:
    """An optional value. `NONE` is the one that is absent."""

    __slots__ = ("present", "value")

    NONE: ClassVar["Optional"]

    def __init__(self, value: Any, *, present: bool = True) -> None:
        self.value: Final = value
        self.present: Final = present

    def __repr__(self) -> str:
        return f"optional.of({self.value!r})" if self.present else "optional.none()"


Optional.NONE = Optional(None, present=False)
NONE: Final = Optional.NONE
