"""The decoder families of decoders/, by their model_type."""

import types

from decoders import gemmas, gpts, llamalike, parallel

FAMILIES = {name: types.SimpleNamespace(**facts) for module in (gemmas, gpts, llamalike, parallel) for name, facts in module.FAMILIES.items()}
