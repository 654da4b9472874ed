"""Write multilingual-e5-small as an ONNX graph that ONNX Runtime runs in integers on one CPU thread.

Decides the graph and which numbers of it are quantised how. Never runs it; needs neither PyTorch nor the float model.

The encoder is BERT's: token + position embeddings, layer normalisation, twelve layers of self-attention and
feed-forward (erf GELU), each followed by a residual sum and a layer normalisation; then the mean over the mask, scaled
to length 1.

- The token table keeps the source's 4-bit blocks as they are (no loss; 54 MB against 384 MB in float32), in a file of
  its own that ONNX Runtime maps: processes on one machine share it, and only the rows in use are in memory.
- The weights of a layer become int8, one scale an output row, in 7 bits: two products of an 8-bit activation and a
  7-bit weight fit 16 bits, so processors without VNNI instructions do not saturate (cost: 0.0004 of cosine).
- Activations are quantised as they come, one scale a tensor; so a single large channel robs all the others of their
  bits. OUTLIERS keeps the known ones away from that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from cli.encoder.weights import BLOCK, Weights

MODEL_FILE = "model.onnx"
TABLE_FILE = "model.onnx_data"  # the name that optimum looks for beside model.onnx
ONNX_RUNTIME = "com.microsoft"  # the domain of ONNX Runtime's own operators
OPSET = 21
IR_VERSION = 10
WEIGHT_LIMIT = 64  # 255 x 64 x 2 = 32,640 stays below 2^15
PAGE = 4096  # bytes; ONNX Runtime maps external data that begins on a page


@dataclass(frozen=True, slots=True)
class Outliers:
    """What one layer's feed-forward block keeps out of the shared activation scale.

    unit: hidden unit computed in float. channel: input channel divided by `shrink`, its weights multiplied by it.
    """

    unit: int | None = None
    channel: int | None = None
    shrink: float = 4.0


# Largest absolute activation over 249 news texts in 20 languages: each `unit` reaches 11 to 69 after the GELU where no
# other passes 6; each `channel` reaches 19 to 44 where the rest of its layer stays below 15. Mean (least) cosine to the
# float model over those texts: without the table 0.9966 (0.9935), units alone 0.9988 (0.9983), both 0.9991 (0.9987).
OUTLIERS: tuple[Outliers, ...] = (
    Outliers(unit=318, channel=321),
    Outliers(unit=1462, channel=15),
    Outliers(unit=354, channel=15),
    Outliers(channel=15),
    Outliers(unit=778, channel=15),
    Outliers(unit=658, channel=35),
    Outliers(unit=1152, channel=35),
    Outliers(unit=413, channel=35),
    Outliers(channel=35),
    Outliers(channel=35),
    Outliers(channel=35),
    Outliers(),
)


def quantise_rows(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights of shape (out, in) as 7-bit integers and one scale an output row: weight ~ integer x scale."""
    scale = np.abs(weight).max(axis=1) / np.float32(WEIGHT_LIMIT)
    scale[scale == 0] = 1.0
    integers = np.rint(weight / scale[:, None]).clip(-WEIGHT_LIMIT, WEIGHT_LIMIT)
    return integers.astype(np.int8), scale.astype(np.float32)


class _Graph:
    """Collects nodes and constants; a node's name is that of its first output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def add(self, operator: str, inputs: Sequence[str], output: str, domain: str = "", **attributes: Any) -> str:
        self.add_many(operator, inputs, [output], domain, **attributes)
        return output

    def add_many(
        self, operator: str, inputs: Sequence[str], outputs: list[str], domain: str = "", **attributes: Any
    ) -> None:
        node = helper.make_node(operator, list(inputs), outputs, name=outputs[0], domain=domain, **attributes)
        self.nodes.append(node)

    def linear(self, source: str, name: str, weight: NDArray[np.float32], bias: NDArray[np.float32]) -> str:
        """source @ weight.T + bias in integers; weight has shape (out, in)."""
        integers, scale = quantise_rows(weight)
        return self.add(
            "DynamicQuantizeMatMul",
            [
                source,
                self.constant(f"{name}.weight", integers.T),
                self.constant(f"{name}.scale", scale),
                "",
                self.constant(f"{name}.bias", bias),
            ],
            name,
            ONNX_RUNTIME,
        )


def write_graph(weights: Weights, folder: Path, outliers: Sequence[Outliers] = OUTLIERS) -> None:
    """Write MODEL_FILE and TABLE_FILE into `folder`.

    Inputs: input_ids and attention_mask, int64 of shape (texts, tokens). Outputs, float32: last_hidden_state of shape
    (texts, tokens, hidden) and sentence_embedding of shape (texts, hidden), L2-normalised.
    """
    graph = _Graph()
    shape = weights.shape
    hidden = _embeddings(graph, weights, folder)
    graph.add("Cast", ["attention_mask"], "mask.int32", to=TensorProto.INT32)
    for layer in range(shape.layers):
        hidden = _layer(graph, weights, layer, hidden, outliers[layer] if layer < len(outliers) else Outliers())
    graph.add("Identity", [hidden], "last_hidden_state")
    _pool(graph, hidden)
    tokens = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["texts", "tokens"])
        for n in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["texts", "tokens", shape.hidden]),
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["texts", shape.hidden]),
    ]
    model = helper.make_model(
        helper.make_graph(graph.nodes, "multilingual-e5-small", tokens, outputs, graph.constants),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(ONNX_RUNTIME, 1)],
        ir_version=IR_VERSION,
        producer_name="broadsheet",
    )
    (folder / MODEL_FILE).write_bytes(model.SerializeToString(deterministic=True))


def _embeddings(graph: _Graph, weights: Weights, folder: Path) -> str:
    shape = weights.shape
    nibbles, scales = weights.blocks("emb.word", shape.vocabulary, shape.hidden)
    signed = nibbles ^ 8  # 0..15 standing for -8..7 becomes the same number in two's complement
    packed = signed[:, 0::2] | (signed[:, 1::2] << 4)
    with (folder / TABLE_FILE).open("wb") as file:
        graph.constants += [
            _external(file, "embeddings.table", TensorProto.INT4, nibbles.shape, packed.tobytes()),
            _external(file, "embeddings.scale", TensorProto.FLOAT16, scales.shape, scales.tobytes()),
        ]
    graph.add(
        "GatherBlockQuantized",
        ["embeddings.table", "input_ids", "embeddings.scale"],
        "embeddings.tokens16",
        ONNX_RUNTIME,
        block_size=BLOCK,
        gather_axis=0,
        quantize_axis=1,
    )
    graph.add("Cast", ["embeddings.tokens16"], "embeddings.tokens", to=TensorProto.FLOAT)
    # Every text is of type 0, so that row is added to the positions once and for all.
    first_type = weights.vector("emb.type", shape.types * shape.hidden)[: shape.hidden]
    positions = weights.matrix("emb.pos", shape.positions, shape.hidden) + first_type
    graph.constant("embeddings.positions", positions)
    graph.constant("zero", np.array([0], np.int64))
    graph.add("Shape", ["input_ids"], "length", start=1, end=2)
    graph.add("Slice", ["embeddings.positions", "zero", "length", "zero"], "embeddings.position")
    graph.add("Add", ["embeddings.tokens", "embeddings.position"], "embeddings.sum")
    return _normalise(graph, weights, "emb.ln", "embeddings.sum")


def _normalise(graph: _Graph, weights: Weights, name: str, source: str) -> str:
    size = weights.shape.hidden
    gain = graph.constant(f"{name}.w", weights.vector(f"{name}.w", size))
    shift = graph.constant(f"{name}.b", weights.vector(f"{name}.b", size))
    return graph.add("LayerNormalization", [source, gain, shift], name, axis=-1, epsilon=weights.shape.epsilon)


def _layer(graph: _Graph, weights: Weights, layer: int, source: str, outliers: Outliers) -> str:
    shape = weights.shape
    name = f"l{layer}"

    def parameters(part: str, rows: int, columns: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return weights.matrix(f"{name}.{part}.w", rows, columns), weights.vector(f"{name}.{part}.b", rows)

    heads = [parameters(part, shape.hidden, shape.hidden) for part in "qkv"]
    joined = graph.linear(
        source, f"{name}.qkv", np.concatenate([w for w, _ in heads]), np.concatenate([b for _, b in heads])
    )
    query, key, value = (f"{name}.{part}" for part in ("query", "key", "value"))
    graph.add_many("Split", [joined], [query, key, value], axis=-1, num_outputs=3)
    graph.add(
        "MultiHeadAttention",
        [query, key, value, "", "mask.int32"],
        f"{name}.context",
        ONNX_RUNTIME,
        num_heads=shape.heads,
    )
    graph.linear(f"{name}.context", f"{name}.attention", *parameters("ao", shape.hidden, shape.hidden))
    graph.add("Add", [source, f"{name}.attention"], f"{name}.attended")
    attended = _normalise(graph, weights, f"{name}.aln", f"{name}.attended")
    inner, inner_bias = parameters("fi", shape.feed_forward, shape.hidden)
    outer, outer_bias = parameters("fo", shape.hidden, shape.feed_forward)
    result = _feed_forward(graph, name, attended, (inner, inner_bias, outer, outer_bias), outliers)
    graph.add("Add", [attended, result], f"{name}.sum")
    return _normalise(graph, weights, f"{name}.oln", f"{name}.sum")


def _feed_forward(
    graph: _Graph,
    name: str,
    source: str,
    parameters: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]],
    outliers: Outliers,
) -> str:
    inner, inner_bias, outer, outer_bias = (array.copy() for array in parameters)
    apart = None
    if outliers.unit is not None:
        apart = _float_unit(
            graph, name, source, inner[outliers.unit], inner_bias[outliers.unit], outer[:, outliers.unit]
        )
        inner[outliers.unit] = 0.0
        inner_bias[outliers.unit] = 0.0
        outer[:, outliers.unit] = 0.0
    if outliers.channel is not None:
        factors = np.ones(inner.shape[1], np.float32)
        factors[outliers.channel] = 1.0 / outliers.shrink
        inner /= factors
        source = graph.add("Mul", [source, graph.constant(f"{name}.factors", factors)], f"{name}.levelled")
    graph.linear(source, f"{name}.inner", inner, inner_bias)
    graph.add("Gelu", [f"{name}.inner"], f"{name}.active", approximate="none")
    result = graph.linear(f"{name}.active", f"{name}.outer", outer, outer_bias)
    return result if apart is None else graph.add("Add", [result, apart], f"{name}.outer.all")


def _float_unit(
    graph: _Graph,
    name: str,
    source: str,
    inner: NDArray[np.float32],
    bias: np.float32,
    outer: NDArray[np.float32],
) -> str:
    """One hidden unit in float: gelu(source . inner + bias) x outer; costs about 0.02 ms."""
    graph.add("MatMul", [source, graph.constant(f"{name}.unit.inner", inner[:, None])], f"{name}.unit.product")
    graph.add("Add", [f"{name}.unit.product", graph.constant(f"{name}.unit.bias", np.array([bias]))], f"{name}.unit")
    graph.add("Gelu", [f"{name}.unit"], f"{name}.unit.active", approximate="none")
    return graph.add(
        "MatMul", [f"{name}.unit.active", graph.constant(f"{name}.unit.outer", outer[None, :])], f"{name}.unit.result"
    )


def _pool(graph: _Graph, hidden: str) -> None:
    graph.constant("last_axis", np.array([2], np.int64))
    graph.constant("token_axis", np.array([1], np.int64))
    graph.add("Cast", ["attention_mask"], "mask.float", to=TensorProto.FLOAT)
    graph.add("Unsqueeze", ["mask.float", "last_axis"], "mask.column")
    graph.add("Mul", [hidden, "mask.column"], "pool.masked")
    # The mean's divisor cancels out in the division by the length.
    graph.add("ReduceSum", ["pool.masked", "token_axis"], "pool.sum", keepdims=0)
    graph.add("ReduceL2", ["pool.sum", "token_axis"], "pool.length", keepdims=1)
    graph.add("Max", ["pool.length", graph.constant("pool.least", np.array(1e-12, np.float32))], "pool.divisor")
    graph.add("Div", ["pool.sum", "pool.divisor"], "sentence_embedding")


def _external(file: BinaryIO, name: str, dtype: int, dims: Sequence[int], raw: bytes) -> onnx.TensorProto:
    """Append `raw` to TABLE_FILE on a page of its own, and say in a tensor where it lies."""
    file.write(b"\0" * (-file.tell() % PAGE))
    place = {"location": TABLE_FILE, "offset": str(file.tell()), "length": str(len(raw))}
    file.write(raw)
    tensor = TensorProto(name=name, data_type=dtype, dims=dims, data_location=TensorProto.EXTERNAL)
    for key, value in place.items():
        tensor.external_data.add(key=key, value=value)
    return tensor
