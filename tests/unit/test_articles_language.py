"""Languages of headlines and articles, with and against what was declared."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from cli.language_evaluation import Document, figures, own_process, read_documents, read_truth, table
from cli.language_evaluation import ask as answers_of
from state_schemas.languages import UNKNOWN
from udfs.articles.language import LanguageReader
from udfs.editions import load_reference

READER = LanguageReader()
FILE = Path(__file__).with_name("language_samples.tsv")
SAMPLES: list[Document] = read_documents([FILE], {}).documents
EDITIONS = sorted(
    {edition.language for edition in load_reference(Path(__file__).parents[2] / "reference_data").editions}
)

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


def test_every_edition_has_samples_of_its_language() -> None:
    assert {code for code in EDITIONS if sum(one.truth == code for one in SAMPLES) < 5} == set()


@pytest.mark.parametrize("code", EDITIONS)
def test_samples_of_an_edition_are_read_without_a_declaration(code: str) -> None:
    """All but one of Serbian: a sentence or two may hold no word that a neighbour does not have."""
    samples = [one for one in SAMPLES if one.truth == code]
    wrong = [one.name for one in samples if READER.language(one.title, one.text) != code]
    assert len(wrong) <= (1 if code == "sr" else 0), wrong


def test_samples_of_near_neighbours_are_told_apart() -> None:
    right = sum(READER.language(one.title, one.text) == one.truth for one in SAMPLES)
    assert right >= 0.98 * len(SAMPLES)
    titles = sum(READER.language(one.title, "") == one.truth for one in SAMPLES)
    assert titles >= 0.93 * len(SAMPLES)


def test_a_right_declaration_settles_even_a_title() -> None:
    known = [one for one in SAMPLES if one.truth != UNKNOWN]
    assert [one.name for one in known if READER.language(one.title, "", page=one.page) != one.truth] == []


def test_a_templates_english_changes_no_sample() -> None:
    texts = [one for one in SAMPLES if one.truth not in ("en", UNKNOWN)]
    changed = [
        one.name
        for one in texts
        if READER.language(one.title, one.text, page="en-US") != READER.language(one.title, one.text)
    ]
    assert changed == []


def test_between_neighbours_the_declaration_nearest_the_text_counts() -> None:
    """The page's template says English, the publisher is registered as Serbian: English is no neighbour of the text."""
    assert READER.language("Novi hotel u centru grada", "", page="en-US", origin="sr") == "sr"


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("OpenAI ChatGPT Atlas: вышел новый браузер", "ru"),
        ("Volkswagen и Ford закриват завод", "bg"),
        ("Apple iPhone 18 Pro 価格発表", "ja"),
        ("Galaxy S30 Ultra 출시", "ko"),
        ("Netflix Prime Video: הסדרה חוזרת", "he"),
        ("Manchester City ضد Arsenal: موعد المباراة", "ar"),
        ("iPhone SE की कीमत घटी", "hi"),
        ("Microsoft Windows ανακοίνωσε αναβάθμιση", "el"),
    ],
)
def test_a_brand_in_latin_letters_does_not_decide(title: str, code: str) -> None:
    assert READER.language(title, "") == code


@pytest.mark.parametrize(
    ("title", "code"),
    [
        ("円相場急落、日銀総裁会見", "ja"),
        ("国会、新税案を否決", "ja"),
        ("優の良品台北新店開幕", "zh"),
        ("外匯市場急跌，央行總裁說明", "zh"),
        ("外汇市场急跌，央行行长说明", "zh"),
    ],
)
def test_han_signs_tell_japan_from_china(title: str, code: str) -> None:
    assert READER.language(title, "") == code


@pytest.mark.parametrize("text", ["ລັດຖະບານເຫັນດີງົບປະມານໃໝ່", "መንግሥት አዲስ በጀት ላይ ተስማማ", "ସରକାର ନୂଆ ବଜେଟରେ ରାଜି"])
def test_a_script_of_no_language_of_ours_is_unknown(text: str) -> None:
    assert READER.language(text, "", page="en") == "und"


def test_the_evaluation_counts_by_language_and_names_what_was_wrong(tmp_path: Path) -> None:
    file = tmp_path / "three.tsv"
    file.write_text(
        "# ours\nde\tDie Wahl\tDer Kanzler hat gewonnen.\nfr\tThe government has won\tThe government has won.\n"
    )
    read = read_documents([file], {})
    ours = answers_of("broadsheet", read.documents)
    assert ours is not None
    found = figures(read, [ours])
    assert (found["documents"], found["accuracy"], found["left_out"]) == (2, 0.5, 0)
    assert found["languages"]["fr"] == {"documents": 1, "accuracy": 0.0, "title_accuracy": 0.0}
    assert list(table(read, [ours]))[-1] == "three.tsv:3: fr, read as en"
    assert answers_of("py3langid", read.documents).texts == ["de", "en"]  # type: ignore[union-attr]


def test_a_samples_file_of_another_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "broken.tsv"
    file.write_text("de only one column\n")
    with pytest.raises(ValueError, match=r"line 1 of broken\.tsv"):
        read_documents([file], {})
    with pytest.raises(ValueError, match="line 1"):
        read_truth(file)


CAPTURED = Path(os.environ.get("BROADSHEET_SHARED", Path(__file__).parents[3] / "shared")) / "data"


@pytest.mark.parametrize("folder", ["pages", "feeds"])
def test_captured_texts_are_read_right_with_declarations_hidden(folder: str) -> None:
    if not (CAPTURED / folder).is_dir():
        pytest.skip(f"no captured {folder} at ../shared/data/{folder}")
    truth = read_truth(Path(__file__).parents[2] / "reference_data" / "language_truth.tsv")
    documents = read_documents([CAPTURED / folder], truth).documents
    assert len(documents) > 100
    assert sum(READER.language(one.title, one.text) == one.truth for one in documents) >= 0.98 * len(documents)
    assert sum(READER.language(one.title, "") == one.truth for one in documents) >= 0.98 * len(documents)
    declared = [READER.language(one.title, one.text, page=one.page, entry=one.entry) for one in documents]
    assert declared == [one.truth for one in documents]


def test_a_readers_process_leaves_ctrl_c_to_the_command() -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs ignore it
    try:
        with own_process() as process:
            assert process.apply(signal.getsignal, (signal.SIGINT,)) is signal.SIG_IGN
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
