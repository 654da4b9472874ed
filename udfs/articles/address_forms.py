"""Forms of one page: AMP, print, mobile, all on one page. What of a URL says "in this form", by host, path, parameter.

The same rules serve `clean`, which guesses the plain address, and `identity_form`, by which all forms are one article.
A rule fires on names that tools give to forms and nothing else; where a word may be a topic as well (`/print/`,
`/amp/` in front), the rest of the path must look like an article.
"""

from __future__ import annotations

import re

from udfs.articles.hosts import is_address

_YES = frozenset({"", "1", "true", "yes", "y", "on"})
# Parameter -> values with which it asks for another form of the same article.
_PARAMETERS: dict[str, frozenset[str]] = {
    "amp": _YES | {"amp", "amp=1"},
    "_amp": _YES,
    "isamp": _YES,
    "is_amp": _YES,
    "ampmode": _YES,
    "amp_markup": _YES,
    "noamp": _YES | {"mobile", "available"},
    "nonamp": _YES,
    "outputtype": frozenset({"amp", "print", "amphtml", "amp-type"}),
    "output": frozenset({"amp", "print", "amphtml"}),
    "print": _YES | {"print"},
    "printable": _YES,
    "printpage": _YES,
    "printmode": _YES,
    "printview": _YES,
    "printfriendly": _YES,
    "printer": _YES | {"printable"},
    "isprint": _YES,
    "do_print": _YES,
    "tmpl": frozenset({"component"}),  # Joomla's print view
    "view": frozenset({"print", "mobile", "amp", "printable", "fullamp"}),
    "mode": frozenset({"print", "amp"}),
    "format": frozenset({"amp", "print", "mobile", "amphtml"}),
    "template": frozenset({"amp", "print", "printart", "printarticle"}),
    "type": frozenset({"amp", "print"}),
    "service": frozenset({"print", "amp"}),
    "mobile": _YES | {"mobile"},
    "ismobile": _YES,
    "mobileview": _YES,
    "m": frozenset({"1"}),  # Blogger
    "page": frozenset({"all"}),
    "pagewanted": frozenset({"all", "print"}),
    "singlepage": _YES,
    "single_page": _YES,
    "onepage": _YES,
    "showall": _YES,
}
_LAST = frozenset(
    {"amp", "print", "amphtml", "printable", "printer", "printview", "print-view", "printversion", "print-version"}
    | {"printer-friendly", "printfriendly", "amp.html", "amp.htm", "print.html", "print.htm", "amp.php"}
    | {"imprimir", "imprimer", "drucken"}
)
_FIRST = frozenset({"amp", "print", "printarticle", "print-article", "amphtml"})
_SUFFIX = re.compile(
    r"(?:\.amp(?:\.html?)?|[.,_~-](?:amp|ampnew)\.html?|\.amphtml|[.,_~-]print(?:able)?\.html?|\.print|!amp|~amp)$",
    re.I,
)
_MAX_SUFFIX_CHARS = 15  # of ",printable.html"
_HOST_FIRST = frozenset({"amp", "m", "mobile", "print", "wap", "touch", "mobil", "movil"})
_HOST_SECOND = frozenset({"amp", "m", "mobile"})
# Second-level registries: what stays after "m." is taken off such a name would be no site.
_REGISTRIES = frozenset({"co", "com", "org", "net", "gov", "ac", "edu", "gob", "go", "or", "ne", "gen", "web", "in"})
_DIGITS = re.compile(r"\d{5,}")
_DATE = re.compile(r"(?:19|20)\d{6}|(?:19|20)?\d\d|(?:19|20)\d\d-\d\d(?:-\d\d)?")


def is_form_parameter(name: str, value: str) -> bool:
    """Whether a parameter (lower case, decoded) asks for another form of the same page."""
    values = _PARAMETERS.get(name)
    return values is not None and value in values


def without_host_form(host: str) -> str:
    """`host` (ASCII, no port) without labels that say mobile, AMP or print: m.n.example, www.m.n.example."""
    while True:
        first, _, rest = host.partition(".")
        second, _, after = rest.partition(".")
        if first in _HOST_FIRST and _is_site(rest):
            host = rest
        elif second in _HOST_SECOND and _is_site(after):
            host = f"{first}.{after}"
        else:
            return host


def _is_site(name: str) -> bool:
    labels = name.split(".")
    return len(labels) >= 2 and not (len(labels) == 2 and labels[0] in _REGISTRIES) and not is_address(name)


def without_path_form(segments: list[str]) -> bool:
    """Take one form off a path's segments, in place; whether there was one to take off. Looks at both ends only, so
    that taking off all of them takes time in proportion to the path."""
    if not segments:
        return False
    last, first = segments[-1].lower(), segments[0].lower()
    if len(segments) > 1 and last in _LAST:
        segments.pop()
        return True
    if len(segments) > 2 and last == "1" and segments[-2].lower() == "amp":
        del segments[-2:]
        return True
    if (first == "amp" and len(segments) > 2) or (
        first in _FIRST and any(map(is_article_like, segments[max(1, len(segments) - 2) :]))
    ):
        segments.pop(0)
        return True
    suffix = _SUFFIX.search(segments[-1][-_MAX_SUFFIX_CHARS:])
    shorter = segments[-1].removesuffix(suffix[0]) if suffix else ""
    if shorter.strip("."):
        segments[-1] = shorter + (".html" if last.endswith((".html", ".htm")) else "")
        return True
    if len(segments) > 1 and segments[-2].startswith("amp_article"):  # amp_articleshow/123.cms
        segments[-2] = segments[-2][4:]
        return True
    return False


def is_date(segment: str) -> bool:
    """Whether a path segment, or a number, is a day, a month or a year as archives have them."""
    return _DATE.fullmatch(segment) is not None


def is_article_like(segment: str) -> bool:
    """Whether a path segment names one article: a number of 5 digits or more that is no date, or 3 words and more.

    Short slugs and numbers are missed, section names and dates never taken for articles.
    """
    segment = segment[:200]
    if is_date(segment):
        return False
    if _DIGITS.search(segment):
        return True
    # In scripts that write no spaces a slug has no hyphens: 4 characters beyond ASCII make 12 octets or more.
    return len([word for word in re.split(r"[-_+]|%20", segment) if word]) >= 3 or segment.count("%") >= 12
