"""Models without their first random numbers: they have the same tensors, and draw nothing."""

from __future__ import annotations

import torch
from builders import tiny_config

from viz_transformer.model.kinds import KINDS
from viz_transformer.model.positions import ENCODINGS
from viz_transformer.model.transformer import Transformer
from viz_transformer.model.unfilled import Unfilled, has_numbers, shapes_alone


def test_names_and_shapes_alone_are_those_of_the_whole_model() -> None:
    for positions in ENCODINGS:
        for kind in KINDS:
            config = tiny_config(kind, positions=positions)
            whole = {name: tensor.shape for name, tensor in Transformer(config).state_dict().items()}
            with shapes_alone():
                model = Transformer(config)
            assert {name: tensor.shape for name, tensor in model.state_dict().items()} == whole, (positions, kind)
            assert all(parameter.is_meta for parameter in model.parameters()), (positions, kind)


def test_a_model_to_be_filled_draws_no_random_number_and_has_its_tables() -> None:
    for positions in ENCODINGS:
        config = tiny_config(positions=positions)
        before = torch.random.get_rng_state()
        with Unfilled():
            assert has_numbers()
            model = Transformer(config)
        assert torch.equal(torch.random.get_rng_state(), before), positions
        whole = Transformer(config)
        tables, wanted = dict(model.named_buffers()), dict(whole.named_buffers())
        assert tables.keys() == wanted.keys()
        assert all(torch.equal(table, wanted[name]) for name, table in tables.items()), positions
        model.load_state_dict(whole.state_dict())
        ids = torch.tensor([[4, 5, 6]])
        assert torch.equal(model.eval()(ids, ids), whole.eval()(ids, ids)), positions
