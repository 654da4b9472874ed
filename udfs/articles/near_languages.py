"""Near neighbours among languages, and the words and letters by which a reader tells them apart.

Naive Bayes over byte n-grams hardly tells Croatian from Serbian or Indonesian from Malay in a headline: their n-grams
are the same, and the difference lies in a few frequent words. A mark is a word (or a letter) that some members of a
group of near neighbours use and the others do not; what all of them use is no mark. A mark of two members is listed
under both. Source: the languages' grammars and orthographies; names of places and people were left out, since every
language's press writes about its neighbours.

Reads a text and nothing else; `marks` is all that others call.
"""

from __future__ import annotations

import re
from collections import Counter

# Codes that are not in our table (be, gl, nn, ps, ...) are here so that a text in them is not taken for a neighbour.
GROUPS: tuple[frozenset[str], ...] = tuple(
    frozenset(group.split())
    for group in (
        "ru uk bg mk sr be", "hr bs sr sl", "cs sk", "no da sv", "id ms jv", "es pt gl ca an oc ext", "hi mr ne sa",
        "fa ur ps ar", "nl af fy", "de lb", "az tr", "uz kk ky", "fi et", "ar arz ary", "en pcm", "tl bcl",
        "zh yue wuu",
    )
)  # fmt: skip

_IJEKAVIAN = """
    prijedlog prijedlogu vrijeme vremena poslije gdje uvijek dvije svijet svijetu djeca djece djecu riječ riječi
    prije ovdje mjesto mjesta mjesec mjeseca mjeseci vijest vijesti cijena cijene cijenu snijeg rijeka bijeli cijeli
    cijelu sjednica sjednici sjednice mjere mjera predsjednik predsjednica predsjednika predsjednice svjedoci
    svjedok vidjeli vidjeti htjeli željeli zahtjev savjet uspjeh pobijedio pobijedila pobjeda pobjedu posljednji
    posljednja posljednje posljednjoj posljednjih sljedeći sljedeća sljedeće također izvještaj vijeće vijeća
    promjene promjena bolesnik osjećaj nedjelja nedjelju cjelini primjer rješenje riješiti ministarka vrijednost
    djelo odjel
"""
_EAST = """
    hiljada hiljade hiljadu saobraćaj saobraćaja saobraćajnoj saobraćajna ko neko niko hapšenje uhapšen uhapšena
    evropa evrope evropi evropska evropske evropski evropskoj evropskog ponovo januara februara marta aprila juna
    jula septembra oktobra novembra decembra fudbal fudbaler fudbaleri tokom voz porodica porodice porodici saradnja
    saradnju univerzitet univerziteta zvaničnik zvaničnici zvanično nauka muzika pozorište fabrika fabrike fabriku
    takmičenje uslovi uslov učestvuje učestvovao nijedan avion sprovodi spoljnih finansija finansije opozicija
    ostrvo
"""

_WORDS: dict[str, str] = {
    # South Slavic. Croatian and Bosnian share the reflex of yat, Bosnian and Serbian much of the vocabulary.
    "hr": _IJEKAVIAN
    + """
        tko netko nitko svatko tvrtka tvrtke tvrtki tvrtku tisuća tisuće tisuću tijekom momčad momčadi nogomet
        nogometaš nogometaši nogometni županija županije županiji tjedan tjedna tjednu siječnja veljače ožujka
        travnja svibnja lipnja srpnja kolovoza rujna listopada studenoga studenog prosinca sustav sustava glazba
        kazalište zrakoplov vlak uhićen uhićena priopćenju priopćio priopćila priopćili izvješće izvješća izvijestio
        unatoč ozlijeđen ozlijeđena prometna prometnoj prometnu nazočan proračun proračuna povijest povijesni
        povijesti obitelj obitelji djelatnici suradnja suradnju sveučilište veleposlanik dužnosnik ljekarna otok
        točka točno točke ponovno usporedbi sudjelovati ravnatelj kruh europa europe europi europska europske
        europski europskoj poduzeće liječnik tvornica tvornice tvornicu ministrica natjecanje uvjeti nijedna premda
        gospodarstvo gospodarski tajnik vanjskih financija financije oporba dosad ured zadnjih
        """,
    "bs": _IJEKAVIAN
    + _EAST
    + """
        saopćeno saopćio saopćila saopćili saopćenju saopćenje sedmica sedmice sedmici sedmicu sedmično historija
        historije historijski augusta uposlenik uposlenici uposlenika kantona kantonu kantonalni kantonalna fbih
        općina općine općini povrijeđen povrijeđena ljekar ljekari ljekara kahva lahko mehko dešavanja bezbjednost
        uopće opće federalni federalna hljeb ministrica hapšenja
        """,
    "sr": _EAST
    + """
        predlog predlogu vreme posle gde uvek dve svet svetu deca dece decu reč reči pre ovde mesto mesta mesec
        meseca meseci vest vesti cena cene cenu sneg reka ceo celu cela sednica sednici sednice mere mera predsednik
        predsednica predsednika predsednice svedoci svedok videli videti hteli želeli zahtev savet uspeh pobedio
        pobedila pobeda pobedu poslednji poslednja poslednje poslednjem poslednjoj poslednjih sledeći sledeća
        sledeće takođe izveštaj promene promena nedelja nedelje nedelju nedelji saopštio saopštila saopšteno
        saopštili saopštenje saopštenju opština opštine opštini avgusta povređen povređena lekar lekari istorija
        istorije bezbednost uopšte opšte primer rešenje rešiti vrednost delo hleb ministarka odeljenje је су који
        која које што ће није са због али овај били био била после пре где само као биће они када може година години
        тај тога
        """,
    "sl": "ki tudi več lahko kot zaradi niso naj vendar teden četrtek bo bodo ter so pri jih kar",
    # East Slavic, Bulgarian, Macedonian.
    "ru": """
        что это как для был была было были его её из после также уже года году они будет чтобы об который которые
        если только между сообщил сообщила сообщили заявил может человек лет из-за от
        """,
    "uk": """
        що від після або який яка які це року році вже буде щоб зі під між повідомив повідомила повідомили заявив
        може людей років через також якщо тільки його її був була було були із та й
        """,
    "be": """
        што гэта ад пасля або які якая якія года годзе ўжо будзе каб паміж паведаміў можа гадоў таксама яго быў была
        былі і з як
        """,
    "bg": """
        от са ще че това със през като беше няма след към както още вече който която които между срещу според заради
        бъде той тя те по-малко година години хората каза съобщи може във как ги го
        """,
    "mk": """
        што со дека ќе ги го во беше кои меѓу според поради биде тој таа тие години година луѓето рече соопшти може
        уште
        """,
    "cs": """
        se není který která které jako pro byl byla bylo byli při podle nebo také co mezi ve ze jsou ještě soud
        jejich pouze protože řekl řekla uvedl uvedla kvůli přes před lidé lidí roce policie opět zůstanou
        """,
    "sk": """
        sa nie ktorý ktorá ktoré ako pre bol bola bolo boli pri podľa alebo tiež čo medzi vo zo sú ešte súd ich iba
        pretože povedal povedala uviedol uviedla kvôli cez pred ľudia ľudí roku polícia opäť zostanú aj
        """,
    # Scandinavian. Norwegian holds both written forms.
    "no": """
        etter ut opp mot seg blir ble blitt mellom noe noen uten sier barn bare igjen av hva mye nå gjennom uke
        ikkje eit ein frå vert vart dei kva kor korleis noko nokon berre sjølv meir seier heile òg blei ikke også
        jeg fra hun når flere være et
        """,
    "da": """
        efter ud op mod sig bliver blev blevet mellem noget nogle nogen uden siger børn kun igen af hvad meget nu
        gennem ministeren uge ikke også jeg fra hun når flere være dem et
        """,
    "sv": """
        och är för att inte från till ett efter ut upp mot sig blir blev blivit mellan något några utan säger barn
        bara igen av vad mycket nu genom också jag hon när fler vara vecka regeringen
        """,
    "id": """
        karena bisa mobil pekan kantor polisi tewas perusahaan pemerintah uang mengatakan bahwa senin selasa kamis
        jumat maret agustus desember juni juli saat usai soal warga bandara listrik gratis pria kecelakaan
        universitas kualitas rupiah ujar sopir pajak terkait menit depan
        """,
    "ms": """
        kerana polis syarikat kerajaan wang berkata bahawa isnin khamis jumaat ahad mac ogos disember jun julai
        iaitu ialah manakala sehingga bagaimanapun sekiranya cukai hospital telefon baharu parlimen lelaki
        kemalangan mangsa universiti kualiti ringgit pemandu pakar amaran minit susulan perdana timbalan ujarnya
        kakitangan hadapan
        """,
    "es": """
        los las con y más muy también después ya hasta ayer pero fue han su esta según cuando desde dice hay son sin
        año años día segundo tras como
        """,
    "pt": """
        não uma com em são você mais muito também depois já até ontem pela pelo mas foi à às ao aos da das do na nas
        num numa seu sua quando desde diz há sem ano anos dia segundo após o os as como
        """,
    "gl": """
        non unha dunha nunha cunha nun dun cun máis moi tamén despois xa ata onte pola polo pero foi ao aos da das
        do na nas seu súa cando dende di hai son sen ano anos día segundo tras o os as con como
        """,
    "ca": """
        amb és els dels però més també després ja fins ahir per i han ha seu seva quan des diu hi són sense any anys
        dia segons als pel pels això aquest aquesta que com
        """,
    "hi": """
        है हैं के का की में से ने और को पर नहीं कि था थे थी गया गई गए लिए हुआ हुई हुए किया कहा यह वह भी जो करने रहा
        रही रहे तो
        """,
    "mr": """
        आहे आहेत आणि होते होता होती नाही यांनी मध्ये असे असा केला केली केले झाला झाली झाले साठी हे हा व की तर
        करण्यात येथे
        """,
    "ne": """
        छ छन् र भएको गरेको गर्ने हुने पनि भने लागि बताए बताएका गरे गर्‍यो गरिएको भयो थियो नयाँ ले यो हो छैन भएका
        सरकारले गर्दै
        """,
    "ar": "في من على إلى أن التي الذي عن مع هذا هذه بعد قال كان لم ما بين ولا وقد قبل منذ خلال",
    "fa": "است را که این با از شد می برای در خود آن های نیز شده بود یک تا پس اما گفت کرد کرده هم باید",
    "ur": "کے کی کا میں نے ہے ہیں سے کو پر اور کہ یہ بھی تھا گیا گئی کر ہو لیے نہیں اس ایک",
    "ps": "په د چې دي له کې ته او هم یې شي سره کړې شوي دی دا يې وي نه کړي",
    "nl": "niet een voor zijn hij aan werd wordt naar bij de heeft deze zegt worden ze hun",
    "af": "nie vir hy sy hulle baie word by sê sal se oor deur hul",
    "tr": "ve ile için olarak ise değil kadar etti oldu gibi ancak söyledi",
    "az": "və ilə üçün kimi isə deyil qədər etdi edib olub ancaq dedi bildirib görə",
    "fi": "että ovat mutta joka myös kun sekä hän kuin jos vuoden sanoo mukaan",
    "et": "et kui aga ning see selle ka kes mis aasta ütles sõnul pole",
}
# Letters that are marks: one of them counts as a word.
_LETTERS: dict[str, str] = {
    "ru": "ыэё", "be": "ыэёўі", "uk": "іїєґ", "bg": "ъ", "sr": "јљњђћџ", "mk": "јљњѓќѕџ", "cs": "ěřů", "sk":
    "ľĺŕôä", "sv": "äö", "da": "æø", "no": "æø", "pt": "ãõç", "es": "ñ¿¡", "gl": "ñ", "ca": "çàèò", "mr": "ळ", "fa":
    "پچگ", "ur": "ٹڈڑےںپچگ", "ps": "ړږښځڅېۍټډګڼپچ", "ar": "ةأإ", "az": "ə", "et": "õ",
}  # fmt: skip

_WORD = re.compile(r"[^\s!-/:-@\[-`{-~«»“”„‘…—–।،؛؟]+")


def _by_sign(table: dict[str, str], split: bool) -> dict[str, frozenset[str]]:
    """From language -> signs to sign -> the languages that have it; what a whole group has is no mark and left out."""
    found: dict[str, set[str]] = {}
    for code, signs in table.items():
        for sign in signs.split() if split else signs:
            found.setdefault(sign, set()).add(code)
    listed = [group & table.keys() for group in GROUPS]
    return {
        sign: frozenset(codes)
        for sign, codes in found.items()
        if not any(len(group) > 1 and group <= codes for group in listed)
    }


_LANGUAGES_OF_WORD = _by_sign(_WORDS, split=True)
_LANGUAGES_OF_LETTER = _by_sign(_LETTERS, split=False)


def near(code: str) -> frozenset[str]:
    """The near neighbours of a language, itself among them where it has any."""
    return frozenset().union(*(group for group in GROUPS if code in group))


def marks(text: str) -> Counter[str]:
    """How many different marks of each language stand in the text: words and letters, each counted once."""
    lowered = text.lower()
    found: Counter[str] = Counter()
    for word in set(_WORD.findall(lowered)):
        found.update(_LANGUAGES_OF_WORD.get(word, ()))
    for letter in set(lowered):
        found.update(_LANGUAGES_OF_LETTER.get(letter, ()))
    return found
