"""The named formats of Kubernetes' CEL: what names, labels, dates and the like must look like.

The rules and the sentences are those of apimachinery's validation
(https://pkg.go.dev/k8s.io/apimachinery/pkg/util/validation) and, for the formats of OpenAPI, of
kube-openapi's strfmt, so that a message here is the message that the API server gives.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import ClassVar, Final

from policyd.values.errors import ValueFault
from policyd.values.url import check_uri

Check = Callable[[str], list[str]]

_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = f"{_LABEL}(\\.{_LABEL})*"
_LABEL_1035: Final = "[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE: Final = f"({_NAME})?"
_NAME_RULE: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.',"
    " and must start and end with an alphanumeric character"
)
_UUID: Final = re.compile("[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BASE64: Final = re.compile("[A-Za-z0-9+/]++={0,2}")
_DATE: Final = re.compile("([0-9]{4})-([0-9]{2})-([0-9]{2})")
_TIME: Final = re.compile(
    "([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:[zZ]|[+-][0-9]{2}:[0-9]{2})"
)


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format. Equal by name."""

    name: str
    check: Check = field(compare=False, repr=False)

    cel_type: ClassVar[str] = "kubernetes.NamedFormat"

    def validate(self, text: str) -> list[str]:
        """Say what is wrong with `text`, one sentence for each fault; an empty list if nothing."""
        return self.check(text)

    def __str__(self) -> str:
        return self.name


def _misfit(rule: str, pattern: str, *examples: str) -> str:
    shown = " or ".join(f"'{example}', " for example in examples)
    return f"{rule} (e.g. {shown}regex used for validation is '{pattern}')"


def _fits(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None


def _too_long(text: str, limit: int, unit: str = "characters") -> list[str]:
    length = len(text.encode("utf-8", "surrogatepass"))
    return [f"must be no more than {limit} {unit}"] if length > limit else []


def _label(text: str) -> list[str]:
    faults = _too_long(text, 63)
    if _fits(_LABEL, text):
        return faults
    if _fits(_SUBDOMAIN, text):
        return [*faults, "must not contain dots"]
    rule = (
        "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-',"
        " and must start and end with an alphanumeric character"
    )
    return [*faults, _misfit(rule, _LABEL, "my-name", "123-abc")]


def _subdomain(text: str, unit: str = "characters") -> list[str]:
    faults = _too_long(text, 253, unit)
    if _fits(_SUBDOMAIN, text):
        return faults
    rule = (
        "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters,"
        " '-' or '.', and must start and end with an alphanumeric character"
    )
    return [*faults, _misfit(rule, _SUBDOMAIN, "example.com")]


def _label_1035(text: str) -> list[str]:
    faults = _too_long(text, 63)
    if _fits(_LABEL_1035, text):
        return faults
    rule = (
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-',"
        " start with an alphabetic character, and end with an alphanumeric character"
    )
    return [*faults, _misfit(rule, _LABEL_1035, "my-name", "abc-123")]


def _qualified_name(text: str) -> list[str]:
    misfit = _misfit(_NAME_RULE, _NAME, "MyName", "my.name", "123-abc")
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        optional = " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        return [f"a valid label key {misfit}{optional}"]
    faults = _name_prefix(prefix) if slash else []
    if not name:
        faults.append("name part must be non-empty")
    faults += [f"name part {fault}" for fault in _too_long(name, 63, "bytes")]
    if not _fits(_NAME, name):
        faults.append(f"name part {misfit}")
    return faults


def _name_prefix(prefix: str) -> list[str]:
    faults = _subdomain(prefix, "bytes") if prefix else ["must be non-empty"]
    return [f"prefix part {fault}" for fault in faults]


def _label_value(text: str) -> list[str]:
    faults = _too_long(text, 63, "bytes")
    if _fits(_LABEL_VALUE, text):
        return faults
    rule = f"a valid label must be an empty string or {_NAME_RULE.removeprefix('must ')}"
    return [*faults, _misfit(rule, _LABEL_VALUE, "MyValue", "my_value", "12345")]


def _as_prefix(check: Check) -> Check:
    """Check the beginning of a name, to which more is added: it may end in a dash.

    The API server puts a letter in the place of the last two bytes, and so does this.
    """

    def checked(text: str) -> list[str]:
        if len(text) < 2 or not text.endswith("-"):
            return check(text)
        data = text.encode("utf-8", "surrogatepass")
        return check(data[:-2].decode("utf-8", "replace") + "a")

    return checked


def _uri(text: str) -> list[str]:
    try:
        check_uri(text)
    except ValueFault as fault:
        return [fault.message]
    return []


def _when(holds: Callable[[str], bool], fault: str) -> Check:
    """Make a check with one sentence of a test."""
    return lambda text: [] if holds(text) else [fault]


def _is_date(text: str) -> bool:
    found = _DATE.fullmatch(text)
    if found is None:
        return False
    year, month, day = map(int, found.groups())
    try:
        # Go has a year 0, which is a leap year as 4 is; Python's calendar begins with year 1.
        date(year or 4, month, day)
    except ValueError:
        return False
    return True


def _is_datetime(text: str) -> bool:
    day, *rest = re.split("[tT]", text)
    found = _TIME.fullmatch(rest[0]) if rest else None
    if found is None or not _is_date(day):
        return False
    return found[1] <= "23" and found[2] <= "59" and found[3] <= "59"


def _is_uuid(text: str) -> bool:
    return _UUID.fullmatch(text) is not None


def _is_base64(text: str) -> bool:
    return len(text) % 4 == 0 and _BASE64.fullmatch(text) is not None


FORMATS: Final[dict[str, NamedFormat]] = {
    "dns1123Label": NamedFormat("DNS1123Label", _label),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _subdomain),
    "dns1035Label": NamedFormat("DNS1035Label", _label_1035),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _as_prefix(_label)),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _as_prefix(_subdomain)),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _as_prefix(_label_1035)),
    "labelValue": NamedFormat("LabelValue", _label_value),
    "uri": NamedFormat("URI", _uri),
    "uuid": NamedFormat("uuid", _when(_is_uuid, "does not match the UUID format")),
    "byte": NamedFormat("byte", _when(_is_base64, "invalid base64")),
    "date": NamedFormat("date", _when(_is_date, "invalid date")),
    "datetime": NamedFormat("datetime", _when(_is_datetime, "invalid datetime")),
}
"""Every format, by the name that `format.named` takes."""
