"""What AWS sources share: clients, the service's time, and its errors in our words."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from functools import cache, lru_cache
from importlib.metadata import PackageNotFoundError, version
from platform import python_version
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore.exceptions as boto
from botocore.config import Config

from streamiter.errors import (
    AccessDenied,
    CredentialsMissing,
    InvalidOption,
    InvalidStream,
    IteratorExpired,
    PositionTrimmed,
    ShardGone,
    SourceError,
    StreamiterError,
    Throttled,
    TimeUnsupported,
    TransientError,
)
from streamiter.shard import Shard

_GONE = {  # what to do about a resource that is not there, by the call that found it so
    "dynamodb:DescribeStream": "; DynamoDB removes a disabled stream after 24 hours, and enabling it makes a new one: "
    "name the table to read its latest",
}
# In a plain RuntimeError of botocore's: the credentials that it just fetched are older than now.
_STILL_EXPIRED = "refreshed credentials are still expired"
_UNREADABLE = (ValueError, OverflowError, RecursionError, RuntimeError)
_PLAIN = re.compile(r"[A-Za-z0-9_.-]*")  # what Lambda and ECS call themselves
# OpenSSL's words for an answer that is no TLS; they differ from version to version.
_NO_TLS = (
    "WRONG_VERSION_NUMBER",
    "wrong version number",
    "UNKNOWN_PROTOCOL",
    "RECORD_LAYER_FAILURE",
    "record layer failure",
)
_FOREIGN_WORDS = 100  # characters of an answer that is not the service's
_THROTTLES = {
    "LimitExceededException",
    "ThrottlingException",
    "Throttling",
    "ThrottledException",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "TooManyRequestsException",
    "ProvisionedThroughputExceededException",
    "KMSThrottlingException",
    "SlowDown",
}
_FAULTS = {"InternalServerError", "InternalFailure", "InternalServerException", "InternalFailureException"} | {
    "ServiceUnavailable",
    "ServiceUnavailableException",
    "UnavailableException",
    "RequestTimeout",
    "RequestTimeoutException",
    "RequestExpired",
}
_REFUSALS = {
    "AccessDenied",
    "AccessDeniedException",
    "KMSAccessDeniedException",
    "KMSOptInRequired",
    "UnauthorizedOperation",
    "OptInRequired",
}
_UNKNOWN_KEY = "the access key is not known: it was deleted or mistyped, or it belongs to another partition"
_WRONG_SIGNATURE = "the secret key does not belong to the access key, or this machine's clock is off"
_UNSIGNED = "the call was not signed whole: check the credentials"
_OLD_SESSION = "the session has expired: log in again (aws sso login), or renew the session token"
# Refused because of who calls, not because of what the caller may do: what to do about it.
BAD_KEYS = {
    "UnrecognizedClientException": _UNKNOWN_KEY,
    "InvalidClientTokenId": _UNKNOWN_KEY,
    "InvalidSignatureException": _WRONG_SIGNATURE,
    "SignatureDoesNotMatch": _WRONG_SIGNATURE,
    "IncompleteSignature": _UNSIGNED,
    "MissingAuthenticationToken": _UNSIGNED,
    "MissingAuthenticationTokenException": _UNSIGNED,
    "ExpiredToken": _OLD_SESSION,
    "ExpiredTokenException": _OLD_SESSION,
}
_OUR_ERRORS: dict[str, type[SourceError]] = {
    "ExpiredIteratorException": IteratorExpired,
    "ExpiredNextTokenException": TransientError,  # the listing begins anew
    "ResourceInUseException": TransientError,  # a stream that is being made
    "TrimmedDataAccessException": PositionTrimmed,
    **dict.fromkeys(_THROTTLES, Throttled),
    **dict.fromkeys(_FAULTS, TransientError),
}


def check_endpoint(url: Any) -> None:
    """An endpoint_url that can be used, and that gives nothing away in a log."""
    if url is None:
        return
    if not isinstance(url, str):
        raise InvalidOption(f"endpoint_url= takes a str, not a {type(url).__name__}")
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none, an address in broken brackets
        parts, is_whole = urlsplit(""), False
    if parts.username is not None or parts.password is not None:
        raise InvalidStream("an endpoint_url with a user name or password in it is refused: it would end up in logs")
    if not is_whole:
        shown = "" if "@" in url else f", not {url!r}"  # what stands before an @ may be a password
        raise InvalidStream(f"an endpoint_url is written http://HOST:PORT or https://HOST{shown}")


def client_config(connections: int, *, attempts: int = 1, session: Any = None) -> Config:
    """How our own clients call: every answer comes back at once, since Stream itself knows when to ask again."""
    told: dict[str, Any] = {}  # user_agent=None would stand against the session's own
    if not _names_itself(session):
        told = {"user_agent": _user_agent(os.environ.get("AWS_EXECUTION_ENV", ""))}
    return Config(
        retries={"total_max_attempts": attempts, "mode": "standard"},
        max_pool_connections=max(connections, 10),
        connect_timeout=5,
        read_timeout=20,
        **told,
    )


def _names_itself(session: Any) -> bool:
    """Whether calls are to say whose they are, in words that botocore alone puts together; policies may ask for them."""
    core = getattr(session, "_session", None)  # boto3 shows no setting of its session but by this one
    if core is None or not _PLAIN.fullmatch(os.environ.get("AWS_EXECUTION_ENV", "")):
        return True
    usual = core.get_default_client_config()
    return (
        core.user_agent_name not in ("Boto3", "Botocore")
        or bool(core.get_config_variable("user_agent_appid"))
        or (usual is not None and bool(usual.user_agent or usual.user_agent_appid))
    )


@cache
def _user_agent(runs_in: str) -> str:
    """What calls say of themselves; without this botocore puts it together twice in each, a seventh of what a call costs."""
    # Botocore's own version follows: boto3's session adds it.
    try:
        own = f"streamiter/{version('streamiter')}"
    except PackageNotFoundError:  # run from its files alone
        own = "streamiter"
    return f"{own} Boto3/{boto3.__version__} lang/python#{python_version()}{runs_in and f' exec-env/{runs_in}'}"


@contextmanager
def aws_errors(action: str, where: str, *, gone: type[Exception] = ShardGone, at_time: bool = False) -> Iterator[None]:
    """Calls inside raise our errors. `action` is the IAM action, `gone` what an unknown resource means here."""
    try:
        yield
    except boto.ClientError as error:
        raise _translated(error, action, where, gone, at_time) from error
    except (boto.NoCredentialsError, boto.PartialCredentialsError, boto.CredentialRetrievalError) as error:
        raise CredentialsMissing(
            f"{where}: boto3 found no AWS credentials ({error}); "
            "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, or pass session= or client="
        ) from error
    except (boto.ProfileNotFound, boto.ConfigParseError, boto.ConfigNotFound) as error:
        raise CredentialsMissing(f"{where}: {error}; name another AWS_PROFILE, or pass session= or client=") from error
    except (boto.TokenRetrievalError, boto.SSOError) as error:
        raise CredentialsMissing(f"{where}: {error}; log in again: aws sso login") from error
    except boto.NoRegionError as error:
        raise CredentialsMissing(f"{where}: {error}; pass region=, or set AWS_DEFAULT_REGION") from error
    except boto.ParamValidationError as error:
        told = f"{where}: {action}: botocore lets no such call pass: {' '.join(str(error).split())[:_FOREIGN_WORDS]}"
        if "parameter ShardId" in str(error):
            # An id that the service never gives is that of a shard it does not have: a token may name anything.
            raise gone(told) from error
        if at_time:
            raise TimeUnsupported(f"{where}: this botocore does not know AT_TIMESTAMP") from error
        raise SourceError(told) from error
    except boto.SSLError as error:
        raise _not_secured(error, action, where) from error
    except (boto.HTTPClientError, boto.ConnectionError, boto.IncompleteReadError) as error:
        raise TransientError(f"{where}: {action} could not be called{_at(error)}: {type(error).__name__}") from error
    except (boto.ResponseStreamingError, boto.ReadTimeoutError, TimeoutError, ConnectionError) as error:
        raise TransientError(f"{where}: {action} was cut off: {type(error).__name__}") from error
    except StreamiterError:
        raise
    except Exception as error:
        if _STILL_EXPIRED in str(error):
            raise CredentialsMissing(
                f"{where}: {error} Renew what gives boto3 its credentials: log in again (aws sso login), or see to the "
                "role, the process or the session= that they come from"
            ) from error
        # botocore raises its parser's error from a module of its own, and what a hostile answer brings about besides: times
        # that no calendar has, nesting without end. An answer that cannot be read may be whole next time.
        if type(error).__name__ != "ResponseParserError" and not isinstance(error, _UNREADABLE):
            raise
        raise TransientError(f"{where}: the answer to {action} cannot be read ({type(error).__name__})") from error


def _not_secured(error: boto.SSLError, action: str, where: str) -> SourceError:
    """Where the port speaks no TLS at all, to ask again is of no use."""
    told = f"{where}: {action} could not be called{_at(error)}: "
    if not any(words in str(error) for words in _NO_TLS):
        return TransientError(f"{told}{type(error).__name__}")
    named = urlsplit(str(error.kwargs.get("endpoint_url") or ""))
    return SourceError(
        f"{told}this port speaks http, not https; write the endpoint http://{named.netloc.rpartition('@')[2]}"
    )


def _at(error: boto.BotoCoreError | boto.HTTPClientError) -> str:
    """Where a call went: host and port alone, for the rest of a URL may hold a password."""
    named = getattr(error, "kwargs", {})
    parts = urlsplit(str(named.get("proxy_url") or named.get("endpoint_url") or ""))
    return f" at {parts.netloc.rpartition('@')[2]}" if parts.hostname else ""


def _translated(error: boto.ClientError, action: str, where: str, gone: type[Exception], at_time: bool) -> Exception:
    response: Mapping[str, Any] = error.response
    code = str(response.get("Error", {}).get("Code", ""))
    message = str(response.get("Error", {}).get("Message", ""))
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
    if error.operation_name == "AssumeRole":
        action = "sts:AssumeRole"  # botocore takes the role on in the middle of another call
    told = f"{where}: {action}: {_answer(code, message)}"
    if code == "KMSAccessDeniedException":
        action = "kms:Decrypt"  # it is the stream's key that refuses
    if code in _OUR_ERRORS:
        return _OUR_ERRORS[code](told)
    if code == "ResourceNotFoundException":
        return gone(told + _GONE.get(action, ""))
    if code in BAD_KEYS:
        return AccessDenied(f"{told}; {BAD_KEYS[code]}")
    if code in _REFUSALS:
        return AccessDenied(f"{told}; allow the caller the IAM action {action} on it")
    if at_time and code != "ResourceNotFoundException" and _refuses_type(message):
        return TimeUnsupported(told)
    if status == 429:
        return Throttled(told)
    if status >= 500:
        return TransientError(told)
    if gone is InvalidStream:
        return InvalidStream(told)
    return SourceError(told)


def _answer(code: str, message: str) -> str:
    """What the service said, in a line. botocore gives the status for a code where something else answered."""
    words = " ".join(message.split())
    if not code.isdigit():
        return f"{code}: {words}"
    if "https" in words.lower() and code == "400":  # as nginx and Go's servers say it, each in its own words
        return f"HTTP {code}: this port speaks https, not http; write the endpoint https://"
    shown = "" if not words or words.startswith("<") else f": {words[:_FOREIGN_WORDS]}"  # pages of markup tell nothing
    return f"HTTP {code}, not from the service itself{shown}"


def _refuses_type(message: str) -> bool:
    # A refusal of the *type*, as services older than AT_TIMESTAMP give it: not one of the time, which has other words.
    words = message.lower().replace(" ", "")
    return "future" not in words and any(word in words for word in ("at_timestamp", "iteratortype", "enumvalue"))


@contextmanager
def taking_apart(action: str, where: str) -> Iterator[None]:
    """An answer is taken apart inside. Where a member is missing or of another type, it may be whole the next time."""
    try:
        yield
    except StreamiterError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise TransientError(f"{where}: the answer to {action} cannot be read ({type(error).__name__})") from error


def part(response: Mapping[str, Any], name: str) -> Any:
    """A member that an answer must have."""
    # botocore takes a body that breaks off for an empty one.
    if name not in response:
        raise TransientError(f"the answer lacks its {name}: it was cut off, or is not the service's")
    return response[name]


def text_part(response: Mapping[str, Any], name: str) -> str:
    """A member that an answer must have, and that is text with something in it."""
    text = part(response, name)
    if not isinstance(text, str) or not text:
        raise TypeError(f"{name} is no text")
    return text


def next_part(response: Mapping[str, Any], name: str) -> str | None:
    """What an answer says to go on with; None where it has no such member, or an empty one: it was the last one."""
    return text_part(response, name) if response.get(name) not in (None, "") else None


def shard_rows(rows: Any, read: Callable[[Any], Shard]) -> tuple[Shard, ...]:
    """The shards that an answer lists; a row that is none makes all of it an answer that cannot be read."""
    try:
        return tuple(map(read, rows))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise TransientError(f"the listing cannot be read: a shard in it is none ({type(error).__name__})") from None


def place_of(client: Any) -> str:
    """Where a client looks: its region and endpoint, without what may be a password."""
    meta: Any = getattr(client, "meta", None)
    if not getattr(meta, "endpoint_url", None):
        return "here"  # others' clients may only look like boto3's
    endpoint = urlsplit(str(meta.endpoint_url))
    return f"in {meta.region_name} at {endpoint.scheme}://{endpoint.netloc.rpartition('@')[2]}"


def names_near(wrong: str, names: Sequence[str], kind: str) -> str:
    """What a wrong name may have meant, as the end of a message."""
    near = get_close_matches(wrong, names, n=3) or [name for name in names if name.lower() == wrong.lower()]
    if near:
        return f"; did you mean {' or '.join(near)}?"
    more = " and more" if len(names) > 5 else ""
    return (
        f"; the {kind}s there are {', '.join(names[:5])}{more}"
        if names
        else f"; there is no {kind} at all: is it the right region?"
    )


def service_time_us(response: Mapping[str, Any]) -> int | None:
    """When the service answered, by its own clock; None where it does not say."""
    headers = response.get("ResponseMetadata", {}).get("HTTPHeaders") or {}
    date = headers.get("date") or headers.get("Date")
    return _parse_date(date) if isinstance(date, str) else None


@lru_cache(maxsize=16)
def _parse_date(date: str) -> int | None:
    try:
        return int(parsedate_to_datetime(date).timestamp()) * 1_000_000
    except (ValueError, TypeError, OverflowError):
        return None
