"""A new model's name is its recipe: the same name, the same weights; and it can do what a trained one can."""

from dataclasses import replace

import pytest
import torch
from builders import tiny_checkpoint

from viz_transformer.analysis.models.untrained import (
    MAX_PARAMETERS,
    Recipe,
    UntrainedSummary,
    architectures,
    is_new,
    make_untrained,
    recipe_like,
    recipe_of,
    summarize_untrained,
)
from viz_transformer.checkpoint.contents import Summary, Unreadable
from viz_transformer.model.config import ModelConfig
from viz_transformer.model.transformer import parameter_count
from viz_transformer.running.decoding import decode

SIZES = {"encoder_layers": 1, "decoder_layers": 2, "n_heads": 2, "d_model": 8, "d_ff": 12}


def recipe(**changes):
    return Recipe(**{"base": "tiny", **SIZES, **changes})


def summary_of(ckpt, tmp_path, name="tiny"):
    return Summary(name, tmp_path, ckpt.config, {"source": None, "target": None}, {"task": "copy"})


@pytest.mark.parametrize(
    "changes", [{}, {"norm": "post", "seed": 7}, {"architecture": "en-it", "base": "multi30k-de-en"}]
)
def test_a_name_says_everything_and_is_read_back(changes):
    made = recipe(**changes)
    assert recipe_of(made.name) == made
    assert is_new(made.name)


@pytest.mark.parametrize("name", ["new:", "new:tiny", "new:tiny:own:e1-d2-h2-w8-f12-sandwich-s0", "numbers"])
def test_what_is_no_recipe_is_refused(name):
    with pytest.raises(ValueError, match="is not the name of a new model"):
        recipe_of(name)


def test_the_same_recipe_makes_the_same_weights_and_another_seed_others():
    ckpt = tiny_checkpoint()
    first, torch_state = make_untrained(recipe(), ckpt), torch.random.get_rng_state()
    again = make_untrained(recipe(), ckpt)
    assert torch.equal(torch.random.get_rng_state(), torch_state)
    states = [model.model.state_dict() for model in (first, again)]
    assert all(torch.equal(states[0][key], states[1][key]) for key in states[0])
    assert first.weights_sha256 == again.weights_sha256
    other = make_untrained(recipe(seed=1), ckpt)
    assert other.weights_sha256 != first.weights_sha256
    assert not torch.equal(other.model.output.weight, first.model.output.weight)


@pytest.mark.parametrize("architecture", architectures())
@pytest.mark.parametrize("norm", ["pre", "post"])
def test_every_architecture_runs_with_the_bases_texts(architecture, norm):
    ckpt = tiny_checkpoint()
    made = make_untrained(recipe(architecture=architecture, norm=norm), ckpt)
    config = made.config
    assert (config.encoder_layers, config.decoder_layers, config.n_heads, config.d_model) == (1, 2, 2, 8)
    assert (config.norm, config.source_vocab_size, config.target_vocab_size) == (norm, 12, 20)
    run = decode(made, "abc", max_steps=3)
    assert run.steps and not made.model.training and made.path is None
    assert all(torch.isfinite(step.logits).all() for step in run.steps)


def test_own_settings_are_the_bases():
    like = tiny_checkpoint().config
    like = replace(like, positions="learned", activation="gelu", tied_output=True)
    made = recipe(encoder_layers=2, decoder_layers=3, n_heads=4, d_model=16, d_ff=24).config(like)
    assert made == like


def test_changing_the_norms_place_moves_the_final_norm_with_it():
    like = tiny_checkpoint().config
    assert recipe(norm="pre").config(like).final_norm
    assert not recipe(norm="post").config(like).final_norm
    post = replace(like, norm="post", final_norm=True)
    assert recipe(norm="post").config(post).final_norm  # as it is in the base


def test_a_decoder_alone_has_no_encoder():
    ckpt = tiny_checkpoint("decoder-only")
    for architecture in architectures():
        made = make_untrained(recipe(encoder_layers=0, architecture=architecture), ckpt)
        assert made.config.kind == "decoder-only"
        assert decode(made, "uvw", max_steps=2).steps
    with pytest.raises(ValueError, match="1 encoder layers do not go with the vocabularies of tiny"):
        recipe(encoder_layers=1).config(ckpt.config)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"n_heads": 3}, "d_model=8 cannot be split evenly into n_heads=3"),
        ({"encoder_layers": 0}, "choose 1 to 12"),
        ({"decoder_layers": 13}, "13 decoder layers are too many"),
        ({"d_model": 2000}, "d_model=2,000 is too large"),
        ({"architecture": "rnn"}, "architecture='rnn' is not known"),
        (
            {"d_model": 1024, "d_ff": 8192, "encoder_layers": 12, "decoder_layers": 12},
            f"has at most {MAX_PARAMETERS:,}",
        ),
    ],
)
def test_sizes_that_do_not_fit_are_refused_in_one_sentence(changes, sentence):
    with pytest.raises(ValueError) as error:
        recipe(**changes).config(tiny_checkpoint().config)
    assert sentence in str(error.value)


def test_the_summary_counts_the_parameters_that_the_model_has(tmp_path):
    ckpt = tiny_checkpoint()
    bases = {"tiny": summary_of(ckpt, tmp_path), "broken": Unreadable("broken", tmp_path, "it is damaged")}
    name = recipe().name
    found = summarize_untrained(name, bases)
    assert isinstance(found, UntrainedSummary)
    model = make_untrained(found.recipe, ckpt)
    assert (found.name, model.name) == (name, name)
    assert found.parameter_count == parameter_count(model.model)
    assert (found.history(), found.snapshots(), found.card["task"]) == ([], (), "copy")
    assert recipe_like(found) == recipe()
    assert summarize_untrained(recipe(base="other").name, bases) is None
    assert summarize_untrained("new:nonsense", bases) is None
    wrong = summarize_untrained(recipe(n_heads=3).name, bases)
    assert isinstance(wrong, Unreadable) and "n_heads=3" in wrong.error
    broken = summarize_untrained(recipe(base="broken").name, bases)
    assert isinstance(broken, Unreadable) and broken.error == "it is damaged"


def test_the_recipe_of_a_trained_model_has_its_sizes(tmp_path):
    ckpt = tiny_checkpoint()
    like = recipe_like(summary_of(ckpt, tmp_path))
    assert like == Recipe(base="tiny", encoder_layers=2, decoder_layers=3, n_heads=4, d_model=16, d_ff=24)
    assert isinstance(like.config(ckpt.config), ModelConfig)


def test_another_architecture_brings_its_own_sizes():
    like = tiny_checkpoint().config
    paper = recipe().like_architecture("paper", like)
    assert (paper.encoder_layers, paper.decoder_layers, paper.n_heads, paper.d_model, paper.d_ff) == (
        6,
        6,
        8,
        512,
        2048,
    )
    assert paper.norm == "post" and not paper.config(like).final_norm
    annotated = recipe().like_architecture("annotated", like)
    assert annotated.norm == "pre" and annotated.config(like).norm_kind == "bessel"
    assert paper.like_architecture("own", like) == replace(
        recipe(), encoder_layers=2, decoder_layers=3, n_heads=4, d_model=16, d_ff=24
    )
    alone = tiny_checkpoint("decoder-only").config
    assert recipe().like_architecture("paper", alone).encoder_layers == 0
