"""What `docs/functions.md` says beyond the declarations: titles, macros, syntax, examples.

Examples are expressions; their values are computed when the page is written. A test demands one
for each function and macro.
"""

from typing import Final, NamedTuple


class Text(NamedTuple):
    """A library's heading, a sentence about all of it, and its examples."""

    title: str
    intro: str
    examples: tuple[str, ...]


class Form(NamedTuple):
    """A macro or a piece of syntax: its forms, and a sentence."""

    forms: tuple[str, ...]
    doc: str


LIBRARIES: Final = {
    "operators": Text(
        "Operators",
        "Arithmetic on integers alone fails where the result does not fit into 64 bits.",
        (
            "7 / 2",
            "-7 / 2",
            "-7 % 2",
            "1 / 0",
            "2 * 1.5",
            '"a" + "b"',
            "[1] + [2]",
            "1 == 1.0",
            '"b" < "a"',
            "2Gi + 512Mi",
            "3Gi - 1Gi",
            "-500m",
            "2Gi * 1.5",
            "3Gi / 2Gi",
            "1500m >= 1",
            '"spot" in ["spot", "preemptible"]',
            '"disk" in {"disk": "ssd"}',
            'timestamp("2026-01-01T00:00:00Z") + duration("90m")',
            "!(1 != 2 || 2 <= 1 || 1 > 2)",
        ),
    ),
    "conversions": Text(
        "Conversions",
        "A conversion fails where the text or the number has no counterpart in the other type.",
        (
            'bool("true")',
            'bytes("hé")',
            "double(3)",
            'duration("1h30m")',
            "int(3.9)",
            'int("42")',
            'int("four")',
            "string(1e21)",
            'string(duration("90m"))',
            "timestamp(0)",
            "uint(7)",
            "dyn(1) == 1.0",
            "type(2Gi)",
            'type("a") == string',
        ),
    ),
    "strings": Text(
        "Strings",
        "Positions count characters (code points) from 0.",
        (
            'size("hé")',
            "[1, 2].size()",
            '"gpu-node-7".contains("node")',
            '"gpu-node-7".startsWith("gpu")',
            '"gpu-node-7".endsWith("7")',
            'pod.labels["absent"].startsWith("a")',
            '"banana".indexOf("an")',
            '"banana".indexOf("an", 2)',
            '"banana".lastIndexOf("an")',
            '"abc".charAt(1)',
            '"tacocat".substring(4)',
            '"tacocat".substring(0, 4)',
            '"  a b ".trim()',
            '"a,b,c".split(",")',
            '"a,b,c".split(",", 2)',
            '"ABC".lowerAscii()',
            '"abc".upperAscii()',
            '"a-b-c".replace("-", ".")',
            '"a-b-c".replace("-", ".", 1)',
            '"abc".reverse()',
            'strings.quote("a\\"b")',
            'hash("shop/web-1")',
            'hash("shop/web-1") % 100 < 10',
            '["a", "b"].join("/")',
            '["a", "b"].join()',
            '"%s has %d nodes, %.1f%% full".format(["north", 12, 93.72])',
            '"%x %X %o %b %e".format([255, 255, 8, 5, 1500.0])',
        ),
    ),
    "regex": Text(
        "Regular expressions",
        "They are RE2's and take time linear in the text. They match anywhere in it unless `^` and"
        " `$` say otherwise. The checker refuses a constant one that cannot be read.",
        (
            '"gpu-0042".matches("^gpu-[0-9]+$")',
            'matches("gpu-0042", "cpu")',
            '"gpu-0042".find("[0-9]+")',
            '"a1b22c333".findAll("[0-9]+")',
            '"a1b22c333".findAll("[0-9]+", 2)',
        ),
    ),
    "lists": Text(
        "Lists",
        "",
        (
            "[1, 2, 3].sum()",
            "[1Gi, 512Mi].sum()",
            "[3, 1, 2].min()",
            "[1Gi, 2G].max()",
            "[].min()",
            "[1, 2, 2].isSorted()",
            '["a", "b", "a"].indexOf("a")',
            '["a", "b", "a"].lastIndexOf("a")',
            "[1, 2].first()",
            "[].last()",
            "[3, 1, 2].sort()",
            "[1, 2, 3, 4].slice(1, 3)",
            "[1, 2, 1].distinct()",
            "[[1], [2, 3]].flatten()",
            "[[[1], [2]], [[3]]].flatten(2)",
            "[1, 2, 3].reverse()",
            "lists.range(3)",
        ),
    ),
    "math": Text(
        "Numbers",
        "CEL's math library.",
        (
            "math.greatest(1, 2, 3)",
            "math.least([4, 2])",
            "math.ceil(1.2)",
            "math.floor(-1.2)",
            "math.round(2.5)",
            "math.trunc(-1.7)",
            "math.isInf(1.0 / 0.0)",
            "math.isNaN(0.0 / 0.0)",
            "math.isFinite(1.0)",
            "math.exp(0)",
            "math.exp(-1.0)",
            "math.sqrt(16)",
            "math.abs(-3)",
            "math.sign(-2.5)",
            "math.bitAnd(12, 10)",
            "math.bitOr(12, 10)",
            "math.bitXor(12, 10)",
            "math.bitNot(0)",
            "math.bitShiftLeft(1, 4)",
            "math.bitShiftRight(256, 4)",
        ),
    ),
    "sets": Text(
        "Lists as sets",
        "The order of elements and how often they stand in a list do not count.",
        (
            "sets.contains([1, 2, 3], [3, 1])",
            "sets.equivalent([1, 2], [2, 1, 1])",
            "sets.intersects([1, 2], [2, 3])",
        ),
    ),
    "times": Text(
        "Times",
        "A zone is a name such as `Europe/Berlin`, or an offset such as `+02:00`.",
        (
            "now",
            "now.getFullYear()",
            "now.getMonth()",
            "now.getDate()",
            "now.getDayOfMonth()",
            "now.getDayOfWeek()",
            "now.getDayOfYear()",
            'now.getHours("Europe/Berlin")',
            "now.getMinutes()",
            'duration("90s").getMinutes()',
            "now.getSeconds()",
            'duration("1.5s").getMilliseconds()',
        ),
    ),
    "optionals": Text(
        "Optional values",
        "`a.?b` and `a[?k]` give an optional value; selecting from one gives one again.",
        (
            "optional.of(1)",
            "optional.none().hasValue()",
            'optional.ofNonZeroValue("")',
            '{"a": 1}.?a.hasValue()',
            '{"a": 1}[?"a"].value()',
            '{"a": 1}.?b.value()',
            '{"a": 1}.?b.or(optional.of(2))',
            '{"a": 1}.?b.orValue(0)',
            "optional.unwrap([optional.of(1), optional.none()])",
            "[optional.of(1), optional.none()].unwrapOpt()",
        ),
    ),
    "encoders": Text(
        "Base64",
        "",
        ('base64.encode(b"policy")', 'string(base64.decode("cG9saWN5"))'),
    ),
    "quantity": Text(
        "Quantities",
        "Kubernetes' amounts, exact to a billionth. Literals such as `2Gi` and the operators are"
        " policyd's; these functions are Kubernetes'.",
        (
            'quantity("1.5Gi")',
            'quantity("1Gi") == 1024Mi',
            'isQuantity("1GB")',
            "string(2Gi)",
            "double(1500m)",
            "int(2k)",
            "sign(-1Gi)",
            'quantity("1Gi").add(quantity("1Mi"))',
            'quantity("2").sub(1)',
            'quantity("1Gi").isLessThan(quantity("2G"))',
            'quantity("1Gi").isGreaterThan(quantity("1G"))',
            'quantity("1Gi").compareTo(quantity("1024Mi"))',
            'quantity("1500m").isInteger()',
            'quantity("2k").asInteger()',
            'quantity("1500m").asApproximateFloat()',
        ),
    ),
    "semver": Text(
        "Versions",
        "Semantic versions.",
        (
            'semver("1.36.2")',
            'semver("v1.36", true)',
            'isSemver("1.36")',
            'semver("1.36.2").major()',
            'semver("1.36.2").minor()',
            'semver("1.36.2").patch()',
            'semver("1.36.2").isLessThan(semver("1.36.10"))',
            'semver("1.36.2").isGreaterThan(semver("1.36.2-rc.1"))',
            'semver("1.36.2").compareTo(semver("1.36.2"))',
        ),
    ),
    "url": Text(
        "URLs",
        "",
        (
            'url("https://example.com:8443/a b?q=1&q=2").getScheme()',
            'url("https://example.com:8443/a b?q=1&q=2").getHost()',
            'url("https://example.com:8443/a b?q=1&q=2").getHostname()',
            'url("https://example.com:8443/a b?q=1&q=2").getPort()',
            'url("https://example.com:8443/a b?q=1&q=2").getEscapedPath()',
            'url("https://example.com:8443/a b?q=1&q=2").getQuery()',
            'isURL("example.com")',
        ),
    ),
    "network": Text(
        "Addresses",
        "IP addresses and ranges, of both families.",
        (
            'ip("10.1.2.3")',
            'isIP("10.1.2.300")',
            'ip.isCanonical("2001:DB8::1")',
            'string(ip("2001:DB8::1"))',
            'ip("::1").family()',
            'ip("0.0.0.0").isUnspecified()',
            'ip("127.0.0.1").isLoopback()',
            'ip("224.0.0.1").isLinkLocalMulticast()',
            'ip("169.254.0.1").isLinkLocalUnicast()',
            'ip("10.1.2.3").isGlobalUnicast()',
            'cidr("10.0.0.0/8").containsIP("10.1.2.3")',
            'cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16")',
            'cidr("10.1.2.3/8").ip()',
            'cidr("10.1.2.3/8").masked()',
            'cidr("10.0.0.0/8").prefixLength()',
            'isCIDR("10.0.0.0")',
        ),
    ),
    "format": Text(
        "Formats of names",
        "What the API server demands of names, label values and the like.",
        (
            'format.dns1123Label().validate("web-7")',
            'format.dns1123Subdomain().validate("web.example.com")',
            'format.dns1035Label().validate("7-web").hasValue()',
            'format.qualifiedName().validate("example.com/team").hasValue()',
            'format.dns1123LabelPrefix().validate("web-")',
            'format.dns1123SubdomainPrefix().validate("web-")',
            'format.dns1035LabelPrefix().validate("web-")',
            'format.labelValue().validate("a b").hasValue()',
            'format.uri().validate("https://example.com").hasValue()',
            'format.uuid().validate("7").hasValue()',
            'format.byte().validate("cG9saWN5").hasValue()',
            'format.date().validate("2026-06-01").hasValue()',
            'format.datetime().validate("2026-06-01").hasValue()',
            'format.named("uuid").hasValue()',
        ),
    ),
}

_REQUIRED: Final = (
    "pod.spec.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution"
)

OBJECTS: Final = Text(
    "Kubernetes' objects",
    "Algorithms of the API that rules build on.",
    (
        "node.taints.all(t, pod.tolerates(t))",
        'pod.tolerates({"key": "dedicated", "value": "db", "effect": "NoSchedule"})',
        f"{_REQUIRED}.optMap(r, node.matchesNodeSelector(r)).orValue(true)",
        f"{_REQUIRED}.optMap(r, r.nodeNames()).orValue(null)",
        "pod.hostPorts()",
        "pod.hostPorts().all(p, node.hasFreePort(p))",
        "pod.images.map(i, node.imageSize(i))",
        "pod.images.map(i, cluster.nodesWithImage(i))",
        "pod.spreadConstraints(cluster).map(c, c.maxSkew)",
        "pod.spreadConstraints(cluster).map(c, c.domains(cluster).least)",
        "pod.spreadConstraints(cluster).map(c, c.podsOn(node))",
        "pod.spreadConstraints(cluster).map(c, c.normalizingWeight([node]))",
        "pod.affinityDomains(cluster).map(t, t.topologyKey)",
        "pod.antiAffinityDomains(cluster).map(t, t.topologyKey)",
        "pod.repellingDomains(cluster).map(t, t.topologyKey)",
        "pod.preferredDomains(cluster, 1).map(t, t.domains)",
        "node.pods.exists(other, pod.hasDiskConflict(other))",
        "pod.volumeClaims(cluster).map(c, c.name)",
        "pod.volumeClaims(cluster).map(c, c.users(cluster))",
        "pod.volumeClaims(cluster).all(c, c.volume == null || node.canReach(c.volume))",
        "node.bindVolumes(pod.volumeClaims(cluster), cluster).hasVolumes",
        "node.attachedVolumes(pod, cluster)",
        "node.volumeLimits(cluster)",
    ),
)

SYNTAX: Final = {
    "&&": Form(
        ("bool && bool → bool",), "Says whether both are true; false decides over an error."
    ),
    "||": Form(("bool || bool → bool",), "Says whether one is true; true decides over an error."),
    "? :": Form(("bool ? A : A → A",), "Gives one of two values; only that one is evaluated."),
    ".": Form(
        ("object.field → A", "map(string, A).key → A"),
        "Gives a field of an object or the value of a key, or an error where there is none.",
    ),
    "[ ]": Form(
        ("list(A)[int] → A", "map(A, B)[A] → B"),
        "Gives an element by its position from 0, or the value of a key, or an error.",
    ),
    ".?": Form(
        ("object.?field → optional(A)", "map(string, A).?key → optional(A)"),
        "Gives a field or the value of a key as an optional, which has none where it is absent.",
    ),
    "[? ]": Form(
        ("list(A)[?int] → optional(A)", "map(A, B)[?A] → optional(B)"),
        "Gives an element or the value of a key as an optional.",
    ),
}

SYNTAX_EXAMPLES: Final = (
    "false && 1 / 0 > 0",
    "1 / 0 > 0 || true",
    '2 > 1 ? "yes" : "no"',
    '{"a": {"b": 1}}.a.b',
    "[10, 20][1]",
    "[10, 20][2]",
    '{"a": 1}["b"]',
    '{"a": {"b": 1}}.?x.b.orValue(0)',
    "[10, 20][?2].hasValue()",
)

MACROS: Final = {
    "has": Form(
        ("has(object.field) → bool",),
        "Says whether a field is set or a key is there, without an error where it is not.",
    ),
    "all": Form(
        ("list(A).all(a, bool) → bool", "map(A, B).all(key, value, bool) → bool"),
        "Says whether a condition is true of every element, of every key, or of every pair; false"
        " decides over an error.",
    ),
    "exists": Form(
        ("list(A).exists(a, bool) → bool", "map(A, B).exists(key, value, bool) → bool"),
        "Says whether a condition is true of an element, a key or a pair; true decides over an"
        " error.",
    ),
    "exists_one": Form(
        ("list(A).exists_one(a, bool) → bool",),
        "Says whether a condition is true of exactly one element or key.",
    ),
    "existsOne": Form(
        ("list(A).existsOne(i, a, bool) → bool", "map(A, B).existsOne(key, value, bool) → bool"),
        "Says the same of pairs; with one variable, which Kubernetes does not have, it is"
        " `exists_one`.",
    ),
    "filter": Form(
        ("list(A).filter(a, bool) → list(A)", "map(A, B).filter(key, bool) → list(A)"),
        "Gives the elements or keys of which a condition is true.",
    ),
    "map": Form(
        ("list(A).map(a, B) → list(B)", "list(A).map(a, bool, B) → list(B)"),
        "Gives the list of what an expression makes of each element or key, or of each of which a"
        " condition is true.",
    ),
    "transformList": Form(
        (
            "list(A).transformList(i, a, B) → list(B)",
            "list(A).transformList(i, a, bool, B) → list(B)",
        ),
        "Does what `map` does, with the position or the key beside the element.",
    ),
    "transformMap": Form(
        (
            "map(A, B).transformMap(key, value, C) → map(A, C)",
            "map(A, B).transformMap(key, value, bool, C) → map(A, C)",
        ),
        "Gives a map with the same keys (for a list, the positions) and new values.",
    ),
    "transformMapEntry": Form(
        (
            "map(A, B).transformMapEntry(key, value, {C: D}) → map(C, D)",
            "map(A, B).transformMapEntry(key, value, bool, {C: D}) → map(C, D)",
        ),
        "Gives a map of one new entry for each pair; two equal keys are an error.",
    ),
    "optMap": Form(
        ("optional(A).optMap(a, B) → optional(B)",),
        "Gives what an expression makes of an optional's value, as an optional.",
    ),
    "optFlatMap": Form(
        ("optional(A).optFlatMap(a, optional(B)) → optional(B)",),
        "Does the same with an expression that gives an optional.",
    ),
    "sortBy": Form(
        ("list(A).sortBy(a, B) → list(A)",),
        "Puts elements into the ascending order of a key that an expression gives for each.",
    ),
    "cel.bind": Form(
        ("cel.bind(name, A, B) → B",),
        "Names a value inside an expression; it is computed once, when it is first needed.",
    ),
    "cel.block": Form(
        ("cel.block([A, …], B) → B",),
        "Names several values by their positions; programs write it, people use `cel.bind`.",
    ),
    "cel.index": Form(
        ("cel.index(int) → A",), "Gives the value of `cel.block` at a constant position."
    ),
    "cel.iterVar": Form(
        ("cel.iterVar(int, int) → A",), "Names a macro's variable by numbers, for programs as well."
    ),
}
"""The macros by name. `list` stands for maps too where a form says nothing else."""

MACRO_EXAMPLES: Final = (
    "has(pod.spec.affinity)",
    "has(pod.status.phase)",
    "[1, 2].all(x, x > 0)",
    '{"a": 1}.all(k, v, v > 0)',
    "[0, 2].exists(x, 4 / x == 2)",
    "[1, 2, 2].exists_one(x, x == 2)",
    "[1, 2].existsOne(i, x, i == x)",
    "[1, 2, 3].filter(x, x > 1)",
    "[1, 2].map(x, x * 10)",
    "[1, 2].map(x, x > 1, x * 10)",
    '["a", "b"].transformList(i, s, string(i) + s)',
    '{"a": 1}.transformMap(k, v, v * 10)',
    '{"a": 1}.transformMapEntry(k, v, {v: k})',
    "optional.of(2).optMap(x, x * 10)",
    '{"a": {"b": 1}}.?a.optFlatMap(m, m.?b)',
    '["bbb", "a", "cc"].sortBy(s, s.size())',
    "cel.bind(n, 6, n * (n + 1))",
    "cel.block([6, cel.index(0) + 1], cel.index(0) * cel.index(1))",
    "[1, 2].map(cel.iterVar(0, 0), cel.iterVar(0, 0) * 2)",
)

TYPES: Final = (
    ("bool", "`true`, `false`"),
    ("int", "`42`, `-1`, `0x2a`; 64 bits"),
    ("uint", "`42u`; 64 bits"),
    ("double", "`1.5`, `1e3`"),
    ("string", '`"a"`, `\'a\'`, `"""a"""`, without escapes `r"\\d"`'),
    ("bytes", '`b"a"`'),
    ("list(A)", "`[1, 2]`"),
    ("map(A, B)", '`{"a": 1}`; the keys are bool, int, uint or string'),
    ("null", "`null`, of the type `null_type`"),
    ("A?", "a value of type A, or null"),
    ("optional(A)", "a value of type A, or none; `optional_type(A)` in full"),
    ("timestamp", '`timestamp("2026-06-01T12:00:00Z")`; `google.protobuf.Timestamp` in full'),
    ("duration", '`duration("1h30m")`; `google.protobuf.Duration` in full'),
    ("quantity", "`2Gi`, `500m`, `1.5Ti`; `kubernetes.Quantity` in full"),
    ("semver", '`semver("1.36.2")`; `kubernetes.Semver` in full'),
    ("url", '`url("https://example.com")`; `kubernetes.URL` in full'),
    ("format", "`format.uuid()`; `kubernetes.NamedFormat` in full"),
    ("ip", '`ip("10.1.2.3")`; `net.IP` in full'),
    ("cidr", '`cidr("10.0.0.0/8")`; `net.CIDR` in full'),
    ("type(A)", "`int`, `type(1)`: a type as a value"),
    ("dyn", "known only when it is evaluated"),
)
"""Types by their short names, and how a value of each is written."""
