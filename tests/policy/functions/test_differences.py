"""What comparisons with kube-scheduler brought up, each as a small case with its answer."""

import json

import pytest

from policyd.model.manifests import Manifests, read_bytes
from policyd.model.snapshot import load_cluster
from policyd.policy.decide import decide
from tests.parity.compare import default_rules
from tests.policy.build import NOW, as_pod, node, pod

RULES = default_rules()


def cluster(*objects):
    """Give the cluster of some objects; a class, a CSINode and so on say their kind."""
    listed = {"apiVersion": "v1", "kind": "List", "items": list(objects)}
    found: Manifests = read_bytes(json.dumps(listed).encode())
    made = load_cluster(found, NOW)
    assert (*found.problems, *made.problems) == ()
    return made


def decided(manifest, *objects):
    made = decide(RULES, as_pod(manifest), cluster(*objects))
    return {each.name: each for each in made.nodes}


def first(verdict):
    """Give the rule that rejects first, its first reason, and whether eviction could help."""
    if verdict.rejection is None:
        return None
    rule, rejection = verdict.rejection
    return rule.name, rejection.reasons[0], rejection.resolvable


def score(verdict, rule):
    return next(v.score for v in verdict.verdicts if v.rule.name == rule)


def with_spec(manifest, **spec):
    return {**manifest, "spec": {**manifest["spec"], **spec}}


def needing(*terms):
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}}
    return with_spec(pod(), affinity={"nodeAffinity": required})


def expression(key, operator, *values):
    return {"matchExpressions": [{"key": key, "operator": operator, "values": [*values]}]}


# --- node affinity ---

UNMATCHED = ("NodeAffinity", "node(s) didn't match Pod's node affinity/selector", False)


@pytest.mark.parametrize(
    ("term", "fits"),
    [
        (expression("gen", "NotIn", "7"), True),
        (expression("gen", "NotIn", "-3"), False),  # no value that a label can have
        (expression("gen", "Gt", "2"), True),
        (expression("gen", "Gt", "3"), False),
        (expression("gen", "Lt", "x"), False),
        (expression("absent", "Gt", "2"), False),
        (expression("absent", "NotIn", "7"), True),
        (expression("gen", "In"), False),
        ({}, False),
    ],
)
def test_a_term_that_is_not_valid_or_empty_matches_no_node(term, fits):
    found = decided(needing(term), node("a", {"gen": "3"}))
    assert first(found["a"]) == (None if fits else UNMATCHED)


def by_name(*names):
    return {
        "matchFields": [{"key": "metadata.name", "operator": "In", "values": [n]} for n in names]
    }


def test_a_node_that_is_not_named_is_left_out_before_anything_else():
    found = decided(needing(by_name("a")), node("a"), node("b"))
    assert first(found["a"]) is None
    assert first(found["b"])[1] == "node(s) didn't satisfy plugin(s) [NodeAffinity]"


def test_names_that_exclude_each_other_reject_the_pod_everywhere():
    found = decided(needing(by_name("a", "b")), node("a"), node("b"))
    conflict = ("NodeAffinity", "pod affinity terms conflict", False)
    assert {first(each) for each in found.values()} == {conflict}


# --- spread ---


def constraint(key, skew=1, hard=True, **more):
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule" if hard else "ScheduleAnyway",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **more,
    }


def spread(*constraints):
    made = pod(labels={"app": "web"})
    return with_spec(made, topologySpreadConstraints=list(constraints))


SKEWED = "node(s) didn't match pod topology spread constraints"
MISSING = f"{SKEWED} (missing required label)"


def test_the_first_constraint_that_is_not_met_decides():
    """A node without the label of a later constraint is one that eviction might help."""
    full = [pod(f"p{at}", {"app": "web"}, on="b") for at in range(2)]
    nodes = (
        node("a", {"zone": "a"}),
        node("b", {"zone": "b", "rack": "r"}),
        node("c", {"rack": "r"}),
    )
    both = constraint("zone"), constraint("rack")
    found = decided(spread(*both), *nodes, *full)
    assert first(found["a"]) == ("PodTopologySpread", MISSING, False)
    found = decided(spread(constraint("rack"), constraint("zone", minDomains=5)), *nodes, *full)
    assert first(found["b"]) == ("PodTopologySpread", SKEWED, True)
    assert first(found["c"]) == ("PodTopologySpread", MISSING, False)


def test_a_node_counts_only_with_the_labels_of_all_constraints():
    nodes = (
        node("a", {"zone": "a", "rack": "1"}),
        node("b", {"zone": "a"}),
        node("c", {"zone": "c"}),
    )
    there = [pod(f"p{at}", {"app": "web"}, on="b") for at in range(3)]
    found = decided(spread(constraint("zone"), constraint("rack")), *nodes, *there)
    assert first(found["a"]) is None


def test_pods_that_are_going_and_those_of_other_namespaces_do_not_count():
    gone = pod("gone", {"app": "web"}, on="a")
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    other = pod("other", {"app": "web"}, on="a")
    other["metadata"]["namespace"] = "elsewhere"
    nodes = node("a", {"zone": "a"}), node("b", {"zone": "b"})
    found = decided(spread(constraint("zone")), *nodes, gone, other)
    assert first(found["a"]) is None
    found = decided(spread(constraint("zone")), *nodes, pod("stays", {"app": "web"}, on="a"))
    assert first(found["a"]) == ("PodTopologySpread", SKEWED, True)


def service(**selector):
    metadata = {"name": "front", "namespace": "default"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": selector}


def test_pods_of_a_service_are_spread_without_saying_so():
    nodes = [node(name, {"kubernetes.io/hostname": name}) for name in "ab"]
    there = pod("there", {"app": "web"}, on="a")
    plain = pod(labels={"app": "web"})
    found = decided(plain, *nodes, there, service(selector={"app": "web"}))
    assert (score(found["a"], "PodTopologySpread"), score(found["b"], "PodTopologySpread")) == (
        2 * 66,
        200,
    )
    for other in (service(), service(selector={"app": "db"})):
        assert score(decided(plain, *nodes, there, other)["a"], "PodTopologySpread") is None


def test_a_node_without_a_zone_and_one_with_an_empty_zone_are_one_domain():
    zone = "topology.kubernetes.io/zone"
    nodes = [node("a"), node("b", {zone: ""}), node("c", {zone: "z"})]
    there = [pod(f"p{at}", {"app": "web"}, on="c") for at in range(10)]
    plain = pod(labels={"app": "web"})
    found = decided(plain, *nodes, *there, service(selector={"app": "web"}))
    # c: 10 pods, times ln(2 + 2), plus 4; b: 4; a: 0, of 18 at the most
    expected = {"a": 100, "b": 100 * (18 - 4) // 18, "c": 0}
    assert {n: score(v, "PodTopologySpread") // 2 for n, v in found.items()} == expected


# --- pod affinity ---


def affinity(kind, *terms, key="requiredDuringSchedulingIgnoredDuringExecution"):
    return {kind: {key: [{"topologyKey": "zone", **term} for term in terms]}}


WEB = {"labelSelector": {"matchLabels": {"app": "web"}}}
FAR = ("InterPodAffinity", "node(s) didn't match pod affinity rules", False)
NEAR = ("InterPodAffinity", "node(s) didn't match pod anti-affinity rules", True)
KEPT = ("InterPodAffinity", "node(s) didn't satisfy existing pods anti-affinity rules", True)
ZONES = node("a", {"zone": "a"}), node("b", {"zone": "b"})


def test_eviction_brings_no_pod_nearer_but_makes_room_for_those_that_keep_away():
    there = pod("there", {"app": "web"}, on="a")
    wanting = with_spec(pod(), affinity=affinity("podAffinity", WEB))
    found = decided(wanting, *ZONES, there)
    assert (first(found["a"]), first(found["b"])) == (None, FAR)
    shy = with_spec(pod(), affinity=affinity("podAntiAffinity", WEB))
    found = decided(shy, *ZONES, there)
    assert (first(found["a"]), first(found["b"])) == (NEAR, None)
    alone = with_spec(pod("alone", on="a"), affinity=affinity("podAntiAffinity", WEB))
    found = decided(pod(labels={"app": "web"}), *ZONES, alone)
    assert (first(found["a"]), first(found["b"])) == (KEPT, None)


def test_the_first_pod_of_its_kind_fits_where_it_means_itself():
    nodes = (*ZONES, node("c"))
    own = with_spec(pod(labels={"app": "web"}), affinity=affinity("podAffinity", WEB))
    found = decided(own, *nodes)
    assert [first(found[name]) for name in "abc"] == [None, None, FAR]
    found = decided(own, *nodes, pod("there", {"app": "web"}, on="b"))
    assert [first(found[name]) for name in "abc"] == [FAR, None, FAR]


def test_one_pod_must_match_all_terms():
    both = affinity("podAffinity", WEB, {"labelSelector": {"matchLabels": {"tier": "1"}}})
    wanting = with_spec(pod(), affinity=both)
    apart = pod("w", {"app": "web"}, on="a"), pod("t", {"tier": "1"}, on="a")
    assert first(decided(wanting, *ZONES, *apart)["a"]) == FAR
    one = pod("wt", {"app": "web", "tier": "1"}, on="a")
    assert first(decided(wanting, *ZONES, one)["a"]) is None


def test_a_namespace_selector_of_nothing_but_not_in_selects_every_namespace_as_in_1_36_3():
    """kubernetes/kubernetes#141526"""
    selector = {"matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}
    wanting = with_spec(
        pod(), affinity=affinity("podAffinity", {**WEB, "namespaceSelector": selector})
    )
    there = pod("there", {"app": "web"}, on="a")
    there["metadata"]["namespace"] = "prod"
    prod = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "prod"}}
    prod["metadata"]["labels"] = {"env": "prod"}
    assert first(decided(wanting, *ZONES, there, prod)["a"]) is None


# --- resources ---


def test_all_lacking_resources_are_named_and_one_beyond_the_node_is_beyond_help():
    there = pod("there", on="a", cpu="3", memory="1Gi")
    found = decided(pod(cpu="2", memory="1Gi"), node("a", cpu="4"), there)
    assert first(found["a"]) == ("NodeResourcesFit", "Insufficient cpu", True)
    found = decided(pod(cpu="2", memory="20Gi"), node("a", cpu="4", pods="1"), there)
    rule, rejection = found["a"].rejection
    reasons = ("Too many pods", "Insufficient cpu", "Insufficient memory")
    assert (rule.name, rejection.reasons, rejection.resolvable) == (
        "NodeResourcesFit",
        reasons,
        False,
    )


def test_the_score_of_a_pod_does_not_see_what_it_asks_for_as_a_whole():
    """kube-scheduler's scorer is built without pod-level resources; node totals are not."""
    whole = with_spec(pod(), resources={"requests": {"cpu": "2", "memory": "8Gi"}})
    on = node("a", cpu="4", memory="16Gi")
    assert score(decided(whole, on)["a"], "NodeResourcesFit") == (97 + 98) // 2
    bound = with_spec(pod("there", on="a"), resources={"requests": {"cpu": "2", "memory": "8Gi"}})
    assert score(decided(pod(), on, bound)["a"], "NodeResourcesFit") == (47 + 48) // 2


def test_ports_on_any_address_are_taken_on_all():
    def on_port(name, ip="", **more):
        made = pod(name, **more)
        made["spec"]["containers"][0]["ports"] = [{"hostPort": 80, "hostIP": ip}]
        return made

    taken = ("NodePorts", "node(s) didn't have free ports for the requested pod ports", True)
    for ours, theirs, expected in (
        ("", "10.0.0.1", taken),
        ("10.0.0.1", "", taken),
        ("10.0.0.1", "10.0.0.2", None),
        ("::", "10.0.0.2", None),
        ("0.0.0.0", "::", taken),  # noqa: S104 - the API's own default
    ):
        found = decided(on_port("new", ours), node("a"), on_port("old", theirs, on="a"))
        assert first(found["a"]) == expected, (ours, theirs)


# --- volumes ---


def claim(name, **spec):
    bound = "volumeName" in spec
    annotations = {"pv.kubernetes.io/bind-completed": "yes"} if bound else {}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "5Gi"}},
            "storageClassName": "late",
            **spec,
        },
    }


def volume(name, size="10Gi", labels=None, **spec):
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "labels": labels or {}},
        "spec": {
            "capacity": {"storage": size},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "late",
            **spec,
        },
        "status": {"phase": "Available"},
    }


def storage_class(provisioner="csi.example.com", **more):
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
        **more,
    }


BY_HAND = storage_class("kubernetes.io/no-provisioner")


def using(*names, name="p", on=""):
    volumes = [{"name": n, "persistentVolumeClaim": {"claimName": n}} for n in names]
    return with_spec(pod(name, on=on), volumes=volumes)


def reachable_from(**labels):
    terms = [expression(key, "In", value) for key, value in labels.items()]
    return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}


UNSERVED = "node(s) didn't find available persistent volumes to bind"


def test_a_claim_that_is_not_there_rejects_the_pod_everywhere():
    found = decided(using("data"), node("a"))
    missing = ("VolumeRestrictions", 'persistentvolumeclaim "data" not found', False)
    assert first(found["a"]) == missing


def test_a_volumes_node_affinity_does_not_look_at_names():
    terms = {"nodeAffinity": {"required": {"nodeSelectorTerms": [by_name("elsewhere")]}}}
    bound = claim("data", volumeName="v")
    found = decided(using("data"), node("a"), bound, volume("v", **terms))
    assert first(found["a"]) is None


def test_a_bound_volume_must_be_reached_and_in_the_nodes_zone():
    bound = claim("data", volumeName="v")
    found = decided(using("data"), *ZONES, bound, volume("v", **reachable_from(zone="a")))
    unreached = ("VolumeBinding", "node(s) didn't match PersistentVolume's node affinity", False)
    assert (first(found["a"]), first(found["b"])) == (None, unreached)
    zone = "topology.kubernetes.io/zone"
    nodes = node("a", {zone: "a"}), node("b", {zone: "b"}), node("c")
    found = decided(using("data"), *nodes, bound, volume("v", labels={zone: "a__x"}))
    wrong = ("VolumeZone", "node(s) had no available volume zone", False)
    assert [first(found[name]) for name in "abc"] == [None, wrong, None]


def test_claims_that_wait_take_the_smallest_volumes_that_will_do_each_once():
    volumes = volume("small", "5Gi"), volume("large", "50Gi", **reachable_from(zone="a"))
    two = using("one", "two")
    claims = claim("one"), claim("two", resources={"requests": {"storage": "20Gi"}})
    found = decided(two, *ZONES, *claims, *volumes, BY_HAND)
    assert (first(found["a"]), first(found["b"])) == (None, ("VolumeBinding", UNSERVED, False))
    found = decided(two, *ZONES, claim("one"), claim("two"), volume("small"), BY_HAND)
    assert first(found["a"]) == ("VolumeBinding", UNSERVED, False)


def test_volumes_are_made_where_the_class_allows_and_there_is_capacity():
    allowed = [{"matchLabelExpressions": [{"key": "zone", "values": ["a"]}]}]
    found = decided(using("one"), *ZONES, claim("one"), storage_class(allowedTopologies=allowed))
    assert (first(found["a"]), first(found["b"])) == (None, ("VolumeBinding", UNSERVED, False))
    driver = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIDriver"}
    driver |= {"metadata": {"name": "csi.example.com"}, "spec": {"storageCapacity": True}}
    capacity = {"apiVersion": "storage.k8s.io/v1", "kind": "CSIStorageCapacity"}
    capacity |= {"metadata": {"name": "x", "namespace": "default"}, "storageClassName": "late"}
    capacity |= {"nodeTopology": {"matchLabels": {"zone": "a"}}, "capacity": "10Gi"}
    found = decided(using("one"), *ZONES, claim("one"), storage_class(), driver, capacity)
    full = ("VolumeBinding", "node(s) did not have enough free storage", False)
    assert (first(found["a"]), first(found["b"])) == (None, full)
    capacity["maximumVolumeSize"] = "1Gi"
    found = decided(using("one"), *ZONES, claim("one"), storage_class(), driver, capacity)
    assert first(found["a"]) == full


def test_a_claim_bound_at_once_must_be_bound_before():
    immediate = storage_class(volumeBindingMode="Immediate")
    found = decided(using("one"), node("a"), claim("one"), immediate)
    reason = "pod has unbound immediate PersistentVolumeClaims"
    assert first(found["a"]) == ("VolumeBinding", reason, False)


def test_a_claim_for_one_pod_is_free_when_that_pod_is_evicted():
    alone = claim("one", accessModes=["ReadWriteOncePod"], volumeName="v")
    objects = node("a"), node("b"), alone, volume("v")
    assert first(decided(using("one"), *objects)["b"]) is None
    found = decided(using("one"), *objects, using("one", name="first", on="a"))
    assert {first(each)[0] for each in found.values()} == {"VolumeRestrictions"}
    assert {first(each)[2] for each in found.values()} == {True}


def test_volumes_of_a_driver_count_once_and_attached_ones_count_too():
    csi = {"csi": {"driver": "d", "volumeHandle": "h1"}}
    other = {"csi": {"driver": "d", "volumeHandle": "h2"}}
    limit = {"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": {"name": "a"}}
    limit["spec"] = {"drivers": [{"name": "d", "nodeID": "x", "allocatable": {"count": 1}}]}
    claims = claim("one", volumeName="v1"), claim("two", volumeName="v2")
    objects = node("a"), *claims, volume("v1", **csi), volume("v2", **other), limit
    full = ("NodeVolumeLimits", "node(s) exceed max volume count", True)
    assert first(decided(using("one"), *objects)["a"]) is None
    assert first(decided(using("one", "two"), *objects)["a"]) == full
    assert first(decided(using("one"), *objects, using("one", name="x", on="a"))["a"]) is None
    assert first(decided(using("one"), *objects, using("two", name="x", on="a"))["a"]) == full
    attached = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment"}
    attached |= {"metadata": {"name": "t"}}
    attached["spec"] = {"attacher": "d", "nodeName": "a", "source": {"persistentVolumeName": "v2"}}
    assert first(decided(using("one"), *objects, attached)["a"]) == full


def test_disks_that_one_node_cannot_have_twice():
    def on_disk(name, on="", read_only=False):
        disk = {"pdName": "d", "readOnly": read_only}
        return with_spec(pod(name, on=on), volumes=[{"name": "v", "gcePersistentDisk": disk}])

    conflict = ("VolumeRestrictions", "node(s) had no available disk", True)
    nodes = node("a"), node("b")
    found = decided(on_disk("new"), *nodes, on_disk("old", "a"))
    assert (first(found["a"]), first(found["b"])) == (conflict, None)
    found = decided(on_disk("new", read_only=True), *nodes, on_disk("old", "a", read_only=True))
    assert first(found["a"]) is None


# --- what is not placed ---


def test_pods_with_resource_claims_are_placed_nowhere():
    claimed = with_spec(pod(), resourceClaims=[{"name": "gpu", "resourceClaimName": "gpu"}])
    reason = "policyd does not place pods with resource claims"
    assert first(decided(claimed, node("a"))["a"]) == ("DynamicResources", reason, False)


def test_features_that_a_pod_needs_must_be_declared():
    needs = with_spec(pod(), hostNetwork=True, hostUsers=False)
    able = node("b")
    able["status"]["declaredFeatures"] = ["UserNamespacesHostNetworkSupport"]
    found = decided(needs, node("a"), able)
    lacking = ("NodeDeclaredFeatures", "node(s) didn't match Pod's required features", False)
    assert (first(found["a"]), first(found["b"])) == (lacking, None)
