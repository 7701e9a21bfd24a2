"""One small conversation, ours, in every layout that a corpus can come in."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

USER = ["I need a cheap hotel with parking", "Book it for 2 people from tuesday, please", "A taxi there, same day"]
SYSTEM = ["Any area in mind?", "Booked. Anything else?", "Done, a white audi will come."]


def write_json(path: Path, content: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content))
    return path


def _metadata(**changed: str) -> dict[str, Any]:
    values = {"pricerange": "", "parking": "not mentioned", "area": "none"} | changed
    book = {key: values.pop(key, "") for key in ("day", "people")} | {"booked": []}
    return {"hotel": {"book": book, "semi": values}, "taxi": {"book": {"booked": []}, "semi": {"leaveAt": ""}}}


def raw_dialogue(**last: str) -> dict[str, Any]:
    states = [
        _metadata(pricerange="cheap", parking="yes"),
        _metadata(pricerange="cheap", parking="yes", people="2", day="tuesday"),
        _metadata(
            **({"pricerange": "cheap|moderate", "parking": "do n't care", "people": "2", "day": "tuesday"} | last)
        ),
    ]
    acts: list[Any] = [
        {"Hotel-Inform": [["Price", "cheap"], ["Parking", "yes"]]},
        {"Hotel-Inform": [["People", "2"], ["Day", "tuesday"]]},
        "No Annotation",
    ]
    log: list[dict[str, Any]] = []
    for user, system, state, act in zip(USER, SYSTEM, states, acts, strict=True):
        spans = [["Hotel-Inform", "Price", "cheap", 3, 3]] if "cheap" in user else []
        log.append({"text": user, "metadata": {}, "dialog_act": act, "span_info": spans})
        log.append(
            {"text": system, "metadata": state, "dialog_act": {"Booking-Request": [["Day", "?"]]}, "span_info": []}
        )
    goal = {
        "hotel": {
            "info": {"pricerange": "cheap"},
            "book": {"day": "tuesday", "invalid": False},
            "fail_book": {"day": "monday"},
            "reqt": ["phone"],
        },
        "taxi": {},
        "message": ["Find a cheap hotel.", "Book it."],
    }
    return {"goal": goal, "log": log}


def multiwoz_single(folder: Path) -> Path:
    """2.0, 2.1 and 2.4: one data.json and two list files."""
    write_json(folder / "data.json", {f"SNG000{i}.json": raw_dialogue() for i in range(4)})
    (folder / "valListFile.txt").write_text("SNG0002.json\n")
    (folder / "testListFile.txt").write_text("SNG0003.json\n")
    return folder


def multiwoz_per_split(folder: Path) -> Path:
    write_json(folder / "val.json", {"SNG0002": raw_dialogue()})
    write_json(folder / "test.json", {"SNG0003": raw_dialogue()})
    return folder


def multiwoz23(folder: Path) -> Path:
    """2.3: lists of alternatives, new goals, turn ids and coreference."""
    dialogue = raw_dialogue()
    dialogue["log"][4]["coreference"] = {"Hotel-Inform": [["Day", "same day", "tuesday", 2, "4-5"]]}
    dialogue["new_goal"] = {"hotel": {"book": {"day": ["monday", "tuesday"]}}}
    for index, utterance in enumerate(dialogue["log"]):
        utterance["turn_id"] = index
    dialogue["log"][5]["metadata"]["hotel"]["semi"]["pricerange"] = ["cheap", "moderate"]
    write_json(folder / "test.json", {"SNG0003.json": dialogue})
    return folder


def spokenwoz(folder: Path) -> Path:
    """SpokenWOZ's texts: the times of words, and who the user is."""
    dialogue = raw_dialogue()
    for utterance in dialogue["log"]:
        words = enumerate(utterance["text"].split())
        utterance["words"] = [{"Word": word, "BeginTime": 10 * at, "EndTime": 10 * at + 9} for at, word in words]
        utterance["tag"] = "user" if not utterance["metadata"] else "system"
    semi = {"name": "Ada May", "email": "", "idnumber": "", "phonenumber": "", "platenumber": ""}
    dialogue["log"][5]["metadata"]["profile"] = {"book": {"booked": []}, "semi": semi}
    write_json(folder / "text_5700_train_dev" / "data.json", {"MUL0001": dialogue, "MUL0002": dialogue})
    (folder / "text_5700_train_dev" / "valListFile.json").write_text("MUL0002\n")
    write_json(folder / "text_5700_test" / "data.json", {"MUL0003": dialogue})
    (folder / "text_5700_test" / "testListFile.json").write_text("MUL0003\n")
    return folder


def _frame22(service: str, **values: list[str]) -> dict[str, Any]:
    return {
        "service": service,
        "slots": [],
        "actions": [],
        "state": {
            "active_intent": "find_hotel",
            "requested_slots": [],
            "slot_values": {f"{service}-{slot}": forms for slot, forms in values.items()},
        },
    }


def multiwoz22(folder: Path) -> Path:
    slots = [
        {"name": f"hotel-{name}", "is_categorical": True, "possible_values": ["x"], "description": name}
        for name in ("pricerange", "parking", "bookday", "bookpeople", "phone")
    ]
    taxi = [{"name": "taxi-leaveat", "is_categorical": False, "description": "when"}]
    services = [
        {"service_name": "hotel", "slots": slots, "intents": []},
        {"service_name": "taxi", "slots": taxi, "intents": []},
    ]
    write_json(folder / "schema.json", services)
    first = _frame22("hotel", pricerange=["cheap"], parking=["yes"])
    first["slots"] = [
        {"slot": "hotel-pricerange", "start": 9, "exclusive_end": 14, "value": "cheap"},
        {"slot": "hotel-parking", "copy_from": "hotel-parking", "value": ["yes"]},
    ]
    second = _frame22("hotel", pricerange=["cheap"], parking=["yes"], bookpeople=["2"], bookday=["tuesday"])
    third = _frame22(
        "hotel", pricerange=["cheap", "inexpensive"], parking=["yes"], bookpeople=["2"], bookday=["tuesday"]
    )
    turns = []
    for user, system, frame in zip(USER, SYSTEM, (first, second, third), strict=True):
        turns.append(
            {"speaker": "USER", "turn_id": str(len(turns)), "utterance": user, "frames": [frame, _frame22("taxi")]}
        )
        turns.append({"speaker": "SYSTEM", "turn_id": str(len(turns)), "utterance": system, "frames": []})
    dialogues = [{"dialogue_id": "SNG0003.json", "services": ["hotel"], "turns": turns}]
    write_json(folder / "test" / "dialogues_001.json", dialogues)
    acts = {
        "0": {
            "dialog_act": {"Hotel-Inform": [["price", "cheap"]], "general-greet": [["none", "none"]]},
            "span_info": [],
        }
    }
    write_json(folder / "dialog_acts.json", {"SNG0003.json": acts})
    return folder


def trade(folder: Path) -> Path:
    labels = [
        {"hotel-pricerange": "cheap", "hotel-parking": "yes"},
        {"hotel-pricerange": "cheap", "hotel-parking": "yes", "hotel-book people": "2", "hotel-book day": "tuesday"},
        {
            "hotel-pricerange": "cheap",
            "hotel-parking": "none",
            "hotel-book people": "2",
            "hotel-book day": "do not care",
        },
    ]
    turns = [
        {
            "system_transcript": SYSTEM[index - 1] if index else "",
            "turn_idx": index,
            "belief_state": [{"slots": [[slot, value]], "act": "inform"} for slot, value in label.items()],
            "turn_label": [],
            "transcript": USER[index],
            "system_acts": [],
            "domain": "hotel",
        }
        for index, label in enumerate(labels)
    ]
    for split in ("train", "dev", "test"):
        name = f"{split}_dials.json"
        write_json(
            folder / name, [{"dialogue_idx": f"{split}.json", "domains": ["hotel", "police"], "dialogue": turns}]
        )
    return folder


def woz_dialogue(language: str = "en", labels: str = "en") -> list[dict[str, Any]]:
    words = {
        "en": ["A cheap restaurant, please", "Any part of town. What is its phone number?"],
        "de": ["Ein billiges Restaurant, bitte", "Ganz egal wo. Wie ist die Telefonnummer?"],
    }[language]
    area, price, cheap, open_, phone = {
        "en": ("area", "price range", "cheap", "dontcare", "phone"),
        "de": ("gegend", "preisklasse", "billig", "es ist egal", "telefon"),
    }[labels]
    first = {"slots": [[price, cheap]], "act": "inform"}
    turns = [
        {"turn_label": [[price, cheap]], "belief_state": [first], "system_transcript": "", "system_acts": []},
        {
            "turn_label": [[area, open_], ["request", phone]],
            "belief_state": [
                first,
                {"slots": [[area, open_]], "act": "inform"},
                {"slots": [["slot", phone]], "act": "request"},
            ],
            "system_transcript": "Where?",
            "system_acts": [area, [price, cheap]],
        },
    ]
    told = [
        {"turn_idx": index, "asr": [[said, 1.0]], "transcript": f"{said} "} | turn
        for index, (said, turn) in enumerate(zip(words, turns, strict=True))
    ]
    return [{"dialogue_idx": 600, "dialogue": told}]


def woz(folder: Path) -> Path:
    for split in ("train", "validate", "test"):
        write_json(folder / f"woz_{split}_en.json", woz_dialogue())
    return folder


def woz_translated(folder: Path) -> Path:
    """English, German, and German under English labels, in one folder."""
    for split in ("train", "test"):
        write_json(woz(folder) / f"woz_{split}_de.json", woz_dialogue("de", "de"))
        write_json(folder / f"woz_{split}_de_en.json", woz_dialogue("de", "en"))
    return folder


def m2m_dialogue(name: str) -> dict[str, Any]:
    first = "two tickets for the late show"
    second = "the Rex , any day"
    state = [{"slot": "tickets", "value": "two"}]
    turns = [
        {
            "dialogue_state": state,
            "user_acts": [{"type": "INFORM"}],
            "user_intents": ["BUY"],
            "user_utterance": {
                "slots": [{"slot": "tickets", "start": 0, "exclusive_end": 1}],
                "text": first,
                "tokens": first.split(),
            },
        },
        {
            "dialogue_state": [*state, {"slot": "date", "value": "dontcare"}, {"slot": "theatre", "value": "the Rex"}],
            "system_acts": [
                {"type": "REQUEST", "slot": "theatre"},
                {"type": "CONFIRM", "slot": "tickets", "value": "two"},
            ],
            "system_utterance": {"slots": [], "text": "where ?", "tokens": ["where", "?"]},
            "user_acts": [{"type": "INFORM"}],
            "user_utterance": {
                "slots": [{"slot": "theatre", "start": 0, "exclusive_end": 2}],
                "text": second,
                "tokens": second.split(),
            },
        },
    ]
    return {"dialogue_id": name, "turns": turns}


def m2m(folder: Path) -> Path:
    for split in ("train", "dev", "test"):
        write_json(folder / "sim-M" / f"{split}.json", [m2m_dialogue("movies_00000001")])
        write_json(folder / "sim-R" / f"{split}.json", [m2m_dialogue("restaurant_00000001")])
    return folder


def _segment(text: str, said: str, *names: str) -> dict[str, Any]:
    start = text.index(said)
    annotations = [{"name": name} for name in names]
    return {"start_index": start, "end_index": start + len(said), "text": said, "annotations": annotations}


def taskmaster_conversation(name: str) -> dict[str, Any]:
    told: list[tuple[str, str, dict[str, tuple[str, ...]]]] = [
        ("USER", " A large pizza, please", {"large": ("pizza_ordering.size.pizza",) * 2}),
        ("USER", "with olives", {"olives": ("pizza_ordering.type.topping.accept",)}),
        (
            "ASSISTANT",
            "No olives left, ham?",
            {"olives": ("pizza_ordering.type.topping.reject",), "ham": ("pizza_ordering.type.topping",)},
        ),
        ("ASSISTANT", "(deleted)", {}),
        ("USER", "Fine, a small one", {"small": ("pizza_ordering.size.pizza",), "a small": ("pizza_ordering.accept",)}),
        ("ASSISTANT", "Done", {}),
    ]
    utterances = [
        {"index": at, "speaker": speaker, "text": text}
        | ({"segments": [_segment(text, said, *names) for said, names in segments.items()]} if segments else {})
        for at, (speaker, text, segments) in enumerate(told)
    ]
    return {"conversation_id": name, "instruction_id": "pizza-ordering-1", "utterances": utterances}


def taskmaster(folder: Path) -> Path:
    """TM-1: written dialogues in lists, spoken ones without."""
    names = {"train": "dlg-1", "dev": "dlg-2", "test": "dlg-3"}
    empty = {"conversation_id": "dlg-5", "instruction_id": "pizza-ordering-1", "utterances": []}
    written = [taskmaster_conversation(name) for name in names.values()]
    write_json(folder / "self-dialogs.json", [*written, empty])
    write_json(folder / "woz-dialogs.json", [taskmaster_conversation("dlg-4")])
    (folder / "train-dev-test").mkdir(exist_ok=True)
    for split, name in names.items():
        (folder / "train-dev-test" / f"{split}.csv").write_text(f"{name},\n")
    return folder


def crosswoz(folder: Path) -> Path:
    def state(**values: str) -> dict[str, Any]:
        hotel = {"名称": "", "价格": "", "酒店设施": ""} | values | {"selectedResults": []}
        return {"酒店": hotel, "出租": {"出发地": "", "目的地": "", "selectedResults": []}}

    def messages() -> list[dict[str, Any]]:
        first, second = state(价格="便宜"), state(价格="便宜", 酒店设施="早餐服务 无烟房")
        return [
            {"role": "usr", "content": "找一家便宜的酒店", "dialog_act": [["Inform", "酒店", "价格", "便宜"]]},
            {
                "role": "sys",
                "content": "还有什么要求?",
                "dialog_act": [["General", "reqmore", "none", "none"]],
                "sys_state": state(),
                "sys_state_init": first,
            },
            {
                "role": "usr",
                "content": "要早餐和无烟房, 叫什么?",
                "dialog_act": [["Inform", "酒店", "酒店设施-早餐服务", "是"], ["Request", "酒店", "名称", ""]],
            },
            {
                "role": "sys",
                "content": "没有",
                "dialog_act": [["NoOffer", "酒店", "none", "none"]],
                "sys_state": state(),
                "sys_state_init": second,
            },
        ]

    for split in ("train", "val", "test"):
        dialogue = {"sys-usr": [1, 2], "goal": [], "messages": messages(), "task description": ["找酒店。"]}
        write_json(folder / f"{split}.json", {f"{split}-1": dialogue})
    return folder


def bitod(folder: Path, languages: tuple[str, ...] = ("zh",)) -> Path:
    words = {
        "en": ("restaurants_en_US_search", "equal_to", "at_least", "don't care", "Somewhere cheap", "Rated 8 or more"),
        "zh": ("餐馆查询", "等于", "至少", "不在乎", "便宜的餐馆", "八分以上"),
    }
    for language in languages:
        search, equal, least, open_, first, second = words[language]
        price = {"price_level": {"relation": equal, "value": ["cheap"]}}
        more = {"rating": {"relation": least, "value": [8]}, "location": {"relation": equal, "value": [open_]}}
        asked = [{"act": "request", "slot": "rating", "relation": "", "value": []}]
        inform = [{"act": "inform", "slot": "price_level", "relation": equal, "value": ["cheap"]}]
        events = [
            {"Agent": "User", "Actions": inform, "active_intent": search, "state": {search: price}, "Text": first},
            {"Agent": "Wizard", "Actions": "query", "Constraints": []},
            {"Agent": "KnowledgeBase", "Topic": search, "TotalItems": 0, "Item": {}},
            {"Agent": "Wizard", "Actions": asked, "Text": "?", "PrimaryItem": None},
            {"Agent": "User", "Actions": [], "active_intent": search, "state": {search: price | more}, "Text": second},
            {"Agent": "Wizard", "Actions": [], "Text": "."},
            {"Agent": "User", "Actions": [], "active_intent": "chat", "state": {search: price | more}, "Text": "!"},
        ]
        for split in ("train", "valid", "test"):
            write_json(folder / f"{language}_{split}.json", {f"{split}-1": {"Scenario": {}, "Events": events}})
        write_json(folder / f"{language}_fewshot_dials.json", {"fewshot_dials": ["train-1"]})
    return folder


def _sgd_frame(state: dict[str, list[str]] | None, **more: Any) -> dict[str, Any]:
    frame = {"service": "Hotels_1", "slots": [], "actions": []} | more
    if state is not None:
        frame["state"] = {"active_intent": "Search", "requested_slots": ["phone"], "slot_values": state}
    return frame


def sgd_schema() -> list[dict[str, Any]]:
    slots = [
        {"name": "price", "description": "how dear", "is_categorical": True, "possible_values": ["cheap", "dear"]},
        {"name": "day", "description": "when", "is_categorical": False, "possible_values": []},
        {"name": "intent", "description": "why", "is_categorical": False, "possible_values": []},
    ]
    intents = [
        {
            "name": "Search",
            "description": "find a hotel",
            "is_transactional": False,
            "required_slots": ["price"],
            "optional_slots": {"day": "dontcare"},
            "result_slots": ["price"],
        }
    ]
    taxi = {
        "service_name": "Taxis_1",
        "description": "rides",
        "slots": [{"name": "to", "description": "where to", "is_categorical": False, "possible_values": []}],
        "intents": [],
    }
    return [{"service_name": "Hotels_1", "description": "hotels", "slots": slots, "intents": intents}, taxi]


def sgd_dialogue(name: str = "1_00000") -> dict[str, Any]:
    informs = [
        {"act": "INFORM_INTENT", "slot": "intent", "values": ["Search"], "canonical_values": ["Search"]},
        {"act": "INFORM", "slot": "price", "values": ["cheap"], "canonical_values": ["cheap"]},
    ]
    price = {"slot": "price", "start": 9, "exclusive_end": 14}
    taxi = {
        "service": "Taxis_1",
        "slots": [],
        "actions": [],
        "state": {"active_intent": "NONE", "requested_slots": [], "slot_values": {"to": ["the hotel"]}},
    }
    call = {"method": "Search", "parameters": {"price": "cheap"}}
    frames = [
        [_sgd_frame({"price": ["cheap"]}, slots=[price], actions=informs)],
        [_sgd_frame(None, service_call=call, service_results=[{"price": "cheap", "day": "tuesday"}])],
        [_sgd_frame({"price": ["cheap"], "day": ["tuesday", "the 3rd"]})],
        [_sgd_frame(None, actions=[{"act": "REQUEST", "slot": "intent", "values": [], "canonical_values": []}])],
        [taxi],
        [],
    ]
    sides = [side for pair in zip(USER, SYSTEM, strict=True) for side in pair]
    turns = [{"speaker": ("USER", "SYSTEM")[i % 2], "utterance": sides[i], "frames": f} for i, f in enumerate(frames)]
    return {"dialogue_id": name, "services": ["Hotels_1", "Taxis_1"], "turns": turns}


def sgd(folder: Path) -> Path:
    for split, name in (("train", "1_00000"), ("test", "2_00000")):
        write_json(folder / split / "schema.json", sgd_schema())
        write_json(folder / split / "dialogues_001.json", [sgd_dialogue(name)])
    return folder


def unified(folder: Path) -> Path:
    def acts(**entry: Any) -> dict[str, Any]:
        return {"binary": [], "categorical": [], "non-categorical": [{"intent": "inform", "domain": "sub-way"} | entry]}

    def dialogue(split: str) -> dict[str, Any]:
        turns = [
            {
                "speaker": "user",
                "utterance": "to Acton please",
                "utt_idx": 0,
                "state": {"sub-way": {"to": "Acton", "from": ""}},
                "dialogue_acts": acts(slot="to", value="Acton", start=3, end=8),
            },
            {
                "speaker": "system",
                "utterance": "From where?",
                "utt_idx": 1,
                "dialogue_acts": acts(intent="request", slot="from"),
            },
            {"speaker": "user", "utterance": "", "utt_idx": 2, "state": {"sub-way": {"to": "Acton", "from": ""}}},
            {"speaker": "system", "utterance": "From where, please?", "utt_idx": 3},
            {
                "speaker": "user",
                "utterance": "Bank or Moorgate",
                "utt_idx": 4,
                "state": {"sub-way": {"to": "Acton", "from": "Bank|Moorgate"}},
            },
        ]
        goal = {"description": "Ride.", "inform": {"sub-way": {"to": "Acton"}}, "request": {"sub-way": {"line": ""}}}
        return {
            "dataset": "tube",
            "data_split": split,
            "dialogue_id": f"tube-{split}-0",
            "original_id": "0",
            "domains": ["sub-way"],
            "goal": goal,
            "turns": turns,
        }

    write_json(folder / "data" / "dialogues.json", [dialogue("train"), dialogue("validation"), dialogue("test")])
    slot = {"description": "a station", "is_categorical": False, "possible_values": []}
    ontology = {
        "domains": {"sub-way": {"description": "rides", "slots": {"to": slot, "from": slot, "line": slot}}},
        "intents": {"inform": {"description": ""}},
        "state": {"sub-way": {"to": "", "from": ""}},
        "dialogue_acts": {},
    }
    write_json(folder / "data" / "ontology.json", ontology)
    return folder


def unified_folder(folder: Path) -> Path:
    """A data set as ConvLab keeps it, its data unpacked: a sample of them and scripts beside."""
    unified(folder)
    write_json(folder / "dummy_data.json", json.loads((folder / "data" / "dialogues.json").read_text())[:1])
    write_json(folder / "shuffled_dial_ids.json", {"train": [[0]]})
    (folder / "preprocess.py").write_text("def preprocess():\n    pass\n")
    return folder


def unified_packed(folder: Path) -> Path:
    """The same with `data.zip` in place of `data/`."""
    unified_folder(folder)
    with zipfile.ZipFile(folder / "data.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((folder / "data").iterdir()):
            archive.write(path, f"data/{path.name}")
            path.unlink()
    (folder / "data").rmdir()
    return folder


def dstress_dialogue(name: str) -> dict[str, Any]:
    return {"id": name, "services": ["hotel"], "turns": [{"user": USER[0], "state": {"hotel-pricerange": ["cheap"]}}]}


def dstress(folder: Path) -> Path:
    for split in ("train", "test"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{split}.jsonl").write_text(json.dumps(dstress_dialogue(f"{split}-0")) + "\n\n")
    write_json(folder / "schema.json", {"services": [{"name": "hotel", "slots": [{"name": "pricerange"}]}]})
    return folder


SIMPLE = [
    {
        "id": "p1",
        "turns": [
            {
                "user": "A pizza with olives and mushrooms for 2",
                "state": {"toppings": ["olives", "mushrooms"], "people": 2},
            },
            {
                "system": "Where to?",
                "user": "To the centre, and add basil or parsley",
                "state": {
                    "toppings": ["olives", {"any": ["basil", "parsley"]}, "mushrooms"],
                    "people": 2.0,
                    "taxi": {"to": {"any": ["centre", "town centre"]}},
                    "time": None,
                },
            },
            {"system": "Done.", "user": "Thanks"},
        ],
    },
]


def simple(folder: Path) -> Path:
    write_json(folder / "test.json", {"made by": "hand", "dialogues": SIMPLE})
    return folder


def chat(folder: Path) -> Path:
    messages: list[dict[str, Any]] = [{"role": "system", "content": "You sell pizza."}]
    for turn in cast(list[dict[str, Any]], SIMPLE[0]["turns"]):
        if "system" in turn:
            messages.append({"role": "assistant", "content": turn["system"]})
        user: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": turn["user"]}]}
        messages.append(user | ({"state": turn["state"]} if "state" in turn else {}))
    lines = json.dumps({"id": "p1", "messages": messages})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test.jsonl").write_text(lines)
    return folder


LAYOUTS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "multiwoz with list files": ("multiwoz", multiwoz_single),
    "multiwoz, a file a split": ("multiwoz", multiwoz_per_split),
    "multiwoz 2.3": ("multiwoz", multiwoz23),
    "spokenwoz": ("multiwoz", spokenwoz),
    "multiwoz 2.2": ("multiwoz22", multiwoz22),
    "trade": ("trade", trade),
    "woz": ("woz", woz),
    "m2m": ("m2m", m2m),
    "taskmaster": ("taskmaster", taskmaster),
    "crosswoz": ("crosswoz", crosswoz),
    "bitod": ("bitod", bitod),
    "sgd": ("sgd", sgd),
    "unified": ("unified", unified),
    "unified, a data set's folder": ("unified", unified_folder),
    "dstress": ("dstress", dstress),
    "simple": ("simple", simple),
    "simple, chat messages": ("simple", chat),
}
"""What it is -> the importer that must recognise it, and the function that writes it into a folder."""


def packed(folder: Path, kind: str) -> Path:
    """The folder as a zip or tar beside it."""
    target = folder.with_name(f"{folder.name}.{kind}")
    if kind == "zip":
        with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.rglob("*")):
                archive.write(path, path.relative_to(folder).as_posix())
    else:
        with tarfile.open(target, f"w:{kind.removeprefix('tar').removeprefix('.')}") as archive:  # type: ignore[call-overload]
            archive.add(folder, arcname=".", recursive=True, filter=lambda member: member)
    return target


def tar_with(path: Path, name: str, data: bytes = b"x", kind: bytes = tarfile.REGTYPE, link: str = "") -> Path:
    """A tar with one member of any kind, for the unsafe ones."""
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo(name)
        member.type, member.linkname = kind, link
        member.size = len(data) if kind == tarfile.REGTYPE else 0
        archive.addfile(member, io.BytesIO(data))
    return path
