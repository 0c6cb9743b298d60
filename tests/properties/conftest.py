"""Profiles of hypothesis: the default run is bounded and always the same, `deep` hunts.

`HYPOTHESIS_PROFILE=deep make test` draws new examples every time; `HYPOTHESIS_EXAMPLES=5000` says how
many of them there are on the local execution (Catalyst gets a tenth).
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

COMMON = {
    "deadline": None,
    "suppress_health_check": [
        HealthCheck.too_slow,
        HealthCheck.data_too_large,
        HealthCheck.filter_too_much,
        HealthCheck.function_scoped_fixture,
        HealthCheck.large_base_example,
    ],
}

settings.register_profile("default", **COMMON, derandomize=True, print_blob=False)
settings.register_profile("deep", **COMMON)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
