"""Languages of headlines and articles, with and against what was declared."""

from __future__ import annotations

import pytest

from udfs.articles.language import LanguageReader

READER = LanguageReader()

SENTENCES = {
    "en": "The government has agreed on a new budget for the coming year, ministers said.",
    "de": "Die Regierung hat sich auf einen neuen Haushalt für das kommende Jahr geeinigt.",
    "fr": "Le gouvernement s'est mis d'accord sur un nouveau budget pour l'année prochaine.",
    "es": "El gobierno ha acordado un nuevo presupuesto para el próximo año, según los ministros.",
    "pt": "O governo chegou a acordo sobre um novo orçamento para o próximo ano, disseram os ministros.",
    "it": "Il governo ha raggiunto un accordo sul nuovo bilancio per il prossimo anno.",
    "nl": "De regering is het eens geworden over een nieuwe begroting voor komend jaar.",
    "sv": "Regeringen har enats om en ny budget för nästa år, säger ministrarna.",
    "da": "Regeringen er blevet enig om et nyt budget for det kommende år, siger ministrene.",
    "no": "Regjeringen har blitt enige om et nytt budsjett for det kommende året, sier statsrådene.",
    "fi": "Hallitus on päässyt sopuun uudesta talousarviosta ensi vuodelle, kertoivat ministerit.",
    "pl": "Rząd uzgodnił nowy budżet na przyszły rok, poinformowali ministrowie.",
    "cs": "Vláda se shodla na novém rozpočtu na příští rok, uvedli ministři.",
    "hu": "A kormány megállapodott a jövő évi új költségvetésről, közölték a miniszterek.",
    "ro": "Guvernul a convenit asupra unui nou buget pentru anul viitor, au spus miniștrii.",
    "tr": "Hükümet gelecek yıl için yeni bir bütçe üzerinde anlaştı, dedi bakanlar.",
    "vi": "Chính phủ đã nhất trí về ngân sách mới cho năm tới, các bộ trưởng cho biết.",
    "id": "Pemerintah telah menyepakati anggaran baru untuk tahun depan, kata para menteri.",
    "ru": "Правительство согласовало новый бюджет на следующий год, сообщили министры.",
    "uk": "Уряд погодив новий бюджет на наступний рік, повідомили міністри.",
    "el": "Η κυβέρνηση συμφώνησε σε νέο προϋπολογισμό για το επόμενο έτος.",
    "ar": "وافقت الحكومة على ميزانية جديدة للعام المقبل، بحسب ما قال الوزراء.",
    "fa": "دولت با بودجه جدید برای سال آینده موافقت کرد، وزیران گفتند.",
    "he": "הממשלה הסכימה על תקציב חדש לשנה הבאה, אמרו השרים.",
    "hi": "सरकार ने अगले साल के लिए नए बजट पर सहमति जताई, मंत्रियों ने कहा।",
    "bn": "সরকার আগামী বছরের জন্য নতুন বাজেটে সম্মত হয়েছে, মন্ত্রীরা জানিয়েছেন।",
    "ta": "அடுத்த ஆண்டுக்கான புதிய வரவுசெலவுத் திட்டத்திற்கு அரசு ஒப்புக்கொண்டது.",
    "th": "รัฐบาลเห็นชอบงบประมาณใหม่สำหรับปีหน้า รัฐมนตรีกล่าว",
    "ja": "政府は来年度の新しい予算案で合意したと閣僚らが明らかにした。",
    "ko": "정부가 내년도 새 예산안에 합의했다고 장관들이 밝혔다.",
    "zh": "部长们表示，政府已就明年的新预算达成一致。",
}


@pytest.mark.parametrize("code", SENTENCES)
def test_a_sentence_tells_its_language(code: str) -> None:
    assert READER.language(SENTENCES[code], "") == code


@pytest.mark.parametrize("code", ["de", "fr", "ru", "ja", "ar", "pl"])
def test_a_templates_default_does_not_outweigh_the_text(code: str) -> None:
    assert READER.language(SENTENCES[code], SENTENCES[code], page="en-US") == code


@pytest.mark.parametrize("title", ["港珠澳大桥今日恢复通车", "Nvidia 上海新品发布会门票一小时售罄"])
def test_han_without_kana_or_hangul_is_chinese(title: str) -> None:
    assert READER.language(title, "") == "zh"


def test_kana_in_a_quoted_name_make_no_japanese() -> None:
    text = "記者昨日走訪東京名店「ヨドバシ」，發現門口雖然大排長龍，但是多數顧客並不是本地人"
    assert READER.language(text, "") == "zh"


def test_a_japanese_headline_without_a_verb() -> None:
    assert READER.language("トランプ大統領 関税発表", "") == "ja"
    assert READER.language("首相辞任表明", "", origin="ja") == "ja"


def test_between_near_neighbours_the_declaration_decides() -> None:
    assert READER.language("Правителството прие бюджета за следващата година", "", page="bg") == "bg"
    assert READER.language("Vlada je usvojila novi proračun za sljedeću godinu", "", page="hr") == "hr"
    assert READER.language("Vlada je usvojila novi budžet za sledeću godinu", "", page="sr-Latn-RS") == "sr"


def test_text_without_common_words_is_what_was_declared() -> None:
    assert READER.language("Ballarat, Bendigo, Geelong, Moe, Sale", "", page="en") == "en"
    assert READER.language("Ballarat, Bendigo, Geelong, Moe, Sale", "", entry="en-AU") == "en"
    assert READER.language("Ballarat, Bendigo, Geelong, Moe, Sale", "", origin="en") == "en"


def test_no_letters_leave_only_the_declaration() -> None:
    assert READER.language("2026: 3-1", "", page="pl") == "pl"
    assert READER.language("2026: 3-1", "") == "und"
    assert READER.language("", "", page="??") == "und"


def test_languages_outside_the_table_share_one_code() -> None:
    zulu = "Kubukeka kukude phambili amaphara edla umzila eThekwini kanti amaphoyisa athi asebenza ngokuzikhandla"
    assert READER.language(zulu, zulu, page="en") == "und"
