"""A training whose settings are given by name, beside the other arguments."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

from viz_transformer.train.run import train
from viz_transformer.train.tasks.task import Task
from viz_transformer.train.user_data import OwnData, TrainingSettings

SETTINGS = {each.name for each in fields(TrainingSettings)}


def train_with(task: str | Task | OwnData, **given: Any) -> Path:
    settings = TrainingSettings(**{name: given.pop(name) for name in SETTINGS & given.keys()})
    return train(task, settings, **given)
