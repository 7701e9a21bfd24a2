"""A tracker as a program, in any language:  --tracker 'command("python3 examples/command_tracker.py")'"""

import json
import sys

for line in sys.stdin:
    asked = json.loads(line)
    if "schema" in asked:  # comes first, and is not answered
        slots = [slot for service in asked["schema"]["services"] for slot in service["slots"]]
        continue
    words = {word.strip(".,?!") for said in [*asked["history"], asked] for word in said["user"].lower().split()}
    state = {slot["id"]: value for slot in slots for value in slot["values"] if value in words}
    print(json.dumps({"dialogue": asked["dialogue"], "turn": asked["turn"], "state": state}), flush=True)
