"""Headings of pages that stand in an article's place, in some thirty languages.

A heading is a whole title or main heading, compared by its letters and digits alone, without the publisher's name,
status numbers and words of regret.
"""

from __future__ import annotations

HEADINGS: dict[str, str] = {
    "soft_404": """
        page not found; not found; page does not exist; this page does not exist; this page doesn't exist
        page missing; this page isn't available; this page is not available; page unavailable; page not available
        page no longer exists; this page no longer exists; this page is no longer available
        this page could not be found; content not found; article not found; story not found; post not found
        file not found; document not found; nothing found; url not found; that page can't be found
        this page can't be found; page can't be found; page cannot be found; page gone; nothing here
        the page cannot be found; the page you requested could not be found; the page you requested was not found
        we can't find that page; we can't find this page; we couldn't find that page; we couldn't find the page
        we can't find the page you're looking for; the page you were looking for doesn't exist; content unavailable
        this article is no longer available; this content is no longer available; this content isn't available
        the requested page could not be found; resource not found; it looks like nothing was found at this location
        seite nicht gefunden; die seite wurde nicht gefunden; diese seite wurde nicht gefunden
        seite nicht verfügbar; diese seite existiert nicht; diese seite existiert nicht mehr
        die seite existiert nicht; artikel nicht gefunden; die angeforderte seite wurde nicht gefunden
        die seite konnte nicht gefunden werden; inhalt nicht gefunden; seite konnte nicht gefunden werden
        dieser artikel ist nicht mehr verfügbar; inhalt nicht verfügbar; nicht gefunden
        dieser inhalt ist nicht mehr verfügbar; seite existiert nicht; beitrag nicht gefunden
        dokument nicht gefunden; page non trouvée; page introuvable; cette page est introuvable
        cette page n'existe pas; contenu introuvable; cette page n'existe plus; la page demandée n'existe pas
        la page demandée est introuvable; article introuvable; la page que vous recherchez est introuvable
        la page que vous cherchez n'existe pas; page inexistante; non trouvé; la page n'existe pas
        ce contenu n'est plus disponible; cet article n'est plus disponible; página no encontrada
        no se encontró la página; no se ha encontrado la página; esta página no existe; no encontrado
        la página no existe; página no disponible; contenido no encontrado; artículo no encontrado
        no encontramos la página; la página solicitada no existe; la página que buscas no existe
        contenido no disponible; noticia no encontrada; pagina non trovata; la pagina non esiste
        questa pagina non esiste; pagina inesistente; contenuto non trovato; la pagina richiesta non esiste
        la pagina che stai cercando non esiste; pagina non disponibile; articolo non trovato; página não encontrada
        conteúdo não encontrado; esta página não existe; a página não existe; não encontrado; página não existe
        página indisponível; notícia não encontrada; a página que procura não existe; pagina niet gevonden
        deze pagina bestaat niet; de pagina bestaat niet; niet gevonden; artikel niet gevonden
        deze pagina bestaat niet meer; de pagina is niet gevonden; deze pagina kan niet worden gevonden
        nie znaleziono strony; strona nie została znaleziona; strona nie istnieje; nie znaleziono
        podana strona nie istnieje; strona o podanym adresie nie istnieje; taka strona nie istnieje
        sidan hittades inte; sidan kunde inte hittas; sidan kan inte hittas; sidan finns inte; vi hittar inte sidan
        siden ble ikke funnet; fant ikke siden; siden finnes ikke; side ikke funnet; vi finner ikke siden
        ikke funnet; siden blev ikke fundet; siden findes ikke; siden kunne ikke findes; side ikke fundet
        ikke fundet; sivua ei löydy; sivua ei löytynyt; etsimääsi sivua ei löydy; hakemaasi sivua ei löytynyt
        stránka nenalezena; stránka nebyla nalezena; stránka neexistuje; požadovaná stránka nebyla nalezena
        stránka nebola nájdená; az oldal nem található; a keresett oldal nem található; oldal nem található
        pagina nu a fost găsită; pagina nu există; pagina nu a fost gasita; sayfa bulunamadı
        aradığınız sayfa bulunamadı; aradığınız sayfaya ulaşılamıyor; страница не найдена; такой страницы нет
        страница не существует; запрашиваемая страница не найдена; материал не найден; страница удалена; не найдено
        сторінку не знайдено; сторінка не знайдена; сторінки не існує; страницата не е намерена
        страница није пронађена; stranica nije pronađena; stran ni bila najdena; lehekülge ei leitud
        puslapis nerastas; lapa nav atrasta; η σελίδα δεν βρέθηκε; η σελίδα δεν υπάρχει
        η σελίδα που ζητήσατε δεν βρέθηκε; الصفحة غير موجودة; لم يتم العثور على الصفحة; عذرا الصفحة غير موجودة
        الصفحة المطلوبة غير موجودة; הדף לא נמצא; העמוד לא נמצא; صفحه یافت نشد; صفحه مورد نظر یافت نشد; صفحه پیدا نشد
        पृष्ठ नहीं मिला; पेज नहीं मिला; পৃষ্ঠাটি পাওয়া যায়নি; 页面不存在; 找不到页面; 页面未找到
        您访问的页面不存在; 页面找不到了; 頁面不存在; 找不到頁面; 找不到網頁; 找不到此頁面; 您要找的页面不存在
        ページが見つかりません; ページが見つかりませんでした; お探しのページは見つかりませんでした
        お探しのページは見つかりません; 指定されたページが見つかりません; 페이지를 찾을 수 없습니다
        존재하지 않는 페이지입니다; 요청하신 페이지를 찾을 수 없습니다; không tìm thấy trang; trang không tồn tại
        trang không tìm thấy; halaman tidak ditemukan; halaman tidak dijumpai; ไม่พบหน้า; ไม่พบหน้าที่คุณต้องการ
        hindi nahanap ang pahina; ukurasa haujapatikana
    """,
    "error_page": """
        internal server error; server error; service unavailable; service temporarily unavailable; bad gateway
        bad request; gateway timeout; gateway time out; forbidden; unauthorized
        error establishing a database connection; database error; fatal error; something went wrong
        an error occurred; an error has occurred; application error; unexpected error; temporarily unavailable
        site maintenance; under maintenance; we'll be right back; maintenance mode; maintenance
        scheduled maintenance; site offline; website offline; web server is down; connection timed out
        origin dns error; too many requests; runtime error; the service is unavailable; site under maintenance
        site temporarily unavailable; this site can't be reached; backend fetch failed; origin is unreachable
        invalid url; unknown error; request timeout; web server is returning an unknown error
        the website encountered an unexpected error; service error; system error; interner serverfehler
        wartungsarbeiten; wartungsmodus; ein fehler ist aufgetreten; es ist ein fehler aufgetreten
        dienst nicht verfügbar; server nicht erreichbar; erreur interne du serveur; site en maintenance
        erreur serveur; une erreur est survenue; une erreur s'est produite; service indisponible; en maintenance
        maintenance en cours; error interno del servidor; sitio en mantenimiento; en mantenimiento
        ha ocurrido un error; se ha producido un error; servicio no disponible; algo salió mal
        errore interno del server; sito in manutenzione; si è verificato un errore; servizio non disponibile
        qualcosa è andato storto; erro interno do servidor; site em manutenção; ocorreu um erro; em manutenção
        serviço indisponível; algo deu errado; interne serverfout; er is een fout opgetreden; er ging iets mis
        website in onderhoud; wewnętrzny błąd serwera; przerwa techniczna; wystąpił błąd; coś poszło nie tak
        błąd serwera; ett fel uppstod; ett fel har inträffat; något gick fel; det oppstod en feil
        en feil har oppstått; noe gikk galt; der opstod en fejl; der er sket en fejl; noget gik galt; tapahtui virhe
        palvelu ei ole käytettävissä; jokin meni vikaan; chyba serveru; došlo k chybě; něco se pokazilo
        hiba történt; a apărut o eroare; bir hata oluştu; sunucu hatası; bakım çalışması; внутренняя ошибка сервера
        технические работы; произошла ошибка; ошибка сервера; сервис недоступен; ведутся технические работы
        технічні роботи; сталася помилка; помилка сервера; παρουσιάστηκε σφάλμα; حدث خطأ; الموقع تحت الصيانة
        خطأ في الخادم; אירעה שגיאה; خطای سرور; सर्वर त्रुटि; 服务器错误; 系统错误; 网站维护中; 服务器内部错误
        伺服器錯誤; 系統維護中; メンテナンス中; エラーが発生しました; サーバーエラー; ただいまメンテナンス中です
        서버 오류; 오류가 발생했습니다; 점검 중입니다; 서비스 점검 중; đã xảy ra lỗi; terjadi kesalahan
        sedang dalam pemeliharaan
    """,
    "bot_check": """
        just a moment; attention required; attention required cloudflare; access denied; pardon our interruption
        captcha; access to this page has been denied; are you a robot; are you human; robot check
        human verification; human check; verify you are human; verify you are a human; verify that you are human
        please verify you are a human; bot check; please verify you are human; security check; security verification
        checking your browser; please wait; one moment; one moment please; ddos guard; request unsuccessful
        request rejected; request blocked; you have been blocked; bot verification; vercel security checkpoint
        client challenge; performing security verification; access blocked; let's confirm you are human
        prove you are human; confirm you are human; verifying your browser; browser check; captcha challenge
        robot or human; are you a human; making sure you're not a bot; unusual activity detected
        sicherheitsüberprüfung; sicherheitsabfrage; einen moment bitte; nur einen moment; zugriff verweigert
        bitte warten; sind sie ein mensch; sind sie ein roboter; zugang verweigert; zugriff blockiert; accès refusé
        un instant; vérification de sécurité; êtes vous un robot; êtes vous humain; veuillez patienter
        accès interdit; accès bloqué; un momento; un momento por favor; acceso denegado; verificación de seguridad
        comprobación de seguridad; eres un robot; espere por favor; accesso negato; verifica di sicurezza
        controllo di sicurezza; attendere prego; solo un momento; acesso negado; verificação de segurança
        um momento; aguarde um momento; você é um robô; toegang geweigerd; een ogenblik geduld; even geduld
        veiligheidscontrole; odmowa dostępu; brak dostępu; chwileczkę; dostęp zabroniony; weryfikacja bezpieczeństwa
        åtkomst nekad; ett ögonblick; säkerhetskontroll; tilgang nektet; et øyeblikk; adgang nægtet; et øjeblik
        pääsy estetty; hetki; přístup odepřen; okamžik prosím; hozzáférés megtagadva; acces interzis
        erişim engellendi; bir dakika lütfen; güvenlik doğrulaması; lütfen bekleyin; доступ запрещен
        доступ ограничен; проверка браузера; подтвердите что вы не робот; вы не робот; один момент
        проверка безопасности; доступ заборонено; перевірка браузера; لحظة من فضلك; تم رفض الوصول; التحقق الأمني
        גישה נדחתה; 安全验证; 访问被拒绝; 请稍候; 人机验证; 访问验证; 安全檢查; 請稍候; 拒絕存取
        アクセスが拒否されました; しばらくお待ちください; セキュリティチェック; 접근이 거부되었습니다
        잠시만 기다려 주십시오; 잠시만 기다리십시오; 보안 확인; xác minh bảo mật; akses ditolak
    """,
    "consent_wall": """
        before you continue; we value your privacy; your privacy; your privacy matters; privacy settings
        cookie settings; cookie consent; consent; cookie notice; cookies; your data your choice; manage your privacy
        privacy gate; your privacy choices; we care about your privacy; we use cookies; cookie policy
        dpg media privacy gate; datenschutzeinstellungen; bevor sie fortfahren; ihre privatsphäre
        cookie einstellungen; ihre daten ihre wahl; wir respektieren ihre privatsphäre; weiter mit werbung lesen
        mit werbung weiterlesen; datenschutz einstellungen; avant de continuer
        le respect de votre vie privée est notre priorité; nous respectons votre vie privée; gestion des cookies
        vos choix en matière de cookies; votre vie privée; paramètres des cookies; gérer mes cookies
        antes de continuar; tu privacidad es importante; valoramos tu privacidad; configuración de cookies
        su privacidad; la tua privacy; prima di continuare; rispettiamo la tua privacy; impostazioni dei cookie
        consenso ai cookie; il rispetto della tua riservatezza è la nostra priorità; sua privacidade
        valorizamos a sua privacidade; a sua privacidade é importante para nós; configurações de cookies
        voordat je verdergaat; voordat u verdergaat; wij respecteren je privacy; cookie instellingen; jouw privacy
        szanujemy twoją prywatność; zanim przejdziesz dalej; twoja prywatność; ustawienia plików cookie
        vi värnar om din integritet; vi värdesätter din integritet; innan du fortsätter
        vi bryr oss om personvernet ditt; før du fortsetter; vi respekterer dit privatliv; inden du fortsætter
        arvostamme yksityisyyttäsi; ennen kuin jatkat; vážíme si vašeho soukromí; nastavení cookies
        süti beállítások; respectăm confidențialitatea dvs; gizliliğinize önem veriyoruz; çerez ayarları
        мы ценим вашу конфиденциальность; настройки файлов cookie; ми цінуємо вашу конфіденційність
        σεβόμαστε την ιδιωτικότητά σας; نحن نقدر خصوصيتك; プライバシー設定; プライバシーを尊重します
        我们重视您的隐私; 隐私设置; 隱私設定; 개인정보 보호 설정
    """,
    "login_wall": """
        log in; login; sign in; sign in to continue; log in to continue; log in to read; sign in to read
        member login; please log in; please sign in; create an account; create a free account; create your account
        register; sign up; register to continue; register to read; register for free; registration; my account
        log in to your account; sign in to your account; sign in or register; log in or sign up; login required
        welcome back; subscriber login; anmelden; einloggen; jetzt anmelden; bitte anmelden; registrieren
        jetzt registrieren; kostenlos registrieren; anmeldung; registrierung; mein konto; connexion; se connecter
        connectez vous; identifiez vous; créer un compte; inscription; mon compte; iniciar sesión; inicia sesión
        acceder; regístrate; crear una cuenta; identifícate; crea tu cuenta; accedi; effettua il login; registrati
        crea un account; entrar; iniciar sessão; faça login; faça seu login; cadastre se; criar conta; inloggen
        aanmelden; registreren; account aanmaken; zaloguj się; logowanie; rejestracja; zarejestruj się; logga in
        skapa konto; registrera dig; logg inn; opprett konto; log ind; opret konto; kirjaudu; kirjaudu sisään
        luo tili; přihlášení; přihlásit se; registrace; prihlásenie; bejelentkezés; regisztráció; autentificare
        conectare; înregistrare; giriş yap; üye girişi; üye ol; oturum aç; вход; войти; авторизация; регистрация
        вхід; увійти; реєстрація; σύνδεση; εγγραφή; تسجيل الدخول; إنشاء حساب; התחברות; ורود به حساب; ورود
        लॉग इन करें; 登录; 登錄; 登入; 用户登录; 注册; 會員登入; ログイン; 会員登録; 新規登録; 無料会員登録; 로그인
        회원가입; đăng nhập; masuk; daftar; เข้าสู่ระบบ
    """,
    "subscribe_page": """
        subscribe; subscribe now; subscriptions; subscription; choose your subscription; choose your plan
        become a member; subscribe to continue reading; subscribe to read; subscription offers; subscription options
        become a subscriber; digital subscription; start your free trial; support our journalism
        this article is for subscribers; abonnieren; abo; abonnement; jetzt abonnieren; abo shop; abo angebote
        digitalabo; unsere abos; s'abonner; abonnez vous; offres d'abonnement; nos offres; abonnements
        article réservé aux abonnés; suscríbete; suscripciones; suscripción; suscribirse; elige tu suscripción
        abbonati; abbonamenti; abbonamento; scegli il tuo abbonamento; assine; assinaturas; assinar; assinatura
        abonneren; word abonnee; abonnementen; kies je abonnement; prenumerera; bli prenumerant; abonner
        bli abonnent; kjøp abonnement; bliv abonnent; køb abonnement; tilaa; tilaukset; prenumerata; subskrypcja
        wykup dostęp; předplatné; előfizetés; abonează te; abonamente; abone ol; abonelik; подписка; подписаться
        оформить подписку; передплата; підписка; συνδρομή; συνδρομές; اشترك; الاشتراك; اشترك الآن; הרשמה למינוי
        اشتراک; सदस्यता लें; 订阅; 訂閱; 購読; 購読のご案内; 有料会員; 구독; 구독하기; berlangganan; đăng ký gói
    """,
    "parked_domain": """
        domain for sale; this domain is for sale; domain parked; parked domain; domain name for sale
        buy this domain; welcome to nginx; apache2 ubuntu default page it works
        apache2 debian default page it works; it works; index of; default web site page; account suspended
        this account has been suspended; domain expired; domain has expired; coming soon; under construction
        website coming soon; future home of something quite cool; website expired
        test page for the apache http server; site not found; this site is under construction; iis windows server
        domain steht zum verkauf; diese domain steht zum verkauf; domaine à vendre; ce domaine est à vendre
        dominio en venta; este dominio está en venta; dominio in vendita; questo dominio è in vendita
        domínio à venda; este domínio está à venda; domein te koop; dit domein is te koop; domena na sprzedaż
        ta domena jest na sprzedaż; домен продается; домен продаётся; этот домен продается; bu alan adı satılıktır
        域名出售; 该域名正在出售; このドメインは販売中です; 도메인 판매
    """,
    "region_wall": """
        unavailable for legal reasons; not available in your region; not available in your country
        content not available; this content is not available in your region
        this content is not available in your country; not available in your location
        we are sorry this content is not available in your region; in ihrem land nicht verfügbar
        dieser inhalt ist in ihrem land nicht verfügbar; non disponible dans votre pays
        ce contenu n'est pas disponible dans votre pays; no disponible en tu país; no disponible en su país
        contenuto non disponibile nel tuo paese; não disponível no seu país; niet beschikbaar in jouw land
        niedostępne w twoim kraju; недоступно в вашей стране; недоступно в вашем регионе; 您所在的地区无法访问
        お住まいの地域ではご利用いただけません
    """,
}

# Titles of pages of search results begin with one of these.
SEARCH_TITLES = """
    search results; you searched for; search for; results for; suchergebnisse; ihre suche; résultats de recherche
    résultats de la recherche; résultats pour; resultados de búsqueda; resultados de la búsqueda; resultados para
    risultati di ricerca; risultati della ricerca; risultati per; resultados da pesquisa; resultados da busca
    zoekresultaten; wyniki wyszukiwania; sökresultat; søkeresultater; søgeresultater; hakutulokset
    výsledky vyhledávání; keresési eredmények; rezultatele căutării; rezultate căutare; arama sonuçları
    результаты поиска; результати пошуку; αποτελέσματα αναζήτησης; نتائج البحث; תוצאות חיפוש; نتایج جستجو
    खोज परिणाम; 搜索结果; 搜尋結果; 検索結果; 검색 결과; kết quả tìm kiếm; hasil pencarian; ผลการค้นหา
"""
