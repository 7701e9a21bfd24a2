"""`dstress release`."""

from __future__ import annotations

from pathlib import Path

from dstress.cli.names import STRESSOR
from dstress.cli.options import FILE, argument, option, verb
from dstress.cli.output import OutputFiles, console, json_option
from dstress.cli.progress import waiting
from dstress.errors import DstressError
from dstress.spec import parse_list
from dstress.stressors.released.sets import ENDING, ReleasedSet, turns_of, write_set
from dstress.studies.human_check.sheets import choose_variants, find_variants


@verb("release")
def command(
    path: str = argument(metavar="RUN|FOLDER"),
    out: Path = option(type=FILE, required=True, metavar="FILE", help=f"the set, NAME{ENDING}"),
    stressor: str = option(
        "--with", type=STRESSOR, default="", metavar="SPEC", help="the stressor, if there are several"
    ),
    corpus: str = option(default="", metavar="CORPUS:SPLIT", help="the source corpus, if the folder does not say"),
    about: str = option(default="", metavar="TEXT", help="one line for `dstress list released`"),
    recipe: str = option(default="", metavar="TEXT", help="how the generator was trained, and with which weights"),
    licence: str = option(default="", metavar="TEXT", help="the licence of the text"),
    reading: str = option(default="", metavar="TEXT", help="findings of people who read the text, and who they were"),
    files: OutputFiles = json_option,
) -> None:
    """Release stressed text as a file, so that others can test on the same text.

    Takes a run, or a folder that `dstress stress --out` wrote, and writes the new user turns with their label changes
    into one small file, without anything of the corpus. Others apply it with `--with "released(NAME.json.gz)"`.

    \b
    Examples
      dstress stress reminder:test --with paraphrase --out stressed
      dstress release stressed --out reminder-paraphrase-1.json.gz --about "paraphrases by templates"
    """
    if not out.name.endswith(ENDING):
        raise DstressError(f"a released set is a file NAME{ENDING}", where=str(out), fix=f"--out my-set-1{ENDING}")
    variants = choose_variants(find_variants(Path(path)), parse_list(stressor) if stressor else ())
    if len(variants) > 1:
        specs = ", ".join(variant.name for variant in variants)
        raise DstressError(f"there are several stressed corpora: {specs}", where=path, fix="choose one with --with")
    [variant] = variants
    if variant.about.get("scope") != "turn":
        raise DstressError(f"{variant.name} changes more than single user turns", where=path, fix="release another one")
    with waiting("reading the changed turns"):
        turns, content = turns_of(variant.dialogues)
    if not turns:
        raise DstressError(f"{variant.name} changed no turn", where=path)
    description = variant.about
    name, seed = out.name.removesuffix(ENDING), int(description.get("seed", 1))
    corpus = corpus or str(description.get("corpus", ""))
    signature = f"{corpus.replace(':', '.')}|stress:{variant.name}|seed:{seed}|v:{description.get('dstress', '')}"
    released = ReleasedSet(
        name=name,
        about=about,
        corpus=corpus,
        content=content,
        stressor=variant.name,
        seed=seed,
        signature=f"{signature}|data:{content}",
        recipe=recipe,
        licence=licence,
        reading=reading,
        effect=description.get("effect", "invariant"),
        guarded=bool(description.get("guarded", True)),
        turns=turns,
    )
    write_set(released, out)
    shown = {"name": name, "corpus": corpus, "content": content, "dialogues": len(turns), "turns": released.size}
    if not files.write(shown):
        console().print(f"{released.size:,} turns of {len(turns):,} dialogues: {out}", markup=False)
