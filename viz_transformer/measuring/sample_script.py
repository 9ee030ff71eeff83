"""The script that writes an owner's sample where a model was trained: `viz-transformer import --sample-script`.

Unmodified, it finds the model's maximum length and vocabulary sizes by trial, so that the sample is long and varied
enough to reveal a wrong reading.
"""

from __future__ import annotations

SCRIPT = """\
# Paste these lines where your model was trained, after those that load it as `model`: they write sample.npz.
import numpy, torch

sides = ["source", "target"]  # what the encoder reads and what the decoder reads; delete one for a model of one stack
pad = {id for part in model.modules() for name, id in vars(part).items() if "pad" in name and type(id) is int}
# Those are the ids of padding that the model itself names: the texts have none of them. Add what your program masks.


def logits_of(ids):  # [texts, positions, vocabulary], before the softmax
    found = model(*ids.values())  # call it as your own program does, with its masks
    found = getattr(found, "logits", found)
    return found[0] if isinstance(found, tuple) else found


def most(works, top):  # the largest number up to `top` that works
    low, high = 1, top + 1
    while high - low > 1:
        middle = (low + high) // 2
        try:
            works(middle)
            low = middle
        except Exception:
            high = middle
    return low


def spread(size, *shape):  # ids from the whole vocabulary, always the same ones
    tokens = torch.tensor([id for id in range(size) if id not in pad])
    count = shape[0] * shape[1]
    return tokens[torch.randperm(count, generator=draw) * len(tokens) // count].view(shape)


model = model.float().cpu().eval()
draw = torch.Generator().manual_seed(0)
with torch.no_grad():
    one = {side: torch.zeros(1, 1, dtype=torch.long) for side in sides}
    length = {s: most(lambda n: logits_of({**one, s: torch.zeros(1, n, dtype=torch.long)}), 64) for s in sides}
    positions = logits_of({s: torch.zeros(1, n, dtype=torch.long) for s, n in length.items()}).shape[1]
    if 1 < positions < length[sides[-1]]:  # what is longer is cut off
        length = {side: min(n, positions) for side, n in length.items()}
    size = {s: most(lambda n: logits_of({**one, s: torch.full((1, 1), n - 1)}), 2**20) for s in sides}
    ids = {side: spread(size[side], 3, length[side]) for side in sides}  # three texts of up to 64 tokens
    logits = logits_of(ids)
numpy.savez("sample.npz", logits=logits.numpy(), **{side: each.numpy() for side, each in ids.items()})
"""
