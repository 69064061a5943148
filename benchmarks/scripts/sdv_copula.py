"""Run by the environment of SDV: fit and draw, imports, reading and metadata not counted."""

import json
import sys
import time
import warnings

import pandas as pd
from sdv.metadata import Metadata
from sdv.single_table import GaussianCopulaSynthesizer

warnings.simplefilter("ignore")
source, out, settings = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
table = pd.read_csv(source, keep_default_na=False)
numbers = set(table.select_dtypes("number").columns)
kinds = {
    name: {"sdtype": "numerical" if name in numbers else "categorical"} for name in table.columns
}
metadata = Metadata.load_from_dict({"columns": kinds}, single_table_name="table")
runs = []
for _ in range(settings.get("times", 1)):
    wall, cpu = time.perf_counter(), time.process_time()
    model = GaussianCopulaSynthesizer(metadata)
    model.fit({"table": table})
    drawn = model.sample(num_rows=len(table))["table"]
    runs.append((time.perf_counter() - wall, time.process_time() - cpu))
drawn.to_parquet(out)
print(json.dumps({"wall": min(runs)[0], "cpu": min(runs)[1]}))
