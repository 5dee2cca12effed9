"""Run notebooks and numerical tests as if on older processors: `make portable`.

A leg takes instructions away from numpy, from OpenBLAS, from what numba and XLA compile
and from the C library, and first makes sure that they are gone. What pytest is told
besides stands on the command line. Only x86-64 has legs; others are untested.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from pathlib import Path

SWITCHES = (
    "NPY_DISABLE_CPU_FEATURES",
    "OPENBLAS_CORETYPE",
    "NUMBA_CPU_NAME",
    "XLA_FLAGS",
    "GLIBC_TUNABLES",
)
AVX512 = {"X86_V4", "AVX512_ICL", "AVX512_SPR"}
#: What a leg needs of this processor, takes from numpy, names the processor, and
#: leaves to XLA.
LEGS: dict[str, tuple[str, set[str], str, str]] = {
    "this processor": ("sse4_2", set(), "", ""),
    "Haswell (2013)": ("avx2", AVX512, "Haswell", "AVX2"),
    "Nehalem (2008)": ("sse4_2", AVX512 | {"X86_V3"}, "Nehalem", "SSE4_2"),
}
NO_FMA = "glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4"
ALL = (
    "notebooks",
    *(f"tests/{name}" for name in ("dpmac", "macroscopic", "mdp", "planning")),
    *(f"tests/{name}" for name in ("privacy", "rewards", "truthful")),
)
SHORT = (
    "notebooks/truthful/02_noise.ipynb",
    "notebooks/rewards/02_accuracy.ipynb",
    "notebooks/macroscopic/01_snapshot.ipynb",
    "notebooks/planning/01_word.ipynb",
    "notebooks/dpmac/01_bits.ipynb",
)

# What numpy uses, which kernels OpenBLAS has chosen, for what numba compiles, and the
# last bits that XLA and the C library give.
PROBE = """
import ctypes, hashlib, json, math
from pathlib import Path
import jax, numpy as np, scipy.linalg
from numba.core.registry import cpu_target
from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__
cores = set()
for package, end in ((np, "64_"), (scipy, "")):
    folder = Path(package.__file__).parents[1] / f"{package.__name__}.libs"
    (path,) = folder.glob("*openblas*")
    name = getattr(ctypes.CDLL(str(path)), "scipy_openblas_get_corename" + end)
    name.restype = ctypes.c_char_p
    cores.add(name().decode())
bits = repr([math.exp(k / 777) for k in range(9999)])
x = np.linspace(0.0, 9.0, 9999, dtype=np.float32)
fused = np.asarray(jax.jit(lambda x: x * x + jax.numpy.sin(x))(x))
print(json.dumps({
    "numpy": [name for name in __cpu_dispatch__ if __cpu_features__[name]],
    "openblas": sorted(cores),
    "numba": cpu_target.target_context.codegen().magic_tuple()[1],
    "libm": hashlib.sha256(bits.encode()).hexdigest()[:8],
    "xla": hashlib.sha256(fused.tobytes()).hexdigest()[:8],
}))
"""


def probe(environment: dict[str, str]) -> dict[str, object]:
    run = [sys.executable, "-c", PROBE]
    said = subprocess.run(run, env=environment, capture_output=True, check=True).stdout
    return dict(json.loads(said))


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--short", action="store_true", help="the oldest leg, in part")
    given, options = parser.parse_known_args()
    if (sys.platform, platform.machine()) != ("linux", "x86_64"):
        print("Only x86-64 under Linux is tested as other processors.")
        return 0
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8").split()
    plain = {name: value for name, value in os.environ.items() if name not in SWITCHES}
    here = probe(plain)
    failed = []
    for name, (needs, taken, core, isa) in LEGS.items():
        if needs not in flags or (given.short and core != "Nehalem"):
            continue
        environment, found = dict(plain), here
        if core:
            off = sorted(taken & set(here["numpy"]))
            environment["NPY_DISABLE_CPU_FEATURES"] = ",".join(off)
            environment["OPENBLAS_CORETYPE"] = core
            environment["NUMBA_CPU_NAME"] = core.lower()
            environment["XLA_FLAGS"] = f"--xla_cpu_max_isa={isa}"
            if core == "Nehalem":
                environment["GLIBC_TUNABLES"] = NO_FMA
            found = probe(environment)
            assert not taken & set(found["numpy"]), found
            assert (found["openblas"], found["numba"]) == ([core], core.lower()), found
            changes = core == "Nehalem" and "fma" in flags
            assert (found["libm"] != here["libm"]) == changes, found
            assert (found["xla"] != here["xla"]) == changes, found
        print(f"== {name}: {json.dumps(found)}", flush=True)
        start = time.monotonic()
        what = [*(SHORT if given.short else ALL), "dplib", "--doctest-modules"]
        pytest = [sys.executable, "-m", "pytest", "-q", *what, *options]
        if subprocess.run(pytest, env=environment, check=False).returncode:
            failed.append(name)
        print(f"== {name}: {time.monotonic() - start:.0f} s", flush=True)
    print("failed: " + (", ".join(failed) or "none"))
    return len(failed)


if __name__ == "__main__":
    sys.exit(main())
