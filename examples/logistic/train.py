"""Train a logistic regression in NumPy on two clouds of points, and report everything a run usually reports.

A loss curve, an accuracy curve, a confusion matrix, a debug image, an artifact and a model go to the experiment
server through the unmodified `clearml` SDK. Change `--lr` on the page, or with `stoker task clone`, and run it again
anywhere.
"""
import argparse
import pathlib
import tempfile

import numpy as np
from clearml import OutputModel, Task


def make_data(rng, n):
    """n points of each of two overlapping clouds: (2n, 2) features, (2n,) labels 0 or 1."""
    a = rng.normal((-1.0, -0.5), 1.0, (n, 2))
    b = rng.normal((1.0, 0.8), 1.0, (n, 2))
    return np.vstack([a, b]), np.repeat([0.0, 1.0], n)


def predict(weights, bias, x):
    """Probability of label 1 for each row of x."""
    return 1.0 / (1.0 + np.exp(-(x @ weights + bias)))


def log_loss(p, y):
    p = np.clip(p, 1e-12, 1 - 1e-12)
    return float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))


def picture(weights, bias, x, y, size=240):
    """The decision surface with the points on it, as an RGB image (size, size, 3)."""
    axis = np.linspace(-4, 4, size)
    grid = np.stack(np.meshgrid(axis, axis[::-1]), -1).reshape(-1, 2)
    p = predict(weights, bias, grid).reshape(size, size, 1)
    image = (p * np.array([255, 214, 190]) + (1 - p) * np.array([196, 216, 245])).astype(np.uint8)
    for (px, py), label in zip(x, y):
        col, row = int((px + 4) / 8 * size), int((4 - py) / 8 * size)
        image[max(row - 1, 0):row + 2, max(col - 1, 0):col + 2] = (190, 66, 10) if label else (27, 99, 198)
    return image


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lr", type=float, default=0.05, help="learning rate")
    parser.add_argument("--epochs", type=int, default=60, help="passes over the data")
    parser.add_argument("--points", type=int, default=300, help="points of each class")
    parser.add_argument("--seed", type=int, default=7, help="of the data")
    args = parser.parse_args()

    task = Task.init(project_name="Examples", task_name="logistic regression", output_uri=True)
    log = task.get_logger()

    rng = np.random.default_rng(args.seed)
    x, y = make_data(rng, args.points)
    order = rng.permutation(len(y))
    cut = int(0.8 * len(y))
    train, test = order[:cut], order[cut:]
    weights, bias = np.zeros(2), 0.0

    for epoch in range(args.epochs):
        error = predict(weights, bias, x[train]) - y[train]
        weights -= args.lr * x[train].T @ error / len(train)
        bias -= args.lr * float(error.mean())
        loss = {"train": log_loss(predict(weights, bias, x[train]), y[train]),
                "test": log_loss(predict(weights, bias, x[test]), y[test])}
        accuracy = float(np.mean((predict(weights, bias, x[test]) > 0.5) == y[test]))
        for name, value in loss.items():
            log.report_scalar("loss", name, value, iteration=epoch)
        log.report_scalar("accuracy", "test", accuracy, iteration=epoch)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1:3d}/{args.epochs}: loss {loss['train']:.4f}, "
                  f"test loss {loss['test']:.4f}, test accuracy {accuracy:.3f}")

    guess = predict(weights, bias, x[test]) > 0.5
    matrix = np.array([[int(np.sum((y[test] == i) & (guess == j))) for j in (0, 1)] for i in (0, 1)])
    log.report_confusion_matrix("confusion matrix", "test", matrix=matrix, iteration=args.epochs,
                                xlabels=["0", "1"], ylabels=["0", "1"], xaxis="predicted", yaxis="true",
                                yaxis_reversed=True)
    log.report_image("decision surface", "test", iteration=args.epochs, image=picture(weights, bias, x[test], y[test]))
    log.report_single_value("final test accuracy", accuracy)
    task.upload_artifact("predictions", artifact_object=predict(weights, bias, x[test]))

    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "logistic.npz"
        np.savez(path, weights=weights, bias=bias)
        OutputModel(task=task, framework="NumPy", name="logistic").update_weights(str(path), auto_delete_file=False)
        task.flush(wait_for_uploads=True)
    print(f"done: learning rate {args.lr}, test accuracy {accuracy:.3f}")
    task.close()


if __name__ == "__main__":
    main()
