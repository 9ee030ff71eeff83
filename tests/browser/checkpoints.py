"""Random checkpoints for the app in a real browser: unusual tokens, many heads, and many tokens."""

from __future__ import annotations

from pathlib import Path

from builders import SPECIALS, tiny_checkpoint, tiny_model
from builders import saved as save_made

from viz_transformer.checkpoint import save_checkpoint
from viz_transformer.model.config import ModelConfig
from viz_transformer.text.codec import Codec
from viz_transformer.text.tokenizers import Characters, RegexTokens
from viz_transformer.text.vocabulary import Vocabulary

LETTERS = (*SPECIALS.values(), *"abcdefgh")
SIGNS = (
    *SPECIALS.values(),
    "<b>",
    "&",
    "&amp;",
    "</script>",
    "🙂",
    "👩‍👩‍👧",
    "مرحبا",
    "שלום",
    '"',
    "a",
    "incomprehensibilities",
)
TYPED = "<b> & مرحبا 🙂 a zzz a 👩‍👩‍👧"
"""Eight tokens for signs: a repeated one, an unknown one, markup, right-to-left letters, joined emoji."""

WORDS = RegexTokens(r"\S+")
MAX_SIGNS = 12
MAX_LETTERS = 2048
NEVER, AT_ONCE = -50.0, 50.0


def save_random_checkpoints(folder: Path) -> None:
    """Write four checkpoints.

    signs: 1 + 2 layers, 3 heads; reads 1 to 12 of SIGNS between blanks, without start and end tokens, and writes six.
    heads: 12 + 12 layers of 12 heads over letters; writes twelve.
    letters: a decoder alone, 1 layer, 2 heads; reads 1 to 2,048 letters, without a start token, and writes its end.
    reader: an encoder alone.
    """
    signs, letters = Vocabulary(SIGNS, SPECIALS), Vocabulary(LETTERS, SPECIALS)
    save(
        folder / "signs",
        seed=26,
        ending=NEVER,
        source=Codec(WORDS, signs, add_bos=False, add_eos=False),
        target=Codec(WORDS, signs),
        encoder_layers=1,
        decoder_layers=2,
        d_model=12,
        n_heads=3,
        mask_fill="-1e9",
        max_source=MAX_SIGNS,
        max_target=6,
    )
    save(
        folder / "heads",
        seed=5,
        ending=NEVER,
        source=Codec(Characters(), letters),
        target=Codec(Characters(), letters),
        encoder_layers=12,
        decoder_layers=12,
        d_model=48,
        n_heads=12,
        max_source=32,
        max_target=12,
    )
    save(
        folder / "letters",
        seed=3,
        ending=AT_ONCE,
        source=None,
        target=Codec(Characters(), letters, add_bos=False, add_eos=False),
        decoder_layers=1,
        d_model=8,
        n_heads=2,
        max_target=MAX_LETTERS,
    )
    save_made(tiny_checkpoint("encoder-only"), folder / "reader")


def save(
    folder: Path,
    *,
    seed: int,
    ending: float,
    source: Codec | None,
    target: Codec,
    d_model: int,
    n_heads: int,
    **changes: object,
) -> None:
    """Write one checkpoint with the random weights of a seed, `ending` added to the logit of the end token."""
    pad, eos = target.vocabulary.pad, target.vocabulary.eos
    config = ModelConfig.from_dict(
        {
            "d_model": d_model,
            "n_heads": n_heads,
            "d_ff": 2 * d_model,
            "target_vocab_size": len(target.vocabulary),
            "target_pad": pad,
            **({} if source is None else {"source_vocab_size": len(source.vocabulary), "source_pad": pad}),
            **changes,
        }
    )
    weights = tiny_model(config, seed).state_dict()
    weights["output.bias"][eos] += ending
    save_checkpoint(
        folder,
        state_dict=weights,
        config=config,
        source_codec=source,
        target_codec=target,
        card={"task": folder.name},
    )
