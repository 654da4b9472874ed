"""Parts of sentences that pages say in an article's place, in some thirty languages, and hardly any article.

Compared case-folded; `no_article.py` counts them by the share of the text that they make up.
"""

from __future__ import annotations

SENTENCES: dict[str, str] = {
    "soft_404": """
        page you are looking for; page you're looking for; page you were looking for; page you requested
        page that you requested; page you have requested; requested page could not; requested url was not found
        this page no longer exists; page has been moved or deleted; page may have been moved
        page may have been removed; page might have been removed; article you are looking for
        article you're looking for; article you requested; story you are looking for
        link you followed may be broken; nothing was found at this location; page does not exist or
        page cannot be found; we can't find the page; we couldn't find the page; we could not find the page
        could not find the page you; we could not find what you were looking for
        we couldn't find what you were looking for; gesuchte seite; angeforderte seite; aufgerufene seite
        gewünschte seite; seite wurde leider nicht gefunden; seite existiert nicht; gesuchte artikel
        page que vous recherchez; page que vous cherchez; page demandée; page que vous avez demandée
        la página que buscas; la página que está buscando; página solicitada; página que buscabas
        la pagina che stai cercando; la pagina che cerchi; pagina richiesta; a página que procura
        página que você procura; página que você está procurando; de pagina die je zoekt; de pagina die u zoekt
        opgevraagde pagina; strona, której szukasz; szukana strona; strona o podanym adresie; sidan du söker
        sidan du letar efter; siden du leter etter; siden du ser etter; siden du leder efter; etsimääsi sivua
        hakemaasi sivua; hledaná stránka; požadovaná stránka; a keresett oldal; pagina căutată; pagina solicitată
        aradığınız sayfa; запрашиваемая страница; запрошенная страница; страница, которую вы ищете
        сторінка, яку ви шукаєте; запитувана сторінка; η σελίδα που ζητήσατε; η σελίδα που αναζητάτε
        الصفحة التي تبحث عنها; الصفحة المطلوبة; הדף שחיפשת; העמוד שחיפשת; صفحه مورد نظر; आप जिस पेज; 您访问的页面
        您要找的页面; 你访问的页面; 您所瀏覽的頁面; お探しのページ; 指定されたページ; 요청하신 페이지
        찾으시는 페이지; trang bạn tìm; trang bạn yêu cầu; halaman yang anda cari; หน้าที่คุณต้องการ
    """,
    "bot_check": """
        verify you are human; verify that you are human; verify you are a human; verifying you are human
        are you a robot; checking your browser; checking if the site connection is secure
        enable javascript and cookies to continue; needs to review the security of your connection
        cloudflare ray id; performance & security by cloudflare; unusual traffic from your
        unusual activity from your; access to this page has been denied; you have been blocked
        please complete the security check; complete the captcha; why do i have to complete a captcha
        solve the captcha; pardon our interruption; incapsula incident id; enable js and disable any ad blocker
        press & hold to confirm; confirm you are not a robot; confirm you're not a robot
        confirm that you are not a robot; prove you are not a robot; made us think you were a bot
        made us think that you are a bot; not a robot; you don't have permission to access
        your browser will redirect; redirected once the validation is complete; this process is automatic
        ddos protection by; your ip address has been; errors.edgesuite.net; you are not a bot
        suspicious activity from; automated access to; detected unusual activity; security service to protect itself
        to continue, please type the characters; malicious bots; sie ein mensch sind; kein roboter sind
        kein roboter; überprüfung ihres browsers; ungewöhnlichen datenverkehr; vous n'êtes pas un robot
        vous êtes humain; vous êtes un humain; vérification de votre navigateur; no eres un robot; que eres humano
        que es humano; que no es un robot; comprobando su navegador; non sei un robot; che sei umano; não é um robô
        que você é humano; que é humano; geen robot bent; dat u een mens bent; nie jesteś robotem; inte är en robot
        är en människa; ikke er en robot; er et menneske; et ole robotti; nejste robot; nem vagy robot; nem robot
        nu ești un robot; nu sunteți robot; robot olmadığınızı; insan olduğunuzu; вы не робот; что вы человек
        вы человек; проверка вашего браузера; ви не робот; ви людина; δεν είστε ρομπότ; είστε άνθρωπος; لست روبوت
        أنك إنسان; لست برنامج روبوت; אינך רובוט; שאתה אנושי; ربات نیستید; आप रोबोट नहीं; 不是机器人; 您是真人
        不是機器人; 您是人類; ロボットではない; 人間であること; 로봇이 아님; 로봇이 아닙니다; 사람인지 확인
        không phải là robot; bukan robot; ไม่ใช่หุ่นยนต์
    """,
    "empty_shell": """
        enable javascript; javascript is disabled; javascript is required; requires javascript; turn on javascript
        javascript must be enabled; need to enable javascript; without javascript; aktivieren sie javascript
        javascript aktivieren; javascript muss aktiviert; ohne javascript; activer javascript; activez javascript
        javascript est désactivé; habilite javascript; habilitar javascript; habilita javascript; activa javascript
        activar javascript; active javascript; abilita javascript; abilitare javascript; attiva javascript
        ative o javascript; habilite o javascript; ativar o javascript; schakel javascript in
        javascript inschakelen; włącz javascript; włącz obsługę javascript; włączyć obsługę javascript
        aktivera javascript; slå på javascript; slå javascript til; aktiver javascript; aktivér javascript
        ota javascript käyttöön; povolte javascript; zapněte javascript; engedélyezze a javascript
        activați javascript; javascript'i etkinleştirin; javascript etkin; включите javascript; включить javascript
        увімкніть javascript; ενεργοποιήστε τη javascript; تفعيل جافا سكريبت; تفعيل javascript; הפעל javascript
        جاوا اسکریپت; javascript सक्षम; 启用javascript; 启用 javascript; 啟用javascript; 啟用 javascript
        开启javascript; javascriptを有効; javascript を有効; 자바스크립트를 활성화; javascript를 활성화
        bật javascript; aktifkan javascript; เปิดใช้งาน javascript
    """,
    "login_wall": """
        log in to continue; sign in to continue; log in to read; sign in to read; create a free account to
        already have an account; register to continue; register for free to; you must be logged in
        you need to be logged in; forgot your password; forgot password; please log in; please sign in
        sign up to read; enter your password; don't have an account; bitte melden sie sich an; melden sie sich an
        um weiterzulesen; passwort vergessen; noch kein konto; bereits registriert; connectez-vous pour
        déjà inscrit; mot de passe oublié; créez un compte; inicia sesión para; regístrate para
        olvidaste tu contraseña; ¿ya tienes una cuenta; accedi per continuare; registrati per; password dimenticata
        hai già un account; faça login para; esqueceu a senha; já tem uma conta; cadastre-se para; log in om
        wachtwoord vergeten; heb je al een account; zaloguj się, aby; nie pamiętasz hasła; masz już konto
        logga in för att; glömt lösenord; logg inn for å; glemt passord; log ind for at; glemt adgangskode
        kirjaudu sisään; unohditko salasanan; přihlaste se; zapomenuté heslo; jelentkezzen be; elfelejtett jelszó
        ai uitat parola; giriş yapın; şifremi unuttum; войдите, чтобы; забыли пароль; увійдіть, щоб; забули пароль
        ξεχάσατε τον κωδικό; سجل الدخول; نسيت كلمة المرور; שכחת סיסמה; رمز عبور را فراموش; 请登录; 忘记密码; 請登入
        忘記密碼; ログインしてください; パスワードを忘れた; 로그인이 필요; 로그인 후 이용; 비밀번호 찾기
        quên mật khẩu; lupa kata sandi; ลืมรหัสผ่าน
    """,
    "subscribe_page": """
        subscribe to continue; subscribe to read; subscribe now to; already a subscriber; for subscribers only
        subscriber-only; exclusive to subscribers; to continue reading, subscribe; cancel anytime; cancel any time
        per month after; this article is reserved for; start your subscription; choose your plan; first month free
        billed monthly; billed annually; nur für abonnenten; jetzt abonnieren; jederzeit kündbar; bereits abonnent
        sie sind bereits abonnent; weiterlesen mit; réservé aux abonnés; réservé à nos abonnés; abonnez-vous
        déjà abonné; sans engagement; exclusivo para suscriptores; solo para suscriptores; suscríbete para
        ya soy suscriptor; riservato agli abbonati; abbonati per; sei già abbonato; exclusivo para assinantes
        assine para; já é assinante; alleen voor abonnees; word abonnee; al abonnee; tylko dla subskrybentów
        dla prenumeratorów; endast för prenumeranter; bli prenumerant; redan prenumerant; kun for abonnenter
        for abonnenter; bliv abonnent; tilaajille; vain tilaajille; pro předplatitele; jen pro předplatitele
        csak előfizetőknek; exclusiv pentru abonați; sadece aboneler; abonelere özel; только для подписчиков
        по подписке; оформите подписку; лише для передплатників; μόνο για συνδρομητές; للمشتركين فقط; למנויים בלבד
        仅限订阅; 订阅后; 訂閱後; 有料会員限定; 会員限定記事; この記事は有料会員; 구독자 전용; 유료회원
        dành cho thuê bao; khusus pelanggan
    """,
    "parked_domain": """
        domain is for sale; domain may be for sale; buy this domain; domain has expired; domain name has expired
        domain is parked; this domain is registered; related searches; web page is parked; parked free
        domain steht zum verkauf; domain kaufen; domaine est à vendre; nom de domaine est à vendre
        dominio está en venta; dominio è in vendita; domínio está à venda; domein is te koop
        domena jest na sprzedaż; домен продается; домен продаётся; alan adı satılık; 域名出售; 域名正在出售
        ドメインは販売; ドメインは、お名前.com; 도메인을 구입; account has been suspended
        successfully installed and working
    """,
    "region_wall": """
        not available in your region; not available in your country; not available in your location
        unavailable in your region; unavailable in your country; from the european economic area
        unavailable in most european countries; enforce the general data protection regulation
        access cannot be granted; unavailable for legal reasons; in ihrem land nicht verfügbar
        in ihrer region nicht verfügbar; pas disponible dans votre pays; pas disponible dans votre région
        no está disponible en su país; no está disponible en tu país; no está disponible en su región
        non è disponibile nel tuo paese; não está disponível no seu país; não está disponível em sua região
        niet beschikbaar in jouw land; niet beschikbaar in uw land; nie jest dostępna w twoim kraju
        niedostępna w twoim kraju; inte tillgängligt i ditt land; ikke tilgjengelig i ditt land
        недоступен в вашей стране; недоступна в вашей стране; недоступен в вашем регионе; ülkenizde kullanılamıyor
        غير متاح في بلدك; 您所在的地区; 您所在的地區; お住まいの地域; 해당 국가에서; 거주 지역에서
    """,
    "adblock_wall": """
        disable your ad blocker; disable your adblocker; turn off your ad blocker; turn off your adblocker
        ad blocker detected; adblock detected; you are using an ad blocker; you're using an ad blocker
        using an adblocker; whitelist our site; disable adblock; adblocker deaktivieren
        deaktivieren sie ihren adblocker; sie nutzen einen adblocker; adblocker aktiv; désactivez votre bloqueur
        bloqueur de publicité; desactiva tu bloqueador; desactive su bloqueador; bloqueador de anuncios
        disattiva il tuo adblock; disattiva l'adblock; disattivare l'ad block; desative seu bloqueador
        desative o bloqueador; schakel je adblocker uit; zet je adblocker uit; wyłącz adblock
        wyłącz blokowanie reklam; annonsblockerare; annonseblokkering; annonceblokker; mainosten esto
        vypněte adblock; reklámblokkoló; отключите блокировщик; блокировщик рекламы; блокувальник реклами
        reklam engelleyici; مانع الإعلانات; חוסם פרסומות; 广告拦截; 廣告封鎖; 広告ブロック; 광고 차단
    """,
}

# What only consent notices say; matched in case-folded text. One of these condemns a short paragraph.
CONSENT = (
    r"store and(?:/or)? access information on (?:a|your) device|we and our (?:[\d,.]+ )?(?:\w+ )?partners"
    r"|we (?:\w+ )?use cookies|uses cookies to|your (?:privacy|cookie|consent) (?:choices|preferences|settings)"
    r"|manage (?:your )?(?:consent|cookie)|accept all(?: cookies)?$|legitimate interest"
    r"|cookies? (?:policy|notice|settings)|wir (?:und unsere (?:\d+ )?partner|verwenden cookies|nutzen cookies)"
    r"|verwendet cookies|informationen auf einem gerät (?:zu )?speichern|mit werbung und tracking"
    r"|datenschutzeinstellungen"
    r"|nous utilisons des cookies|utilise des cookies|nos partenaires (?:stockons|utilisons)"
    r"|gérer (?:mes|vos) (?:choix|cookies)"
    r"|(?:usamos|utilizamos) cookies|nosotros y nuestros (?:\d+ )?socios|utiliza cookies"
    r"|almacenar .{0,40}en un dispositivo"
    r"|utilizziamo (?:i )?cookie|noi e i nostri (?:\d+ )?partner|usamos cookies|nós e (?:os )?nossos parceiros"
    r"|wij (?:en onze partners|gebruiken cookies)|używamy (?:plików )?cookie|my i nasi partnerzy|çerezler(?:i)? kullan"
    r"|vi (?:och våra|og våre|og vores) partner|använder cookies|bruker (?:informasjonskapsler|cookies)|bruger cookies"
    r"|me ja kumppanimme|käytämme evästeitä|používáme (?:soubory )?cookie|my a naši partneři"
    r"|cookie-kat használ|sütiket használ"
    r"|folosim cookie|noi și partenerii noștri|χρησιμοποιούμε cookies|εμείς και οι συνεργάτες"
    r"|мы используем (?:файлы )?cookie|использует (?:файлы )?cookie|ми використовуємо (?:файли )?cookie"
    r"|نستخدم ملفات تعريف الارتباط|אנו משתמשים בעוגיות|हम कुकी"
    r"|クッキー(?:を|の)使用|cookieを使用|使用cookie|使用 ?cookie|쿠키를 사용"
)
# A word of each of these: a text without any is not searched line by line.
CONSENT_HINTS = (
    "cookie", "partner", "legitimate interest", "consent", "privacy", "gerät", "tracking", "datenschutz", "gérer",
    "dispositivo", "socios", "parceiros", "çerez", "informasjonskapsler", "kumppani", "eväste", "sütik", "συνεργάτες",
    "الارتباط", "עוגיות", "कुकी", "クッキー", "쿠키",
)  # fmt: skip
