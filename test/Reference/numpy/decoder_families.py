"""The decoder families of decoders/, by their model_type."""

import types

from decoders import delta_hybrids, gemma4, gemmas, gpts, kimi, llamalike, mamba, mamba_hybrids, olmo_hybrid, parallel, short_convs

MODULES = (gemmas, gpts, llamalike, parallel, mamba, mamba_hybrids, delta_hybrids, short_convs, olmo_hybrid, kimi, gemma4)
FAMILIES = {name: types.SimpleNamespace(**facts) for module in MODULES for name, facts in module.FAMILIES.items()}
