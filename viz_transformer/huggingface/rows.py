"""Reports the new rows of keys and values, and writes edits back into the cache."""

from __future__ import annotations

from torch import Tensor

from viz_transformer.model.hook import Hook


def record_rows(hook: Hook, name: str, rows: Tensor, new: int) -> None:
    """Report the last `new` rows; edits are written in place, in the cache as well."""
    if new == rows.size(-2):
        changed = hook(name, rows)
        if changed is not rows:
            rows.copy_(changed)
        return
    mine = rows[..., rows.size(-2) - new :, :]
    changed = hook(name, said := mine.clone())
    if changed is not said:
        mine.copy_(changed)


def repeat_heads(heads: Tensor, shared: int) -> Tensor:
    """[B, G, K, E] -> [B, H, K, E]: repeat each key head for the `shared` query heads that use it."""
    return heads if shared == 1 else heads.repeat_interleave(shared, dim=1)
