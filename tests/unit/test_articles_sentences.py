"""Where sentences end, in the scripts and languages of the press."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.articles.sentences import UNMARKED_CHARS, sentences, whole_sentences

# (language, the sentences of one line, as a reader divides them). Joined by a space, but for scripts that use none.
SPACED = [
    ("en", ["Mr. J. Smith met Dr. Jones in the U.S. on Friday.", "It rained."]),
    ("en", ["He moved to the U.S.", "The deal is worth $3.5 million."]),
    ("en", ["The talks ended at 5 p.m. Friday.", "They go on today."]),
    ("en", ["Visit https://a.example/c?d=e.", "Or go to example.com today.", "Write to x.y@example.com!"]),
    ("en", ["“This is great.” she said.", "“Hold it. Now.”", "She paused... and left."]),
    ("en", ["Wait...", "What?!", "No!", '"Yes," he said.', "(It rained.)", "Go."]),
    ("en", ["Acme Inc. said so.", "It belongs to Acme Corp.", "The end."]),
    ("en", ["MADISON, Wis. (AP) — It rained.", "It stopped."]),
    ("en", ["1. First item.", "2. Second item."]),
    ("en", ["Version 2.0 came.", "J.R.R. Tolkien wrote it, No. 5 of St. Paul's."]),
    ("de", ["Am 3. Mai fand die Sitzung statt.", "Sie kostet ca. 5 Mio. Euro, z. B. in Berlin."]),
    ("de", ["„Wir gehen. Jetzt.“, sagte er.", "»Nein!«", "Dann ging er 2024.", "Papst Benedikt XVI. Ratzinger schwieg."]),
    ("de", ["Das Spiel endete 2:1.", "Der Trainer war um 20.15 Uhr zufrieden."]),
    ("fr", ["« C'est fini. »", "M. Dupont reste.", "« Oui ! », dit-elle.", "Pourquoi ?", "Parce que."]),
    ("es", ["El Sr. Pérez vive en EE. UU. desde 2010.", "¿Qué pasó?", "¡Nada!", "Cuesta 1.500 euros."]),
    ("pt", ["O Sr. Silva chegou.", "A Dra. Costa saiu às 15.30."]),
    ("it", ["Il dott. Rossi parla.", "L'avv. Bianchi no."]),
    ("nl", ["Prof. dr. Jansen sprak.", "Hij noemde bijv. Utrecht."]),
    ("da", ["Den 3. maj kom Hr. Hansen.", "Han gik."]),
    ("no", ["Den 3. mai kom Dr. Hansen.", "Han gikk."]),
    ("fi", ["Se oli 3. päivä.", "Hinta on n. 5 euroa."]),
    ("cs", ["Dne 3. května přijel Ing. Novák.", "Mluvil."]),
    ("pl", ["W 2024 r. prof. Nowak wygrał.", "Mieszka przy ul. Długiej."]),
    ("pl", ["Było to w 2024 r.", "Potem wyjechał."]),
    ("hu", ["A 3. helyen dr. Nagy áll.", "Jó."]),
    ("tr", ["Prof. Dr. Kaya 3. kez geldi.", "Gitti."]),
    ("sr", ["Дана 3. маја дошао је др. Петровић.", "Рекао је."]),
    ("ru", ["«Мы согласны. Всё хорошо», — сказал он.", "Это было в 2024 г.", "Он живёт на ул. Ленина."]),
    ("ru", ["В 2024 г. А. С. Иванова вспомнили.", "И забыли."]),
    ("uk", ["Він живе на вул. Шевченка.", "Це коштує 5 млн. грн."]),
    ("el", ["Τι είναι;", "Ο κ. Παππάς έφυγε.", "Τέλος."]),
    ("he", ['ד"ר כהן בא.', "הוא פגש את ב. לוי.", "מדוע?"]),
    ("ar", ["هل وافق البرلمان؟", "نعم.", "سقط المشروع؛", "وقالت الوزيرة إنها ستقدمه."]),
    ("fa", ["آقای دکتر آمد.", "رفت؟", "قیمت ۳٫۵ میلیون است."]),
    ("ur", ["بل ناکام ہوا۔", "وزیر نے کہا۔"]),
    ("hi", ["प्रस्ताव गिर गया।", "डॉ. मिश्र ने कहा।", "क्यों?"]),
    ("bn", ["প্রস্তাবটি নাকচ হয়েছে।", "ডা. রহমান বলেছেন।"]),
    ("ta", ["அவர் வந்தார்.", "அவள் போனாள்."]),
    ("my", ["သူလာသည်။", "သူသွားသည်။"]),
    ("km", ["គាត់មក។", "គាត់ទៅ។"]),
    ("am", ["መንግሥት ተስማማ።", "ሚኒስትሩ ተናገሩ።"]),
    ("hy", ["Կառավարությունը համաձայնեց։", "Նախարարը ասաց։"]),
    ("ko", ["비가 왔다.", "오늘은 3.5도다.", "맑은가?"]),
    ("vi", ["Ông ấy đến TP. Vinh.", "Trời mưa."]),
    ("id", ["Ia tinggal di Jl. Merdeka.", "Harganya Rp. 5.000."]),
]  # fmt: skip
UNSPACED = [
    ("ja", ["首相は「経済は回復した。賃金も上がる」と述べた。", "会見は30分で終わった。"]),
    ("ja", ["彼は「行く。」と言った。", "雨だった！", "本当？"]),
    ("ja", ["『終わりだ。』", "会場は静まり返った（写真。東京で）。"]),
    ("zh", ["“我们同意。”", "他说。", "会议结束了！", "真的吗？"]),
    ("zh", ["他说：“好吗？”", "她点头。", "“走。现在。”"]),
    ("ur", ["بل ناکام ہوا۔", "وزیر نے کہا۔"]),
    ("hi", ["प्रस्ताव गिर गया।", "मंत्री ने कहा।"]),
    ("my", ["သူလာသည်။", "သူသွားသည်။"]),
]


@pytest.mark.parametrize(("language", "expected"), SPACED)
def test_sentences_of_a_line(language: str, expected: list[str]) -> None:
    assert sentences(" ".join(expected), language) == expected


@pytest.mark.parametrize(("language", "expected"), UNSPACED)
def test_sentences_of_scripts_that_put_no_space_between(language: str, expected: list[str]) -> None:
    assert sentences("".join(expected), language) == expected


def test_thai_is_cut_at_spaces_between_its_words() -> None:
    clause = "เจ้าหน้าที่ปิดสะพานข้ามแม่น้ำหลังพบรอยร้าวที่เสาสองต้น จำนวน 5 คน"
    found = sentences(" ".join([clause] * 6), "th")
    assert len(found) > 1
    assert all(len(piece) >= UNMARKED_CHARS for piece in found[:-1])
    assert not any(piece.endswith("5") or piece.startswith(("5", "คน")) for piece in found)
    assert sentences("พ.ศ. 2567 นาย ก. มา", "th") == ["พ.ศ. 2567 นาย ก. มา"]


def test_a_line_break_ends_a_sentence_and_a_limit_stops() -> None:
    assert sentences("Dateline\r\n\nBody of it.  More\u2028End", "en") == ["Dateline", "Body of it.", "More", "End"]
    assert sentences("A dog. A cat. A cow.", "en", 2) == ["A dog.", "A cat."]
    assert sentences("A dog.", "en", 0) == []


def test_a_long_quotation_is_divided_and_an_unclosed_one_too() -> None:
    long = "“" + "We agree on this. " * 20 + "Yes.”"
    assert len(sentences(long, "en")) == 21
    assert sentences("He said: “We agree. Then he left. It rained.", "en") == [
        "He said: “We agree.",
        "Then he left.",
        "It rained.",
    ]


def test_whole_sentences_fit() -> None:
    assert whole_sentences("Dr. Orr came. He left. It rained.", 25, "en") == "Dr. Orr came. He left."
    assert whole_sentences("昨日は雨。今日は晴れ。", 6) == "昨日は雨。"
    assert whole_sentences("No end fits here", 5) == ""


_PIECES = ["A", "b", "3", "Dr", ".", "..", "!", "?", "…", "。", "」", "「", "“", "”", "„", '"', "(", ")", "«", "»", " ", "\u00a0", "\n", "।", "۔", "؟", "ก", "字", "の", "\u0301", "\ud800"]  # fmt: skip


@settings(deadline=None)
@given(
    st.text(max_size=300) | st.lists(st.sampled_from(_PIECES), max_size=80).map("".join),
    st.sampled_from(["", "en", "de", "ja", "zh", "th", "el", "ru", "pl"]),
    st.integers(1, 5),
)
def test_nothing_is_lost_changed_or_empty(text: str, language: str, limit: int) -> None:
    found = sentences(text, language)
    assert all(piece and piece == piece.strip() for piece in found)
    assert "".join("".join(found).split()) == "".join(text.split())
    assert sentences(text, language, limit) == found[:limit]
    whole = whole_sentences(text, 40, language)
    assert len(whole) <= 40
    assert text.strip().startswith(whole)


@pytest.mark.parametrize(
    "text",
    [". ", '"', "A.", "!?", "(a. ", "3. A ", "“", "»", "ก ", '" ', ".\u00a0» ", "a" * 30, "「。", "x…"],
)
def test_hostile_text_of_any_length_is_read_through(text: str) -> None:
    """At this length anything that grows with the square of it would run into the test's time limit."""
    long = text * (200_000 // len(text)) + ". A"
    assert "".join("".join(sentences(long, "de")).split()) == "".join(long.split())
