"""What people read on the Positions page: its labels and sentences, in one place."""

from __future__ import annotations

from collections.abc import Mapping

HOW = (
    "Each position has a row of numbers, which is added to the embedding of its token. In the sinusoidal table two"
    " neighbouring dimensions form a pair: sine and cosine of position / denominator. From one position to the next a"
    " pair turns by an angle, fast on the left of the picture and slowly on the right; so a shift is a rotation, and"
    " the product of two rows depends only on their distance. The rows of a learned table follow no formula; rows that"
    " no training text reached were never trained."
)
NOT = (
    "Similar encodings do not mean attention: W_Q and W_K come between. Switching positions off shows what order"
    " carries in this model, which was trained with them. It takes the model off its training data, and says nothing"
    " about a model that was trained without positions."
)
TABLES: Mapping[str, str] = {"standard": "standard", "doubled": "exponent doubled (a common bug)"}
"""Tables that a formula makes: any of them can be shown beside the model's own."""
SHORT_TABLES: Mapping[str, str] = {"standard": "standard", "doubled": "exponent doubled"}
"""The same where there is little room."""
TOPICS: Mapping[str, str] = {
    "steps": "Five steps",
    "distance": "Product and distance",
    "shift": "Shift as rotation",
    "waves": "Wavelengths",
    "orders": "Two orders, one answer",
}
A_ALONE = "A’s positions act in its self-attention: there is no table to show beside B’s. B above shows B’s."
OF_A = "The curves and the topics below are A’s."
PLACES = "how it places its tokens"
OTHER_ORDER = "how it reads the same tokens in another order"
NOT_OWN = "This is not the model’s own table."
LAST_COLUMN = "The last column is the distance, in positions, at which the bias alone halves a weight."
NO_PICTURE = "This page has no picture of what positions do here. What they make is recorded: see Tensors."
ORDER_A, ORDER_B, REVERSE = "A, the text of the run", "B, the same in another order", "Reverse A again"
POSITIONS_OFF = "Positions left out"
WAVELENGTHS = "Wavelength of each dimension, in positions"
WAVELENGTHS_OF_PAIRS = "Wavelength of each pair, in positions"


# Headlines, by topic


def of_distance(at: int, most: str, error: str | None) -> tuple[str, str]:
    """most: the product of a row with itself; error: how far products are from a function of the distance."""
    asks = "Does the product of two rows know only their distance?"
    if error is None:
        return asks, f"No: pairs at the same distance differ by up to {most}."
    return asks, f"Yes: over all pairs it differs by at most {error}; row {at} with itself gives {most}."


def of_shift(by: int, error: str | None) -> tuple[str, str]:
    asks = f"Can one matrix move every row by {'one position' if by == 1 else f'{by} positions'}?"
    if error is None:
        return asks, "Not here: this table has no frequencies, so no rotation follows from a formula."
    return asks, f"Yes, a rotation of each pair: the largest difference from the table is {error}."


def of_waves(first: str, last: str, slow: int, count: int, length: int) -> tuple[str, str]:
    return (
        "How fast do the dimensions turn?",
        f"Once in {first} to {last} positions; {slow} of {count} not even once over {length}.",
    )


def of_orders(with_positions: str, told_apart: bool, without: str | None, still: bool) -> tuple[str, str]:
    """with_positions, without: the largest change of a logit; told_apart, still: whether that is more than rounding."""
    said = f"{'Yes' if told_apart else 'No'}: with positions a logit changes by up to {with_positions}"
    if without is not None:
        said += f", without them by {without}{'' if still else ' (rounding)'}"
    return "Does the model notice another order?", f"{said}."
