"""A run, or a prediction file, explained: findings in plain words, and the tables that their sentences stand on.

`dstress explain` prints all of it; its first findings open the report.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from dstress.display import Displayed
from dstress.errors import DstressError
from dstress.reports.findings import OPENING, Evidence, Finding, Records, findings, rank, score_evidence
from dstress.reports.tables import Table
from dstress.reports.variant_names import rename_variants, scores_by_original_names, variant_names
from dstress.runs.folder import ORIGINAL, RunFolder, Scores
from dstress.schema_names import names_back
from dstress.scoring.alignment.errors import TurnErrors

if TYPE_CHECKING:  # they judge answers, which a plain page need not
    from dstress.reports.analysis.explain import ErrorStudy
    from dstress.reports.analysis.systems import JudgedSystem

_ERROR_TABLES = ("slots", "kinds", "turns", "fixes", "interactions", "inventions", "names")
NOTHING = Finding("Nothing to tell", "No slot has an error, and no stressor has an effect.", 0)


class Explanation(Displayed, msgspec.Struct):
    """Findings, the most interesting first, and tables by name, which their sentences point into."""

    system: str
    findings: list[Finding]
    evidence: dict[str, Records]
    notes: list[str] = []

    @property
    def tables(self) -> dict[str, Table]:
        """Every table that has rows."""
        return {name: _as_table(name, rows) for name, rows in self.evidence.items() if rows}

    @property
    def opening(self) -> list[Finding]:
        """Those that open a report."""
        return self.findings[:OPENING]

    def __repr__(self) -> str:
        return f"Explanation({self.system}: {'; '.join(finding.title for finding in self.opening)})"


def _as_table(name: str, rows: Records) -> Table:
    columns = sorted(rows[0], key=lambda column: not isinstance(rows[0][column], str))
    numbers = [isinstance(rows[0][column], int | float) for column in columns]
    heads = [f"#{column}" if is_number else column for column, is_number in zip(columns, numbers, strict=True)]
    shown = [tuple(_cell(row[column]) for column in columns) for row in rows]
    return Table(["#row", *heads], [(str(number), *row) for number, row in enumerate(shown)], name, rows)


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "-" if value != value else f"{value:.4f}"
    return "-" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def explain_run(
    run: RunFolder, errors: Mapping[str, TurnErrors], by_original_names: Scores | None = None
) -> Explanation:
    """A run, from what each variant's answers have wrong and its scores, which are read if they are not given."""
    from dstress.reports.analysis.explain import Answers, study_errors

    called, schema = variant_names(run.manifest.suite), run.variant(ORIGINAL).schema  # as the suite's table calls them
    scores = rename_variants(by_original_names or scores_by_original_names(run), called)
    names = {called[variant]: names_back(schema, run.variant(variant).schema) for variant in run.variants}
    unit = scores.variants[ORIGINAL].signature.get("unit", "turn")
    by_name = {called[variant]: wrong for variant, wrong in errors.items()}
    study = study_errors(Answers(by_name, run.variant(ORIGINAL).dialogues(), schema, names, unit))
    explanation = _explanation(run.path.name, findings(scores), study, score_evidence(scores))
    specs = {name: variant for variant, name in called.items()}  # by which the page knows its examples
    explanation.findings = [
        msgspec.structs.replace(finding, variant=specs.get(finding.variant, finding.variant))
        for finding in explanation.findings
    ]
    return explanation


def _explanation(name: str, of_scores: Sequence[Finding], study: ErrorStudy, evidence: Evidence) -> Explanation:
    from dstress.reports.error_findings import error_findings

    evidence.tables |= {table: msgspec.to_builtins(getattr(study, table)) for table in _ERROR_TABLES}
    ranked = rank((*of_scores, *error_findings(study, evidence)))
    notes = [] if study.names else ["the dialogues have no words, so nothing is told of names that nobody said"]
    return Explanation(name, ranked or [NOTHING], evidence.tables, notes)


def explain_system(system: JudgedSystem) -> Explanation:
    """A run or a prediction file."""
    from dstress.reports.analysis.explain import Answers, study_errors
    from dstress.runs.scores import find_errors

    if system.run is not None:
        if system.convention != (scored := system.run.scores.convention):
            named = shlex.join([str(system.run.path), "--convention", system.convention])
            fix = f"`dstress rescore {named}` rescores it"
            problem = f"a run is explained under the convention that it was scored with, {scored}"
            raise DstressError(problem, where=system.name, fix=fix)
        return explain_run(system.run, find_errors(system.run))
    errors, unit = judge_errors(system, ORIGINAL)
    corpus = system.corpus(ORIGINAL)
    study = study_errors(Answers({ORIGINAL: errors}, corpus, corpus.schema, {}, unit))
    return _explanation(system.name, (), study, Evidence({}))


def judge_errors(system: JudgedSystem, variant: str) -> tuple[TurnErrors, str]:
    """What a system's answers to a variant have wrong, and whether turns or frames are scored."""
    errors = TurnErrors()
    scored = system.judge(variant, ["jga"], [errors])
    return errors, scored.signature["unit"]


def explain_difference(first: JudgedSystem, second: JudgedSystem) -> Explanation:
    """Where two runs, or two prediction files, differ; the first is the one to compare with."""
    from dstress.reports.analysis.differences import compare_errors
    from dstress.reports.analysis.systems import shared_variants
    from dstress.reports.error_findings import difference_findings

    variants = shared_variants(first, second)
    judged = [{variant: judge_errors(system, variant) for variant in variants} for system in (first, second)]
    before, after = ({variant: errors for variant, (errors, _) in by_variant.items()} for by_variant in judged)
    difference = compare_errors((first.name, second.name), before, after, judged[0][ORIGINAL][1])
    tables = {"systems": difference.systems, "slot_differences": difference.slots}
    evidence = Evidence({name: msgspec.to_builtins(rows) for name, rows in tables.items()})
    ranked = rank(difference_findings(difference, evidence))
    return Explanation(f"{first.name} and {second.name}", ranked or [NOTHING], evidence.tables)
