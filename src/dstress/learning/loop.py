"""The training loop: steps, evaluations, the best checkpoint, and a state to go on from.

Everything random is either torch's, whose state is kept, or comes from the seed and the number of the epoch or step. So
a training that was killed goes on at its last evaluation, and on a CPU ends with the same bits as one that was not.
"""

from __future__ import annotations

import copy
import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Any

import msgspec
import torch

from dstress._version import __version__
from dstress.errors import DstressError
from dstress.learning.adversarial import hybrid_losses
from dstress.learning.base import Learner, Session, Task
from dstress.learning.batches import bucket
from dstress.learning.checkpoints import BEST, KEPT, LOG, RESULT, STATE, write_weights
from dstress.learning.devices import choose_device, describe_device
from dstress.learning.recipe import LOWER_IS_BETTER, TrainingOptions
from dstress.storage.atomic import replacing

_NAMED = 3
"""Examples of a batch that a message names."""
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Progress(msgspec.Struct):
    """What a kept state says beside tensors."""

    counts: tuple[_Count, _Count, _Count, _Count, Annotated[int, msgspec.Meta(ge=1)]]
    evaluations: list[dict[str, bool | int | float]]
    seconds: Annotated[float, msgspec.Meta(ge=0)]
    log: _Count


def fit(task: Task, options: TrainingOptions, out: Path, session: Session) -> dict[str, Any]:
    """Train into the folder `out`, or go on with what is there; gives what `training.json` holds.

    The caller has seeded torch before it made the network.
    """
    session = session._replace(device=choose_device(session.device))
    training = _Training(task, options, out, session)
    if (out / STATE).is_file():
        training.restore()
    else:
        (out / LOG).write_bytes(b"")
    return training.run()


class _Training:
    """A training under way."""

    def __init__(self, task: Task, options: TrainingOptions, out: Path, session: Session) -> None:
        self.task, self.options, self.out, self.session = task, options, out, session
        module = task.learner.module.to(session.device)
        self.is_cuda = session.device.startswith("cuda")
        if self.is_cuda:
            torch.set_float32_matmul_precision("high")  # much faster there, and fine enough
        groups = task.learner.parameter_groups(options.rate)
        self.optimizer = torch.optim.AdamW(
            groups, lr=options.rate, weight_decay=options.weight_decay, fused=self.is_cuda
        )
        for group in self.optimizer.param_groups:
            group["peak"] = group["lr"]
        self.average = copy.deepcopy(module).requires_grad_(False) if options.average else None
        if options.compile:
            compile_blocks(module)
        self.step = self.epoch = self.done_in_epoch = self.total = 0
        self.pieces = 1
        self.evaluations: list[dict[str, Any]] = []
        self.recent: list[tuple[int, list[str], Any]] = []
        self.started = time.monotonic()
        self.label, self.loss = "training", math.nan

    @property
    def seconds(self) -> float:
        """How long it has trained, earlier sessions among it."""
        return time.monotonic() - self.started

    def run(self) -> dict[str, Any]:
        """All steps that are left."""
        stopped = "patience" if self._has_waited() else "epochs"
        self.task.learner.module.train()
        while self.epoch < self.options.epochs and stopped == "epochs":
            stopped = self._run_epoch()
        if not self.evaluations or self.evaluations[-1]["step"] < self.step:
            self._evaluate()
        result = {"stopped": stopped, "best": self._best(), "evaluations": self.evaluations, "steps": self.step}
        result |= {"seconds": round(self.seconds, 1), "device": describe_device(self.session.device)}
        result |= {"weights": sum(weights.numel() for weights in self.task.learner.module.parameters())}
        result |= {"torch": torch.__version__, "dstress": __version__}
        with replacing(self.out / RESULT) as stream:
            stream.write(json.dumps(result, indent=1).encode() + b"\n")
        return result

    def _run_epoch(self) -> str:
        """The rest of an epoch; says why it is the last, if it is."""
        options = self.options
        random = Random(f"{options.seed} epoch {self.epoch}")
        examples = self.task.examples(random)
        batches = bucket(examples, options.batch, options.tokens, random)
        steps = [batches[at : at + options.accumulate] for at in range(0, len(batches), options.accumulate)]
        if not steps:
            raise DstressError("there is nothing to train on", fix="the training split must have turns to learn from")
        self.total = self.total or len(steps) * options.epochs
        for step in steps[self.done_in_epoch :]:
            if self.seconds >= self.session.seconds:
                return "time budget"
            self._take(step)
            self.done_in_epoch += 1
            is_last = self.done_in_epoch == len(steps)
            if is_last:
                self.epoch, self.done_in_epoch = self.epoch + 1, 0
            if self.step % options.log_every == 0:
                self._log_steps()
            if (self.step % options.evaluate_every == 0) if options.evaluate_every else is_last:
                self._evaluate()
                if self._has_waited():
                    return "patience"
        return "epochs"

    def _has_waited(self) -> bool:
        """Whether so many evaluations were no better that it is time to end."""
        patience = self.options.patience
        return 0 < patience <= len(self.evaluations) and not any(each["best"] for each in self.evaluations[-patience:])

    def _take(self, batches: Sequence[Sequence[Any]]) -> None:
        """One step. Where memory does not do, the batches go through it in smaller pieces, which is the same step."""
        options, module = self.options, self.task.learner.module
        pace = pace_of(self.step, self.total, options.warmup, options.decay)
        for group in self.optimizer.param_groups:
            group["lr"] = group["peak"] * pace
        while True:
            try:
                loss = self._set_gradients(batches)
                break
            except torch.OutOfMemoryError as error:
                self._halve(batches, error)
        torch.nn.utils.clip_grad_norm_(module.parameters(), options.clip)
        self.optimizer.step()
        self.step += 1
        self.recent.append((self.step, [example.name for batch in batches for example in batch], loss))
        if self.average is not None:
            share = 1 - min(options.average, self.step / (self.step + 10))  # the first weights count for little
            with torch.no_grad():
                for mean, weights in zip(self.average.parameters(), module.parameters(), strict=True):
                    mean.lerp_(weights, share)
                for kept, buffer in zip(self.average.buffers(), module.buffers(), strict=True):
                    kept.copy_(buffer)
        self.session.on_progress(self.label, self.step, self.total)

    def _set_gradients(self, batches: Sequence[Sequence[Any]]) -> Any:
        """The gradients of the mean loss over all batches, and that loss."""
        learner = self.task.learner
        is_half = self.options.precision == "bf16" and self.is_cuda
        loss_of = torch.autocast("cuda", torch.bfloat16, enabled=is_half)(learner.loss)
        self.optimizer.zero_grad(set_to_none=True)
        total, units = torch.zeros((), device=self.session.device), 0
        for number, batch in enumerate(batches):
            random = Random(f"{self.options.seed} step {self.step} batch {number}")
            size = math.ceil(len(batch) / self.pieces)
            for at in range(0, len(batch), size):
                tensors = learner.place(learner.collate(batch[at : at + size], random))
                for loss in hybrid_losses(learner, loss_of, tensors, self.options.adversarial):
                    loss.total.backward()
                    total, units = total + loss.total.detach(), units + loss.units
        for weights in learner.module.parameters():
            if weights.grad is not None:
                weights.grad.div_(units)
        return total / units

    def _halve(self, batches: Sequence[Sequence[Any]], error: Exception) -> None:
        largest = max(map(len, batches))
        if self.pieces >= largest:
            raise DstressError(
                f"out of memory at step {self.step + 1}, with a batch of a single example: {batches[0][0].name}",
                fix="make the model smaller, or its longest input shorter",
            ) from error
        self.pieces *= 2
        self.optimizer.zero_grad(set_to_none=True)
        if self.is_cuda:
            torch.cuda.empty_cache()
        self._say(
            f"step {self.step + 1}: out of memory; from here on a batch of {largest} goes through it in "
            f"{self.pieces} pieces",
            event="out of memory",
            pieces=self.pieces,
        )

    def _log_steps(self) -> None:
        """A line about the steps since the last one; losses are looked at only here, since a GPU waits for that."""
        if not self.recent:
            return
        losses = torch.stack([loss for _, _, loss in self.recent]).tolist()
        for (step, names, _), loss in zip(self.recent, losses, strict=True):
            if not math.isfinite(loss):
                more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
                raise DstressError(
                    f"the loss is {loss} at step {step}, in the batch of {'; '.join(names[:_NAMED])}{more}",
                    fix="a lower rate, a longer warmup or precision = 'fp32' may help; --resume goes on at the last "
                    "evaluation",
                )
        self.recent.clear()
        self.loss = math.fsum(losses) / len(losses)
        rate = self.optimizer.param_groups[0]["lr"]
        self._log({"step": self.step, "epoch": self.epoch, "loss": self.loss, "rate": rate})

    def _evaluate(self) -> None:
        """Score the weights, keep them if they are the best, and note where to go on."""
        self._log_steps()
        learner, trained = self.task.learner, self.task.learner.module
        try:
            learner.module = (trained if self.average is None else self.average).eval()
            with torch.compiler.set_stance("force_eager"):  # tracking has other shapes at every step
                metrics = dict(self.task.evaluate())
            value, number = metrics[self.options.metric], len(self.evaluations)
            sign = -1 if self.options.metric in LOWER_IS_BETTER else 1
            is_best = not self.evaluations or sign * value > sign * self._best()[self.options.metric]
            if is_best:
                self._write_checkpoint(BEST)
            if self.options.keep_every and (number + 1) % self.options.keep_every == 0:
                self._write_checkpoint(f"{KEPT}/{self.step:07}")
        finally:
            learner.module = trained.train()
        self.evaluations.append({"number": number, "step": self.step, "epoch": self.epoch, **metrics, "best": is_best})
        shown = ", ".join(f"{name} {value:.4f}" for name, value in metrics.items())
        shown = f"loss {self.loss:.4f}, {shown}" if self.step else shown
        self.label = f"training: {shown}"
        self._say(
            f"epoch {self.epoch}, step {self.step:,} of {self.total:,}: {shown}{' (best)' if is_best else ''}, "
            f"{self.seconds:.0f} s",
            **self.evaluations[-1],
        )
        self._keep_state()

    def _best(self) -> dict[str, Any]:
        """The latest evaluation that was the best so far."""
        return next(evaluation for evaluation in reversed(self.evaluations) if evaluation["best"])

    def _write_checkpoint(self, name: str) -> None:
        folder = self.out / name
        self.task.save(folder)
        write_weights(self.task.learner.module, folder)

    def _say(self, line: str, **record: Any) -> None:
        self.session.say(line)
        self._log(record if "step" in record else {"step": self.step, **record})

    def _log(self, record: dict[str, Any]) -> None:
        with (self.out / LOG).open("ab") as stream:
            stream.write(json.dumps({**record, "seconds": round(self.seconds, 2)}).encode() + b"\n")

    def _keep_state(self) -> None:
        state = {
            "module": self.task.learner.module.state_dict(),
            "average": self.average.state_dict() if self.average is not None else {},
            "optimizer": self.optimizer.state_dict(),
            "random": torch.get_rng_state(),
            "cuda_random": torch.cuda.get_rng_state(self.session.device) if self.is_cuda else None,
            "counts": [self.step, self.epoch, self.done_in_epoch, self.total, self.pieces],
            "evaluations": self.evaluations,
            "seconds": self.seconds,
            "log": (self.out / LOG).stat().st_size,
        }
        with replacing(self.out / STATE) as stream:
            torch.save(state, stream)

    def restore(self) -> None:
        """Go on where the state was kept; what the log says of later steps is forgotten."""
        path = self.out / STATE
        try:
            state = torch.load(path, map_location="cpu", weights_only=True)
            kept = msgspec.convert(state, _Progress)
            needed = {"step", "best", self.options.metric}
            if not kept.evaluations[0]["best"] or any(not needed <= each.keys() for each in kept.evaluations):
                raise ValueError("evaluations without a step, a score or a best one")
            if kept.log > (self.out / LOG).stat().st_size:
                raise ValueError(f"{LOG} is shorter than it was")
            self.task.learner.module.load_state_dict(state["module"])
            if self.average is not None:
                self.average.load_state_dict(state["average"])
            self.step, self.epoch, self.done_in_epoch, self.total, self.pieces = kept.counts
            self._restore_optimizer(state["optimizer"]["state"])
            self.evaluations = kept.evaluations
            torch.set_rng_state(state["random"])
            if self.is_cuda and state["cuda_random"] is not None:
                torch.cuda.set_rng_state(state["cuda_random"], self.session.device)
            with (self.out / LOG).open("r+b") as stream:
                stream.truncate(kept.log)
        except Exception as error:  # torch refuses files that are torn or foreign in many ways
            problem = f"there is no going on with this training: {f'{type(error).__name__}: {error}'.splitlines()[0]}"
            raise DstressError(problem, where=str(path), fix="train into a new folder") from error
        self.started -= kept.seconds
        self.session.say(f"going on after step {self.step:,} of {self.total:,}")

    def _restore_optimizer(self, moments: dict[Any, Any]) -> None:
        """Go on with these moments. Rates and all other settings are the recipe's, whatever the file says of them."""
        fresh = self.optimizer.state_dict()
        self.optimizer.load_state_dict(fresh | {"state": moments})
        for weights in self.task.learner.module.parameters():
            own = self.optimizer.state.get(weights)
            if own is not None:
                shapes = [own[name].shape for name in ("exp_avg", "exp_avg_sq")]
                if shapes != [weights.shape] * 2 or not 0 < own["step"].item() <= self.step:
                    raise ValueError("moments of another network, or another step")


def compile_blocks(module: Any) -> None:
    """Compile what a network repeats: one layer's code does for all of them, which takes seconds and not minutes."""
    if isinstance(module, torch.nn.ModuleList):
        for block in module:
            block.compile(dynamic=True)
    else:
        for part in module.children():
            compile_blocks(part)


def mean_loss(learner: Learner, examples: Sequence[Any], options: TrainingOptions) -> float:
    """The loss of a unit, over examples that nothing is learned from."""
    total, units, random = 0.0, 0, Random(0)
    with torch.inference_mode():
        for batch in bucket(examples, options.batch, options.tokens, random):
            loss = learner.loss(learner.place(learner.collate(batch, random)))
            total, units = total + float(loss.total), units + loss.units
    return total / units


def pace_of(step: int, total: int, warmup: float, decay: str) -> float:
    """The part of the learning rate at a step: up in a line, then down as `decay` says."""
    rising = math.ceil(warmup * total)
    if step < rising:
        return (step + 1) / (rising + 1)
    done = min(1.0, (step - rising) / max(1, total - rising))
    return {"none": 1.0, "linear": 1 - done, "cosine": (1 + math.cos(math.pi * done)) / 2}[decay]
