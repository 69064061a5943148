"""Run by the environment of anonymeter: four families of attacks; only the attacks are timed."""

import json
import sys
import time
import warnings
from pathlib import Path

import pandas as pd
from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

warnings.simplefilter("ignore")
source, out, settings = Path(sys.argv[1]), sys.argv[2], json.loads(sys.argv[3])
ori, control, syn = (
    pd.read_csv(source / f"{name}.csv", keep_default_na=False)
    for name in ("train", "control", "synthetic")
)
attacks, numbers = settings["attacks"], set(settings["numbers"])
found = {}


def timed(name, make, **how):
    wall, cpu = time.perf_counter(), time.process_time()
    evaluator = make().evaluate(**how)
    results = evaluator.results()
    found[name] = {
        "attack": results.attack_rate.value,
        "control": results.control_rate.value,
        "made": int(results.n_attacks_ori),
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
    }


if settings["warm"]:  # compiles what is compiled on first use
    few = (ori.head(200), syn.head(200))
    sides = tuple(settings["sides"])
    LinkabilityEvaluator(*few, sides, 10, control=control.head(200)).evaluate(n_jobs=1)
for mode in ("univariate", "multivariate"):
    timed(
        f"singling_out.{mode}",
        lambda: SinglingOutEvaluator(ori, syn, attacks, n_cols=3, control=control, seed=1),
        mode=mode,
    )
timed(
    "linkability",
    lambda: LinkabilityEvaluator(ori, syn, tuple(settings["sides"]), attacks, 1, control),
    n_jobs=settings["jobs"],
)
for secret in ori.columns:
    known = [name for name in ori.columns if name != secret]
    timed(
        f"inference {secret}",
        lambda secret=secret, known=known: InferenceEvaluator(
            ori, syn, known, secret, secret in numbers, attacks, control
        ),
        n_jobs=settings["jobs"],
    )
Path(out).write_text(json.dumps(found), encoding="utf-8")
print(json.dumps(found))
