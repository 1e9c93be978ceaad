"""The forms of keys and tokens that are known by how they look: a fixed beginning and a length.

What each vendor documents, or shows in its own examples; a form without a beginning of its own is not here. Every
pattern begins with a fixed word and repeats nothing without a bound. Pure.
"""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from timeline.world.assigned_value import Value, is_strong, says_nothing
from timeline.world.randomness import is_random


class Form(msgspec.Struct, frozen=True):
    """A form of secrets: words of which one is in every text that has it (in small letters), and the pattern.

    ``is_one`` looks again at what the pattern found, where the pattern alone would take a plain word for a secret.
    """

    family: str
    words: tuple[str, ...]
    pattern: re.Pattern[str]
    is_one: Callable[[str], bool] = bool


def _form(family: str, words: str, pattern: str, is_one: Callable[[str], bool] = bool) -> Form:
    return Form(family, tuple(words.split()), re.compile(pattern, re.ASCII), is_one)


def _is_option(found: str) -> bool:
    value = Value(found.split(None, 1)[1].strip("'\""), is_quoted=False)
    return is_strong(value.text) and not says_nothing(value)


_START: Final = r"(?<![A-Za-z0-9])"
_END: Final = r"(?![A-Za-z0-9])"
_SESSION: Final = (
    r"(?i:php|j)?(?i:sess(?:ion)?id|(?<![a-z])sid|aspxauth|connect\.sid)=[A-Za-z0-9%._~+/=-]{20,512}"
)

FORMS: Final = (
    _form("private-key", "private", r"-{4,5} ?BEGIN (?:[A-Z0-9]{1,16} ){0,4}PRIVATE KEY"),
    _form("private-key", "b3blbnnzac1rzxktdje", r"b3BlbnNzaC1rZXktdjE"),
    _form("private-key", "putty-user-key", r"PuTTY-User-Key-File-\d"),
    _form("private-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50}"),
    _form("private-key", "rwrty0iy", r"RWRTY0Iy[A-Za-z0-9+/]{60}"),
    _form("private-key", "secret key", r"minisign (?:encrypted )?secret key\s{1,4}[A-Za-z0-9+/]{60}"),
    _form("private-key", "nsec1", _START + r"nsec1[a-z0-9]{58}"),
    _form("private-key", "xprv", _START + r"xprv[A-Za-z0-9]{100}"),
    _form("model-provider", "sk-", _START + r"sk-[A-Za-z0-9_-]{20,256}", is_random),
    _form("model-provider", "hf_", _START + r"hf_[A-Za-z0-9]{30}"),
    _form("model-provider", "gsk_", _START + r"gsk_[A-Za-z0-9]{40}"),
    _form("model-provider", "xai-", _START + r"xai-[A-Za-z0-9]{60}"),
    _form("model-provider", "r8_", _START + r"r8_[A-Za-z0-9]{36}"),
    _form("model-provider", "pplx-", _START + r"pplx-[A-Za-z0-9]{40}"),
    _form("github", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{30}"),
    _form("github", "github_pat_", r"github_pat_[A-Za-z0-9_]{20}"),
    _form("gitlab", "gl", _START + r"gl(?:[a-z]{2,5}|agent)-[A-Za-z0-9_-]{20,64}", is_random),
    _form("gitlab", "gr1348941", r"GR1348941[A-Za-z0-9_-]{20}"),
    _form("other-provider", "-us", _START + r"[0-9a-f]{32}-us\d{1,2}" + _END),
    _form("slack", "xox", _START + r"xox[a-z](?:\.xox[a-z])?-[A-Za-z0-9-]{10}"),
    _form("slack", "xapp-", _START + r"xapp-\d-[A-Z0-9]{8,16}-\d"),
    _form("slack", "hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/T[A-Z0-9]{6}"),
    _form("package-index", "npm_", r"npm_[A-Za-z0-9]{30}"),
    _form("package-index", "pypi-", _START + r"pypi-AgE[A-Za-z0-9_-]{40}"),
    _form("package-index", "rubygems_", r"rubygems_[0-9a-f]{40}"),
    _form("package-index", "dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20}"),
    _form("package-index", "cio", _START + r"cio[A-Za-z0-9]{32}" + _END, is_random),
    _form("aws", "akia asia abia acca", _START + r"A(?:KI|SI|BI|CC)A[A-Z2-7]{16}" + _END),
    _form("google", "aiza", r"AIza[A-Za-z0-9_-]{35}"),
    _form("google", "ya29.", _START + r"ya29\.[A-Za-z0-9_-]{30}"),
    _form("google", "gocspx-", r"GOCSPX-[A-Za-z0-9_-]{20}"),
    _form("google", "1//0", r"1//0[A-Za-z0-9_-]{40}"),
    _form("azure", "sig=", r"[?&;]sig=[A-Za-z0-9%+/=]{40}"),
    _form("azure", "q~", r"[A-Za-z0-9_.~-]{3}\dQ~[A-Za-z0-9_.~-]{31}"),
    _form("payment-provider", "sk_live_ rk_live_ sk_test_ rk_test_", r"[sr]k_(?:live|test)_[A-Za-z0-9]{16}"),
    _form("payment-provider", "whsec_", r"whsec_[A-Za-z0-9+/]{24}"),
    _form("payment-provider", "sq0csp-", r"sq0csp-[A-Za-z0-9_-]{40}"),
    _form(
        "payment-provider",
        "access_token$",
        r"access_token\$(?:production|sandbox)\$[a-z0-9]{16}\$[0-9a-f]{32}",
    ),
    _form("messaging-provider", "sk", _START + r"SK[0-9a-f]{32}" + _END),
    _form("messaging-provider", "sg.", _START + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{30}"),
    _form("messaging-provider", ":aa", r"(?<!\d)\d{8,12}:AA[A-Za-z0-9_-]{32}"),
    _form(
        "messaging-provider",
        ".",
        _START + r"[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    ),
    _form("messaging-provider", "/api/webhooks/", r"/api/webhooks/\d{15,21}/[A-Za-z0-9_-]{40}"),
    _form("messaging-provider", "key-", _START + r"key-[0-9a-f]{32}" + _END),
    _form("other-provider", "dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{64}"),
    _form("other-provider", "shpat_ shpss_ shpca_ shppa_", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"),
    _form("other-provider", "dapi", _START + r"dapi[0-9a-f]{32}"),
    _form("other-provider", "dp.", _START + r"dp\.(?:pt|st|ct|sa)\.[A-Za-z0-9._-]{40}"),
    _form("other-provider", "hvs. hvb.", _START + r"hv[sb]\.[A-Za-z0-9_-]{20}"),
    _form("other-provider", "lin_api_", r"lin_api_[A-Za-z0-9]{32}"),
    _form("other-provider", "ntn_", _START + r"ntn_[A-Za-z0-9]{40}"),
    _form("other-provider", "figd_", r"figd_[A-Za-z0-9_-]{30}"),
    _form("other-provider", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{20}"),
    _form("other-provider", "sbp_", _START + r"sbp_[0-9a-f]{40}"),
    _form("other-provider", ".atlasv1.", r"\.atlasv1\.[A-Za-z0-9_-]{40}"),
    _form("other-provider", "atatt3", r"ATATT3[A-Za-z0-9_=-]{60}"),
    _form("other-provider", "nrak-", r"NRAK-[A-Z0-9]{27}"),
    _form("other-provider", "glsa_", r"glsa_[A-Za-z0-9]{32}_"),
    _form("other-provider", "tskey-", r"tskey-[a-z]{2,12}-[A-Za-z0-9-]{20}"),
    _form("other-provider", "a3-", _START + r"A3-[A-Z0-9]{6}-[A-Z0-9]{5,11}-[A-Z0-9-]{17}"),
    _form("other-provider", "ops_eyj sntrys_eyj glc_eyj", r"(?:ops|sntrys|glc)_eyJ[A-Za-z0-9+/]{40}"),
    _form("other-provider", "sntryu_", r"sntryu_[0-9a-f]{60}"),
    _form("other-provider", "sk.eyj", _START + r"sk\.eyJ[A-Za-z0-9_-]{40}"),
    _form("other-provider", "ltai", _START + r"LTAI[A-Za-z0-9]{20}" + _END, is_random),
    _form("other-provider", "akcp", _START + r"AKCp[A-Za-z0-9]{60}"),
    _form("other-provider", "eaa", _START + r"EAA[A-Za-z0-9]{80}"),
    _form("other-provider", "fm2_ fm1", _START + r"fm(?:2|1[ar])_[A-Za-z0-9+/]{60}"),
    _form("other-provider", "pul- sgp_ hrku- nfp_", _START + r"(?:pul-|sgp_|HRKU-|nfp_)[A-Za-z0-9_-]{36}"),
    _form("other-provider", "xkeysib- flwseck", _START + r"(?:xkeysib|FLWSECK(?:_TEST)?)-[0-9a-f]{32}"),
    _form("other-provider", "pat-na pat-eu", _START + r"pat-(?:na|eu)\d-[0-9a-f-]{36}"),
    _form("other-provider", "pscale_", r"pscale_(?:pw|tkn|oauth)_[A-Za-z0-9_.-]{30}"),
    _form("other-provider", "dt0c01.", r"dt0c01\.[A-Z0-9]{24}\.[A-Z0-9]{60}"),
    _form("other-provider", "sha256~", r"sha256~[A-Za-z0-9_-]{43}"),
    _form("other-provider", "v1.0-", _START + r"v1\.0-[0-9a-f]{24}-[0-9a-f]{140}"),
    _form("other-provider", "clojars_ rdme_ tfp_", r"(?:CLOJARS|rdme|tfp)_[A-Za-z0-9_-]{56}"),
    _form("other-provider", "shippo_ duffel_", r"(?:shippo|duffel)_(?:live|test)_[A-Za-z0-9_-]{40}"),
    _form("other-provider", "ezak eztk", _START + r"EZ[AT]K[A-Za-z0-9]{54}"),
    _form("other-provider", "p8e-", _START + r"p8e-[A-Za-z0-9]{32}"),
    _form("other-provider", "secret_ lip_", _START + r"(?:secret|lip)_[A-Za-z0-9]{30,64}", is_random),
    _form("session", "sess sid aspx", _SESSION, lambda found: is_random(found.partition("=")[2])),
    _form("user-and-password", "mysql", r"mysql[a-z]{0,6} [^\n]{0,80}?(?<!\S)-p[^\s-][^\s]{5,64}"),
    _form("user-and-password", "-p", r"(?<!\S)-[pP] ['\"]?[^\s'\"]{8,40}(?=['\"\s]|$)", _is_option),
    _form("user-and-password", "redis-cli", r"redis-cli [^\n]{0,80}?(?<!\S)-a [^\s-]\S{5,64}"),
    _form("transport-capability", "astc_ aspt_ astp_", r"as(?:tc|pt|tp)_[A-Za-z0-9_-]{40}"),
    _form("json-web-token", "eyj", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,4096}\.eyJ[A-Za-z0-9_-]{8,8192}\."),
    _form(
        "header",
        "bearer",
        r"(?i:bearer):?[ \t]{1,4}([A-Za-z0-9._~+/=-]{16,512})",
        lambda found: is_random(found.split(None, 1)[1]),
    ),
    _form(
        "header",
        "basic",
        r"(?i:authorization)[\"']?\s{0,2}[:=]\s{0,2}[\"']?(?i:basic)[ \t]{1,4}[A-Za-z0-9+/]{8}",
    ),
    _form(
        "header",
        "authorization",
        r"(?i:authorization)[\"']?\s{0,2}[:=]\s{0,2}[\"']?[A-Za-z-]{1,24}[ \t]{1,4}[A-Za-z0-9._~+/=-]{16,512}",
        lambda found: is_random(found.rsplit(None, 1)[1]),
    ),
    _form(
        "header",
        "cookie",
        r"(?i:cookie): ?[^\n\"']{16,4096}",
        lambda found: any(is_random(part.partition("=")[2]) for part in found.replace(" ", "").split(";")),
    ),
)
