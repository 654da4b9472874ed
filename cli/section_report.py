"""Sections judged, by publishers' own labels and by articles that were read and labelled by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cli.extract_evaluation import TruthError
from cli.section_samples import read_samples
from cli.section_training import BAR, FEW, Judged, Scores, train
from connectors.settings import Endpoints
from udfs.articles.encoder import EncoderError, load_encoder
from udfs.articles.parse import Reader
from udfs.editions import load_reference

TRUTH = "label_truth.tsv"
VERSION = "sections-1"
BARS = (0.0, 0.3, 0.4, 0.5, 0.6)


class SectionsError(Exception):
    """The folders, the truth or the encoder cannot be used: one line."""


def judge(folders: Sequence[Path], endpoints: Endpoints, told: Callable[[str], None]) -> Judged:
    """The samples of all folders, judged. Raises SectionsError."""
    reference = endpoints.reference_data_folder()
    try:
        told("reading")
        samples = read_samples(folders, Reader(reference), reference / "feeds.csv")
        if not samples:
            raise SectionsError(f"no article in {', '.join(map(str, folders))}")
        encoder = load_encoder(endpoints.encoder, Path(__file__).resolve().parent.parent / endpoints.encoder_folder)
        told(f"encoding {len(samples)} articles, and training")
        return train(samples, encoder, reference, load_reference(reference).sections, VERSION)
    except OSError as error:
        raise SectionsError(f"{error.filename}: {error.strerror}") from None
    except (TruthError, EncoderError, ValueError) as error:
        raise SectionsError(str(error)) from None


def read_label_truth(path: Path) -> dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]]:
    """Name -> (sections, labels); labels None where they were not judged. Raises OSError, SectionsError."""
    found: dict[str, tuple[tuple[str, ...], tuple[str, ...] | None]] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        if len(fields) != 3:
            raise SectionsError(f"{path}, line {number}: name, sections and labels are expected")
        sections = tuple(filter(None, fields[1].split(",")))
        found[fields[0]] = sections, None if fields[2] == "-" else tuple(filter(None, fields[2].split(",")))
    return found


def figures(judged: Judged, truth: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    """By publishers' labels and by hand-checked ones: the classifier alone, without and with its bar, and the rule."""
    first = {name: sections[:1] for name, sections in truth.items()}
    return {
        "publisher_labels": {
            "classifier": judged.scores(None, judged.alone()).as_dict(),
            "classifier_not_english": judged.scores(None, judged.alone(), foreign=True).as_dict(),
            "classifier_at_bar": judged.scores(None, judged.alone(BAR)).as_dict(),
        },
        "hand_checked": {
            "classifier": judged.scores(truth, judged.alone()).as_dict(),
            "classifier_not_english": judged.scores(truth, judged.alone(), foreign=True).as_dict(),
            "classifier_first_section_only": judged.scores(first, judged.alone()).as_dict(),
            "rule": judged.scores(truth, judged.whole()).as_dict(),
            "rule_not_english": judged.scores(truth, judged.whole(), foreign=True).as_dict(),
            "rule_first_section_only": judged.scores(first, judged.whole()).as_dict(),
            "publisher_words_alone": judged.scores(truth, judged.whole(2.0)).as_dict(),
            "bars": {f"{bar:.1f}": _short(judged.scores(truth, judged.alone(bar))) for bar in BARS},
        },
    }


def _short(scores: Scores) -> dict[str, Any]:
    return {name: value for name, value in scores.as_dict().items() if name != "sections"}


def head(judged: Judged) -> Iterator[str]:
    """The comment at the head of the model's file."""
    found = judged.scores(None, judged.alone()).as_dict()
    yield "Which section an article belongs to, by its vector: udfs/articles/section_model.py, docs/topics.md."
    yield "Written by `broadsheet train sections`. No text of the labelled articles is in here."
    yield f"By publishers' labels, publishers left out: {found['articles']} articles, macro-F1 {found['macro_f1']}."


def table(judged: Judged) -> Iterator[str]:
    """Precision and recall by section, of publishers' labels, the classifier alone."""
    yield "classifier alone, publishers left out, by publishers' own labels"
    yield from rows(judged.scores(None, judged.alone()).as_dict())


def rows(found: dict[str, Any]) -> Iterator[str]:
    """A set's figures for people."""
    yield (
        f"{found['articles']} articles, {found['answered']} answered, precision {found['precision']:.3f}, "
        f"recall {found['recall']:.3f}, macro-F1 {found['macro_f1']:.3f}"
    )
    for name, row in found["sections"].items():
        few = f"   under {FEW} articles" if row["articles"] < FEW else ""
        yield f"  {name:<14}{row['articles']:>6}{row['precision']:>8.3f}{row['recall']:>8.3f}{row['f1']:>8.3f}{few}"
