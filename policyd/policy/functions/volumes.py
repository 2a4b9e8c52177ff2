"""Functions about volumes: a pod's claims, what serves them on a node, and what nodes can attach.

Follows the plugins VolumeRestrictions, NodeVolumeLimits and VolumeBinding of kube-scheduler 1.36.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from policyd.language.declarations import Function, function, overload
from policyd.model.cluster import Cluster
from policyd.model.node import Node
from policyd.model.pod import Pod
from policyd.model.storage import (
    NO_PROVISIONER,
    Claim,
    Storage,
    StorageClass,
    Volume,
)
from policyd.model.surroundings import Surroundings
from policyd.model.tallies import Contribution
from policyd.model.wanted import claim_names, volumes_of
from policyd.model.wire_placement import PodVolume
from policyd.policy.functions.facts import VolumeBinding, VolumeClaim
from policyd.values.errors import ValueFault
from policyd.values.maps import TotalMap
from policyd.values.quantity import ZERO

# --- disks that are not claims ---


def disk_conflict(pod: Pod, other: Pod) -> bool:
    """Say whether two pods have a disk that one node cannot have twice."""
    theirs = volumes_of(other)
    return any(_is_same_disk(mine, each) for mine in volumes_of(pod) for each in theirs)


def _is_same_disk(one: PodVolume, other: PodVolume) -> bool:
    gce, gce2 = one.gce_persistent_disk, other.gce_persistent_disk
    if gce and gce2 and gce.pd_name == gce2.pd_name and not (gce.read_only and gce2.read_only):
        return True
    ebs, ebs2 = one.aws_elastic_block_store, other.aws_elastic_block_store
    if ebs and ebs2 and ebs.volume_id == ebs2.volume_id:
        return True
    iscsi, iscsi2 = one.iscsi, other.iscsi
    if iscsi and iscsi2 and iscsi.iqn == iscsi2.iqn:
        return not (iscsi.read_only and iscsi2.read_only)
    rbd, rbd2 = one.rbd, other.rbd
    return bool(
        rbd
        and rbd2
        and set(rbd.monitors or ()) & set(rbd2.monitors or ())
        and (rbd.pool, rbd.image) == (rbd2.pool, rbd2.image)
        and not (rbd.read_only and rbd2.read_only)
    )


# --- claims ---


def volume_claims(pod: Pod, cluster: Cluster) -> list[VolumeClaim]:
    """Give the claims of a pod, also those that are not there."""
    storage = cluster.around.storage
    return [_claim(pod, name, storage, own=own) for name, own in claim_names(pod)]


def _claim(pod: Pod, name: str, storage: Storage, *, own: bool) -> VolumeClaim:
    claim = storage.claims.get((pod.namespace, name))
    volume = storage.volumes.get(claim.volume_name) if claim else None
    kind = storage.classes.get(claim.storage_class) if claim else None
    return VolumeClaim(name, pod.namespace, own, claim, volume, kind, pod.uid)


def users(claim: VolumeClaim, cluster: Cluster) -> int:
    """Count the pods on nodes that have a claim. Claims that a pod has alone do not count."""
    around = cluster.around
    counts: Mapping[tuple[str, str], int] | None = around.memo.get("claims")
    if counts is None:
        counts = around.memo["claims"] = around.sums("claims", _claims_on)
    return counts.get((claim.namespace, claim.name), 0)


def _claims_on(node: Node) -> Contribution:
    return tuple(
        ((pod.namespace, name), 1) for pod in node.pods for name, own in claim_names(pod) if not own
    )


def can_reach(node: Node, volume: Volume) -> bool:
    """Say whether a node can reach a volume."""
    return volume.is_reached_from(node.labels)


# --- claims that wait for their pod to be placed ---


def bind_volumes(node: Node, claims: list[VolumeClaim], cluster: Cluster) -> VolumeBinding:
    """Say whether a node can serve the claims that are not bound, by volumes there or to be made.

    Claims are served by size, the smallest first, each by the smallest volume that will do.
    """
    waiting = [each.claim for each in claims if each.claim is not None]
    selected = [claim for claim in waiting if claim.selected_node is not None]
    if any(claim.selected_node != node.name for claim in selected):
        return VolumeBinding(hasVolumes=False)
    storage = cluster.around.storage
    open_ = [claim for claim in waiting if claim.selected_node is None]
    taken: set[str] = set()
    to_make = list(selected)
    for claim in sorted(open_, key=lambda claim: claim.request or ZERO):
        volume = _smallest(claim, _of_class(cluster.around, claim.storage_class), node, taken)
        if volume is None:
            to_make.append(claim)
        else:
            taken.add(volume.name)
    return _makeable(to_make, node, storage)


def _of_class(around: Surroundings, storage_class: str) -> Sequence[Volume]:
    by_class: dict[str, list[Volume]] | None = around.memo.get("volumes")
    if by_class is None:
        by_class = {}
        for volume in around.storage.volumes.values():
            by_class.setdefault(volume.storage_class, []).append(volume)
        around.memo["volumes"] = by_class
    return by_class.get(storage_class, ())


def _smallest(
    claim: Claim, volumes: Iterable[Volume], node: Node, taken: set[str]
) -> Volume | None:
    """Find the volume for a claim: one that is reserved for it, else the smallest that will do."""
    found: Volume | None = None
    for volume in volumes:
        if volume.name in taken or not _could_serve(claim, volume):
            continue
        reached = volume.is_reached_from(node.labels)
        if volume.is_for(claim):
            return volume if reached else None
        if not reached or not _is_free(claim, volume):
            continue
        if found is None or volume.capacity < found.capacity:
            found = volume
    return found


def _could_serve(claim: Claim, volume: Volume) -> bool:
    return (
        (volume.claim is None or volume.is_for(claim))
        and volume.capacity >= (claim.request or ZERO)
        and volume.mode == claim.mode
        and volume.attributes_class == claim.attributes_class
        and not volume.deleting
    )


def _is_free(claim: Claim, volume: Volume) -> bool:
    return (
        volume.phase == "Available"
        and (claim.selector is None or claim.selector.matches(volume.labels))
        and volume.storage_class == claim.storage_class
        and volume.access_modes.issuperset(claim.access_modes)
    )


def _makeable(claims: Iterable[Claim], node: Node, storage: Storage) -> VolumeBinding:
    """Say whether volumes can be made for claims; the first that finds none decides."""
    for claim in claims:
        kind = storage.classes.get(claim.storage_class)
        if kind is None:
            raise ValueFault(f'failed to find storage class "{claim.storage_class}"')
        if kind.provisioner in ("", NO_PROVISIONER) or not kind.serves(node.labels):
            return VolumeBinding(hasVolumes=False)
        if not _has_capacity(claim, kind, node, storage):
            return VolumeBinding(hasSpace=False)
    return VolumeBinding()


def _has_capacity(claim: Claim, kind: StorageClass, node: Node, storage: Storage) -> bool:
    if claim.request is None or kind.provisioner not in storage.counted_drivers:
        return True
    wanted = claim.request.value()
    return any(
        capacity.storage_class == kind.name
        and capacity.largest is not None
        and capacity.largest.value() >= wanted
        and capacity.nodes.matches(node.labels)
        for capacity in storage.capacities
    )


# --- limits ---


def attached_volumes(node: Node, pod: Pod, cluster: Cluster) -> dict[str, int]:
    """Count, for each driver that a pod brings volumes for, the volumes that the node would have.

    Those of the pods there, those that are attached, and the pod's own, each once.
    """
    storage = cluster.around.storage
    there = _volumes_on(node, storage)
    new = _handles(pod, storage) - there
    attached = {
        (each.driver, volume.handle)
        for each in storage.attachments.get(node.name, ())
        if each.driver and (volume := storage.volumes.get(each.volume)) and volume.driver
    }
    counts = Counter(driver for driver, _ in there | attached)
    return {
        driver: counts[driver] + count
        for driver, count in Counter(driver for driver, _ in new).items()
    }


def _volumes_on(node: Node, storage: Storage) -> frozenset[tuple[str, str]]:
    return frozenset(each for pod in node.pods for each in _handles(pod, storage))


def _handles(pod: Pod, storage: Storage) -> frozenset[tuple[str, str]]:
    """Give the volumes of a pod's claims by driver and handle."""
    found: set[tuple[str, str]] = set()
    for name, own in claim_names(pod):
        claim = storage.claims.get((pod.namespace, name))
        if claim is None or (own and claim.owner_uid != pod.uid):
            continue
        handle = _handle(claim, storage)
        if all(handle):
            found.add(handle)
    return frozenset(found)


def _handle(claim: Claim, storage: Storage) -> tuple[str, str]:
    """Give driver and handle of a claim's volume; of one to be made a handle of its own."""
    volume = storage.volumes.get(claim.volume_name)
    if volume is not None:
        return volume.driver, volume.handle
    kind = storage.classes.get(claim.storage_class)
    return (kind.provisioner if kind else "", f"\0{claim.namespace}/{claim.name}")


def volume_limits(node: Node, cluster: Cluster) -> Mapping[str, int]:
    """Give how many volumes of each driver a node can have, where that is limited."""
    return TotalMap(dict(cluster.around.storage.limits.get(node.name, {})), 0)


FUNCTIONS: Final[tuple[Function, ...]] = (
    function(
        "hasDiskConflict",
        overload(
            "pod_disk_conflict",
            "Pod.(Pod) -> bool",
            disk_conflict,
            portable=False,
            reads={0: ("spec.volumes",), 1: ("spec.volumes",)},
        ),
        doc="Says whether two pods have a disk (GCE, EBS, iSCSI, RBD) that one node cannot have "
        "for both.",
    ),
    function(
        "volumeClaims",
        overload(
            "pod_volume_claims",
            "Pod.(Cluster) -> list(VolumeClaim)",
            volume_claims,
            portable=False,
            reads={0: ("spec.volumes", "namespace", "name", "uid"), 1: ("storage",)},
        ),
        doc="Gives the PersistentVolumeClaims of the pod, also those that are not there.",
    ),
    function(
        "users",
        overload(
            "claim_users",
            "VolumeClaim.(Cluster) -> int",
            users,
            portable=False,
            reads={1: ("pods",)},
        ),
        doc="Counts the pods on nodes that have the claim.",
    ),
    function(
        "canReach",
        overload(
            "node_can_reach",
            "Node.(Volume) -> bool",
            can_reach,
            portable=False,
            reads={0: ("labels",)},
        ),
        doc="Says whether the node can reach a volume, by the volume's node affinity.",
    ),
    function(
        "bindVolumes",
        overload(
            "node_bind_volumes",
            "Node.(list(VolumeClaim), Cluster) -> VolumeBinding",
            bind_volumes,
            portable=False,
            reads={0: ("labels", "name"), 2: ("storage",)},
        ),
        doc="Says whether the node can serve claims that are not bound: by volumes that are there, "
        "or by new ones of their storage classes.",
    ),
    function(
        "attachedVolumes",
        overload(
            "node_attached_volumes",
            "Node.(Pod, Cluster) -> map(string, int)",
            attached_volumes,
            portable=False,
            reads={0: ("pods", "name"), 1: ("spec.volumes", "namespace", "uid"), 2: ("storage",)},
        ),
        doc="Counts by driver the volumes that the node would have with the pod, for the drivers "
        "of which the pod brings new ones.",
    ),
    function(
        "volumeLimits",
        overload(
            "node_volume_limits",
            "Node.(Cluster) -> map(string, int)",
            volume_limits,
            portable=False,
            reads={0: ("name",), 1: ("storage",)},
        ),
        doc="Gives how many volumes of each driver the node can have, where that is limited.",
    ),
)
