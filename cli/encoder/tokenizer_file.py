"""The tokenizer's files: `tokenizer.json` for the `tokenizers` library, and two that transformers reads beside it.

Decides how the source's normalisation map and unigram pieces are said in that library's terms. Never encodes a text.

Normalisation lives inside `tokenizer.json`, so every back end reads the same: canonical composition (the source's map
knows single characters only, and SentencePiece's own map composes), the map, runs of spaces to one. Then words are cut
at spaces, marked with U+2581, and each word is divided into the likeliest pieces.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

from cli.encoder.charsmap import precompiled_charsmap
from cli.encoder.weights import Pieces

UNKNOWN_PENALTY = 10.0  # below the least likely piece: SentencePiece's kUnkPenalty; `tokenizers` and e5.c use the same
WORD_MARK = "\u2581"


def tokenizer_document(source: Pieces) -> dict[str, Any]:
    """The content of tokenizer.json: unigram pieces in order of id, `<s>` and `</s>` around each text."""
    specials = {"bos": source.bos, "pad": source.pad, "eos": source.eos, "unk": source.unk}
    bos, eos = source.pieces[source.bos], source.pieces[source.eos]
    charsmap = base64.b64encode(precompiled_charsmap(source.normalisation)).decode("ascii")
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {
                "id": token,
                "content": source.pieces[token],
                "single_word": False,
                "lstrip": False,
                "rstrip": False,
                "normalized": False,
                "special": True,
            }
            for token in sorted(specials.values())
        ],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                {"type": "NFC"},
                {"type": "Precompiled", "precompiled_charsmap": charsmap},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
            ],
        },
        "pre_tokenizer": {
            "type": "Metaspace",
            "replacement": WORD_MARK,
            "prepend_scheme": "always",
            "split": True,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [
                {"SpecialToken": {"id": bos, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
            ],
            "pair": [
                {"SpecialToken": {"id": bos, "type_id": 0}},
                {"Sequence": {"id": "A", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
                {"Sequence": {"id": "B", "type_id": 0}},
                {"SpecialToken": {"id": eos, "type_id": 0}},
            ],
            "special_tokens": {
                bos: {"id": bos, "ids": [source.bos], "tokens": [bos]},
                eos: {"id": eos, "ids": [source.eos], "tokens": [eos]},
            },
        },
        "decoder": {"type": "Metaspace", "replacement": WORD_MARK, "prepend_scheme": "always", "split": True},
        "model": {
            "type": "Unigram",
            "unk_id": source.unk,
            "vocab": [list(entry) for entry in zip(source.pieces, source.scores, strict=True)],
            "byte_fallback": False,
        },
    }


def write_tokenizer(source: Pieces, folder: Path, max_tokens: int) -> None:
    """Write tokenizer.json, tokenizer_config.json and special_tokens_map.json into `folder`."""
    document = tokenizer_document(source)
    _write(folder / "tokenizer.json", document, indent=None)
    names = {
        "bos_token": source.pieces[source.bos],
        "cls_token": source.pieces[source.bos],
        "eos_token": source.pieces[source.eos],
        "sep_token": source.pieces[source.eos],
        "pad_token": source.pieces[source.pad],
        "unk_token": source.pieces[source.unk],
    }
    _write(folder / "special_tokens_map.json", names)
    _write(
        folder / "tokenizer_config.json",
        {
            **names,
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": max_tokens,
            "model_input_names": ["input_ids", "attention_mask"],
            "clean_up_tokenization_spaces": False,
        },
    )


def _write(path: Path, document: object, indent: int | None = 2) -> None:
    path.write_text(json.dumps(document, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8")
