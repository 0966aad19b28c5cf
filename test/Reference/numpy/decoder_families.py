"""The decoder families of decoders/, by their model_type."""

import types

from decoders import delta_hybrids, gemmas, gpts, llamalike, mamba, mamba_hybrids, parallel, short_convs

MODULES = (gemmas, gpts, llamalike, parallel, mamba, mamba_hybrids, delta_hybrids, short_convs)
WITHOUT_IMPORTER = ("falcon_h1",)
FAMILIES = {name: types.SimpleNamespace(**facts) for module in MODULES for name, facts in module.FAMILIES.items() if name not in WITHOUT_IMPORTER}
