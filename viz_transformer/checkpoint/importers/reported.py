"""Loss reported by a training: given by a person, or stored with the weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from viz_transformer import numerals
from viz_transformer.checkpoint.files import CheckpointError
from viz_transformer.checkpoint.importers.reading import Found
from viz_transformer.sentences import quote

NAMES = (
    *("best_val_loss", "best_valid_loss", "best_validation_loss", "val_loss", "valid_loss", "validation_loss"),
    *("eval_loss", "test_loss", "best_loss", "loss", "train_loss", "training_loss"),
)
"""Names under which trainings store a loss, those on held-out texts first."""
LARGEST = 100.0
"""Nats per token: anything higher is not the loss of a token model."""


@dataclass(frozen=True)
class Reported:
    """A reported loss, in nats per token."""

    nats: float
    name: str = ""  # its name in the file; "" if a person gave it
    half: float = 0.005  # half a unit of its last digit, within which it is rounded

    @property
    def words(self) -> str:
        """The loss and its origin, in words."""
        where = f" ({self.name} in the file)" if self.name else ""
        return f"the {numerals.significant(self.nats)} that its training reported{where}"


def parse_reported(text: str) -> Reported:
    """The loss that a person typed, rounded to its digits. Raises CheckpointError for any other text."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("nan")
    if not number.is_finite() or not 0 <= number <= Decimal(LARGEST):
        raise CheckpointError(
            f"reported_loss={quote(text)} is not a loss: give the nats per token that the training printed, such as"
            " 2.45"
        )
    exponent = number.as_tuple().exponent
    return Reported(float(number), half=0.5 * 10.0 ** int(exponent))


def read_reported(found: Found) -> Reported | None:
    """Loss stored in a file next to the weights, or None."""
    single = {keys: stored for keys, stored in found.tensors.items() if not stored.shape and keys[-1] in NAMES}
    held: Mapping[tuple[str, ...], Any] = {
        **found.values,
        **{keys: float(stored.read()) for keys, stored in single.items()},
    }
    for name in NAMES:
        for keys, value in held.items():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if keys[-1] == name and is_number and 0 < value <= LARGEST:  # neither NaN nor infinite
                return Reported(float(value), name)
    return None
