"""Run by the environment of synthpop-py: fit and draw, imports and reading not counted."""

import json
import sys
import time

import pandas as pd
from synthpop import Synthesiser
from synthpop.methods.cart_synth import CartMethod, TreeClassifierMethod, TreeRegressorMethod

source, out, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
table = pd.read_csv(source, keep_default_na=False)
# Its default tree has leaves of 5. Its refusal of rare levels is switched off: adult has some.
model = CartMethod(
    regressor=TreeRegressorMethod(rare_categories_threshold=0),
    classifier=TreeClassifierMethod(rare_categories_threshold=0),
)
runs = []
for _ in range(settings.get("times", 1)):
    wall, cpu = time.perf_counter(), time.process_time()
    drawn = Synthesiser(random_seed=1, default_syn_method=model).fit(table).generate()
    runs.append((time.perf_counter() - wall, time.process_time() - cpu))
drawn.to_parquet(out)
print(json.dumps({"wall": min(runs)[0], "cpu": min(runs)[1]}))
