"""The lines that write an owner's sample where a model was trained: `viz-transformer import --sample-script`."""

from __future__ import annotations

SCRIPT = """\
# Paste these lines where your model was trained, behind those that load it as `model`: they write sample.npz.
import numpy, torch

ids = {
    "source": torch.tensor([[5, 8, 7, 3]]),  # a text as the encoder reads it; delete this line for a decoder alone
    "target": torch.tensor([[2, 7, 11]]),  # what the decoder reads, start token included; delete for an encoder alone
}
model = model.float().cpu().eval()
with torch.no_grad():
    logits = model(*ids.values())  # call it as your own program does, with its masks
logits = logits[0] if isinstance(logits, tuple) else logits  # [texts, positions, vocabulary], before the softmax
numpy.savez("sample.npz", logits=logits.numpy(), **{side: each.numpy() for side, each in ids.items()})
"""
