"""Write multilingual-e5-small as an ONNX graph that ONNX Runtime runs in integers on one CPU thread.

Decides the graph and which numbers of it are quantised how. Never runs it; needs neither PyTorch nor the float model.

The encoder is BERT's: token + position embeddings, layer normalisation, twelve layers of self-attention and
feed-forward (erf GELU), each followed by a residual sum and a layer normalisation; then the mean over the mask, scaled
to length 1.

- The token table keeps the source's 4-bit blocks as they are (no loss; 54 MB against 384 MB in float32), in a file of
  its own that ONNX Runtime maps: processes on one machine share it, and only the rows in use are in memory.
- The weights of a layer become int8, one scale an output row, in 7 bits: two products of an 8-bit activation and a
  7-bit weight fit 16 bits, so processors without VNNI instructions do not saturate (cost: 0.0004 of cosine).
- Activations are quantised as they come, one scale a tensor; so a single large unit robs all the others of their
  bits. OUTLIERS computes the known ones in float.
- Feed-forward units that hardly move their layer's sum are left out; their mean stays, in the bias (`units.py`).
- One text a run: without padding there is no mask, and attention without a mask takes ONNX Runtime's faster way. A
  batch is refused by the inputs' shape rather than computed wrongly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, BinaryIO

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from cli.encoder.units import LeftOut, read_left_out
from cli.encoder.weights import BLOCK, Weights

MODEL_FILE = "model.onnx"
TABLE_FILE = "model.onnx_data"  # the name that optimum looks for beside model.onnx
ONNX_RUNTIME = "com.microsoft"  # the domain of ONNX Runtime's own operators
OPSET = 21
IR_VERSION = 10
WEIGHT_LIMIT = 64  # 255 x 64 x 2 = 32,640 stays below 2^15
PAGE = 4096  # bytes; ONNX Runtime maps external data that begins on a page


# Layer -> the hidden feed-forward unit that is computed in float: over 249 news texts in 20 languages each reaches 11
# to 69 after the GELU where no other unit of its layer passes 6. Mean cosine to the float model: 0.9966 without, 0.9988
# with (before any unit is left out).
OUTLIERS: Mapping[int, int] = MappingProxyType({0: 318, 1: 1462, 2: 354, 4: 778, 5: 658, 6: 1152, 7: 413})


@dataclass(frozen=True, slots=True)
class Form:
    """How the graph differs from the plain encoder.

    outliers: as OUTLIERS. left_out: by layer, the feed-forward units that are not computed. in_float: no integers at
    all, for reference. shown: names of inner values that become outputs, for measuring.
    """

    outliers: Mapping[int, int] = field(default_factory=lambda: OUTLIERS)
    left_out: Sequence[LeftOut] = field(default_factory=lambda: read_left_out())
    in_float: bool = False
    shown: tuple[str, ...] = ()


# Every number of the source, and no approximation but float32's.
REFERENCE = Form(outliers={}, left_out=(), in_float=True)


def quantise_rows(weight: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Weights of shape (out, in) as 7-bit integers and one scale an output row: weight ~ integer x scale."""
    scale = np.abs(weight).max(axis=1) / np.float32(WEIGHT_LIMIT)
    scale[scale == 0] = 1.0
    integers = np.rint(weight / scale[:, None]).clip(-WEIGHT_LIMIT, WEIGHT_LIMIT)
    return integers.astype(np.int8), scale.astype(np.float32)


class _Graph:
    """Collects nodes and constants; a node's name is that of its first output."""

    def __init__(self, in_float: bool) -> None:
        self._in_float = in_float
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
        """source @ weight.T + bias, in integers but for reference; weight has shape (out, in)."""
        if self._in_float:
            product = self.add("MatMul", [source, self.constant(f"{name}.weight", weight.T)], f"{name}.product")
            return self.add("Add", [product, self.constant(f"{name}.bias", bias)], name)
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


def write_graph(weights: Weights, folder: Path, form: Form | None = None) -> None:
    """Write MODEL_FILE and TABLE_FILE into `folder`. form: the default one where None is given.

    Inputs: input_ids and attention_mask, int64 of shape (1, tokens); the mask is there for libraries that hand one
    over, and not read. Outputs, float32: last_hidden_state of shape (1, tokens, hidden) and sentence_embedding of shape
    (1, hidden), L2-normalised; then what the form shows.
    """
    form = form or Form()
    graph = _Graph(form.in_float)
    shape = weights.shape
    hidden = _embeddings(graph, weights, folder)
    for layer in range(shape.layers):
        hidden = _layer(graph, weights, layer, hidden, form)
    graph.add("Identity", [hidden], "last_hidden_state")
    _pool(graph, hidden)
    tokens = [
        helper.make_tensor_value_info(n, TensorProto.INT64, [1, "tokens"]) for n in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, [1, "tokens", shape.hidden]),
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, [1, shape.hidden]),
        *(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in form.shown),
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
    # Byte j of a block holds weight j in its low nibble and weight j + 16 in its high one, as in the source.
    rows = (shape.vocabulary, shape.hidden // BLOCK)
    halves = nibbles.reshape(*rows, 2, BLOCK // 2)
    packed = halves[:, :, 0] | (halves[:, :, 1] << 4)
    with (folder / TABLE_FILE).open("wb") as file:
        graph.constants += [
            _external(file, "embeddings.table", TensorProto.UINT8, (*rows, BLOCK // 2), packed.tobytes()),
            _external(file, "embeddings.scale", TensorProto.FLOAT16, (*rows, 1), scales.tobytes()),
        ]
    # Plain operators on the rows in use: up to 0.5 ms less than GatherBlockQuantized, which works number by number.
    graph.add("Gather", ["embeddings.table", "input_ids"], "embeddings.packed")
    graph.add("Gather", ["embeddings.scale", "input_ids"], "embeddings.scale16")
    graph.add("Cast", ["embeddings.scale16"], "embeddings.scales", to=TensorProto.FLOAT)
    low_bits = graph.constant("embeddings.low_bits", np.array(15, np.uint8))
    half_a_byte = graph.constant("embeddings.half_a_byte", np.array(4, np.uint8))
    graph.add("BitwiseAnd", ["embeddings.packed", low_bits], "embeddings.low")
    graph.add("BitShift", ["embeddings.packed", half_a_byte], "embeddings.high", direction="RIGHT")
    graph.add("Concat", ["embeddings.low", "embeddings.high"], "embeddings.nibbles", axis=-1)
    one = graph.constant("embeddings.one", np.array(1, np.float32))
    middle = graph.constant("embeddings.middle", np.array(8, np.uint8))
    graph.add("DequantizeLinear", ["embeddings.nibbles", one, middle], "embeddings.centred")
    graph.add("Mul", ["embeddings.centred", "embeddings.scales"], "embeddings.blocks")
    whole = graph.constant("embeddings.whole", np.array([0, 0, shape.hidden], np.int64))
    graph.add("Reshape", ["embeddings.blocks", whole], "embeddings.tokens")
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


def _layer(graph: _Graph, weights: Weights, layer: int, source: str, form: Form) -> str:
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
    graph.add("MultiHeadAttention", [query, key, value], f"{name}.context", ONNX_RUNTIME, num_heads=shape.heads)
    graph.linear(f"{name}.context", f"{name}.attention", *parameters("ao", shape.hidden, shape.hidden))
    graph.add("Add", [source, f"{name}.attention"], f"{name}.attended")
    attended = _normalise(graph, weights, f"{name}.aln", f"{name}.attended")
    block = FeedForward(
        *parameters("fi", shape.feed_forward, shape.hidden), *parameters("fo", shape.hidden, shape.feed_forward)
    )
    result = _feed_forward(graph, name, attended, block, form, layer)
    graph.add("Add", [attended, result], f"{name}.sum")
    return _normalise(graph, weights, f"{name}.oln", f"{name}.sum")


@dataclass(frozen=True, slots=True)
class FeedForward:
    """inner: (units, hidden), outer: (hidden, units), each with its bias."""

    inner: NDArray[np.float32]
    inner_bias: NDArray[np.float32]
    outer: NDArray[np.float32]
    outer_bias: NDArray[np.float32]

    def only(self, kept: NDArray[np.bool_], outer_bias: NDArray[np.float32] | None = None) -> FeedForward:
        """The block of the kept units, bool[units], with another bias where one is given."""
        return FeedForward(
            self.inner[kept],
            self.inner_bias[kept],
            self.outer[:, kept],
            self.outer_bias if outer_bias is None else outer_bias,
        )


def _feed_forward(graph: _Graph, name: str, source: str, block: FeedForward, form: Form, layer: int) -> str:
    kept = np.ones(len(block.inner), dtype=bool)
    bias = block.outer_bias
    unit = form.outliers.get(layer)
    apart = None
    if layer < len(form.left_out):
        left_out = form.left_out[layer]
        gone = left_out.units != unit
        kept[left_out.units] = False
        bias = bias + block.outer[:, left_out.units[gone]] @ left_out.means[gone]
    if unit is not None:
        alone = np.zeros(len(kept), dtype=bool)
        alone[unit] = True
        apart = _float_unit(graph, name, source, block.only(alone))
        kept[unit] = False
    most = block.only(kept, bias)
    graph.linear(source, f"{name}.inner", most.inner, most.inner_bias)
    graph.add("Gelu", [f"{name}.inner"], f"{name}.active", approximate="none")
    result = graph.linear(f"{name}.active", f"{name}.outer", most.outer, most.outer_bias)
    return result if apart is None else graph.add("Add", [result, apart], f"{name}.outer.all")


def _float_unit(graph: _Graph, name: str, source: str, unit: FeedForward) -> str:
    """One hidden unit in float, without the outer bias: gelu(source . inner + bias) x outer; costs about 0.02 ms."""
    graph.add("MatMul", [source, graph.constant(f"{name}.unit.inner", unit.inner.T)], f"{name}.unit.product")
    graph.add("Add", [f"{name}.unit.product", graph.constant(f"{name}.unit.bias", unit.inner_bias)], f"{name}.unit")
    graph.add("Gelu", [f"{name}.unit"], f"{name}.unit.active", approximate="none")
    return graph.add(
        "MatMul", [f"{name}.unit.active", graph.constant(f"{name}.unit.outer", unit.outer.T)], f"{name}.unit.result"
    )


def _pool(graph: _Graph, hidden: str) -> None:
    graph.constant("token_axis", np.array([1], np.int64))
    # The mean's divisor cancels out in the division by the length.
    graph.add("ReduceSum", [hidden, "token_axis"], "pool.sum", keepdims=0)
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
