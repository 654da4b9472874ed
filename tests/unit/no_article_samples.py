"""Pages written for these tests: walls, errors, lists and shells on one side, articles that resemble them on the other.

Each is (name, HTML, address asked for, address read, title of the feed's entry or None, reason or "" for an article).
"""

from __future__ import annotations

import json
from dataclasses import dataclass

ASKED = "https://n.example/2026/11/30/eastern-lock-closed-after-crack"
PROSE = (
    "The harbour board closed the eastern lock on Monday after a crack was found in its lower gate.",
    "Engineers expect the repair to take nine days, the board said in a statement, and barges will wait outside.",
    "Two ferries a day will use the old lock meanwhile, which was last opened for traffic eleven years ago.",
    "The crack was noticed by a lock keeper during his round at six in the morning, well before the first barge.",
    "A diver inspected the gate at noon and found no further damage below the waterline, the board added.",
)
LONG_PROSE = tuple(
    f"On day {n} of the closure {sentence[0].lower()}{sentence[1:]}" for n in range(2, 7) for sentence in PROSE
)


@dataclass(frozen=True)
class Sample:
    name: str
    html: str
    reason: str = ""
    url: str = ASKED
    final: str = ""
    entry: str | None = None


def page(head: str, body: str, lang: str = "en") -> str:
    return f'<!DOCTYPE html><html lang="{lang}"><head>{head}</head><body>{body}</body></html>'


def ld(value: object) -> str:
    return f'<script type="application/ld+json">{json.dumps(value, ensure_ascii=False)}</script>'


def paragraphs(*texts: str) -> str:
    return "".join(f"<p>{text}</p>" for text in texts)


def plain(title: str, *texts: str, heading: str | None = None, lang: str = "en") -> str:
    """A page with a title, a heading and paragraphs, that calls itself nothing."""
    return page(f"<title>{title}</title>", f"<main><h1>{heading or title}</h1>{paragraphs(*texts)}</main>", lang)


def news(headline: str, *texts: str, lang: str = "en", **more: object) -> str:
    """A page that says it is an article of today."""
    node = {"@type": "NewsArticle", "headline": headline, "datePublished": "2026-11-30T06:00:00Z"} | more
    return page(
        f"<title>{headline}</title>{ld(node)}", f"<article><h1>{headline}</h1>{paragraphs(*texts)}</article>", lang
    )


def cards(count: int, folder: str = "/2026/11/30/") -> str:
    """Headlines that lead to articles."""
    return "".join(
        f'<article><h3><a href="{folder}storm-number-{n}-reaches-the-northern-coast">Storm number {n} reaches the northern'
        f" coast before the weekend</a></h3><p>Ferries stay in harbour number {n} until further notice.</p></article>"
        for n in range(count)
    )


def front(title: str, count: int = 20, head: str = "", intro: str = "") -> str:
    return page(
        f"<title>{title}</title>{head}",
        f"<main><h1>{title}</h1>{paragraphs(intro) if intro else ''}{cards(count)}</main>",
    )


_NOT_FOUND = {
    "en": ("Page not found", "Sorry, the page you are looking for no longer exists. Try the search above."),
    "de": ("404 - Seite nicht gefunden", "Die gesuchte Seite wurde leider nicht gefunden. Zur Startseite."),
    "fr": ("Page introuvable", "La page que vous recherchez n'existe plus ou a changé d'adresse."),
    "es": ("Página no encontrada", "Lo sentimos, la página que buscas ya no existe."),
    "it": ("Pagina non trovata", "La pagina che stai cercando non esiste."),
    "pt": ("Página não encontrada", "A página que você procura não existe ou foi removida."),
    "nl": ("Pagina niet gevonden", "De pagina die je zoekt bestaat niet meer."),
    "pl": ("Nie znaleziono strony", "Strona, której szukasz, nie istnieje."),
    "sv": ("Sidan hittades inte", "Sidan du letar efter finns inte längre."),
    "no": ("Fant ikke siden", "Siden du leter etter finnes ikke."),
    "da": ("Siden blev ikke fundet", "Siden du leder efter findes ikke længere."),
    "fi": ("Sivua ei löydy", "Etsimääsi sivua ei ole olemassa."),
    "cs": ("Stránka nenalezena", "Požadovaná stránka nebyla nalezena."),
    "tr": ("Sayfa bulunamadı", "Aradığınız sayfa kaldırılmış olabilir."),
    "ru": ("Страница не найдена", "Запрашиваемая страница удалена или не существовала."),
    "uk": ("Сторінку не знайдено", "Сторінка, яку ви шукаєте, не існує."),
    "el": ("Η σελίδα δεν βρέθηκε", "Η σελίδα που αναζητάτε δεν υπάρχει."),
    "ar": ("الصفحة غير موجودة", "عذرا، الصفحة التي تبحث عنها غير موجودة."),
    "he": ("הדף לא נמצא", "הדף שחיפשת אינו קיים."),
    "ja": ("ページが見つかりません", "お探しのページは移動または削除された可能性があります。"),
    "zh": ("页面不存在", "您访问的页面不存在或已被删除。"),
    "ko": ("페이지를 찾을 수 없습니다", "요청하신 페이지가 삭제되었거나 변경되었습니다."),
    "vi": ("Không tìm thấy trang", "Trang bạn yêu cầu không tồn tại."),
    "id": ("Halaman tidak ditemukan", "Halaman yang Anda cari tidak tersedia."),
}
_CHECKS = {
    "en": "Please verify you are human before you continue.",
    "de": "Bitte bestätigen Sie, dass Sie kein Roboter sind.",
    "fr": "Veuillez confirmer que vous n'êtes pas un robot.",
    "es": "Confirme que no es un robot para continuar.",
    "it": "Conferma che non sei un robot per continuare.",
    "pt": "Confirme que você não é um robô.",
    "nl": "Bevestig dat je geen robot bent.",
    "pl": "Potwierdź, że nie jesteś robotem.",
    "tr": "Devam etmek için robot olmadığınızı doğrulayın.",
    "ru": "Подтвердите, что вы не робот.",
    "ja": "ロボットではないことを確認してください。",
    "zh": "请确认您不是机器人后继续访问。",
    "ko": "계속하려면 로봇이 아닙니다에 체크하세요.",
    "ar": "يرجى تأكيد أنك لست روبوت للمتابعة.",
}
_LOGINS = {
    "en": ("Log in", "Log in to continue reading. Already have an account? Forgot your password?"),
    "de": ("Anmelden", "Bitte melden Sie sich an, um weiterzulesen. Passwort vergessen?"),
    "fr": ("Connexion", "Connectez-vous pour lire la suite. Mot de passe oublié ?"),
    "es": ("Iniciar sesión", "Inicia sesión para seguir leyendo. ¿Ya tienes una cuenta?"),
    "it": ("Accedi", "Accedi per continuare a leggere. Password dimenticata?"),
    "ru": ("Вход", "Войдите, чтобы читать дальше. Забыли пароль?"),
    "ja": ("ログイン", "続きを読むにはログインしてください。パスワードを忘れた方はこちら。"),
}
_SHOPS = {
    "en": ("Choose your subscription", "Subscribe to continue. Cancel anytime. Already a subscriber?"),
    "de": ("Abo-Angebote", "Jetzt abonnieren und jederzeit kündbar. Bereits Abonnent?"),
    "fr": ("Abonnez-vous", "Cet article est réservé aux abonnés. Déjà abonné ?"),
    "es": ("Suscríbete", "Contenido exclusivo para suscriptores. Suscríbete para leerlo."),
    "sv": ("Prenumerera", "Endast för prenumeranter. Redan prenumerant?"),
}
_NOTICE = "We and our 812 partners store and access information on your device. "


def no_articles() -> list[Sample]:
    found = [
        Sample(f"soft 404, {lang}", plain(f"{title} | n.example", text, heading=title, lang=lang), "soft_404")
        for lang, (title, text) in _NOT_FOUND.items()
    ]
    found += [
        Sample(f"check by its sentence, {lang}", plain("n.example", text, lang=lang), "bot_check")
        for lang, text in _CHECKS.items()
    ]
    found += [
        Sample(f"log-in, {lang}", plain(title, text, lang=lang), "login_wall")
        for lang, (title, text) in _LOGINS.items()
    ]
    found += [
        Sample(f"shop, {lang}", plain(title, text, lang=lang), "subscribe_page")
        for lang, (title, text) in _SHOPS.items()
    ]
    found += [
        Sample("cloudflare", plain("Just a moment...", "n.example needs to review the security of your connection before"
               " proceeding.", "Enable JavaScript and cookies to continue"), "bot_check"),
        Sample("cloudflare, blocked", plain("Attention Required! | Cloudflare", "Sorry, you have been blocked. This website"
               " is using a security service to protect itself.", "Cloudflare Ray ID: 7f3"), "bot_check"),
        Sample("turnstile", page("<title>n.example</title>", '<h1>n.example</h1><iframe src="https://challenges.cloudflare.com/'
               'turnstile"></iframe>'), "bot_check"),
        Sample("datadome", page("<title>n.example</title>", "<p>Please enable JS and disable any ad blocker</p><script src="
               '"https://ct.captcha-delivery.com/c.js"></script>'), "bot_check"),
        Sample("datadome without a title", page("", '<iframe src="https://geo.captcha-delivery.com/captcha/"></iframe>'),
               "bot_check"),
        Sample("perimeterx", plain("Access to this page has been denied", "Press & Hold to confirm you are a human (and not"
               " a bot).", "Reference ID 3a-9b"), "bot_check"),
        Sample("akamai", plain("Access Denied", 'You don\'t have permission to access "http://n.example/a" on this server.',
               "Reference #18.2f"), "bot_check"),
        Sample("imperva", page("", '<iframe src="/_Incapsula_Resource?incident_id=1">Request unsuccessful.</iframe>'),
               "bot_check"),
        Sample("recaptcha", page("<title>n.example</title>", '<form><div class="g-recaptcha"></div></form><script src='
               '"https://www.google.com/recaptcha/api.js"></script>'), "bot_check"),
        Sample("hcaptcha", plain("Human Verification", "Complete the captcha to go on.", "hCaptcha"), "bot_check"),
        Sample("check that keeps the article's title", plain("Lock closed", "Verifying you are human. This may take a few"
               " seconds."), "bot_check", entry="Lock closed"),
        Sample("consent, the whole page", plain("Before you continue", _NOTICE * 20), "consent_wall"),
        Sample("consent, named container", page("<title>Lock closed</title>", f'<div class="cmp"><p>{_NOTICE * 20}</p></div>'),
               "consent_wall"),
        Sample("consent, by its heading", plain("We value your privacy", "Choose what you allow us to do with your data."),
               "consent_wall"),
        Sample("consent, German", plain("Datenschutzeinstellungen", "Wir und unsere 120 Partner speichern Daten.", lang="de"),
               "consent_wall"),
        Sample("consent, another host", plain("n.example", "Please choose one of the two."), "consent_wall",
               final="https://consent.n.example/collect?to=a"),
        Sample("consent, a pure subscription", plain("Weiter mit Werbung lesen", "Besuchen Sie uns mit Werbung und Tracking"
               " wie gewohnt."), "consent_wall"),
        Sample("sent to a log-in", plain("Daily Harbour", "Your name, your word."), "login_wall",
               final="https://n.example/account/login?next=/a"),
        Sample("password field", page("<title>Daily Harbour</title>", '<h1>Daily Harbour</h1><form><input name=u><input type='
               '"password"></form><p>Welcome to our members.</p>'), "login_wall"),
        Sample("registration", plain("Create a free account", "Register for free to read three articles a month."),
               "login_wall"),
        Sample("sent to the shop", plain("Daily Harbour", "Four weeks for one pound."), "subscribe_page",
               final="https://n.example/subscribe/offers"),
        Sample("sent to /404", plain("Daily Harbour", "Here are our latest reports."), "soft_404",
               final="https://n.example/404"),
        Sample("only a number", plain("404", "Nothing to see."), "soft_404"),
        Sample("Oops", plain("Oops!", "We could not find what you were looking for."), "soft_404"),
        Sample("soft 404 with the latest news", page("<title>Page not found - Daily Harbour</title>",
               f"<h1>Page not found</h1><p>The page you requested could not be found.</p>{cards(6)}"), "soft_404"),
        Sample("500", plain("Internal Server Error", "The server encountered an error."), "error_page"),
        Sample("503", plain("503 Service Unavailable", "No server is available to handle this request."), "error_page"),
        Sample("bad gateway", plain("502 Bad Gateway", "nginx"), "error_page"),
        Sample("database", plain("Error establishing a database connection", "Contact your host."), "error_page"),
        Sample("maintenance, German", plain("Wartungsarbeiten", "Wir sind bald wieder da.", lang="de"), "error_page"),
        Sample("maintenance, Japanese", plain("メンテナンス中", "しばらくしてからもう一度お試しください。", lang="ja"), "error_page"),
        Sample("error, Russian", plain("Технические работы", "Скоро вернёмся.", lang="ru"), "error_page"),
        Sample("parked", plain("n.example", "This domain is for sale. Buy this domain today."), "parked_domain"),
        Sample("parked, by its frame", page("<title>n.example</title>", '<h1>n.example</h1><iframe src="https://www.'
               'sedoparking.com/n.example"></iframe>'), "parked_domain"),
        Sample("nginx", plain("Welcome to nginx!", "The web server is successfully installed and working."), "parked_domain"),
        Sample("suspended", plain("Account Suspended", "Contact your hosting provider."), "parked_domain"),
        Sample("region", plain("Daily Harbour", "This content is not available in your region."), "region_wall"),
        Sample("451", plain("451: Unavailable due to legal reasons", "We recognise you are attempting to access this website"
               " from the European Economic Area. Access cannot be granted at this time."), "region_wall"),
        Sample("ad blocker", plain("Daily Harbour", "Please disable your ad blocker to go on reading."), "adblock_wall"),
        Sample("shell of a single-page app", page("<title>Daily</title>", '<div id="root"></div><script src="/a.js"></script>'),
               "empty_shell"),
        Sample("shell of Next", page("<title>Daily</title>", '<div id="__next"><span>Loading</span></div>'), "empty_shell"),
        Sample("shell of Nuxt", page("<title>Daily</title>", '<div id="__nuxt"></div>'), "empty_shell"),
        Sample("needs JavaScript", page("<title>Daily</title>", "<noscript>You need to enable JavaScript to run this app."
               "</noscript><div></div>"), "empty_shell"),
        Sample("needs JavaScript, Spanish", plain("Diario", "Por favor, active JavaScript en su navegador.", lang="es"),
               "empty_shell"),
        Sample("shell without a title", page("", '<div id="app"></div>'), "empty_shell"),
        Sample("PDF viewer", page("<title>Report</title>", '<embed src="/files/report.pdf" type="application/pdf">'),
               "pdf_viewer"),
        Sample("video without a word", page('<title>Clip</title><meta property="og:type" content="video.other">',
               '<video src="/a.mp4"></video>'), "media_only"),
        Sample("section front", front("Politics"), "section_front", url="https://n.example/politics"),
        Sample("section front, two parts", front("Europe", 12), "section_front", url="https://n.example/world/europe"),
        Sample("section front that calls itself an article", front("Politics", head='<meta property="og:type" content='
               '"article">'), "section_front", url="https://n.example/politics"),
        Sample("section front by its type", front("Storms of the northern coast", 5, ld({"@type": "CollectionPage", "name":
               "Storms"})), "section_front", url="https://n.example/storms-of-the-northern-coast-2026"),
        Sample("section front that describes its articles", front("Latest", 8, ld([
               {"@type": "NewsArticle", "headline": f"Storm number {n} reaches the northern coast", "datePublished":
                "2026-11-30", "url": f"https://n.example/s/{n}"} for n in range(8)])), "section_front",
               url="https://n.example/latest"),
        Sample("home page", front("Daily Harbour", 40), "home_page", url="https://n.example/"),
        Sample("tag page", front("Storm", 6), "tag_page", url="https://n.example/tag/storm"),
        Sample("tag page, German", front("Sturm", 5), "tag_page", url="https://n.example/thema/sturm/"),
        Sample("author page", front("Ann Lee", 6, intro="Ann Lee writes about harbours."), "author_page",
               url="https://n.example/author/ann-lee"),
        Sample("author page by its type", front("Ann Lee", 4, ld({"@type": "ProfilePage", "name": "Ann Lee"})), "author_page",
               url="https://n.example/ann-lee"),
        Sample("search", front("Search results for storm", 5), "search_page", url="https://n.example/search?q=storm"),
        Sample("search, French", front("Résultats de recherche", 4), "search_page", url="https://n.example/?s=orage"),
    ]  # fmt: skip
    return found


def articles() -> list[Sample]:
    """Articles that a careless rule would refuse."""
    about = {
        "about cookies": ("Why every site asks about cookies",
            "Since 2018 web sites in Europe ask visitors whether they may store cookies.",
            "“We use cookies” has become the most read sentence of the web, says a lawyer in Ghent.",
            "Few read the cookie policy behind it; fewer still manage their consent, a study of 2,000 people found.",
            "The commission now wants browsers to answer once for all sites, which advertisers oppose."),
        "about 404": ("Page not found: how newspapers lose their archives",
            "A third of the links in court rulings lead nowhere, librarians at three universities found.",
            "“The page you are looking for does not exist” is what a reader sees of a report from 2009.",
            "Publishers changed their systems, and nobody paid for moving the old addresses along.",
            "The national library now keeps copies, and has four people to do so."),
        "about captchas": ("Are you a robot? The trouble with captchas",
            "“Verify you are human” stands between millions of people and their bank every morning.",
            "For blind readers the puzzles are a locked door, a federation of the blind said on Monday.",
            "Machines solve them faster than people by now, according to researchers in Irvine.",
            "The makers of the tests say that they look at how a mouse moves, not at the answer."),
        "about log-ins": ("Log in or be left out: life without an account",
            "Buying a stamp needs an account in four of ten shops, consumer groups counted.",
            "“Forgot your password?” is a question that older customers meet every week.",
            "The ministry wants to oblige offices to answer letters on paper again.",
            "Shops say that accounts save them money, which customers see in prices."),
        "about subscriptions": ("Cancel anytime? What newspapers' offers are worth",
            "Subscriptions that renew by themselves are the rule in the trade, a test of forty titles shows.",
            "“Cancel anytime” meant a letter in three cases, and a call between nine and four in five.",
            "The regulator has asked two houses for an explanation by the end of the year.",
            "Readers who complained got their money back within a month."),
        "about a closed site": ("Service unavailable: tax office down for a day",
            "The tax office's site showed “503 Service Unavailable” from six in the morning on.",
            "A certificate had run out on Sunday night, a spokeswoman said; nobody was on duty.",
            "The deadline for returns was moved to Friday, and no fines will be due.",
            "It was the third failure this year, the opposition pointed out."),
        "about domains": ("This domain is for sale: a town sells its name",
            "A village in the hills has put its web address on the market for 40,000 euros.",
            "It shares its name with a drink, whose maker has made an offer before.",
            "The mayor wants a new roof for the school; the council votes on Thursday.",
            "Residents would have to get used to a longer address."),
        "about JavaScript": ("Enable JavaScript? Why some turn it off",
            "A small group of readers browses without scripts, and most pages stay empty for them.",
            "“Please enable JavaScript” is what they see instead of the weather or the train.",
            "Engineers say that pages would load in half the time without it.",
            "A new law for offices asks for forms that work either way."),
    }  # fmt: skip
    found = [Sample(name, news(title, *texts), "") for name, (title, *texts) in about.items()]
    found += [
        Sample(f"{name}, calls itself nothing", plain(title, *texts), "", entry=title)
        for name, (title, *texts) in about.items()
    ]
    found += [
        Sample(
            f"{name}, unannounced and calls itself nothing",
            plain(f"{title} | Daily Harbour", *texts, heading=title),
            "",
        )
        for name, (title, *texts) in about.items()
    ]
    found += [
        Sample("a title that is a wall's, with a date", news("Access denied", *PROSE)),
        Sample("a title that is a wall's, announced", plain("Just a moment", *PROSE), entry="Just a moment"),
        Sample("a film of that name", news("Not Found", *PROSE, description="A film about a lost harbour.")),
        Sample("a number for a title", news("404", *PROSE)),
        Sample("a short note", plain("Bridge reopens", "Two lanes are open."), entry="Bridge reopens"),
        Sample("a short note without a feed", plain("Bridge reopens", "Two lanes are open.")),
        Sample("a stub behind a paywall", news("Lock closed", "The board closed the lock.", "Subscribe to continue reading."
               " Already a subscriber?", isAccessibleForFree=False, description="A crack in a gate.")),
        Sample("only a lede behind a paywall", news("Lock closed", isAccessibleForFree=False, description="A crack.")),
        Sample("a log-in in front of a declared article", news("Lock closed", "Log in to continue. Already have an account?",
               description="A crack in a gate.")),
        Sample("a log-in form in the header", page(f"<title>Lock closed</title>{ld({'@type': 'NewsArticle', 'headline': 'Lock closed', 'datePublished': '2026-11-30'})}",
               f'<header><form><input type="password"></form></header><article><h1>Lock closed</h1>{paragraphs(*PROSE)}</article>')),
        Sample("comments guarded by a captcha", page("<title>Lock closed</title>", f'<article><h1>Lock closed</h1>'
               f'{paragraphs(*PROSE)}</article><script src="https://www.google.com/recaptcha/api.js"></script>')),
        Sample("an app whose JSON-LD carries the article", page(ld({"@type": "NewsArticle", "headline": "Lock closed",
               "datePublished": "2026-11-30", "articleBody": " ".join(PROSE)}), '<div id="root"></div>')),
        Sample("an app that describes its article", page('<title>Lock closed</title><meta property="og:type" content="article">'
               '<meta property="og:description" content="A crack in a gate.">', '<div id="__next"></div>')),
        Sample("a video with a description", page('<title>Lock opens</title><meta property="og:type" content="video.other">'
               '<meta property="og:description" content="Barges pass again.">', "<video></video>")),
        Sample("a gallery with a text", news("The lock in pictures", *PROSE[:2], description="Ten pictures.")),
        Sample("an article with forty teasers beside it", page(f"<title>Lock closed</title>{ld({'@type': 'NewsArticle', 'headline': 'Lock closed', 'datePublished': '2026-11-30'})}",
               f"<article><h1>Lock closed</h1>{paragraphs(*PROSE)}</article><aside>{cards(40)}</aside>")),
        Sample("teasers, and calls itself nothing", page("<title>Lock closed</title>",
               f"<main><h1>Lock closed</h1>{paragraphs(*LONG_PROSE)}</main><aside>{cards(40)}</aside>")),
        Sample("a short address with much prose", page("<title>Storm</title>", f"<main><h1>Storm</h1>"
               f"{paragraphs(*LONG_PROSE)}</main><aside>{cards(20)}</aside>"), url="https://n.example/storm"),
        Sample("a live blog that lists its posts", news("Storm live", *PROSE, **{"@type": "LiveBlogPosting",
               "liveBlogUpdate": [{"@type": "BlogPosting", "headline": f"Update {n}"} for n in range(9)]})),
        Sample("an article that describes those beside it", page("<title>Lock closed</title>" + ld([
               {"@type": "NewsArticle", "headline": "Lock closed", "datePublished": "2026-11-30"}, *(
                {"@type": "NewsArticle", "headline": f"Storm number {n}", "datePublished": "2026-11-30"} for n in range(6))]),
               f"<article><h1>Lock closed</h1>{paragraphs(*PROSE)}</article>")),
        Sample("results for the year", news("Results for the year disappoint investors", *PROSE),
               url="https://n.example/business/results"),
        Sample("filed under a topic", news("Lock closed", *PROSE), url="https://n.example/topics/harbour/lock-closed"),
        Sample("sent on to a longer address", news("Lock closed", *PROSE), final="https://n.example/a/lock-closed-1234"),
        Sample("sent to a paywalled form", news("Lock closed", *PROSE), final="https://n.example/abo/lock-closed-1234"),
        Sample("an embedded report", news("Report on the lock", *PROSE[:3]).replace("</article>",
               '<iframe src="/report.pdf"></iframe></article>')),
    ]  # fmt: skip
    return found
