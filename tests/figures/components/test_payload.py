"""A payload holds what was packed, and the browser reads the same from it as Python does."""

import json
import math

import numpy as np
import pytest
from mounted import imported

from viz_transformer import payload

STRANGE = [0.0, -0.0, 1.0, 1e-45, -1e-45, 3.4e38, np.inf, -np.inf, 0.1, 1 / 3]


def header_of(data):
    return json.loads(data[4 : 4 + int.from_bytes(data[:4], "little")])


def test_header_and_arrays_come_back():
    header = {"title": "“<b>” & عالم 🙂", "n": 3, "ratio": 0.1, "none": None, "list": [[1, "a"]]}
    sent, arrays = payload.unpack(payload.pack(header, values=payload.exact([[1.5, 2]]), mask=payload.bits([True])))
    assert sent == header
    assert {name: array.tolist() for name, array in arrays.items()} == {"values": [[1.5, 2.0]], "mask": [True]}


def test_a_header_alone_is_enough_and_has_no_arrays_of_its_own():
    assert payload.unpack(payload.pack({})) == ({}, {})
    with pytest.raises(ValueError, match="arrays"):
        payload.pack({"arrays": {}})


def test_numbers_of_numpy_may_stand_in_a_header():
    header, _ = payload.unpack(payload.pack({"n": np.int64(3), "starts": np.arange(2), "full": np.float32(0.5)}))
    assert header == {"n": 3, "starts": [0, 1], "full": 0.5}


def test_float32_keeps_every_bit():
    values = np.array([STRANGE, STRANGE[::-1]], np.float32)
    _, arrays = payload.unpack(payload.pack({}, values=payload.exact(values)))
    assert arrays["values"].tobytes() == values.tobytes()
    every_other = np.arange(12, dtype=np.float64).reshape(3, 4)[:, ::2]  # neither float32 nor in one piece
    assert payload.unpack(payload.pack({}, v=payload.exact(every_other)))[1]["v"].tolist() == every_other.tolist()


def test_a_value_that_is_no_number_stays_one():
    nan = np.array([0x7FC00000, 0xFFC00001], np.uint32).view(np.float32)
    assert payload.unpack(payload.pack({}, v=payload.exact(nan)))[1]["v"].tobytes() == nan.tobytes()


@pytest.mark.parametrize("count", [*range(1, 18), 64])
def test_bits_keep_their_places(count):
    values = np.random.default_rng(count).random((2, count)) < 0.5
    data = payload.pack({}, mask=payload.bits(values))
    assert np.array_equal(payload.unpack(data)[1]["mask"], values)
    assert header_of(data)["arrays"]["mask"]["length"] == math.ceil(2 * count / 8)


@pytest.mark.parametrize(("encoding", "bound", "bytes_each"), [("sqrt-uint16", 1.6e-5, 2), ("sqrt-uint8", 4e-3, 1)])
def test_rounded_shares_stay_within_their_bound(encoding, bound, bytes_each):
    values = np.concatenate([np.linspace(0, 1, 200_001), np.random.default_rng(0).random(100_000) ** 8]).astype(
        np.float32
    )
    encoded = payload.rounded(values, encoding)
    (back,) = payload.unpack(payload.pack({}, v=encoded))[1].values()
    error = np.abs(back.astype(np.float64) - values)
    assert bound / 1.1 < error.max() < bound  # the bound that is stated is no larger than it has to be
    assert back[0] == 0 and back[200_000] == 1
    assert (np.diff(back[:200_001]) >= 0).all()
    assert len(encoded.data) == bytes_each * values.size


@pytest.mark.parametrize(("encoding", "base", "each"), [("base-16", 16, 4), ("base-9", 9, 5)])
@pytest.mark.parametrize("count", [*range(1, 12), 64])
def test_digits_keep_their_places_and_share_16_bits(encoding, base, each, count):
    values = np.random.default_rng(count).integers(0, base, (2, count))
    values[1, -1] = base - 1
    data = payload.pack({}, v=payload.digits(values, encoding))
    assert np.array_equal(payload.unpack(data)[1]["v"], values)
    assert header_of(data)["arrays"]["v"]["length"] == 2 * math.ceil(2 * count / each)


@pytest.mark.parametrize(("encoding", "outside"), [("base-16", 16), ("base-9", 9), ("base-9", -1)])
def test_what_is_no_digit_is_not_sent_as_one(encoding, outside):
    with pytest.raises(ValueError, match="whole numbers"):
        payload.digits([0, outside], encoding)


def test_small_weights_are_rounded_least():
    small = np.geomspace(1e-8, 1e-3, 1000).astype(np.float32)
    (back,) = payload.unpack(payload.pack({}, v=payload.rounded(small, "sqrt-uint16")))[1].values()
    assert (back > 0).all()
    assert np.abs(back - small)[small < 1e-6].max() < 2e-8


@pytest.mark.parametrize("outside", [-1e-9, 1.0001, np.nan, np.inf])
def test_what_is_no_share_is_not_rounded(outside):
    with pytest.raises(ValueError, match="0 to 1"):
        payload.rounded([0.5, outside], "sqrt-uint16")


@pytest.mark.parametrize(
    ("shape", "encoding"),
    [((512, 512), "float32"), ((512, 513), "sqrt-uint16"), ((513, 1), "sqrt-uint16"), ((700, 4, 4), "float32")],
)
def test_weights_are_exact_up_to_512_tokens_a_side(shape, encoding):
    assert payload.weights(np.full(shape, 0.3)).encoding == encoding


def test_what_is_no_share_is_sent_exactly_at_any_length():
    assert payload.weights(np.full((1, 600), -0.5)).encoding == "float32"
    assert payload.weights(np.full((1, 600), np.nan)).encoding == "float32"


def test_each_array_begins_where_the_browser_can_read_it():
    data = payload.pack(
        {"odd": "é"},
        a=payload.bits([True] * 9),
        b=payload.rounded([0.5], "sqrt-uint8"),
        c=payload.rounded([0.5], "sqrt-uint16"),
        d=payload.exact([1.0]),
        e=payload.digits([3], "base-9"),
    )
    start = 4 + int.from_bytes(data[:4], "little")
    assert start % 8 == 0
    assert [about["offset"] % 8 for about in header_of(data)["arrays"].values()] == [0, 0, 0, 0, 0]
    assert len(data) == start + 5 * 8


UNPACK = """(given) => {
  const payload = Uint8Array.from(atob(given), (character) => character.charCodeAt(0))
  const { header, arrays } = shared.unpack(payload)
  const whole = /^(bits|base-\\d+)$/
  const bits = (values) => [...new Uint32Array(Float32Array.from(values).buffer)]
  return [header.title, Object.fromEntries(Object.entries(arrays).map(([name, { shape, encoding, values }]) =>
    [name, [shape, encoding, whole.test(encoding) ? [...values] : bits(values)]]))]
}"""


def test_the_browser_reads_every_encoding_as_python_does(browser):
    random = np.random.default_rng(0).random((3, 37)).astype(np.float32)
    data = payload.pack(
        {"title": "“<b>” & عالم 🙂"},
        mask=payload.bits(random < 0.5),
        values=payload.exact([STRANGE]),
        coarse=payload.rounded(random, "sqrt-uint8"),
        fine=payload.rounded(random, "sqrt-uint16"),
        fours=payload.digits(random * 16 // 1, "base-16"),
        fives=payload.digits(random * 9 // 1, "base-9"),
    )
    with imported(browser) as shared:
        title, arrays = shared(UNPACK, data)
    header, expected = payload.unpack(data)
    assert title == header["title"]
    assert set(arrays) == set(expected)
    for name, (shape, encoding, values) in arrays.items():
        assert tuple(shape) == expected[name].shape
        assert encoding == header_of(data)["arrays"][name]["encoding"]
        if encoding in ("bits", "base-16", "base-9"):
            assert values == expected[name].flatten().astype(int).tolist()
        else:
            assert values == expected[name].flatten().view(np.uint32).tolist()


def test_a_payload_says_that_python_has_a_table_and_is_else_the_same():
    for title in ("", "“}” 🙂"):
        given = payload.pack({"title": title, "n": [1]}, values=payload.exact([[1.5, 2]]), mask=payload.bits([True]))
        header, arrays = payload.unpack(payload.with_table(given))
        assert header == {"title": title, "n": [1], "table": True}
        assert {name: array.tolist() for name, array in arrays.items()} == {"values": [[1.5, 2.0]], "mask": [True]}
        assert len(payload.with_table(given)) % 8 == 0


def test_bytes_come_back_as_they_are():
    inner = payload.pack({"of": "x"}, a=payload.exact([0.5]))
    _, arrays = payload.unpack(payload.pack({}, **{"detail.0": payload.raw(inner)}))
    assert arrays["detail.0"].tobytes() == inner


def test_arrays_are_added_behind_those_that_are_there():
    first = payload.pack({"of": "x"}, a=payload.exact([0.5]), b=payload.bits([True, False]))
    header, arrays = payload.unpack(payload.with_arrays(first, c=payload.raw(b"abc"), d=payload.exact([[1.5]])))
    assert header == {"of": "x"}
    assert [*arrays] == ["a", "b", "c", "d"]
    assert arrays["a"].tolist() == [0.5]
    assert arrays["b"].tolist() == [True, False]
    assert arrays["c"].tobytes() == b"abc"
    assert arrays["d"].tolist() == [[1.5]]
    with pytest.raises(ValueError, match="has an array 'a' already"):
        payload.with_arrays(first, a=payload.raw(b""))


def test_what_a_float32_cannot_hold_is_neither_0_nor_infinite_and_nan_and_infinity_stay():
    given = np.array([1e-60, -1e-60, 1e60, -1e60, np.inf, -np.inf, np.nan, 0.0, 0.25])
    ends = np.finfo(np.float32)
    expected = [ends.smallest_subnormal, -ends.smallest_subnormal, ends.max, ends.min, np.inf, -np.inf, np.nan, 0, 0.25]
    _, arrays = payload.unpack(payload.pack({}, values=payload.exact(given)))
    np.testing.assert_array_equal(arrays["values"], np.array(expected, np.float32))
