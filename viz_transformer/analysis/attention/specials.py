"""Special tokens of a text, and weights without such keys, with the share of weight that this hides."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from viz_transformer.given import Accepted, optional, takes

if TYPE_CHECKING:
    from viz_transformer.running.trace import Tokens
    from viz_transformer.text.codec import TextCodec
    from viz_transformer.text.vocabulary import Vocabulary

_OLD_CALL = "special_positions takes the codec: give ckpt.source_codec instead of ckpt.source_codec.vocabulary"
MOSTLY_HIDDEN = 0.9
"""Above this hidden share a row says little about the keys that remain."""


@takes(
    side=Accepted(lambda value: hasattr(value, "originals"), "the tokens of a side: trace.src or trace.tgt"),
    codec=optional(
        Accepted(lambda value: hasattr(value, "special_ids"), "a codec: ckpt.codec('source') or ('target')")
    ),
)
def special_positions(side: Tokens, codec: TextCodec | Vocabulary | None) -> tuple[bool, ...]:
    """True for each special token of a side (start, end, padding, and what else its codec counts among them).

    Unknown and mask tokens count as text. Without a codec no token is known to be special. A vocabulary, as documented
    before, is accepted with a DeprecationWarning.
    """
    if codec is None:
        return (False,) * len(side.ids)
    if hasattr(codec, "unk"):
        warnings.warn(_OLD_CALL, DeprecationWarning, stacklevel=3)  # after `takes`
        special = codec.special_ids - {codec.unk}
    else:
        special = codec.special_ids - {codec.unknown, codec.mask}
    return tuple(token_id in special for token_id in side.ids)


@dataclass(frozen=True, eq=False)
class HiddenKeys:
    """Weights after some keys were hidden, and how much of each row that hid.

    weights: [..., Q, K] float32, hidden columns are 0. hidden: [K], True = hidden. hidden_mass: [..., Q] float64;
    hidden_share: [..., Q], the same divided by the row's sum, 0 where that is 0, 1 only if nothing is left.
    """

    weights: NDArray[np.float32]
    hidden: NDArray[np.bool_]
    hidden_mass: NDArray[np.float64]
    hidden_share: NDArray[np.float64]
    renormalised: bool

    @property
    def mostly_hidden(self) -> NDArray[np.bool_]:
        """Mask [..., Q], True for rows with a hidden share above 0.9."""
        return self.hidden_share > MOSTLY_HIDDEN


def hidden_keys(weights: ArrayLike, hidden: Sequence[bool] | NDArray[np.bool_], *, renormalise: bool) -> HiddenKeys:
    """The weights without some keys, and the mass on those keys.

    weights: [..., Q, K]. hidden: [K], True = hide. With `renormalise`, what is left of a row is divided by its sum;
    where nothing is left of it, or nothing was hidden of it, it stays as it was. Raises ValueError if `hidden` does not
    fit.
    """
    given = np.asarray(weights, dtype=np.float64)
    which = np.asarray(hidden, dtype=bool)
    if given.ndim < 2 or which.shape != given.shape[-1:]:
        raise ValueError(f"{which.size} keys are marked as hidden or not, weights have shape {list(given.shape)}")
    mass, whole = given[..., which].sum(axis=-1), given.sum(axis=-1)
    left = np.where(which, 0.0, given)
    rest = left.sum(axis=-1)
    if renormalise:
        left = np.divide(left, rest[..., None], out=left.copy(), where=((rest != 0) & (mass != 0))[..., None])
    share = np.divide(mass, whole, out=np.zeros_like(whole), where=whole != 0)
    share[(share == 1) & (rest != 0)] = np.nextafter(1, 0)
    return HiddenKeys(left.astype(np.float32), which, mass, share, renormalise)
