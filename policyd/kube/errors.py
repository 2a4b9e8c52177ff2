"""What goes wrong between policyd and an API server, classed by what helps.

`ConfigError` is about how the server is to be reached; `ApiError` is a call that failed.
"""

from typing import Final

from policyd.scheduler.protocols import ClusterError, Remedy

CONFLICT: Final = 409
GONE: Final = 410
NOT_FOUND: Final = 404
UNAUTHORISED: Final = 401
FORBIDDEN: Final = 403
TOO_MANY: Final = 429
UNPROCESSABLE: Final = 422
SERVER_FAULT: Final = 500


class ConfigError(Exception):
    """A kubeconfig or a service account that cannot be used.

    `place` is the file and the field in it, `remedy` what to do.
    """

    def __init__(self, cause: str, place: str = "", remedy: str = "") -> None:
        super().__init__(f"{place}: {cause}" if place else cause)
        self.cause: Final = cause
        self.place: Final = place
        self.remedy: Final = remedy


class ApiError(ClusterError):
    """A call that the API server refused, or that did not get through.

    `status` is the HTTP status, 0 where there was no answer; `reason` is the API's own word for
    it, such as `AlreadyExists`; `retry_after` is how many seconds the server asks to wait; `data`
    is the body of the answer.
    """

    def __init__(
        self,
        message: str,
        remedy: Remedy = Remedy.RETRY_WITH_BACKOFF,
        *,
        status: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        ambiguous: bool = False,
        data: bytes = b"",
    ) -> None:
        super().__init__(message, remedy, ambiguous=ambiguous)
        self.data: Final = data
        self.status: Final = status
        self.reason: Final = reason
        self.retry_after: Final = retry_after

    @property
    def is_expired(self) -> bool:
        """Say whether a version or a continuation is older than what the server remembers."""
        return self.status == GONE or self.reason in ("Expired", "Gone")

    @property
    def may_pass(self) -> bool:
        """Say whether the same call may succeed later, without anyone changing it."""
        return self.status in (0, TOO_MANY) or self.status >= SERVER_FAULT


def remedy_of(status: int) -> Remedy:
    """Say what helps against an HTTP status.

    Permissions (401, 403) are given by a person, but elsewhere than in the pod, so that nothing
    tells the queue of it: the call is tried again.
    """
    if status in (FORBIDDEN, UNAUTHORISED, CONFLICT, TOO_MANY) or status >= SERVER_FAULT:
        return Remedy.RETRY_WITH_BACKOFF
    return Remedy.NEEDS_PERSON


def is_ambiguous(status: int) -> bool:
    """Say whether a write that was answered so may have taken effect, now or the time before.

    A 500 may come after the write (a timeout of etcd, a proxy that lost its answer); a 409 may be
    the echo of an earlier try that was thought lost.
    """
    return status == CONFLICT or status >= SERVER_FAULT
