"""Links that lead through somebody else's counter: which address is inside. No network: an opaque link stays as it is.

Aggregators, social networks, mail scanners, archives and AMP caches put the true address into their own, as a
parameter, as a path or in a code (`coded_links.py`). Shorteners and counters that show a key only (t.co, bit.ly,
feedproxy.google.com, newer news.google.com, mimecast) cannot be read; fetching follows them.
"""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import unquote

from udfs.articles import coded_links as coded
from udfs.articles.hosts import names_above

_Reader = Callable[[str, str, str], str | None]
# (path begins with, what reads it there: parameters in order of trust, or a reader of its own)
_Way = tuple[str, tuple[str, ...] | _Reader]

# Host, its subdomains included -> the ways in which it wraps. The first that shows an address is it.
_WRAPPERS: dict[str, tuple[_Way, ...]] = {
    # search engines and news aggregators
    "news.google.com": (
        ("/news/url", ("url",)),
        ("/articles/", coded.google_news),
        ("/rss/articles/", coded.google_news),
        ("/__i/rss/rd/articles/", coded.google_news),
        ("/read/", coded.google_news),
        ("/url", ("url", "q")),
    ),
    "url.google.com": (("/", ("url", "q")),),  # news.url.google.com, plus.url.google.com
    "translate.google.com": (("/", ("u",)),),
    "googleusercontent.com": (("/search", coded.cached), ("/translate", coded.cached)),
    "translate.goog": (("/", coded.translated_host),),
    "googleweblight.com": (("/", ("lite_url", "u")),),
    "googleadservices.com": (("/pagead/aclk", ("adurl",)),),
    "g.doubleclick.net": (("/", ("adurl",)),),
    "bing.com": (
        ("/news/apiclick.aspx", ("url",)),
        ("/ck/a", coded.bing_click),
        ("/amp/", coded.amp_viewer),
        ("/translator", ("a", "url")),
    ),
    "microsofttranslator.com": (("/", ("a",)),),
    "duckduckgo.com": (("/l/", ("uddg",)),),
    "ecosia.org": (("/url", ("url",)),),
    "search.yahoo.com": (("/", coded.yahoo),),
    "rd.yahoo.com": (("/", coded.yahoo),),
    "clck.yandex.ru": (("/", coded.after_star),),
    "yandex.ru": (("/turbo", coded.turbo), ("/translate", ("url",))),
    "yandex.com": (("/turbo", coded.turbo), ("/translate", ("url",))),
    "turbopages.org": (("/", coded.turbo),),
    "dzen.ru": (("/away", ("to",)),),
    "zen.yandex.ru": (("/away", ("to",)),),
    "cr.naver.com": (("/", ("u",)),),
    "flipboard.com": (("/redirect", ("url",)), ("/bookmarklet/popout", ("url",))),
    "getpocket.com": (("/redirect", ("url",)), ("/save", ("url",)), ("/edit", ("url",))),
    "instapaper.com": (("/", ("url", "u")),),
    "feedsportal.com": (("/", coded.feedsportal),),
    "outgoing.mozilla.org": (("/v1/", coded.last_segment),),
    "outgoing.prod.webservices.mozgcp.net": (("/v1/", coded.last_segment),),
    "substack.com": (("/redirect/2/", coded.substack),),
    # AMP caches
    "cdn.ampproject.org": (("/", coded.amp_cache),),
    "bing-amp.com": (("/", coded.amp_cache),),
    "mipcdn.com": (("/", coded.amp_cache),),
    # social networks, messengers, forums
    "facebook.com": (
        ("/l.php", ("u",)),
        ("/flx/warn", ("u",)),
        ("/sharer", ("u",)),
        ("/share.php", ("u",)),
        ("/dialog/share", ("href",)),
        ("/dialog/feed", ("link",)),
    ),
    "l.instagram.com": (("/", ("u",)),),
    "l.threads.net": (("/", ("u",)),),
    "l.threads.com": (("/", ("u",)),),
    "l.messenger.com": (("/", ("u",)),),
    "l.workplace.com": (("/", ("u",)),),
    "twitter.com": (("/intent/", ("url",)), ("/share", ("url",)), ("/i/redirect", ("url",))),
    "x.com": (("/intent/", ("url",)), ("/share", ("url",)), ("/i/redirect", ("url",))),
    "linkedin.com": (
        ("/redir/", ("url",)),
        ("/redirect", ("url",)),
        ("/safety/go", ("url",)),
        ("/sharing/share-offsite", ("url",)),
        ("/sharearticle", ("url",)),
    ),
    "out.reddit.com": (("/", ("url",)),),
    "reddit.com": (("/submit", ("url",)),),
    "t.umblr.com": (("/redirect", ("z",)),),
    "youtube.com": (("/redirect", ("q",)),),
    "pinterest.com": (("/pin/create/", ("url",)),),
    "t.me": (("/iv", ("url",)), ("/share/url", ("url",))),
    "telegram.me": (("/share/url", ("url",)),),
    "vk.com": (("/away", ("to",)), ("/share.php", ("url",))),
    "vk.ru": (("/away", ("to",)), ("/share.php", ("url",))),
    "ok.ru": (("/offer", ("url",)), ("/dk", ("st.link",))),
    "slack-redir.net": (("/link", ("url",)),),
    "steamcommunity.com": (("/linkfilter", ("u", "url")), ("/linkfilter", coded.whole_query)),
    "exit.sc": (("/", ("url",)),),
    "disq.us": (("/", coded.disqus),),
    "redirect.disqus.com": (("/url", coded.disqus),),
    "deviantart.com": (("/users/outgoing", coded.whole_query),),
    "weibo.cn": (("/sinaurl", ("u", "toasturl")),),
    "link.zhihu.com": (("/", ("target",)),),
    "link.csdn.net": (("/", ("target",)),),
    "link.juejin.cn": (("/", ("target",)),),
    "gitee.com": (("/link", ("target",)),),
    "c.pc.qq.com": (("/", ("pfurl",)),),
    "douban.com": (("/link2", ("url",)),),
    # affiliates and sites that hide the referrer
    "awin1.com": (("/cread.php", ("ued", "p")),),
    "viglink.com": (("/", ("u",)),),
    "skimresources.com": (("/", ("url",)),),
    "go.redirectingat.com": (("/", ("url",)),),
    "linksynergy.com": (("/", ("murl",)),),
    "href.li": (("/", coded.whole_query),),
    "anonym.to": (("/", coded.whole_query),),
    "anonymz.com": (("/", coded.whole_query),),
    "dereferer.me": (("/", coded.whole_query),),
    "nullrefer.com": (("/", coded.whole_query),),
    # scanners of links in mail
    "safelinks.protection.outlook.com": (("/", ("url",)),),
    "statics.teams.cdn.office.net": (("/evergreen-assets/safelinks/", ("url",)),),
    "safelink.emails.azure.net": (("/redirect", ("destination",)),),
    "urldefense.com": (("/", coded.proofpoint),),
    "urldefense.us": (("/", coded.proofpoint),),
    "urldefense.proofpoint.com": (("/", coded.proofpoint),),
    "linkprotect.cudasvc.com": (("/url", ("a",)),),
    "protect2.fireeye.com": (("/", ("u",)),),
    "protect.trellix.com": (("/", ("u",)),),
    "protection.sophos.com": (("/", coded.sophos),),
    "protect.checkpoint.com": (("/v2/", coded.check_point),),
    "url.avanan.click": (("/v2/", coded.check_point),),
    "trendmicro.com": (("/wis/clicktime", ("url",)),),
    "check.trendmicro.com": (("/", ("url",)),),
    "secure-web.cisco.com": (("/", coded.last_segment),),
    "clicktime.symantec.com": (("/", ("u",)),),
    "clicktime.cloud.postoffice.net": (("/", ("u",)),),
    "scanmail.trustwave.com": (("/", ("u",)),),
    "link.edgepilot.com": (("/", ("u",)),),
    "link.zixcentral.com": (("/", ("u",)),),
    # archives and readers
    "web.archive.org": (("/", coded.archived),),
    "archive.org": (("/web/", coded.archived),),
    **{f"archive.{end}": (("/", coded.archived),) for end in ("today", "ph", "is", "fo", "li", "md", "vn")},
    "webcitation.org": (("/", ("url",)),),
    "12ft.io": (("/", coded.whole_path),),
    "r.jina.ai": (("/", coded.whole_path),),
    "smry.ai": (("/", coded.whole_path),),
    "txtify.it": (("/", coded.whole_path),),
    "outline.com": (("/", coded.whole_path),),
    "via.hypothes.is": (("/", coded.whole_path),),
    "printfriendly.com": (("/print", ("url",)),),
}
# google.com and its national names: the first label of the registrable part decides.
_GOOGLE: tuple[_Way, ...] = (
    ("/url", ("url", "q")),
    ("/imgres", ("imgrefurl",)),
    ("/amp/", coded.amp_viewer),
    ("/translate", ("u",)),
)


def wraps(host: str) -> bool:
    """Whether links of `host` may lead through it to another address."""
    return bool(_ways(host))


def unwrapped(host: str, path: str, query: str) -> str | None:
    """The address inside a wrapper's, or None where `host` wraps nothing or does not show what.

    host: in lower case, ASCII; path and query as they stand in the URL, percent-encoded. What is returned is an http(s)
    address by its look; whether it is one says `canonical.clean`.
    """
    ways = _ways(host)
    if not ways:
        return None
    begin = path[:64].lower()
    for beginning, way in ways:
        if begin.startswith(beginning):
            found = coded.value_of(query, way) if isinstance(way, tuple) else way(host, path, query)
            address = _address(found) if found else None
            if address is not None:
                return address
    return None


def _ways(host: str) -> tuple[_Way, ...]:
    for name in names_above(host):
        if name in _WRAPPERS:
            return _WRAPPERS[name]
    return _GOOGLE if host.removeprefix("www.").startswith("google.") and host.count(".") <= 3 else ()


def _address(text: str) -> str | None:
    """What was found, as an address: encoded once more, without a scheme (//n.example, www.n.example), or as it is."""
    text = text.strip()
    if text[:8].lower().startswith(("http%3a", "https%3a")):
        text = unquote(text)
    low = text[:8].lower()
    if low.startswith(("http:", "https:")):
        return text if "." in text or "localhost" in low else None
    if text.startswith("//"):
        return "https:" + text
    name = text.partition("/")[0].partition("?")[0]
    if "." in name and not name.startswith(".") and name.replace(".", "").replace("-", "").isalnum():
        # As archives and caches write it. A file's name would pass as well, but none stands where these look.
        return "http://" + text
    return None
