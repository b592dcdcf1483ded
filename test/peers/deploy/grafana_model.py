"""Reads a dashboard into Grafana's own model, and prints the paths of what the model does not know."""

import json
import sys

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard


def lost(given, kept, path=""):
    if isinstance(given, dict) and isinstance(kept, dict):
        for name, value in given.items():
            yield from lost(value, kept.get(name), f"{path}/{name}")
    elif isinstance(given, list) and isinstance(kept, list) and len(given) == len(kept):
        for index, (one, other) in enumerate(zip(given, kept)):
            yield from lost(one, other, f"{path}/{index}")
    elif given != kept:
        yield path


register_default_plugins()
with open(sys.argv[1], encoding="utf-8") as file:
    dashboard = json.load(file)
kept = json.loads(JSONEncoder(sort_keys=True).encode(Dashboard.from_json(dashboard)))
print(json.dumps(list(lost(dashboard, kept))))
