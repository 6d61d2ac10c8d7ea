"""A script that reports one of everything through the unmodified SDK; test_sdk.py runs it and looks at the server."""
import argparse
import sys

import numpy as np
from clearml import InputModel, OutputModel, Task

parser = argparse.ArgumentParser()
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--name", default="one of everything")
parser.add_argument("--flag", action="store_true")
args = parser.parse_args()

task = Task.init(project_name="SDK/all", task_name=args.name, tags=["first"], output_uri=True,
                 auto_connect_frameworks=False)
params = task.connect({"batch": 32, "nested": {"deep": [1, 2]}, "text": "ü – 漢字"}, name="Own")
network = task.connect_configuration({"layers": [3, 5], "act": "relu"}, name="network")
log = task.get_logger()
for i in range(50):
    log.report_scalar("loss", "train", 1.0 / (i + 1), i)
    log.report_scalar("loss", "test", 1.5 / (i + 1), i)
log.report_single_value("best", 0.125)
log.report_text("a line of text")
log.report_confusion_matrix("confusion", "test", np.array([[5, 1], [2, 7]]), iteration=1)
log.report_line_plot("curve", [dict(name="a", data=np.array([[0, 1], [1, 3]]))], xaxis="x", yaxis="y", iteration=2)
log.report_image("image", "noise", 3, image=(np.arange(48 * 48 * 3) % 255).reshape(48, 48, 3).astype(np.uint8))
log.report_table("table", "t", iteration=4, table_plot=[["a", "b"], ["1", "2"]])
task.upload_artifact("numbers", artifact_object=np.arange(10))
task.upload_artifact("words", artifact_object={"a": 1, "b": ["x", "ü"]})
model = OutputModel(task=task, name="the model", framework="NumPy")
with open("weights.bin", "wb") as f:
    f.write(bytes(range(256)) * 64)
model.update_weights("weights.bin", auto_delete_file=False)
model.set_metadata("quality", "good", "str")
print("printed to stdout, lr =", args.lr)
print("printed to stderr", file=sys.stderr)
task.flush(wait_for_uploads=True)
print("TASK", task.id, "LR", args.lr, "BATCH", params["batch"], "LAYERS", network["layers"], network["act"])
task.close()
